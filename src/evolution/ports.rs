//! What the kernel may ask of the outside: four read-only ports (design 12, "Structure and tests").
//!
//! None has a write method, knows a version number or can run inference: the kernel returns
//! values, and whoever called it stores them. The fourth port is [`ChatModel`].

use std::fmt;
use std::pin::Pin;

use serde::{Deserialize, Serialize};

use crate::domain::{ExitClass, Fault, FileName, QuestionId, RunId, StopReason};

pub use crate::domain::ChatModel;

/// How the agent's work on one question ended, as stored (design 03, kind `prediction`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PredictionRecord {
    /// The question.
    pub question_id: QuestionId,
    /// The letter of the chosen option; none if no option could be read from the reply.
    pub answer: Option<char>,
    /// Whether the answer is right; none for a technical failure, which counts nowhere.
    pub correctness: Option<bool>,
    /// How it ended.
    pub stop_reason: StopReason,
    /// Tool calls made.
    pub steps_used: u32,
    /// Tool calls allowed.
    pub steps_of: u32,
    /// How sure the agent said it was, 0 to 1; none if it said nothing.
    pub confidence: Option<f64>,
    /// What the agent cited, as text or JSON text.
    pub evidence: String,
    /// Why the agent chose the answer.
    pub reasoning: String,
    /// Tokens read by the models of this question.
    pub prompt_tokens: u64,
    /// Tokens written by them.
    pub completion_tokens: u64,
}

/// One turn of the agent, as stored (design 03, kind `trace`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TraceSpan {
    /// The question.
    pub question_id: QuestionId,
    /// Place of the span in the question's trace, from 0.
    pub span_index: u32,
    /// Number of the step the span belongs to, from 1; a turn that cost no step carries the step it led to.
    pub step: u32,
    /// Reasoning text outside of the action, and the `reflect` part of the turn.
    pub thought: String,
    /// The `plan` part of the turn, as text or JSON text.
    pub plan: String,
    /// The tool that was called; none if the turn could not be read.
    pub tool: Option<String>,
    /// The tool's arguments as JSON text; empty if there are none.
    pub args: String,
    /// What the tool returned.
    pub output: String,
    /// The model's message as received.
    pub raw: String,
    /// Tokens read in this turn, the tool's own calls included.
    pub prompt_tokens: u64,
    /// Tokens written in it.
    pub completion_tokens: u64,
}

/// Why a port had no answer. It carries the class, code and hint of what lies behind the port.
#[derive(Debug)]
pub enum PortError {
    /// The version in use has no such file.
    NoFile {
        /// The file asked for.
        file: FileName,
    },
    /// What lies behind the port failed.
    Failed {
        /// What was tried, such as `read the traces of run r1`.
        what: String,
        /// The failure.
        source: Box<dyn Fault>,
    },
}

impl PortError {
    /// A failure of what lies behind the port.
    pub fn failed(what: impl Into<String>, source: impl Fault) -> Self {
        Self::Failed { what: what.into(), source: Box::new(source) }
    }
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoFile { file } => write!(f, "read {file}: the version in use has no such file"),
            Self::Failed { what, .. } => f.write_str(what),
        }
    }
}

// By hand: thiserror takes no boxed trait object of our own as a source.
impl std::error::Error for PortError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::NoFile { .. } => None,
            Self::Failed { source, .. } => Some(source.as_ref()),
        }
    }
}

impl Fault for PortError {
    fn class(&self) -> ExitClass {
        match self {
            Self::NoFile { .. } => ExitClass::Data,
            Self::Failed { source, .. } => source.class(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NoFile { .. } => "evolution.no_file",
            Self::Failed { source, .. } => source.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoFile { .. } => Some("`trm skills scaffold` creates missing skill files".into()),
            Self::Failed { source, .. } => source.hint(),
        }
    }
}

/// The skill files of the version in use. A version is a handful of small files: its holder has them in memory.
pub trait SkillStore: Send + Sync {
    /// The text of one file.
    ///
    /// # Errors
    /// [`PortError::NoFile`] if the version lacks it.
    fn read_skill(&self, file: &FileName) -> Result<String, PortError>;

    /// All file names, sorted.
    ///
    /// # Errors
    /// Whatever lies behind the port failed.
    fn list_skill_files(&self) -> Result<Vec<FileName>, PortError>;
}

/// The prompt files of the version in use: `system.md` and the tools' `*_extract.md` and `*_verify.md`.
pub trait PromptStore: Send + Sync {
    /// The text of one file.
    ///
    /// # Errors
    /// [`PortError::NoFile`] if the version lacks it.
    fn read_prompt(&self, file: &FileName) -> Result<String, PortError>;

    /// All file names, sorted.
    ///
    /// # Errors
    /// Whatever lies behind the port failed.
    fn list_prompt_files(&self) -> Result<Vec<FileName>, PortError>;
}

/// The future of one look into the run log.
pub type LogFuture<'a, T> = Pin<Box<dyn Future<Output = Result<Vec<T>, PortError>> + Send + 'a>>;

/// What was recorded while questions were answered.
pub trait RunLog: Send + Sync {
    /// The predictions of a run, by question id; of these questions only, if given.
    fn get_predictions<'a>(
        &'a self,
        run_id: &'a RunId,
        question_ids: Option<&'a [QuestionId]>,
    ) -> LogFuture<'a, PredictionRecord>;

    /// The trace spans of a run, by question id and span index; of these questions only, if given.
    fn get_traces<'a>(&'a self, run_id: &'a RunId, question_ids: Option<&'a [QuestionId]>) -> LogFuture<'a, TraceSpan>;
}
