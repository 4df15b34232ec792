//! Why there is no workspace.

use std::io;
use std::path::PathBuf;

use crate::config::ConfigError;
use crate::domain::{ExitClass, Fault, Problem};
use crate::sim::world::WorldError;
use crate::store::StoreError;

/// Why a workspace was not found, opened or made.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// Neither the folder nor one above it is a workspace.
    #[error("find a workspace: no trm.yaml in {} or above", start.display())]
    NotFound {
        /// Where the search began.
        start: PathBuf,
    },
    /// The folder that was named is no workspace.
    #[error("use {} as a workspace: there is no trm.yaml", folder.display())]
    NoWorkspace {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder is a workspace in use.
    #[error("make a workspace of {}: it is one already, and not empty", folder.display())]
    Exists {
        /// The folder.
        folder: PathBuf,
        /// What is in it, in words.
        holds: String,
    },
    /// The operating system refused.
    #[error("{action} {}", path.display())]
    Io {
        /// `read`, `write` …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The example cannot be written.
    #[error(transparent)]
    Example(#[from] WorldError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl WorkspaceError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }
}

impl Fault for WorkspaceError {
    fn class(&self) -> ExitClass {
        match self {
            Self::NotFound { .. } | Self::NoWorkspace { .. } | Self::Exists { .. } => ExitClass::Usage,
            Self::Io { .. } => ExitClass::Internal,
            Self::Config(error) => error.class(),
            Self::Example(error) => error.class(),
            Self::Store(error) => error.class(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "workspace.not_found",
            Self::NoWorkspace { .. } => "workspace.not_one",
            Self::Exists { .. } => "workspace.exists",
            Self::Io { .. } => "workspace.io",
            Self::Config(error) => error.code(),
            Self::Example(error) => error.code(),
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { .. } => "run 'trm init' to make one here, or name one with -C DIR".to_owned(),
            Self::NoWorkspace { folder } => format!("run 'trm init {}' to make it one", folder.display()),
            Self::Exists { holds, .. } => {
                format!("nothing was changed; it holds {holds}. Choose another folder, or go on working in this one")
            }
            Self::Io { .. } => "check that the folder exists, is writable, and that its disk has room".to_owned(),
            Self::Config(error) => return error.hint(),
            Self::Example(error) => return error.hint(),
            Self::Store(error) => return error.hint(),
        })
    }

    fn problems(&self) -> &[Problem] {
        match self {
            Self::Config(error) => error.problems(),
            Self::NotFound { .. }
            | Self::NoWorkspace { .. }
            | Self::Exists { .. }
            | Self::Io { .. }
            | Self::Example(_)
            | Self::Store(_) => &[],
        }
    }
}
