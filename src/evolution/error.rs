//! Why a diagnosis or an evolution stopped: never because of what a model wrote, always because of what failed.

use crate::domain::{ChatError, ChatErrorKind, ExitClass, Fault, QuestionId, VideoId};

use super::patch::PatchError;
use super::ports::PortError;
use super::templates::TemplateError;

/// The kernel could not do its work. What a model writes never leads here (it degrades the one question, or makes
/// the one candidate fail); a model that cannot be reached does.
#[derive(Debug, thiserror::Error)]
pub enum EvolutionError {
    /// A model failed. "No defects" or "no improvement" is never concluded from that.
    #[error(transparent)]
    Model(#[from] ChatError),
    /// A skill, prompt or record could not be read.
    #[error(transparent)]
    Port(#[from] PortError),
    /// A template could not be filled.
    #[error(transparent)]
    Template(#[from] TemplateError),
    /// The managed regions of the text that shall be evolved are broken.
    #[error("evolve {file}")]
    Regions {
        /// The file.
        file: String,
        /// What is wrong with it.
        source: PatchError,
    },
    /// A question to diagnose whose video has no tree.
    #[error("diagnose question {question}: no tree was given for video {video}")]
    NoTree {
        /// The question.
        question: QuestionId,
        /// Its video.
        video: VideoId,
    },
    /// A comparison of answers that makes no sense: a bug of the caller, never the model's doing.
    #[error("compare the answers to question {question}: {what}")]
    Comparison {
        /// The question.
        question: QuestionId,
        /// What is wrong.
        what: &'static str,
    },
    /// A setting that makes no sense.
    #[error("{what}")]
    Setting {
        /// Such as `diagnose with a concurrency of 0`.
        what: String,
    },
}

impl Fault for EvolutionError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Model(error) => model_class(error.kind),
            Self::Port(error) => error.class(),
            Self::Template(error) => error.class(),
            Self::Regions { source, .. } => source.class(),
            Self::NoTree { .. } => ExitClass::Data,
            Self::Comparison { .. } => ExitClass::Internal,
            Self::Setting { .. } => ExitClass::Usage,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Model(_) => "evolution.model",
            Self::Port(error) => error.code(),
            Self::Template(error) => error.code(),
            Self::Regions { source, .. } => source.code(),
            Self::NoTree { .. } => "evolution.no_tree",
            Self::Comparison { .. } => "evolution.comparison",
            Self::Setting { .. } => "evolution.setting",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Model(_) => Some(
                "nothing was concluded from the missing replies; run the same command again once the endpoint answers"
                    .into(),
            ),
            Self::Port(error) => error.hint(),
            Self::Template(error) => error.hint(),
            Self::Regions { source, .. } => source.hint(),
            Self::NoTree { .. } => Some("import the video's tree, or leave the question out".into()),
            Self::Comparison { .. } | Self::Setting { .. } => None,
        }
    }
}

/// The exit class of a failed model call.
fn model_class(kind: ChatErrorKind) -> ExitClass {
    match kind {
        ChatErrorKind::Budget => ExitClass::Budget,
        ChatErrorKind::Cancelled => ExitClass::Interrupted,
        ChatErrorKind::Configuration => ExitClass::Usage,
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
        | ChatErrorKind::CircuitOpen => ExitClass::Endpoint,
    }
}
