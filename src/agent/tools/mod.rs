//! What the agent can do with a video.

mod arguments;
mod node_text;
mod observe_frame;
mod run;
mod search_similar;
mod spec;
mod summary;
mod view_node;

pub(super) use arguments::{Submission, ToolCall, read_call};
pub(super) use run::{ToolContext, run_tool};
pub(super) use spec::{Offered, offered, tool_specs, tools_text, turn_schema};
