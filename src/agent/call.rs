//! Model calls of one turn: where they belong, and what they cost.

use std::sync::{Mutex, PoisonError};

use super::record::Spent;
use crate::domain::{
    CallTag, ChatError, ChatModel, ChatReply, ChatRequest, Message, QuestionId, ResponseFormat, Role, ToolSpec, Usage,
};

/// Where the calls of one question belong (design 06): salt and seed derive from this, never from a counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPlace {
    /// Textual run id of the asking phase, such as `train1_e1_s0_gate_action-reasoning_base`.
    pub phase_run: String,
    /// The same without the run id.
    pub phase_path: String,
    /// Index of a repeated sample of the question, from 0.
    pub sample: u32,
}

impl CallPlace {
    pub(super) fn tag(&self, question: &QuestionId, purpose: &str) -> CallTag {
        CallTag {
            phase_run: self.phase_run.clone(),
            phase_path: self.phase_path.clone(),
            item: question.as_str().to_owned(),
            sample: self.sample,
            attempt: 0,
            purpose: purpose.to_owned(),
        }
    }
}

/// What is asked; the rest of a request follows from the place.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) role: Role,
    pub(super) purpose: &'static str,
    pub(super) messages: Vec<Message>,
    pub(super) format: ResponseFormat,
    pub(super) tools: Vec<ToolSpec>,
}

impl Asked {
    /// A free-text call.
    pub(super) fn text(role: Role, purpose: &'static str, messages: Vec<Message>) -> Self {
        Self { role, purpose, messages, format: ResponseFormat::Text, tools: Vec::new() }
    }
}

/// Asks models for one turn and adds up what the answers cost.
pub(super) struct Caller<'a> {
    model: &'a dyn ChatModel,
    place: &'a CallPlace,
    question: &'a QuestionId,
    spent: Mutex<Spent>,
}

impl<'a> Caller<'a> {
    pub(super) fn new(model: &'a dyn ChatModel, place: &'a CallPlace, question: &'a QuestionId) -> Self {
        Self { model, place, question, spent: Mutex::default() }
    }

    /// One call. Retries, limits and the cache are the model's business.
    pub(super) async fn ask(&self, asked: Asked) -> Result<ChatReply, ChatError> {
        let tag = self.tag(asked.purpose);
        let mut request = ChatRequest::new(asked.role, asked.messages, tag);
        request.response_format = asked.format;
        request.tools = asked.tools;
        let reply = self.model.chat(request).await?;
        self.locked(|spent| spent.add_reply(&reply));
        Ok(reply)
    }

    pub(super) fn tag(&self, purpose: &str) -> CallTag {
        self.place.tag(self.question, purpose)
    }

    /// Counts an embedding call.
    pub(super) fn add_embedding(&self, usage: Usage, cached: bool) {
        self.locked(|spent| spent.add(Spent { calls: 1, cached_calls: u32::from(cached), usage }));
    }

    /// What has been spent so far.
    pub(super) fn spent(&self) -> Spent {
        self.locked(|spent| *spent)
    }

    fn locked<T>(&self, act: impl FnOnce(&mut Spent) -> T) -> T {
        // A sum stays a sum even if a panic interrupted another holder.
        act(&mut self.spent.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
