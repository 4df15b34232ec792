//! Why diagnosing or evolving ended without a result: never because of what a model wrote.

use std::path::PathBuf;

use crate::data::DataError;
use crate::domain::{ChatErrorKind, ExitClass, Fault, Problem, QuestionId};
use crate::evolution::EvolutionError;
use crate::store::StoreError;

/// Diagnosing, evolving or writing momentum ended without a result. Nothing may be concluded then.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The kernel: a model that cannot be reached, a skill or prompt that cannot be read.
    #[error("{what}")]
    Kernel {
        /// What was done, such as `diagnose the answers of run r1 (eval)`.
        what: String,
        /// Why it failed.
        source: EvolutionError,
    },
    /// The same without a place.
    #[error(transparent)]
    Evolution(#[from] EvolutionError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A video's tree is missing or unusable.
    #[error("diagnose question {question}")]
    Video {
        /// The question.
        question: QuestionId,
        /// Why.
        source: DataError,
    },
    /// The user asked to stop.
    #[error("{what}: interrupted after {done} of {total}")]
    Interrupted {
        /// What was done.
        what: String,
        /// Questions or texts that were done.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// The budget is spent.
    #[error("{what}: the budget is spent after {done} of {total}")]
    Budget {
        /// What was done.
        what: String,
        /// Questions or texts that were done.
        done: usize,
        /// All of them.
        total: usize,
    },
    /// A background task ended unexpectedly: a bug.
    #[error("{what}: the work on it ended unexpectedly")]
    Panic {
        /// What was done.
        what: String,
    },
}

/// The workspace's own judge or writer templates cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TemplatesError {
    /// The operating system refused, or the file is no text.
    #[error("read {}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file that is no template, or one with a missing or unknown place.
    #[error("use the templates of {}", folder.display())]
    Template {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        source: crate::evolution::templates::TemplateError,
    },
}

impl Fault for TemplatesError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "template.read",
            Self::Template { source, .. } => source.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Read { .. } => None,
            Self::Template { source, .. } => source.hint(),
        }
    }
}

impl KernelError {
    /// The failure of some work of which `done` of `total` was done: budget and interruption keep their own names.
    pub(super) fn of(what: &str, source: EvolutionError, (done, total): (usize, usize)) -> Self {
        let what = what.to_owned();
        let EvolutionError::Model(error) = &source else { return Self::Kernel { what, source } };
        match error.kind {
            ChatErrorKind::Budget => Self::Budget { what, done, total },
            ChatErrorKind::Cancelled => Self::Interrupted { what, done, total },
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
            | ChatErrorKind::Configuration => Self::Kernel { what, source },
        }
    }
}

impl Fault for KernelError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Kernel { source, .. } | Self::Evolution(source) => source.class(),
            Self::Store(error) => error.class(),
            Self::Video { source, .. } => source.class(),
            Self::Interrupted { .. } => ExitClass::Interrupted,
            Self::Budget { .. } => ExitClass::Budget,
            Self::Panic { .. } => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Kernel { source, .. } | Self::Evolution(source) => source.code(),
            Self::Store(error) => error.code(),
            Self::Video { source, .. } => source.code(),
            Self::Interrupted { .. } => "run.interrupted",
            Self::Budget { .. } => "run.budget",
            Self::Panic { .. } => "run.panic",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Kernel { source, .. } | Self::Evolution(source) => source.hint(),
            Self::Store(error) => error.hint(),
            Self::Video { source, .. } => source.hint(),
            Self::Interrupted { .. } => {
                Some("the same command goes on: what was asked is answered from the response cache".into())
            }
            Self::Budget { .. } => Some(
                "raise llm.budget.max_usd or llm.budget.max_tokens; the same command goes on where it stopped".into(),
            ),
            Self::Panic { .. } => Some("this is a bug: please report it with the log".into()),
        }
    }

    fn problems(&self) -> &[Problem] {
        match self {
            Self::Store(error) => error.problems(),
            Self::Video { source, .. } => source.problems(),
            Self::Kernel { .. }
            | Self::Evolution(_)
            | Self::Interrupted { .. }
            | Self::Budget { .. }
            | Self::Panic { .. } => &[],
        }
    }
}
