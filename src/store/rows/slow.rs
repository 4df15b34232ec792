//! The slow update, evaluations, and the mark that every scope begins with.

use serde::{Deserialize, Serialize};

use super::{step_row, stored_enum};
use crate::domain::{FileName, QuestionId, TaskType, VersionName};
use crate::store::codec::Form;
use crate::store::keys::PhaseKey;

/// A skills version and a prompts version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct VersionPair {
    /// Skills.
    pub skills: VersionName,
    /// Prompts.
    pub prompts: VersionName,
}

/// What a scope is to answer in one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExpectedAnswers {
    /// The phase, as in the key.
    pub phase: String,
    /// Its questions, each once.
    pub questions: Vec<QuestionId>,
}

/// The first row of a scope. When settled, exactly the expected predictions exist: none lost, none extra.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScopeMark {
    /// From 0 over the run, for steps.
    pub global_step: Option<u32>,
    /// The versions the scope began with.
    pub versions: VersionPair,
    /// What it answers outside gates.
    pub expected: Vec<ExpectedAnswers>,
    /// Whether its settlement is stored; set in the settlement's transaction.
    pub settled: bool,
    /// When it began, in milliseconds since 1970.
    pub begun_ms: i64,
}

step_row!(ScopeMark, ScopeMark, ());

/// Accuracy of one run over a pool by three scores (design 12): hard = share correct, soft = mean graded credit,
/// mixed = their mean. Null where there is none; never 0 for null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DualMetricEval {
    /// What was evaluated.
    pub versions: VersionPair,
    /// Share correct.
    pub hard: Option<f64>,
    /// Mean graded credit.
    pub soft: Option<f64>,
    /// Mean of hard and soft.
    pub mixed: Option<f64>,
    /// Questions that count.
    pub n: u32,
    /// Questions left out as INFRA.
    pub n_infra: u32,
}

step_row!(DualMetricEval, DualMetricEval, PhaseKey);

/// Which version pair would be best by the mixed score; it never moves the best pointer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ShadowGate {
    /// The pair that is best by the mixed score so far.
    pub shadow_best: VersionPair,
    /// Its mixed score.
    pub shadow_mixed: Option<f64>,
    /// The pair that the best pointer names.
    pub best: VersionPair,
    /// Its mixed score.
    pub best_mixed: Option<f64>,
    /// Whether they differ.
    pub differs: bool,
}

step_row!(ShadowGate, ShadowGate, ());

/// One of the four version pairs on the test pool. Nothing ever selects on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HoldoutEval {
    /// What was evaluated.
    pub versions: VersionPair,
    /// Skills of the epoch's `start` or `end`; a pair that is both is `start`.
    pub skills_from: String,
    /// Prompts of the epoch's `start` or `end`.
    pub prompts_from: String,
    /// Share correct.
    pub accuracy: Option<f64>,
    /// Mean graded credit.
    pub soft: Option<f64>,
    /// Questions that count.
    pub n: u32,
    /// Questions left out as INFRA.
    pub n_infra: u32,
}

step_row!(HoldoutEval, HoldoutEval, PhaseKey);

stored_enum!(
    /// What the re-run says about a skill on probation.
    ProbationOutcome, "outcome of a probation" {
        /// Fresh evidence confirms it: the probation ends.
        Confirm = "confirm",
        /// Not enough evidence either way: the probation goes on.
        Hold = "hold",
        /// Fresh evidence speaks against it: the file is back at its anchor.
        Rollback = "rollback",
    }
);

/// The settlement of one task type's probation: its snapshot against the epoch's re-run, unit by unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProbationSettlement {
    /// What follows.
    pub outcome: ProbationOutcome,
    /// Units that the re-run got right and the snapshot wrong.
    pub wins: u32,
    /// Units the other way round.
    pub losses: u32,
    /// Units that could be compared.
    pub n: u32,
    /// E(W, L): evidence for an improvement.
    pub e_value: f64,
    /// E(L, W): evidence for harm.
    pub e_swapped: f64,
    /// Number over the run of the step that opened the probation.
    pub opened_step: u32,
    /// The file on probation.
    pub target_file: FileName,
    /// The last confirmed version.
    pub anchor_skills_version: VersionName,
    /// The version that a rollback made.
    pub new_version: Option<VersionName>,
}

step_row!(ProbationSettlement, ProbationSettlement, TaskType);

stored_enum!(
    /// How a momentum update ended.
    MomentumStatus, "status of a momentum update" {
        /// New guidance.
        Updated = "updated",
        /// The previous guidance stays: unreadable or too long.
        Kept = "kept",
        /// Nothing to compare.
        Skipped = "skipped",
    }
);

/// The momentum of one skill file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Momentum {
    /// How it ended.
    pub status: MomentumStatus,
    /// Why the previous guidance stays.
    pub reason: Option<String>,
    /// Skills of the epoch's start and end that were compared, on the same prompts.
    pub compared: (VersionPair, VersionPair),
    /// Guidance before.
    pub previous: String,
    /// Guidance after.
    pub guidance: String,
    /// Sampled questions that improved.
    pub improved: u32,
    /// That regressed.
    pub regressed: u32,
    /// Wrong twice.
    pub persistent_fail: u32,
    /// Right twice.
    pub stable_success: u32,
}

step_row!(Momentum, Momentum, FileName, FORM = Form::Zstd);

stored_enum!(
    /// What became of the epoch's prompt evolution.
    SystemToolAction, "system and tool action" {
        /// No prompt changed.
        None = "none",
        /// Changed and kept.
        Kept = "kept",
        /// Changed and reverted.
        Reverted = "reverted",
    }
);

/// The outcome of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpochReport {
    /// What became of the prompts.
    pub system_tool_action: SystemToolAction,
    /// Task types with new momentum, sorted.
    pub momentum_updated_task_types: Vec<TaskType>,
    /// Validation accuracy of the best pointer.
    pub best_val_acc: Option<f64>,
    /// The best pointer.
    pub best: VersionPair,
    /// Accuracy of the re-run R.
    pub r_accuracy: Option<f64>,
    /// Accuracy of R2; null if it did not run.
    pub r2_accuracy: Option<f64>,
    /// Versions at the epoch's start.
    pub start: VersionPair,
    /// Versions of R.
    pub evaluated: VersionPair,
    /// Versions at the epoch's end.
    pub end: VersionPair,
}

step_row!(EpochReport, EpochReport, ());

/// Counts of an evaluation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct EvalCounts {
    /// Right.
    pub correct: u32,
    /// Wrong, unparsed ones included.
    pub wrong: u32,
    /// Of the wrong ones, those from which no option could be read.
    pub unparsed: u32,
    /// Technical failures, which count nowhere.
    pub infra: u32,
}

/// The summary of an evaluation over a question set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvalReport {
    /// What was evaluated.
    pub versions: VersionPair,
    /// All questions.
    pub total: EvalCounts,
    /// By task type, sorted.
    pub by_task_type: Vec<(TaskType, EvalCounts)>,
}

step_row!(EvalReport, EvalReport, PhaseKey);
