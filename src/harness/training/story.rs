//! What a training tells while it goes on.

use std::fmt;

use serde::Serialize;

use crate::domain::{EpochStep, RunId, TaskType};
use crate::evolution::scheduler::Board;
use crate::harness::inference::{Report, Tally};
use crate::store::rows::{ProbationOutcome, StepReport, VersionPair};

/// Something that is worth a line.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what the text says")]
pub enum TrainEvent {
    /// The training begins or goes on.
    Began { run: RunId, resumed: bool },
    /// A decision key has another value than when the run began.
    ConfigChanged { key: String, old: String, new: String },
    /// Types that cannot be trained: units that they have.
    Dropped { task_type: TaskType, units: usize, needed: u32 },
    /// Types that are trained.
    Types { confirmable: Vec<(TaskType, usize)>, provisional_at_best: Vec<(TaskType, usize)> },
    /// The evaluation of a seed serves as the baseline.
    BaselineFrom { seed: String, answers: usize },
    /// The baseline and the pools stand.
    Prepared { questions: usize, accuracy: Option<f64>, validation: Option<f64>, pools: (usize, usize, usize) },
    /// An epoch begins.
    EpochBegan { epoch: u32, epochs: u32, steps: usize },
    /// A step's rollout is done.
    RolledOut { step: EpochStep, right: usize, answered: usize, infra: usize },
    /// A step's failures are diagnosed.
    Diagnosed { step: EpochStep, packs: usize, degraded: usize },
    /// Candidates are written.
    Evolved { step: EpochStep, candidates: usize, types: usize },
    /// A task type's outcome of a step.
    Settled { step: EpochStep, task_type: TaskType, report: Box<StepReport> },
    /// The epoch's re-run R.
    ReRun { epoch: u32, accuracy: Option<f64>, best: Option<f64> },
    /// A probation is settled.
    Probation { epoch: u32, task_type: TaskType, outcome: ProbationOutcome, wins: u32, losses: u32 },
    /// The best pointer moved.
    Best { versions: VersionPair, accuracy: Option<f64>, before: Option<f64> },
    /// Momentum was written.
    Momentum { epoch: u32, updated: usize, kept: usize },
    /// The prompts' evolution: files with a candidate.
    Prompts { epoch: u32, changed: usize },
    /// What R2 made of the new prompts.
    PromptsMeasured { epoch: u32, action: &'static str, accuracy: Option<f64> },
    /// An epoch is over.
    EpochDone { epoch: u32, best: Option<f64> },
    /// No better version for too long.
    EarlyStop { epoch: u32, steps: u32 },
    /// The best version lies in a folder.
    Delivered { folder: String, versions: VersionPair },
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} %", value * 100.0))
}

fn pair(versions: &VersionPair) -> String {
    format!("skills {}, prompts {}", versions.skills, versions.prompts)
}

fn units(types: &[(TaskType, usize)]) -> String {
    types.iter().map(|(task_type, units)| format!("{task_type} ({units})")).collect::<Vec<_>>().join(", ")
}

