//! The language model port: what is asked, what comes back, how it fails.
//!
//! Everything above `llm` speaks to models through [`ChatModel`] only; the OpenAI-compatible
//! client, the simulated model and the fakes of tests implement it.

use std::pin::Pin;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::hash::Hasher;

/// What a model is used for; each role has its own model and limits (design 06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The agent's own turns.
    Search,
    /// Extract and verify calls inside tools.
    Tool,
    /// Diagnosis.
    Judge,
    /// Writing and ranking edits.
    Evolve,
    /// Reading frames.
    Vision,
    /// Embeddings.
    Embed,
}

impl Role {
    /// All roles, in order of declaration.
    pub const ALL: [Self; 6] = [Self::Search, Self::Tool, Self::Judge, Self::Evolve, Self::Vision, Self::Embed];

    /// The stable name, lower case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Search => "search",
            Self::Tool => "tool",
            Self::Judge => "judge",
            Self::Evolve => "evolve",
            Self::Vision => "vision",
            Self::Embed => "embed",
        }
    }
}

/// Who speaks in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MessageRole {
    /// Standing instructions.
    System,
    /// The asking side, tool results included.
    User,
    /// The model.
    Assistant,
}

/// An image sent along with a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// Such as `image/jpeg`.
    pub media_type: String,
    /// The encoded file.
    pub bytes: Vec<u8>,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who speaks.
    pub role: MessageRole,
    /// The text.
    pub content: String,
    /// Images, for the vision role.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Image>,
}

impl Message {
    /// A message without images.
    #[must_use]
    pub fn new(role: MessageRole, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), images: Vec::new() }
    }

    /// A system message.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(MessageRole::System, content)
    }

    /// A user message.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(MessageRole::User, content)
    }

    /// An assistant message.
    #[must_use]
    pub fn assistant(content: impl Into<String>) -> Self {
        Self::new(MessageRole::Assistant, content)
    }
}

/// The form in which the reply is wanted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ResponseFormat {
    /// Free text.
    Text,
    /// Any JSON object.
    JsonObject,
    /// A JSON object of this schema.
    JsonSchema {
        /// Letters, digits, `_` and `-`.
        name: String,
        /// A JSON Schema.
        schema: Value,
    },
}

/// A function the model may call natively.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Letters, digits, `_` and `-`.
    pub name: String,
    /// For the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Value,
}

/// A native call that the model made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCall {
    /// The function's name.
    pub name: String,
    /// The arguments as the model wrote them: JSON text, unparsed.
    pub arguments: String,
}

/// Where a call belongs: accounting, the cache's salt and the seed derive from it, never from a counter.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct CallTag {
    /// Textual run id of the asking phase, such as `train1_e1_s0_gate_action-reasoning_base` (design 06).
    pub phase_run: String,
    /// The same without the run id (`e1_s0_gate_action-reasoning_base`): the simulated world's noise depends on this.
    pub phase_path: String,
    /// The question, or what stands for it (a task type for a writer call).
    pub item: String,
    /// Index of a repeated sample of one question, from 0.
    pub sample: u32,
    /// Index of a judge or writer call that is asked again, from 0.
    pub attempt: u32,
    /// What the call is for, such as `turn`, `view_node.extract`, `judge.span`.
    pub purpose: String,
}

impl CallTag {
    /// The `seed` field sent with the call: 31 bits, so that every server reads it unchanged (some
    /// keep it in a signed 32-bit integer), from the configuration's seed and the place of the call
    /// without the run id, so that two runs of one configuration draw the same noise (design 13).
    #[must_use]
    pub fn model_seed(&self, configuration_seed: u64) -> u32 {
        let mut hasher = Hasher::new("trm.model-seed");
        hasher
            .part(configuration_seed.to_le_bytes())
            .part(&self.phase_path)
            .part(&self.item)
            .part(self.sample.to_le_bytes())
            .part(self.attempt.to_le_bytes());
        let hash = hasher.finish();
        hash.as_bytes().iter().take(4).fold(0_u32, |seed, byte| (seed << 8) | u32::from(*byte)) >> 1
    }
}

/// One request to a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatRequest {
    /// Which model and limits to use.
    pub role: Role,
    /// The conversation.
    pub messages: Vec<Message>,
    /// The form of the reply.
    pub response_format: ResponseFormat,
    /// Native tools, if any.
    pub tools: Vec<ToolSpec>,
    /// Overrides the role's `max_tokens`.
    pub max_tokens: Option<u32>,
    /// Overrides the role's `temperature`.
    pub temperature: Option<f32>,
    /// Where the call belongs.
    pub tag: CallTag,
}

impl ChatRequest {
    /// A free-text request with the role's own settings.
    #[must_use]
    pub fn new(role: Role, messages: Vec<Message>, tag: CallTag) -> Self {
        Self {
            role,
            messages,
            response_format: ResponseFormat::Text,
            tools: Vec::new(),
            max_tokens: None,
            temperature: None,
            tag,
        }
    }
}

