//! The agent: walks a video tree with tools and answers one question (design 06).
//!
//! [`answer_question`] is the entry: an [`Agent`] (models, texts, settings) meets a [`VideoEnvironment`] and a
//! question and leaves an [`AgentRecord`]. Nothing here knows the store, the configuration files or training.

pub mod answer;
mod call;
mod checks;
mod conversation;
mod description;
mod direct;
mod error;
mod form;
mod frames;
mod record;
mod reply;
mod run;
mod search;
mod settings;
mod text;
mod texts;
mod tools;
mod video;
mod walk;
mod wording;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod walk_tests;

pub use call::CallPlace;
pub use error::{AgentInterrupted, AgentTextError};
pub use form::ReplyForms;
pub use record::{AgentRecord, AnchorCheck, FrameHealth, Outcome, Span, SpanKind, Spent};
pub use run::{Agent, answer_question};
pub use search::{Hit, TreeIndexes};
pub use settings::{AgentMode, AgentSettings, ReplyForm, SearchBackend, SkillMode, ToolSummaries};
pub use texts::{AgentTexts, DEFAULT_SKILL, PromptPair, SYSTEM_PROMPT, Skill};
pub use video::VideoEnvironment;
