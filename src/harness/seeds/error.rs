//! Why a seed is not made, or not started from.

use std::path::PathBuf;

use crate::data::DataError;
use crate::domain::{ExitClass, Fault, IdError, Problem, RunId, VideoId};
use crate::harness::versions::VersionsError;
use crate::harness::workspace::WorkspaceError;
use crate::store::StoreError;
use crate::store::rows::VersionPair;

/// See the module.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the texts say what the fields are")]
pub enum SeedError {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Versions(#[from] VersionsError),
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    #[error(transparent)]
    Data(#[from] DataError),
    #[error("name a seed")]
    Name(#[source] IdError),
    #[error("promote {name}: a seed of this name exists")]
    Exists { name: String },
    #[error("promote: there is no run {run}")]
    NoRun { run: RunId },
    #[error("promote: run {run} is no evaluation but {mode}")]
    NotEvaluation { run: RunId, mode: &'static str },
    #[error("promote: the evaluation {run} is {state}")]
    Unfinished { run: RunId, state: &'static str },
    #[error("promote: the evaluation {run} names no version")]
    NoVersion { run: RunId },
    #[error("promote skills {}, prompts {}: run {run} evaluated skills {}, prompts {}", wanted.skills, wanted.prompts, found.skills, found.prompts)]
    OtherVersion { run: RunId, wanted: VersionPair, found: VersionPair },
    #[error("promote: run {run} answered another question set")]
    OtherQuestions { run: RunId },
    #[error("promote: run {run} answered {answered} of {questions} questions")]
    Partial { run: RunId, answered: usize, questions: usize },
    #[error("start from seed {name:?}: {} has no such seed", store.display())]
    Unknown { name: String, store: PathBuf, known: Vec<String> },
    #[error("start from seed {name:?}: the questions of {} are others than those it was evaluated on", workspace.display())]
    QuestionsDiffer { name: String, workspace: PathBuf },
    #[error("start from seed {name:?}: {} of its videos have no tree, the first is {first}", missing)]
    TreesMissing { name: String, missing: usize, first: VideoId },
    #[error("{action} {}", path.display())]
    Io { action: &'static str, path: PathBuf, source: std::io::Error },
}

impl SeedError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

impl Fault for SeedError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Versions(error) => error.class(),
            Self::Workspace(error) => error.class(),
            Self::Data(error) => error.class(),
            Self::Name(_) | Self::Exists { .. } | Self::Unknown { .. } => ExitClass::Usage,
            Self::NoRun { .. }
            | Self::NotEvaluation { .. }
            | Self::Unfinished { .. }
            | Self::NoVersion { .. }
            | Self::OtherVersion { .. }
            | Self::OtherQuestions { .. }
            | Self::Partial { .. }
            | Self::QuestionsDiffer { .. }
            | Self::TreesMissing { .. } => ExitClass::Data,
            Self::Io { .. } => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Versions(error) => error.code(),
            Self::Workspace(error) => error.code(),
            Self::Data(error) => error.code(),
            Self::Name(_) => "seed.name",
            Self::Exists { .. } => "seed.exists",
            Self::NoRun { .. } => "seed.no_run",
            Self::NotEvaluation { .. } => "seed.not_evaluation",
            Self::Unfinished { .. } => "seed.unfinished",
            Self::NoVersion { .. } => "seed.no_version",
            Self::OtherVersion { .. } => "seed.other_version",
            Self::OtherQuestions { .. } => "seed.other_questions",
            Self::Partial { .. } => "seed.partial",
            Self::Unknown { .. } => "seed.unknown",
            Self::QuestionsDiffer { .. } => "seed.questions_differ",
            Self::TreesMissing { .. } => "seed.trees_missing",
            Self::Io { .. } => "seed.io",
        }
    }

    fn hint(&self) -> Option<String> {
        let evaluate = |pair: &VersionPair| {
            format!("'trm eval --skills {} --prompts {}' makes the evaluation that fits", pair.skills, pair.prompts)
        };
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Versions(error) => return error.hint(),
            Self::Workspace(error) => return error.hint(),
            Self::Data(error) => return error.hint(),
            Self::Name(_) => "letters, digits, '.', '_' and '-', such as best-2026-12".to_owned(),
            Self::Exists { .. } => "choose another name, or add --replace".to_owned(),
            Self::NoRun { .. } => "'trm inspect runs' lists what there is".to_owned(),
            Self::NotEvaluation { .. } => "'trm eval' makes one".to_owned(),
            Self::Unfinished { .. } => "the command that began it goes on with it".to_owned(),
            Self::NoVersion { .. } => "evaluate again with this version of trm".to_owned(),
            Self::OtherVersion { wanted, .. } => evaluate(wanted),
            Self::OtherQuestions { .. } => "evaluate again on the questions of this workspace".to_owned(),
            Self::Partial { .. } => "evaluate without --limit, --question and --task-type".to_owned(),
            Self::Unknown { known, .. } if known.is_empty() => "there is none; 'trm promote' makes one".to_owned(),
            Self::Unknown { known, .. } => format!("there are: {}", known.join(", ")),
            Self::QuestionsDiffer { .. } => {
                "nothing was changed; give it the questions of the seed's workspace".to_owned()
            }
            Self::TreesMissing { .. } => "nothing was changed; import the trees first".to_owned(),
            Self::Io { .. } => "check that the folder is writable and that its disk has room".to_owned(),
        })
    }

    fn problems(&self) -> &[Problem] {
        match self {
            Self::Data(error) => error.problems(),
            Self::Workspace(error) => error.problems(),
            Self::Versions(error) => error.problems(),
            Self::Store(_)
            | Self::Name(_)
            | Self::Exists { .. }
            | Self::NoRun { .. }
            | Self::NotEvaluation { .. }
            | Self::Unfinished { .. }
            | Self::NoVersion { .. }
            | Self::OtherVersion { .. }
            | Self::OtherQuestions { .. }
            | Self::Partial { .. }
            | Self::Unknown { .. }
            | Self::QuestionsDiffer { .. }
            | Self::TreesMissing { .. }
            | Self::Io { .. } => &[],
        }
    }
}