/// Why the model stopped writing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was done.
    Stop,
    /// It wants its tool calls answered.
    ToolCalls,
    /// `max_tokens` cut it.
    Length,
    /// A filter refused.
    ContentFilter,
    /// The endpoint said nothing or something unknown.
    Unknown,
}

/// Tokens of one call, as the endpoint counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Of these, served from the endpoint's own prompt cache.
    pub cached_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
    /// Whether the endpoint reported no usage and the figures are estimates.
    pub estimated: bool,
}

/// One reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChatReply {
    /// The text, with lone surrogates as U+FFFD; may be empty if only tools were called.
    pub content: String,
    /// Reasoning text that the endpoint returned apart.
    pub reasoning: Option<String>,
    /// Native tool calls.
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: FinishReason,
    /// Tokens; those of the original call when `cached`.
    pub usage: Usage,
    /// Whether the response cache answered.
    pub cached: bool,
    /// Wall time of this call in milliseconds, waits included; near 0 when `cached`.
    pub latency_ms: u64,
    /// The message exactly as received (bytes of the JSON body), for lossless storage.
    pub raw: Vec<u8>,
}

/// The class of a failed call; retryability is decided by an exhaustive match in `llm`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatErrorKind {
    /// No connection, reset, name not found.
    Connection,
    /// A time-out: connect, first byte or whole call.
    Timeout,
    /// HTTP 429 beyond all retries.
    RateLimited,
    /// HTTP 5xx beyond all retries, or an error body under HTTP 200.
    Server,
    /// HTTP 401 or 403.
    Unauthorized,
    /// HTTP 404: no such model or path.
    NotFound,
    /// Any other HTTP 4xx.
    BadRequest,
    /// The prompt does not fit the model.
    ContextOverflow,
    /// A reply that is no chat completion: wrong type, truncated, no choices, too large.
    Malformed,
    /// The endpoint refused the content.
    Refused,
    /// The circuit of every endpoint of the role is open.
    CircuitOpen,
    /// The budget is spent; not a technical failure of the question.
    Budget,
    /// The run is shutting down; not a technical failure of the question.
    Cancelled,
    /// The request cannot be made with this configuration.
    Configuration,
}

/// A failed call.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("call the {} model: {message}", role.name())]
pub struct ChatError {
    /// The class.
    pub kind: ChatErrorKind,
    /// The role that was asked.
    pub role: Role,
    /// What happened, without secrets.
    pub message: String,
}

/// The future of one call.
pub type ChatFuture<'a> = Pin<Box<dyn Future<Output = Result<ChatReply, ChatError>> + Send + 'a>>;

/// A language model.
pub trait ChatModel: Send + Sync {
    /// Asks once; retries, limits, cache and accounting are the implementation's business.
    fn chat(&self, request: ChatRequest) -> ChatFuture<'_>;
}

/// Texts to be turned into vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmbedRequest {
    /// One vector is wanted for each.
    pub texts: Vec<String>,
    /// Where the call belongs.
    pub tag: CallTag,
}

/// The vectors of an [`EmbedRequest`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EmbedReply {
    /// One for each text, in their order; all of one length.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens; those of the original call when `cached`.
    pub usage: Usage,
    /// Whether the response cache answered.
    pub cached: bool,
    /// Wall time of this call in milliseconds, waits included.
    pub latency_ms: u64,
}

/// The future of one embedding call; its errors name [`Role::Embed`].
pub type EmbedFuture<'a> = Pin<Box<dyn Future<Output = Result<EmbedReply, ChatError>> + Send + 'a>>;

/// A model that turns texts into vectors.
pub trait EmbedModel: Send + Sync {
    /// Asks once; retries, limits, cache and accounting are the implementation's business.
    fn embed(&self, request: EmbedRequest) -> EmbedFuture<'_>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seed_ignores_the_run_and_the_purpose_and_nothing_else() {
        let tag = CallTag {
            phase_run: "a_e1_s0".into(),
            phase_path: "e1_s0".into(),
            item: "q1".into(),
            ..CallTag::default()
        };
        let seed = tag.model_seed(42);
        assert_eq!(CallTag { phase_run: "b_e1_s0".into(), purpose: "turn".into(), ..tag.clone() }.model_seed(42), seed);
        assert_ne!(tag.model_seed(43), seed);
        assert_ne!(CallTag { phase_path: "e1_s1".into(), ..tag.clone() }.model_seed(42), seed);
        assert_ne!(CallTag { item: "q2".into(), ..tag.clone() }.model_seed(42), seed);
        assert_ne!(CallTag { sample: 1, ..tag.clone() }.model_seed(42), seed);
        assert_ne!(CallTag { attempt: 1, ..tag }.model_seed(42), seed);
    }
}
