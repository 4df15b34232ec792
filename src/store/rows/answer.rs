//! Answers: predictions, their traces, model calls.

use serde::{Deserialize, Serialize};

use super::v1::{PredictionV1, TraceSpanV1};
use super::{step_row, stored_enum};
use crate::domain::{Role, StopReason, TaskType, UnitId, VersionName, VideoId};
use crate::store::codec::Form;
use crate::store::keys::{AnswerKey, CallKey, SpanKey};
use crate::store::names;

stored_enum!(
    /// How an answer counts (design 06).
    Outcome, "outcome of an answer" {
        /// The keyed option.
        Correct = "correct",
        /// Another option.
        Wrong = "wrong",
        /// No option could be read from it; counted as wrong, shown apart.
        Unparsed = "unparsed",
        /// A technical failure; counted nowhere.
        Infra = "infra",
    }
);

impl Outcome {
    /// Right or wrong; none for INFRA, which is not wrong (invariant 2).
    #[must_use]
    pub fn correctness(self) -> Option<bool> {
        match self {
            Self::Correct => Some(true),
            Self::Wrong | Self::Unparsed => Some(false),
            Self::Infra => None,
        }
    }
}

/// Tokens of one or of many calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Tokens {
    /// Tokens read.
    pub prompt: u64,
    /// Of these, served from the endpoint's own prompt cache.
    pub cached: u64,
    /// Tokens written.
    pub completion: u64,
    /// Whether any figure is an estimate.
    pub estimated: bool,
}

/// One answer. Stored in one transaction with its trace (design 03).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The question's task type.
    pub task_type: TaskType,
    /// The question's video.
    pub video_id: VideoId,
    /// The question's unit.
    pub unit_id: UnitId,
    /// The letter that was read from the answer.
    pub answer: Option<String>,
    /// How the letter was read (`field`, `marker` …), or why none could be (`empty`, `ambiguous` …).
    pub read_by: Option<String>,
    /// How it counts.
    pub outcome: Outcome,
    /// How the agent's work ended.
    #[serde(with = "names")]
    pub stop_reason: StopReason,
    /// The submitted answer as the model wrote it.
    pub raw_answer: String,
    /// The submitted evidence; JSON text if it was no text.
    pub evidence: String,
    /// The submitted reasoning; JSON text if it was no text.
    pub reasoning: String,
    /// 0 to 1, if the agent stated one.
    pub confidence: Option<f64>,
    /// Graded credit from 0 to 1, if a judge gave one.
    pub graded_credit: Option<f64>,
    /// Repeated samples of the question that this answer stands for, from 1.
    pub samples: u32,
    /// Steps used.
    pub steps: u32,
    /// Steps allowed.
    pub max_steps: u32,
    /// Rows of kind `trace` that belong to it.
    pub spans: u32,
    /// Model calls made for it.
    pub calls: u32,
    /// Of these, answered by the response cache.
    pub cached_calls: u32,
    /// Tokens of all calls, those of cached ones included.
    pub tokens: Tokens,
    /// Wall time in milliseconds.
    pub latency_ms: u64,
    /// Skills that were read.
    pub skills_version: VersionName,
    /// Prompts that were read.
    pub prompts_version: VersionName,
    /// What failed, for INFRA.
    pub error: Option<String>,
    /// When it was stored, in milliseconds since 1970.
    pub finished_ms: i64,
}

step_row!(Prediction, Prediction, AnswerKey, VERSION = 2; 1 => PredictionV1);

stored_enum!(
    /// What one span of a trace is.
    SpanKind, "kind of span" {
        /// A valid tool call.
        Tool = "tool",
        /// A call that was refused: unknown tool, wrong arguments.
        InvalidCall = "invalid_call",
        /// Output that could not be read.
        ParseError = "parse_error",
        /// The submitted answer.
        Submit = "submit",
        /// A model call that failed.
        Error = "error",
    }
);

/// One turn of the agent. Compressed: ten kilobytes of text are usual.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceSpan {
    /// What it is.
    pub kind: SpanKind,
    /// Index of the repeated sample of the question, from 0.
    pub sample: u32,
    /// Steps used before it.
    pub step: u32,
    /// Text outside the JSON object, and the object's reflection.
    pub thought: String,
    /// The object's plan.
    pub plan: String,
    /// The tool's name.
    pub tool: Option<String>,
    /// Its arguments as JSON text.
    pub args: Option<String>,
    /// What the tool answered.
    pub output: String,
    /// The model's message exactly as received.
    pub raw: Vec<u8>,
    /// Model calls of the turn, tool calls included; null where they were not counted.
    pub calls: Option<u32>,
    /// Of these, answered by the response cache.
    pub cached_calls: Option<u32>,
    /// Tokens of the turn, tool calls included.
    pub tokens: Tokens,
    /// Whether the response cache gave the turn.
    pub cached: bool,
    /// Wall time in milliseconds, tool calls included.
    pub latency_ms: u64,
    /// What failed.
    pub error: Option<String>,
}

step_row!(TraceSpan, Trace, SpanKey, FORM = Form::Zstd, VERSION = 2; 1 => TraceSpanV1);

/// One model call, for accounting and analysis.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Call {
    /// What the model was used for.
    #[serde(with = "names")]
    pub role: Role,
    /// Such as `turn`, `view_node.extract`, `judge.span`.
    pub purpose: String,
    /// The model that was asked.
    pub model: String,
    /// Index of the repeated sample of the question, from 0.
    pub sample: u32,
    /// Index of a judge or writer call that is asked again, from 0.
    pub attempt: u32,
    /// Attempts made by the retry loop, from 1; 0 when cached.
    pub tries: u32,
    /// The class of the failure (`timeout`, `rate_limited` …), if it failed.
    pub error_kind: Option<String>,
    /// What failed, without secrets.
    pub error: Option<String>,
    /// Why the model stopped writing.
    pub finish: Option<String>,
    /// Tokens; those of the original call when cached.
    pub tokens: Tokens,
    /// Whether the response cache answered.
    pub cached: bool,
    /// Price in US dollars; none without a price.
    pub cost_usd: Option<f64>,
    /// Wall time in milliseconds, waits included.
    pub latency_ms: u64,
    /// Of this, waiting for limits and retries.
    pub waited_ms: u64,
    /// When it began, in milliseconds since 1970.
    pub started_ms: i64,
}

step_row!(Call, Call, CallKey);
