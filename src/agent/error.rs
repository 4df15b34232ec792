//! Why a question leaves no record, and why the agent's texts cannot be used.

use crate::domain::{ChatError, ChatErrorKind, ExitClass, Fault, FileName};
use crate::evolution::ports::PortError;

/// The run itself ended while a question was being answered: no record, counted nowhere (design 06, 12).
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("answer the question: {message}")]
pub struct AgentInterrupted {
    /// Whether the budget ended it; else a cancellation or shutdown.
    pub by_budget: bool,
    /// What the model's side said.
    pub message: String,
}

impl Fault for AgentInterrupted {
    fn class(&self) -> ExitClass {
        if self.by_budget { ExitClass::Budget } else { ExitClass::Interrupted }
    }

    fn code(&self) -> &'static str {
        if self.by_budget { "agent.budget" } else { "agent.cancelled" }
    }

    fn hint(&self) -> Option<String> {
        Some("the same command goes on where it stopped".to_owned())
    }
}

impl AgentInterrupted {
    /// The interruption that a failed call stands for; none for a technical failure of the question.
    pub(super) fn from_chat(error: &ChatError) -> Option<Self> {
        let by_budget = match error.kind {
            ChatErrorKind::Budget => true,
            ChatErrorKind::Cancelled => false,
            ChatErrorKind::Connection
            | ChatErrorKind::Timeout
            | ChatErrorKind::RateLimited
            | ChatErrorKind::Server
            | ChatErrorKind::Unauthorized
            | ChatErrorKind::NotFound
            | ChatErrorKind::BadRequest
            | ChatErrorKind::ContextOverflow
            | ChatErrorKind::Malformed
            | ChatErrorKind::Refused
            | ChatErrorKind::CircuitOpen
            | ChatErrorKind::Configuration => return None,
        };
        Some(Self { by_budget, message: error.message.clone() })
    }
}

/// Skills or prompts that the agent cannot work with.
#[derive(Debug, thiserror::Error)]
pub enum AgentTextError {
    /// A port failed.
    #[error("read the agent's texts")]
    Port(#[from] PortError),
    /// A prompt file is not there.
    #[error("find prompt {file} in the version in use")]
    MissingPrompt {
        /// The file.
        file: FileName,
    },
}

impl Fault for AgentTextError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Port(error) => error.class(),
            Self::MissingPrompt { .. } => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Port(error) => error.code(),
            Self::MissingPrompt { .. } => "agent.missing_prompt",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Port(error) => error.hint(),
            Self::MissingPrompt { .. } => {
                Some("`trm init` writes the default prompts; import a set that holds every file".to_owned())
            }
        }
    }
}
