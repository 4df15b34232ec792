//! Why a world could not be generated or written.

use std::io;
use std::path::PathBuf;

use crate::domain::{ExitClass, Fault, IdError};

/// A failure of the generator or of writing its world.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The bundled scripts are broken: a bug.
    #[error("read the bundled script {script:?}: {what}")]
    Script {
        /// The script.
        script: String,
        /// What is wrong with it.
        what: String,
    },
    /// An id that the generator made is refused: a bug.
    #[error("name a part of the generated world")]
    Id(#[from] IdError),
    /// A picture could not be encoded: a bug.
    #[error("encode the frame {frame}")]
    Picture {
        /// The frame.
        frame: String,
        /// Why.
        source: png::EncodingError,
    },
    /// The specification asks for nothing or contradicts itself.
    #[error("generate a world with {0}")]
    Spec(String),
    /// The videos have too few facts for so many questions.
    #[error("ask {wanted} questions of type {task_type}: {videos} videos give {available}")]
    TooFew {
        /// The task type.
        task_type: &'static str,
        /// Questions asked for.
        wanted: usize,
        /// Questions possible.
        available: usize,
        /// Videos generated.
        videos: usize,
    },
    /// A file of another content is in the way.
    #[error("write {path}: a different file is there")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The disk refused.
    #[error("write {path}")]
    Write {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A value has no JSON form: a bug.
    #[error("write {what} as JSON")]
    Json {
        /// The value.
        what: String,
        /// Why.
        source: serde_json::Error,
    },
}

impl Fault for WorldError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Spec(_) | Self::TooFew { .. } | Self::Exists { .. } => ExitClass::Usage,
            Self::Script { .. } | Self::Id(_) | Self::Picture { .. } | Self::Json { .. } | Self::Write { .. } => {
                ExitClass::Internal
            }
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Script { .. } => "sim.script",
            Self::Id(_) => "sim.id",
            Self::Picture { .. } => "sim.picture",
            Self::Spec(_) => "sim.spec",
            Self::TooFew { .. } => "sim.too_few_facts",
            Self::Exists { .. } => "sim.file_exists",
            Self::Write { .. } => "sim.write",
            Self::Json { .. } => "sim.json",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::TooFew { .. } => Some("ask for more videos (--videos) or fewer questions (--questions)".into()),
            Self::Exists { .. } => Some("choose an empty folder, or overwrite with --force".into()),
            Self::Write { .. } => Some("check that the folder is writable and the disk has room".into()),
            Self::Spec(_) => None,
            Self::Script { .. } | Self::Id(_) | Self::Picture { .. } | Self::Json { .. } => {
                Some("this is a bug of trm: please report it with the command you ran".into())
            }
        }
    }
}
