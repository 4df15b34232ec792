//! What was asked for: the training, its configuration, or an error that says what there is instead.

use crate::config::{ConfigError, RunConfig};
use crate::domain::{EpochStep, ExitClass, Fault, RunId, TaskType};
use crate::store::rows::{Run, RunMode};
use crate::store::{Scope, Snapshot, StoreError};

/// Why a view cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum InspectError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// It is not there.
    #[error("inspect {what}: there is none")]
    Nothing {
        /// What was looked for.
        what: String,
        /// What there is instead, or what would make it.
        hint: String,
    },
    /// The run was made by a version of the program with other keys.
    #[error("read the configuration of run {run}")]
    Config {
        /// The run.
        run: RunId,
        /// Why.
        #[source]
        source: ConfigError,
    },
}

impl Fault for InspectError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Nothing { .. } | Self::Config { .. } => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Nothing { .. } => "inspect.none",
            Self::Config { .. } => "inspect.config",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Nothing { hint, .. } => Some(hint.clone()),
            Self::Config { .. } => Some("use the version of trm that made the run".to_owned()),
        }
    }
}

impl InspectError {
    /// A thing that is not there, and what there is instead.
    pub(crate) fn nothing(what: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Nothing { what: what.into(), hint: hint.into() }
    }
}

/// The run of this id, or the newest training.
///
/// # Errors
/// There is no such run, or no training at all.
pub fn training_run(snapshot: &Snapshot<'_>, run: Option<&RunId>) -> Result<(RunId, Run), InspectError> {
    let all = snapshot.runs()?;
    match run {
        Some(wanted) => all
            .into_iter()
            .find(|(id, _)| id == wanted)
            .ok_or_else(|| InspectError::nothing(format!("run {wanted}"), "'trm inspect runs' lists what there is")),
        None => all
            .into_iter()
            .rev()
            .find(|(_, row)| row.mode == RunMode::Train)
            .ok_or_else(|| InspectError::nothing("a training", "'trm train' begins one; --run names any other run")),
    }
}

/// The frozen configuration of a run.
///
/// # Errors
/// Another version of the program wrote it, with other keys.
pub fn config_of(run: &RunId, row: &Run) -> Result<RunConfig, InspectError> {
    RunConfig::from_snapshot(&row.config).map_err(|source| InspectError::Config { run: run.clone(), source })
}

/// The steps of a run that have rows, in order.
///
/// # Errors
/// The store cannot be read.
pub fn steps_of(snapshot: &Snapshot<'_>, run: &RunId) -> Result<Vec<EpochStep>, StoreError> {
    let scopes = snapshot.scopes(run)?;
    Ok(scopes
        .into_iter()
        .filter_map(|scope| match scope {
            Scope::Step(place) => Some(place),
            Scope::Baseline | Scope::Slow { .. } | Scope::Final | Scope::Eval | Scope::Adhoc => None,
        })
        .collect())
}

/// Fails unless the run has this step.
pub(crate) fn needs_step(snapshot: &Snapshot<'_>, run: &RunId, place: EpochStep) -> Result<(), InspectError> {
    let steps = steps_of(snapshot, run)?;
    if steps.contains(&place) {
        return Ok(());
    }
    let hint = match (steps.first(), steps.last()) {
        (Some(first), Some(last)) => format!("the run has {} steps, {first} to {last}", steps.len()),
        _ => "the run has no step yet".to_owned(),
    };
    Err(InspectError::nothing(format!("step {place} of run {run}"), hint))
}

/// The task type of this name or slug among those that are there.
pub(crate) fn pick_type<'a>(
    known: impl IntoIterator<Item = &'a TaskType>,
    wanted: &str,
    what: &str,
) -> Result<TaskType, InspectError> {
    let known: Vec<&TaskType> = known.into_iter().collect();
    let found = known.iter().find(|name| name.as_str() == wanted || name.slug() == wanted.to_lowercase());
    found.map(|name| (*name).clone()).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|name| name.as_str()).collect();
        let hint = if names.is_empty() {
            "there is no other either".to_owned()
        } else {
            format!("there are: {}", names.join(", "))
        };
        InspectError::nothing(format!("{what} of {wanted:?}"), hint)
    })
}
