//! The gate: evidence per unit, quadrants, and the report of a step.

use serde::{Deserialize, Serialize};

use super::v1::StepReportV1;
use super::{step_row, stored_enum};
use crate::domain::{QuestionId, TaskType, VersionName};
use crate::store::keys::{GateUnitKey, RankKey};

stored_enum!(
    /// Why a gate stopped.
    GateStop, "stop reason of a gate" {
        /// Accepted: E reached the threshold.
        Confirmed = "confirmed",
        /// Rejected: losses prevail.
        Directional = "directional",
        /// Rejected: not even wins only could suffice.
        Futility = "futility",
        /// Accepted on probation at the end of the ladder.
        Provisional = "provisional",
        /// Rejected at the end of the ladder.
        Inertia = "inertia",
    }
);

stored_enum!(
    /// Which arms of a unit failed for technical reasons.
    FailedArm, "failed arm" {
        /// The current skill's.
        Base = "base",
        /// The candidate's.
        Cand = "cand",
        /// Both.
        Both = "both",
    }
);

/// One unit of a gate, at its place of the ladder; excluded units too, so that replay needs nothing else (design 12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateEvidence {
    /// The unit's id.
    pub unit_id: crate::domain::UnitId,
    /// Its questions, one or two.
    pub questions: Vec<QuestionId>,
    /// The current skill's correctness; null when excluded.
    pub base_correct: Option<bool>,
    /// The candidate's correctness; null when excluded.
    pub cand_correct: Option<bool>,
    /// Whether the base arm came from the baseline cache, so that this step holds no prediction of it.
    pub base_cached: bool,
    /// Whether INFRA took it out of the pairs.
    pub excluded: bool,
    /// Which arm failed, when excluded.
    pub excluded_arm: Option<FailedArm>,
    /// Wins after this unit.
    pub wins: u32,
    /// Losses after this unit.
    pub losses: u32,
    /// Pairs consumed after this unit.
    pub n_used: u32,
    /// Units left after this one.
    pub n_remaining: u32,
    /// E(W, L) after this unit.
    pub e_value: f64,
    /// Wald lambda after this unit.
    pub lambda: f64,
    /// On the last consumed unit of a type only.
    pub stop_reason: Option<GateStop>,
    /// Units settled by curtailment after this one; 0 without it.
    pub curtailed: u32,
}

step_row!(GateEvidence, GateEvidence, RankKey);

stored_enum!(
    /// What happened to a unit between the arms.
    Quadrant, "quadrant" {
        /// Wrong, then right.
        Improvement = "improvement",
        /// Right, then wrong.
        Regression = "regression",
        /// Wrong twice.
        PersistentFail = "persistent_fail",
        /// Right twice.
        StableSuccess = "stable_success",
    }
);

impl Quadrant {
    /// The quadrant of a pair of correctness.
    #[must_use]
    pub fn of(base: bool, cand: bool) -> Self {
        match (base, cand) {
            (false, true) => Self::Improvement,
            (true, false) => Self::Regression,
            (false, false) => Self::PersistentFail,
            (true, true) => Self::StableSuccess,
        }
    }
}

/// A consumed unit's quadrant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct QuadrantPair {
    /// Where it lies.
    pub quadrant: Quadrant,
}

step_row!(QuadrantPair, QuadrantPair, GateUnitKey);

stored_enum!(
    /// What a step did with a task type.
    StepAction, "action of a step" {
        /// A new version, confirmed.
        AcceptConfirmed = "accept_confirmed",
        /// A new version, on probation.
        AcceptProvisional = "accept_provisional",
        /// The candidate was refused.
        Reject = "reject",
        /// No candidate was gated.
        Skipped = "skipped",
        /// The type rests after a rollback.
        Cooldown = "cooldown",
    }
);

/// One task type's outcome of a step. Without a gate (`skipped`, `cooldown`) all gate fields are null.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// From 0 over the run.
    pub global_step: u32,
    /// What was done.
    pub action: StepAction,
    /// Why the gate stopped.
    pub stop_reason: Option<GateStop>,
    /// Why nothing was gated, in words.
    pub note: Option<String>,
    /// Per consumed unit; without a gate the current correctness over the type's validation questions.
    pub baseline_acc: Option<f64>,
    /// Per consumed unit.
    pub candidate_acc: Option<f64>,
    /// Wins.
    pub wins: Option<u32>,
    /// Losses.
    pub losses: Option<u32>,
    /// E(W, L).
    pub e_value: Option<f64>,
    /// Wald lambda.
    pub lambda: Option<f64>,
    /// (W − L) / n_used.
    pub delta_hat: Option<f64>,
    /// (W − L) / (n_used + 4); observation only.
    pub delta_shrunk: Option<f64>,
    /// Units of the plan.
    pub n_plan: Option<u32>,
    /// Pairs consumed.
    pub n_used: Option<u32>,
    /// Units excluded by INFRA.
    pub n_excluded: Option<u32>,
    /// Units with an INFRA arm, as the guard counted; depends on timing.
    pub errors: Option<u32>,
    /// Question inferences that finished; depends on timing.
    pub inferences: Option<u32>,
    /// Question inferences that were launched and not needed for the verdict; depends on timing.
    pub wasted_runs: Option<u32>,
    /// Wall time of the gate in milliseconds.
    pub wall_ms: Option<u64>,
    /// Edits allowed.
    pub edit_budget: Option<u32>,
    /// Whether edits were clipped.
    pub clipped: Option<bool>,
    /// The skills version the step began with.
    pub source_version: VersionName,
    /// The skills version this acceptance made.
    pub new_version: Option<VersionName>,
    /// The changed file.
    pub target_file: Option<crate::domain::FileName>,
}

step_row!(StepReport, StepReport, TaskType, VERSION = 2; 1 => StepReportV1);