impl fmt::Display for TrainEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Began { run, resumed: false } => write!(f, "training {run}"),
            Self::Began { run, resumed: true } => write!(f, "going on with training {run}"),
            Self::ConfigChanged { key, old, new } => {
                write!(f, "note: {key} was {old} when the run began, and is {new} from here on")
            }
            Self::Dropped { task_type, units, needed } => {
                write!(f, "not trained: {task_type} has {units} units of at least {needed}")
            }
            Self::Types { confirmable, provisional_at_best } => {
                write!(f, "{} task types can be confirmed: {}", confirmable.len(), units(confirmable))?;
                if provisional_at_best.is_empty() {
                    return Ok(());
                }
                write!(f, "; on probation at best: {}", units(provisional_at_best))
            }
            Self::BaselineFrom { seed, answers } => {
                write!(f, "baseline: {answers} answers come from the evaluation of seed {seed}")
            }
            Self::Prepared { questions, accuracy, validation, pools: (test, val, diag) } => write!(
                f,
                "baseline: {} of {questions} questions right; {} on validation; pools: {test} test, {val} validation, \
                 {diag} diagnosis units",
                percent(*accuracy),
                percent(*validation)
            ),
            Self::EpochBegan { epoch, epochs, steps } => write!(f, "epoch {epoch} of {epochs}: {steps} steps"),
            Self::RolledOut { step, right, answered, infra } => {
                write!(f, "{step}  rollout: {right} of {answered} right")?;
                if *infra > 0 { write!(f, ", {infra} technical failures") } else { Ok(()) }
            }
            Self::Diagnosed { step, packs, degraded } => {
                write!(f, "{step}  diagnosis: {packs} task types to learn from")?;
                if *degraded > 0 { write!(f, ", {degraded} questions judged in part only") } else { Ok(()) }
            }
            Self::Evolved { step, candidates, types } => {
                write!(f, "{step}  {candidates} candidates from {types} task types")
            }
            Self::Settled { step, task_type, report } => settled(f, *step, task_type, report),
            Self::ReRun { epoch, accuracy, best } => {
                write!(f, "e{epoch} slow  validation {} (best so far {})", percent(*accuracy), percent(*best))
            }
            Self::Probation { epoch, task_type, outcome, wins, losses } => {
                write!(f, "e{epoch} slow  probation of {task_type}: {} ({wins} won, {losses} lost)", outcome.name())
            }
            Self::Best { versions, accuracy, before } => {
                write!(
                    f,
                    "best is {}: {} on validation (before {})",
                    pair(versions),
                    percent(*accuracy),
                    percent(*before)
                )
            }
            Self::Momentum { epoch, updated, kept } => {
                write!(f, "e{epoch} slow  momentum: {updated} skills with new guidance, {kept} unchanged")
            }
            Self::Prompts { epoch, changed: 0 } => write!(f, "e{epoch} slow  prompts: nothing to try"),
            Self::Prompts { epoch, changed } => {
                write!(f, "e{epoch} slow  prompts: {changed} files changed, to be measured")
            }
            Self::PromptsMeasured { epoch, action, accuracy } => {
                write!(f, "e{epoch} slow  prompts {action}: validation {}", percent(*accuracy))
            }
            Self::EpochDone { epoch, best } => write!(f, "epoch {epoch} done; best {}", percent(*best)),
            Self::EarlyStop { epoch, steps } => {
                write!(f, "stopping early after epoch {epoch}: nothing better for {steps} steps")
            }
            Self::Delivered { folder, versions } => write!(f, "best ({}) is in {folder}", pair(versions)),
        }
    }
}

fn settled(f: &mut fmt::Formatter<'_>, step: EpochStep, task_type: &TaskType, report: &StepReport) -> fmt::Result {
    write!(f, "{step}  {task_type}: {}", report.action.name())?;
    if let (Some(w), Some(l), Some(e), Some(n)) = (report.wins, report.losses, report.e_value, report.n_used) {
        write!(f, ", {w} won {l} lost of {n} units, E {e:.2}")?;
    }
    if let Some(version) = report.new_version {
        write!(f, " → {version}")?;
    }
    match &report.note {
        Some(note) => write!(f, " ({note})"),
        None => Ok(()),
    }
}

/// Sees what happens; must not block.
pub trait TrainReport: Report {
    /// Something that is worth a line.
    fn event(&self, event: &TrainEvent);

    /// The gates of a step got on.
    fn gates(&self, step: EpochStep, board: &Board) {
        let _ = (step, board);
    }
}

/// Sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoStory;

impl Report for NoStory {
    fn update(&self, _phase: &str, _tally: &Tally, _waiting: Option<&str>) {}
}

impl TrainReport for NoStory {
    fn event(&self, _event: &TrainEvent) {}
}
