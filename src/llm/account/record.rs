//! The record of one call, and the hook that keeps it.

use std::pin::Pin;

use serde::{Deserialize, Serialize};

use super::money::Money;
use crate::domain::{CallTag, ChatErrorKind, ContentHash, FinishReason, Role, Usage};

/// What was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallKind {
    /// A chat completion.
    Chat,
    /// Embeddings.
    Embed,
}

/// How it ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallOutcome {
    /// With a reply; the reason is absent for embeddings.
    Answered(Option<FinishReason>),
    /// With an error, after all retries.
    Failed {
        /// The class.
        kind: ChatErrorKind,
        /// What happened, without secrets.
        message: String,
    },
}

/// One call, from the asking side's point of view: retries inside it are one record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallRecord {
    /// The role.
    pub role: Role,
    /// Chat or embeddings.
    pub kind: CallKind,
    /// Where it belongs.
    pub tag: CallTag,
    /// The model asked.
    pub model: String,
    /// The cache's key: equal requests of one place have equal keys.
    pub key: ContentHash,
    /// How it ended.
    pub outcome: CallOutcome,
    /// Tokens; those of the original call when `cached`. For a failed call, what its tries used up.
    pub usage: Usage,
    /// What this call cost: nothing when `cached`.
    pub cost: Money,
    /// Whether the response cache, or an equal call in flight, answered.
    pub cached: bool,
    /// Tries beyond the first.
    pub retries: u32,
    /// Milliseconds spent waiting for budget, concurrency, rate limits, circuits and between tries.
    pub waited_ms: u64,
    /// Milliseconds in all.
    pub latency_ms: u64,
    /// When it ended, in milliseconds since 1970.
    pub ended_unix_ms: u64,
}

/// The future of keeping one record.
pub type RecordFuture<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// Keeps the record of every call; the harness implements it on the store.
pub trait CallSink: Send + Sync {
    /// Takes one record. The call waits for this before its caller sees the reply, which bounds the queue
    /// of a slow store; a failure to keep it is the sink's to report.
    fn record(&self, record: CallRecord) -> RecordFuture<'_>;
}
