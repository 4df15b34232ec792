//! Why a version could not be read or made.

use std::io;
use std::path::PathBuf;

use crate::domain::{ExitClass, Fault, FileName, Problem, VersionName};
use crate::store::StoreError;
use crate::store::rows::VersionKind;

/// Why a version could not be read or made.
#[derive(Debug, thiserror::Error)]
pub enum VersionsError {
    /// No version of that number.
    #[error("find version {name} of the {kind}")]
    Unknown {
        /// Skills or prompts.
        kind: VersionKind,
        /// The name.
        name: VersionName,
        /// The highest that exists.
        latest: Option<VersionName>,
    },
    /// The choice names nothing yet.
    #[error("find the {choice} version of the {kind}: there is none yet")]
    None {
        /// Skills or prompts.
        kind: VersionKind,
        /// `current`, `best` or `initial`.
        choice: String,
    },
    /// The version lacks a file.
    #[error("find {file} in version {name} of the {kind}")]
    NoFile {
        /// Skills or prompts.
        kind: VersionKind,
        /// The version.
        name: VersionName,
        /// The file.
        file: FileName,
    },
    /// Files that are no skills or prompts: all problems.
    #[error("use {} as {kind}: {} found", place.display(), count(problems.len()))]
    Invalid {
        /// Skills or prompts.
        kind: VersionKind,
        /// The folder or file.
        place: PathBuf,
        /// Each with its file and remedy.
        problems: Vec<Problem>,
    },
    /// A folder that would lose files.
    #[error("check out into {}: {reason}", folder.display())]
    Occupied {
        /// The folder.
        folder: PathBuf,
        /// What is there.
        reason: String,
        /// Whether `--force` would do.
        may_force: bool,
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
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn count(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

impl VersionsError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::Io { action, path: path.into(), source }
    }
}

impl Fault for VersionsError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Unknown { .. } | Self::None { .. } | Self::NoFile { .. } | Self::Occupied { .. } => ExitClass::Usage,
            Self::Invalid { .. } | Self::Io { .. } => ExitClass::Data,
            Self::Store(error) => error.class(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "versions.unknown",
            Self::None { .. } => "versions.none",
            Self::NoFile { .. } => "versions.no_file",
            Self::Invalid { .. } => "versions.invalid",
            Self::Occupied { .. } => "versions.occupied",
            Self::Io { .. } => "versions.io",
            Self::Store(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Unknown { latest: Some(latest), .. } => {
                format!("the newest is {latest}; 'trm skills list' shows all")
            }
            Self::Unknown { latest: None, .. } | Self::None { .. } => {
                "'trm skills list' shows what there is".to_owned()
            }
            Self::NoFile { kind, name, .. } => {
                let prompts = if *kind == VersionKind::Prompts { " --prompts" } else { "" };
                format!("'trm skills show {name}{prompts}' lists its files")
            }
            Self::Invalid { .. } => "nothing was imported; mend these files and import again".to_owned(),
            Self::Occupied { may_force: true, .. } => {
                "choose another folder, or replace its files with --force".to_owned()
            }
            Self::Occupied { .. } => "choose another folder".to_owned(),
            Self::Io { .. } => "check that it exists, and that you may read and write there".to_owned(),
            Self::Store(error) => return error.hint(),
        })
    }

    fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems, .. } => problems,
            Self::Unknown { .. }
            | Self::None { .. }
            | Self::NoFile { .. }
            | Self::Occupied { .. }
            | Self::Io { .. }
            | Self::Store(_) => &[],
        }
    }
}
