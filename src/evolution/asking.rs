//! Asking a model for a JSON object: what judge and writer calls have in common.

use serde_json::Value;

use super::EvolutionError;
use crate::domain::{
    CallTag, ChatError, ChatErrorKind, ChatModel, ChatReply, ChatRequest, Message, MessageRole, ResponseFormat, Role,
};

/// Where the calls of one diagnosis or evolution belong; see [`CallTag`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallScope {
    /// Textual run id of the asking phase, such as `train1_e1_s0_diagnosis`.
    pub phase_run: String,
    /// The same without the run id.
    pub phase_path: String,
}

/// What a judge or writer call asks: constant per kind of call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Form {
    /// Such as `judge.span`.
    pub(super) purpose: &'static str,
    /// The JSON Schema of the reply.
    pub(super) schema: Value,
}

/// One question to a model, without its attempts.
#[derive(Debug)]
pub(super) struct Ask<'a> {
    pub(super) role: Role,
    pub(super) form: &'a Form,
    /// The question, task type or tool that is asked about.
    pub(super) item: &'a str,
    /// Tells calls of the same purpose and item apart.
    pub(super) sample: u32,
    pub(super) messages: Vec<Message>,
}

impl Ask<'_> {
    /// The request of one attempt, from 0. A later one says what was wrong with the reply before it.
    fn request(&self, scope: &CallScope, attempt: u32, problem: Option<&str>) -> ChatRequest {
        let mut messages = self.messages.clone();
        if let Some(problem) = problem
            && let Some(last) = messages.iter_mut().rev().find(|message| message.role == MessageRole::User)
        {
            last.content.push_str("\n\nThe last reply could not be used: ");
            last.content.push_str(problem);
            last.content.push_str(". Reply with the JSON object only.");
        }
        let tag = CallTag {
            phase_run: scope.phase_run.clone(),
            phase_path: scope.phase_path.clone(),
            item: self.item.to_owned(),
            sample: self.sample,
            attempt,
            purpose: self.form.purpose.to_owned(),
        };
        let mut request = ChatRequest::new(self.role, messages, tag);
        request.response_format =
            ResponseFormat::JsonSchema { name: self.form.purpose.replace('.', "_"), schema: self.form.schema.clone() };
        request
    }

    /// One call. `None` is a failure of content: the model cannot answer *this*, whatever it is asked again.
    ///
    /// # Errors
    /// The model could not be reached, and nothing may be concluded.
    pub(super) async fn once(
        &self,
        model: &dyn ChatModel,
        scope: &CallScope,
        attempt: u32,
        problem: Option<&str>,
    ) -> Result<Option<ChatReply>, EvolutionError> {
        match model.chat(self.request(scope, attempt, problem)).await {
            Ok(reply) => Ok(Some(reply)),
            Err(error) if is_about_content(&error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
}

/// Whether a failed call says something about the text it was given, and nothing about the endpoint: too long, or
/// refused. One such question must not end a run of days; everything else must.
fn is_about_content(error: &ChatError) -> bool {
    match error.kind {
        ChatErrorKind::ContextOverflow | ChatErrorKind::Refused => true,
        ChatErrorKind::Connection
        | ChatErrorKind::Timeout
        | ChatErrorKind::RateLimited
        | ChatErrorKind::Server
        | ChatErrorKind::Unauthorized
        | ChatErrorKind::NotFound
        | ChatErrorKind::BadRequest
        | ChatErrorKind::Malformed
        | ChatErrorKind::CircuitOpen
        | ChatErrorKind::Budget
        | ChatErrorKind::Cancelled
        | ChatErrorKind::Configuration => false,
    }
}

/// The text of a reply. Some endpoints put all of it where reasoning belongs.
pub(super) fn reply_text(reply: &ChatReply) -> &str {
    match &reply.reasoning {
        Some(reasoning) if reply.content.trim().is_empty() => reasoning,
        _ => &reply.content,
    }
}
