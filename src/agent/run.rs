//! The agent as the harness sees it: what it is made of, and one question answered.

use std::sync::Arc;

use tokio::time::Instant;

use super::call::CallPlace;
use super::direct::answer_directly;
use super::error::AgentInterrupted;
use super::form::ReplyForms;
use super::record::AgentRecord;
use super::search::TreeIndexes;
use super::settings::{AgentMode, AgentSettings};
use super::texts::AgentTexts;
use super::video::VideoEnvironment;
use super::walk::walk;
use crate::domain::{ChatModel, EmbedModel, Question};

/// What an agent is made of. The two arms of a gate differ in `texts` only and share the rest.
#[derive(Clone)]
pub struct Agent {
    /// Answers for the roles search, tool and vision.
    pub model: Arc<dyn ChatModel>,
    /// For the embedding search backend; without it, that backend falls back to words.
    pub embed: Option<Arc<dyn EmbedModel>>,
    /// Skills and prompts.
    pub texts: Arc<AgentTexts>,
    /// How it works.
    pub settings: AgentSettings,
    /// Indexes of the trees, shared by all agents of a process.
    pub indexes: Arc<TreeIndexes>,
    /// What `auto` found out about the search role's endpoint, shared by all agents of a run.
    pub forms: Arc<ReplyForms>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agent").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Agent {
    /// An agent without embeddings, with indexes and reply form of its own.
    #[must_use]
    pub fn new(model: Arc<dyn ChatModel>, texts: Arc<AgentTexts>, settings: AgentSettings) -> Self {
        Self { model, embed: None, texts, settings, indexes: Arc::default(), forms: Arc::default() }
    }
}

/// Answers one question. Whatever happens to the question itself ends in a record, technical failures included.
///
/// # Errors
/// [`AgentInterrupted`] if the run was cancelled or its budget is spent: the question then leaves no record.
pub async fn answer_question(
    agent: &Agent,
    video: &VideoEnvironment,
    question: &Question,
    place: &CallPlace,
) -> Result<AgentRecord, AgentInterrupted> {
    let started = Instant::now();
    let mut record = match agent.settings.mode {
        AgentMode::Tree => walk(agent, video, question, place).await?,
        AgentMode::Direct => answer_directly(agent, video, question, place).await?,
    };
    record.latency_ms = milliseconds_since(started);
    Ok(record)
}

pub(super) fn milliseconds_since(start: Instant) -> u64 {
    u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX)
}
