//! Making a call: which tool does it, with what at hand.

use super::arguments::ToolCall;
use super::observe_frame::observe_frame;
use super::search_similar::search_similar;
use super::view_node::view_node;
use crate::agent::call::Caller;
use crate::agent::record::FrameHealth;
use crate::agent::search::TreeIndexes;
use crate::agent::settings::AgentSettings;
use crate::agent::texts::AgentTexts;
use crate::agent::video::VideoEnvironment;
use crate::domain::{ChatError, EmbedModel, NodeId};

/// What the tools of one turn have at hand.
pub(in crate::agent) struct ToolContext<'a> {
    pub(in crate::agent) settings: &'a AgentSettings,
    pub(in crate::agent) texts: &'a AgentTexts,
    pub(in crate::agent) video: &'a VideoEnvironment,
    pub(in crate::agent) indexes: &'a TreeIndexes,
    pub(in crate::agent) embed: Option<&'a dyn EmbedModel>,
    pub(in crate::agent) caller: &'a Caller<'a>,
    /// The longest result, in tokens.
    pub(in crate::agent) result_tokens: usize,
    /// The longest source of a summary, in tokens.
    pub(in crate::agent) source_tokens: usize,
}

/// What a tool came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::agent) struct ToolOutput {
    pub(in crate::agent) text: String,
    /// Nodes that were opened, found or looked at.
    pub(in crate::agent) visited: Vec<NodeId>,
    /// What became of the frames asked for.
    pub(in crate::agent) frames: Option<FrameHealth>,
}

impl ToolOutput {
    pub(super) fn text(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

/// Makes a call. `submit_answer` is the loop's own and comes to nothing here.
///
/// # Errors
/// A model that the tool asked failed for technical reasons.
pub(in crate::agent) async fn run_tool(context: &ToolContext<'_>, call: &ToolCall) -> Result<ToolOutput, ChatError> {
    match call {
        ToolCall::ViewNode { node, question } => view_node(context, node, question).await,
        ToolCall::SearchSimilar { query, question, k } => search_similar(context, query, question, *k).await,
        ToolCall::ObserveFrame { nodes, question } => observe_frame(context, nodes, question).await,
        ToolCall::ReadSkill { name } => Ok(ToolOutput::text(read_skill(context.texts, name))),
        ToolCall::SubmitAnswer(_) => Ok(ToolOutput::default()),
    }
}

fn read_skill(texts: &AgentTexts, name: &str) -> String {
    match texts.find_skill(name) {
        Some(skill) => format!("# Skill: {}\n\n{}", skill.name, skill.body),
        None => {
            let names: Vec<&str> = texts.catalogue().map(|skill| skill.name.as_str()).collect();
            let shown: String = name.chars().take(80).collect();
            format!("There is no skill {shown:?}. The catalogue holds: {}.", names.join(", "))
        }
    }
}
