//! The evidence of a gate: one row for each unit the prefix passed, in ladder order.

use serde::{Deserialize, Serialize};

use super::GateStop;
use crate::domain::UnitId;

/// One unit that the prefix passed, and where the gate stood after it (design 12).
///
/// With `n_plan` and the thresholds, the rows suffice to recompute the verdict.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceRow {
    /// The unit.
    pub unit_id: UnitId,
    /// Its place in the plan, from 0; excluded units keep theirs.
    pub ladder_rank: u32,
    /// Which arm failed technically; none for a consumed unit.
    pub excluded: Option<ExcludedArm>,
    /// Whether the current skill got it right; none if excluded.
    pub baseline_correct: Option<bool>,
    /// Whether the candidate got it right; none if excluded.
    pub candidate_correct: Option<bool>,
    /// Whether the base answer came from the baseline cache.
    pub base_cached: bool,
    /// Wins so far.
    pub w: u32,
    /// Losses so far.
    pub l: u32,
    /// Consumed units so far.
    pub n_used: u32,
    /// Units of the plan still to come, excluded ones not counted.
    pub n_remaining: u32,
    /// E(W, L).
    pub e_value: f64,
    /// lambda(W, L).
    pub wald_lambda: f64,
    /// The exit; on the last consumed row only.
    pub stop_reason: Option<GateStop>,
    /// How many remaining units could not change the verdict any more, so that the gate stopped
    /// without them (curtailment); on the last consumed row only, else 0.
    pub curtailed: u32,
}

/// Which arm of an excluded unit failed technically.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExcludedArm {
    /// The current skill's.
    Base,
    /// The candidate's.
    Cand,
    /// Both.
    Both,
}

impl EvidenceRow {
    /// Whether the unit was consumed, that is, not excluded.
    #[must_use]
    pub fn is_consumed(&self) -> bool {
        self.excluded.is_none()
    }
}
