//! Why a training did not begin or did not go on.

use crate::config::{Change, ConfigError};
use crate::domain::{EpochStep, ExitClass, Fault, FileName, IdError, RunId, TaskType, UnitError};
use crate::harness::batching::BatchError;
use crate::harness::gate_executor::GateRunError;
use crate::harness::inference::InferenceError;
use crate::harness::kernel_error::KernelError;
use crate::harness::ladder::LadderError;
use crate::harness::pools::PoolError;
use crate::harness::session::SessionError;
use crate::harness::versions::VersionsError;
use crate::store::StoreError;

/// Why a training did not begin or did not go on. What was settled before is durable, and the same command goes on.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Answers of a phase.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// Diagnosis or evolving.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The gates of a step.
    #[error(transparent)]
    Gates(#[from] GateRunError<InferenceError>),
    /// The pools cannot be cut.
    #[error(transparent)]
    Pools(#[from] PoolError),
    /// The batches cannot be cut.
    #[error(transparent)]
    Batches(#[from] BatchError),
    /// The ladder and the pools disagree.
    #[error(transparent)]
    Ladder(#[from] LadderError),
    /// A version cannot be read or written.
    #[error(transparent)]
    Versions(#[from] VersionsError),
    /// The workspace.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// The stored configuration cannot be read.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A derived id is none: a bug.
    #[error(transparent)]
    Id(#[from] IdError),
    /// Questions that do not make units.
    #[error("make units of the questions")]
    Units(#[source] UnitError),
    /// `--resume`, and there is nothing to go on with.
    #[error("resume a training: there is no unfinished one")]
    NothingToResume,
    /// A run of that name is something else, or is over.
    #[error("train as run {run}: {why}")]
    RunTaken {
        /// The run.
        run: RunId,
        /// Why not.
        why: &'static str,
    },
    /// A new name, while another training waits to go on.
    #[error("begin training {run}: training {other} is unfinished")]
    OtherUnfinished {
        /// The run that would begin.
        run: RunId,
        /// The run that would be given up.
        other: RunId,
    },
    /// Keys that decide about answers, pools or batches differ from those of the run.
    #[error("go on with run {run}: {} changed since it began: {}", .changes.len(), changes_text(.changes))]
    ConfigChanged {
        /// The run.
        run: RunId,
        /// The structural changes.
        changes: Vec<Change>,
    },
    /// The questions or videos differ from those of the run.
    #[error("go on with run {run}: {what} changed since it began")]
    DataChanged {
        /// The run.
        run: RunId,
        /// `the questions`, `the videos` …
        what: &'static str,
    },
    /// Two task types would change one skill file.
    #[error("train {}: they share the skill file {file}", list(.task_types))]
    SharedFile {
        /// The file.
        file: FileName,
        /// The types.
        task_types: Vec<TaskType>,
    },
    /// Task types without a skill file of their own.
    #[error("train {}: they have no skill file of their own", list(.task_types))]
    NoSkillFile {
        /// The types.
        task_types: Vec<TaskType>,
    },
    /// No task type has enough units.
    #[error("train: no task type has the {needed} units that an accept needs at least")]
    NothingToTrain {
        /// Units needed.
        needed: u32,
    },
    /// A step that cannot be run again.
    #[error("run {step} again: {why}")]
    NoRerun {
        /// The step.
        step: EpochStep,
        /// Why not.
        why: &'static str,
    },
    /// Something that the store should hold is not there: a bug or a damaged store.
    #[error("go on with run {run}: the store lacks {what}")]
    Missing {
        /// The run.
        run: RunId,
        /// What.
        what: String,
    },
}

fn changes_text(changes: &[Change]) -> String {
    let one = |change: &Change| format!("{} was {}, is {}", change.key, change.old, change.new);
    changes.iter().map(one).collect::<Vec<_>>().join("; ")
}

fn list(task_types: &[TaskType]) -> String {
    task_types.iter().map(TaskType::as_str).collect::<Vec<_>>().join(", ")
}

impl Fault for TrainError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Inference(error) => error.class(),
            Self::Kernel(error) => error.class(),
            Self::Gates(error) => error.class(),
            Self::Pools(error) => error.class(),
            Self::Batches(error) => error.class(),
            Self::Ladder(error) => error.class(),
            Self::Versions(error) => error.class(),
            Self::Session(error) => error.class(),
            Self::Config(error) => error.class(),
            Self::Id(_) => ExitClass::Internal,
            Self::Missing { .. } => ExitClass::Store,
            Self::Units(_) | Self::DataChanged { .. } | Self::NothingToTrain { .. } => ExitClass::Data,
            Self::NothingToResume
            | Self::RunTaken { .. }
            | Self::OtherUnfinished { .. }
            | Self::ConfigChanged { .. }
            | Self::SharedFile { .. }
            | Self::NoSkillFile { .. }
            | Self::NoRerun { .. } => ExitClass::Usage,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Inference(error) => error.code(),
            Self::Kernel(error) => error.code(),
            Self::Gates(error) => error.code(),
            Self::Pools(error) => error.code(),
            Self::Batches(error) => error.code(),
            Self::Ladder(error) => error.code(),
            Self::Versions(error) => error.code(),
            Self::Session(error) => error.code(),
            Self::Config(error) => error.code(),
            Self::Id(_) => "train.id",
            Self::Units(_) => "train.units",
            Self::NothingToResume => "train.nothing_to_resume",
            Self::RunTaken { .. } => "train.run_taken",
            Self::OtherUnfinished { .. } => "train.other_unfinished",
            Self::ConfigChanged { .. } => "train.config_changed",
            Self::DataChanged { .. } => "train.data_changed",
            Self::SharedFile { .. } => "train.shared_file",
            Self::NoSkillFile { .. } => "train.no_skill_file",
            Self::NothingToTrain { .. } => "train.nothing_to_train",
            Self::NoRerun { .. } => "train.no_rerun",
            Self::Missing { .. } => "train.missing",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Store(error) => return error.hint(),
            Self::Inference(error) => return error.hint(),
            Self::Kernel(error) => return error.hint(),
            Self::Gates(error) => return error.hint(),
            Self::Pools(error) => return error.hint(),
            Self::Batches(error) => return error.hint(),
            Self::Ladder(error) => return error.hint(),
            Self::Versions(error) => return error.hint(),
            Self::Session(error) => return error.hint(),
            Self::Config(error) => return error.hint(),
            Self::Id(_) => return None,
            Self::Units(_) => "mend the pairs in the questions and import them again".into(),
            Self::NothingToResume => "leave --resume out to begin a training".into(),
            Self::RunTaken { .. } => "choose another --run-id, or leave it out".into(),
            Self::OtherUnfinished { other, .. } => {
                format!("'trm train --run-id {other}' goes on with it; --fresh gives it up")
            }
            Self::ConfigChanged { .. } => "set the keys back, or begin anew with --fresh".into(),
            Self::DataChanged { .. } => "put the data back, or begin anew with --fresh".into(),
            Self::SharedFile { .. } => "rename one of the task types, so that each has a file of its own".into(),
            Self::NoSkillFile { .. } => "'trm skills scaffold' makes the missing files".into(),
            Self::NothingToTrain { .. } => {
                "import more questions, or lower pools.test_size; 'trm gate simulate' shows what is needed".into()
            }
            Self::NoRerun { .. } => "'trm status' shows how far the training is".into(),
            Self::Missing { .. } => "'trm store check' looks for damage; --fresh begins anew".into(),
        })
    }
}
