//! The words of the project as types: ids, questions, trees, phases, chat messages, faults.
//!
//! No I/O here; every other module speaks in these words.

mod chat;
mod fault;
mod hash;
mod ids;
mod phase;
mod question;
mod seed;
mod step;
mod tree;

pub use chat::{
    CallTag, ChatError, ChatErrorKind, ChatFuture, ChatModel, ChatReply, ChatRequest, EmbedFuture, EmbedModel,
    EmbedReply, EmbedRequest, FinishReason, Image, Message, MessageRole, ResponseFormat, Role, ToolCall, ToolSpec,
    Usage,
};
pub use fault::{ExitClass, Fault, Problem};
pub use hash::{ContentHash, Hasher};
pub use ids::{FileName, IdError, NodeId, PairId, QuestionId, RunId, TaskType, UnitId, VersionName, VideoId};
pub use phase::{Arm, Phase, StopReason};
pub use question::{Choice, Question, Unit, UnitError, build_units};
pub use seed::{SeedRng, seeded_rng};
pub use step::{EpochStep, EpochStepError};
pub use tree::{TreeNode, VideoTree};
