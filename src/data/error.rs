//! Why data cannot be read or imported.

use std::io;
use std::path::{Path, PathBuf};

use super::printable::printable;
use super::problem::{Problem, Problems, Severity};
use crate::domain::{ExitClass, Fault, Problem as FaultProblem, VideoId};

/// A failure to read or import data.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// Nothing is there.
    #[error("read {}: it does not exist", shown(.path))]
    NotFound {
        /// What was looked for.
        path: PathBuf,
    },
    /// It is there but is not what is needed, such as a folder where a file is expected.
    #[error("read {}: {what}", shown(.path))]
    WrongKind {
        /// What was named.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
        /// What to name instead.
        hint: &'static str,
    },
    /// The operating system refused to read it.
    #[error("read {}", shown(.path))]
    Unreadable {
        /// What was read.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The content breaks rules; every broken rule is listed.
    #[error("use {}: {}", shown(.path), count(.problems))]
    Invalid {
        /// What was read.
        path: PathBuf,
        /// All problems, warnings included.
        problems: Box<Problems>,
        /// The errors among them, as any fault lists them.
        listed: Vec<FaultProblem>,
    },
    /// No tree is stored for this video.
    #[error("find the tree of video {video}: there is no {}", shown(.path))]
    TreeMissing {
        /// The video.
        video: VideoId,
        /// Where its tree would be.
        path: PathBuf,
    },
    /// The workspace could not be written; what was there before is unchanged or complete.
    #[error("write {}", shown(.path))]
    Unwritable {
        /// What was written.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// Another import works on the same folder.
    #[error("import into {}: another import is running there", shown(.path))]
    Busy {
        /// The folder.
        path: PathBuf,
    },
}

impl DataError {
    /// The error of a failed read, told apart by its cause.
    pub(super) fn reading(path: &Path, source: io::Error) -> Self {
        let path = path.to_path_buf();
        if source.kind() == io::ErrorKind::NotFound {
            Self::NotFound { path }
        } else {
            Self::Unreadable { path, source }
        }
    }

    /// Content that breaks rules.
    pub(super) fn invalid(path: &Path, problems: Problems) -> Self {
        let errors = problems.list().iter().filter(|problem| problem.severity == Severity::Error);
        let listed = errors.map(FaultProblem::from).collect();
        Self::Invalid { path: path.to_path_buf(), problems: Box::new(problems), listed }
    }

    /// All problems of an [`DataError::Invalid`], warnings included.
    #[must_use]
    pub fn report(&self) -> Option<&Problems> {
        if let Self::Invalid { problems, .. } = self { Some(problems) } else { None }
    }
}

/// A path as one safe word of a message.
fn shown(path: &Path) -> String {
    printable(&path.to_string_lossy()).into_owned()
}

fn count(problems: &Problems) -> String {
    match problems.errors() {
        1 => "1 error".to_owned(),
        errors => format!("{errors} errors"),
    }
}

impl Fault for DataError {
    fn class(&self) -> ExitClass {
        ExitClass::Data
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "data.not_found",
            Self::WrongKind { .. } => "data.wrong_kind",
            Self::Unreadable { .. } => "data.unreadable",
            Self::Invalid { .. } => "data.invalid",
            Self::TreeMissing { .. } => "data.tree_missing",
            Self::Unwritable { source, .. } if source.kind() == io::ErrorKind::StorageFull => "data.disk_full",
            Self::Unwritable { .. } => "data.unwritable",
            Self::Busy { .. } => "data.busy",
        }
    }

    fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotFound { .. } => "check the path; it is relative to the current folder",
            Self::WrongKind { hint, .. } => hint,
            Self::Unreadable { .. } => "check the permissions of the file",
            Self::Invalid { .. } => "correct what is listed, then run the same command again; nothing was changed",
            Self::TreeMissing { .. } => "import it with 'trm import trees PATH', or make it with 'trm tree build'",
            Self::Unwritable { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "free some space, then run the same command again; what was there before is intact"
            }
            Self::Unwritable { .. } => "check permissions and space of the folder, then run the same command again",
            Self::Busy { .. } => "wait until it has ended, then run the same command again",
        };
        Some(hint.to_owned())
    }

    fn problems(&self) -> &[FaultProblem] {
        if let Self::Invalid { listed, .. } = self { listed } else { &[] }
    }
}

impl From<&Problem> for FaultProblem {
    fn from(problem: &Problem) -> Self {
        Self { place: Some(problem.whole_place()), message: problem.what.clone(), hint: Some(problem.hint.clone()) }
    }
}
