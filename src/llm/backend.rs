//! The innermost port: one try at one endpoint. The governor stands around it and does everything else.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::domain::{
    CallTag, ChatError, ChatErrorKind, ChatModel, ChatReply, ChatRequest, EmbedModel, EmbedReply, EmbedRequest,
    FinishReason, Role, Usage,
};

/// What is asked.
#[derive(Debug, Clone)]
pub enum Ask {
    /// A chat completion.
    Chat(ChatRequest),
    /// Embeddings.
    Embed(EmbedRequest),
}

impl Ask {
    /// The role asked.
    #[must_use]
    pub fn role(&self) -> Role {
        match self {
            Self::Chat(request) => request.role,
            Self::Embed(_) => Role::Embed,
        }
    }

    /// Where the call belongs.
    #[must_use]
    pub fn tag(&self) -> &CallTag {
        match self {
            Self::Chat(request) => &request.tag,
            Self::Embed(request) => &request.tag,
        }
    }
}

/// What came back.
#[derive(Debug, Clone, PartialEq)]
pub enum Answer {
    /// A chat completion.
    Chat(ChatReply),
    /// Embeddings.
    Embed(EmbedReply),
}

impl Answer {
    /// The tokens of the original call.
    #[must_use]
    pub fn usage(&self) -> Usage {
        match self {
            Self::Chat(reply) => reply.usage,
            Self::Embed(reply) => reply.usage,
        }
    }

    /// Whether the cache answered.
    #[must_use]
    pub fn cached(&self) -> bool {
        match self {
            Self::Chat(reply) => reply.cached,
            Self::Embed(reply) => reply.cached,
        }
    }

    /// Why a chat completion ended.
    #[must_use]
    pub fn finish(&self) -> Option<FinishReason> {
        match self {
            Self::Chat(reply) => Some(reply.finish),
            Self::Embed(_) => None,
        }
    }

    pub(super) fn stamp(mut self, was_cached: bool, milliseconds: u64) -> Self {
        let (cached, latency_ms) = match &mut self {
            Self::Chat(reply) => (&mut reply.cached, &mut reply.latency_ms),
            Self::Embed(reply) => (&mut reply.cached, &mut reply.latency_ms),
        };
        *cached = was_cached;
        *latency_ms = milliseconds;
        self
    }

    /// Whether the answer may be replayed later: never one that is empty, truncated or refused (design 06).
    #[must_use]
    pub fn is_storable(&self) -> bool {
        match self {
            Self::Embed(reply) => !reply.vectors.is_empty(),
            Self::Chat(reply) => {
                let whole = match reply.finish {
                    FinishReason::Stop | FinishReason::ToolCalls | FinishReason::Unknown => true,
                    FinishReason::Length | FinishReason::ContentFilter => false,
                };
                whole && (!reply.content.trim().is_empty() || !reply.tool_calls.is_empty())
            }
        }
    }
}

/// One failed try.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TryError {
    /// The class.
    pub kind: ChatErrorKind,
    /// What happened, without secrets.
    pub message: String,
    /// How long the endpoint asks to be left alone.
    pub retry_after: Option<Duration>,
    /// Tokens that the endpoint counted although the try failed.
    pub usage: Option<Usage>,
}

impl TryError {
    /// A failed try of which nothing else is known.
    #[must_use]
    pub fn new(kind: ChatErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), retry_after: None, usage: None }
    }

    pub(super) fn into_chat_error(self, role: Role) -> ChatError {
        ChatError { kind: self.kind, role, message: self.message }
    }
}

/// The future of one try.
pub type TryFuture<'a> = Pin<Box<dyn Future<Output = Result<Answer, TryError>> + Send + 'a>>;

/// One endpoint: asks once, neither repeats nor waits.
pub trait Backend: Send + Sync {
    /// Asks once. Dropping the future abandons the try.
    fn ask<'a>(&'a self, ask: &'a Ask) -> TryFuture<'a>;
}

/// An endpoint and the name that may be shown.
pub type NamedBackend = (String, Arc<dyn Backend>);

/// A [`ChatModel`] and perhaps an [`EmbedModel`] as a backend: the simulated model, fakes of tests.
pub struct ModelBackend {
    chat: Arc<dyn ChatModel>,
    embed: Option<Arc<dyn EmbedModel>>,
}

impl std::fmt::Debug for ModelBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelBackend").field("embed", &self.embed.is_some()).finish_non_exhaustive()
    }
}

impl ModelBackend {
    /// A backend of these models.
    #[must_use]
    pub fn new(chat: Arc<dyn ChatModel>, embed: Option<Arc<dyn EmbedModel>>) -> Self {
        Self { chat, embed }
    }
}

impl Backend for ModelBackend {
    fn ask<'a>(&'a self, ask: &'a Ask) -> TryFuture<'a> {
        Box::pin(async move {
            let answer = match ask {
                Ask::Chat(request) => self.chat.chat(request.clone()).await.map(Answer::Chat),
                Ask::Embed(request) => match &self.embed {
                    Some(model) => model.embed(request.clone()).await.map(Answer::Embed),
                    None => {
                        let message = "this model makes no embeddings";
                        return Err(TryError::new(ChatErrorKind::Configuration, message));
                    }
                },
            };
            answer.map_err(|error| TryError::new(error.kind, error.message))
        })
    }
}
