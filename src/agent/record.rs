//! What remains of one question: the answer, how it came about, and what the plug-ins report.

use serde::{Deserialize, Serialize};

use super::answer::{Extraction, UnparsedReason};
use crate::domain::{ChatReply, Question, QuestionId, StopReason, Usage};

/// How an answer counts (design 06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The keyed option.
    Correct,
    /// Another option.
    Wrong,
    /// No option could be read from it; counted as wrong, shown apart.
    Unparsed,
    /// A technical failure; counted nowhere.
    Infra,
}

impl Outcome {
    /// How an extraction counts against the key, given how the work ended.
    #[must_use]
    pub fn of(stop_reason: StopReason, extraction: Extraction, key: char) -> Self {
        if stop_reason.is_infra() {
            return Self::Infra;
        }
        match extraction {
            Extraction::Letter { letter, .. } if letter == key => Self::Correct,
            Extraction::Letter { .. } => Self::Wrong,
            Extraction::Unparsed { .. } => Self::Unparsed,
        }
    }

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

/// Calls and tokens of one turn or one question; the tokens of cached calls are included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Spent {
    /// Model calls that were answered.
    pub calls: u32,
    /// Of these, by the response cache.
    pub cached_calls: u32,
    /// Tokens, summed.
    pub usage: Usage,
}

impl Spent {
    /// Adds one reply.
    pub fn add_reply(&mut self, reply: &ChatReply) {
        self.add(Self { calls: 1, cached_calls: u32::from(reply.cached), usage: reply.usage });
    }

    /// Adds a sum.
    pub fn add(&mut self, other: Self) {
        self.calls = self.calls.saturating_add(other.calls);
        self.cached_calls = self.cached_calls.saturating_add(other.cached_calls);
        let (mine, theirs) = (&mut self.usage, other.usage);
        mine.prompt_tokens = mine.prompt_tokens.saturating_add(theirs.prompt_tokens);
        mine.cached_tokens = mine.cached_tokens.saturating_add(theirs.cached_tokens);
        mine.completion_tokens = mine.completion_tokens.saturating_add(theirs.completion_tokens);
        mine.estimated |= theirs.estimated;
    }
}

/// What one span of a trace is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// A valid tool call.
    Tool,
    /// A call that was refused: unknown tool, wrong arguments.
    InvalidCall,
    /// Output that could not be read.
    ParseError,
    /// The submitted answer.
    Submit,
    /// A model call that failed.
    Error,
}

/// One turn of the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Span {
    /// What it is.
    pub kind: SpanKind,
    /// Steps used before it.
    pub step: u32,
    /// Text outside the JSON object, and the object's reflection.
    pub thought: String,
    /// The object's plan, as text or JSON text.
    pub plan: String,
    /// The tool's name as the model wrote it.
    pub tool: Option<String>,
    /// Its arguments as JSON text.
    pub args: Option<String>,
    /// What the tool answered, or what the agent was told instead.
    pub output: String,
    /// The model's message exactly as received.
    pub raw: Vec<u8>,
    /// Calls and tokens of the turn, those made by the tool included.
    pub spent: Spent,
    /// Whether the response cache gave the turn itself.
    pub cached: bool,
    /// Wall time in milliseconds, the tool's included.
    pub latency_ms: u64,
    /// What failed.
    pub error: Option<String>,
}

/// The record of one question. It exists, pessimistic, before the first call; a question that was cancelled or ran into
/// the budget leaves none (design 06).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AgentRecord {
    /// The question.
    pub question_id: QuestionId,
    /// Index of the repeated sample, from 0.
    pub sample: u32,
    /// The letter, or why there is none.
    pub extraction: Extraction,
    /// How it counts.
    pub outcome: Outcome,
    /// How the work ended.
    pub stop_reason: StopReason,
    /// The submitted answer as the model wrote it, JSON text if it was no text; in direct mode the reply.
    pub raw_answer: String,
    /// The submitted evidence; JSON text if it was no text.
    pub evidence: String,
    /// The submitted reasoning; JSON text if it was no text.
    pub reasoning: String,
    /// 0 to 1, as last stated before or with the answer.
    pub confidence: Option<f64>,
    /// Steps used.
    pub steps: u32,
    /// Steps allowed.
    pub max_steps: u32,
    /// Calls and tokens of all turns and tools.
    pub spent: Spent,
    /// Wall time in milliseconds.
    pub latency_ms: u64,
    /// What failed, for INFRA.
    pub error: Option<String>,
    /// The turns, in order.
    pub trace: Vec<Span>,
    /// Malformed answer fields: stable names, sorted.
    pub validation_flags: Vec<String>,
    /// Details of the flags as JSON text; `{}` if there are none.
    pub validation_details: String,
    /// Nodes that the evidence cites.
    pub anchor_check: AnchorCheck,
    /// Frames of `observe_frame` calls; none if there was no such call.
    pub observe_frame_health: Option<FrameHealth>,
}

/// Nodes that the evidence cites.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct AnchorCheck {
    /// Cited node ids, as written, in order, each once.
    pub cited: Vec<String>,
    /// Of these, unknown in the tree.
    pub missing: Vec<String>,
    /// Of these, known but never visited.
    pub unvisited: Vec<String>,
}

/// Frames of an answer's `observe_frame` calls.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FrameHealth {
    /// Frames asked for.
    pub asked: u32,
    /// Of these, files that exist.
    pub found: u32,
    /// Of these, read by the vision model.
    pub read: u32,
    /// Of those found, not read.
    pub failed: u32,
    /// What failed, one text per failure.
    pub failures: Vec<String>,
}

impl AgentRecord {
    /// The record of a question on which nothing has been done yet: a technical failure.
    #[must_use]
    pub fn pessimistic(question: &Question, sample: u32, max_steps: u32) -> Self {
        Self {
            question_id: question.question_id.clone(),
            sample,
            extraction: Extraction::Unparsed { reason: UnparsedReason::NotSubmitted },
            outcome: Outcome::Infra,
            stop_reason: StopReason::Error,
            raw_answer: String::new(),
            evidence: String::new(),
            reasoning: String::new(),
            confidence: None,
            steps: 0,
            max_steps,
            spent: Spent::default(),
            latency_ms: 0,
            error: Some("the work on the question did not end".to_owned()),
            trace: Vec::new(),
            validation_flags: Vec::new(),
            validation_details: "{}".to_owned(),
            anchor_check: AnchorCheck::default(),
            observe_frame_health: None,
        }
    }

    /// The letter, if one was read.
    #[must_use]
    pub fn answer(&self) -> Option<char> {
        self.extraction.letter()
    }

    /// Right or wrong; none for INFRA.
    #[must_use]
    pub fn correctness(&self) -> Option<bool> {
        self.outcome.correctness()
    }
}
