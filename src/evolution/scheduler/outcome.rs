//! How a task type's gate ended, and what it cost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::failure::FaultCounts;
use crate::domain::{QuestionId, TaskType};
use crate::evolution::gate::{
    EvidenceRow, Flips, GateAction, GateError, GateStop, NoKind, Quadrants, Verdict, classify_quadrants,
    compute_accuracy,
};

/// How a task type's gate ended (design 12). A function of the ladder and the arms'
/// correctness alone: no latency, concurrency or order of arrival changes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateOutcome {
    /// The task type.
    pub task_type: TaskType,
    /// What happens to the candidate.
    pub action: GateAction,
    /// Through which exit.
    pub stop_reason: GateStop,
    /// The kind of "no", for a reject.
    pub no_kind: Option<NoKind>,
    /// E(W, L); with curtailment the least E with which any completion would have ended.
    pub e_value: f64,
    /// lambda(W, L).
    pub wald_lambda: f64,
    /// Wins.
    pub w: u32,
    /// Losses.
    pub l: u32,
    /// Consumed units.
    pub n_used: u32,
    /// Units of the ladder.
    pub n_plan: u32,
    /// Units of the consumed prefix that were excluded for technical failures.
    pub n_excluded: u32,
    /// (W − L) / `n_used`.
    pub delta_hat: f64,
    /// (W − L) / (`n_used` + 4).
    pub delta_shrunk: f64,
    /// Share of consumed units that the current skill got right.
    pub baseline_acc: f64,
    /// Share of consumed units that the candidate got right.
    pub candidate_acc: f64,
    /// The consumed units by what the candidate did to them.
    pub quadrants: Quadrants,
    /// Question → whether the candidate got it right, over consumed units.
    pub candidate_correctness: BTreeMap<QuestionId, bool>,
    /// One row for each unit the prefix passed, in ladder order.
    pub evidence: Vec<EvidenceRow>,
    /// How the gate stopped before its prefix did, if it did.
    pub curtailment: Option<Curtailment>,
}

/// A verdict that was certain before the prefix reached it (design 11): every completion of what
/// was still unknown, technical failures included, would have ended with the same action.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Curtailment {
    /// Units of the plan that were not consumed.
    pub units: u32,
    /// The least E with which a completion would have ended.
    pub e_min: f64,
}

/// What a task type's gate cost. Depends on timing, and is no part of the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GateEffort {
    /// Arms launched.
    pub arms_launched: u32,
    /// Questions of the launched arms.
    pub questions_launched: u32,
    /// Base answers taken from the baseline cache.
    pub base_cached: u32,
    /// Questions run for the units that the prefix passed.
    pub questions_consumed: u32,
    /// Questions in flight at the verdict that ran to their end: stored, not counted; at most the concurrency.
    pub questions_late: u32,
    /// Units with a technical failure in an arm that returned before the verdict (the guard's numerator).
    pub errors: u32,
    /// Questions that finished before the verdict, without cache hits (the guard's denominator).
    pub inferences: u32,
    /// Technical failures of the current skill's arm.
    pub base: FaultCounts,
    /// Technical failures of the candidate's arm.
    pub cand: FaultCounts,
}

impl GateEffort {
    /// Questions that ran and decided nothing: answered beyond the prefix, or after the verdict.
    #[must_use]
    pub fn questions_wasted(&self) -> u32 {
        self.inferences.saturating_sub(self.questions_consumed).saturating_add(self.questions_late)
    }
}

/// A settled gate: the outcome, and what it cost.
#[derive(Debug, Clone, PartialEq)]
pub struct SettledGate {
    /// How it ended.
    pub outcome: GateOutcome,
    /// What it cost.
    pub effort: GateEffort,
}

/// The plan's two counts.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    pub(super) n_plan: u32,
    pub(super) n_excluded: u32,
}

impl GateOutcome {
    /// Puts an outcome together from the verdict and the consumed rows.
    pub(super) fn new(
        task_type: TaskType,
        (stop_reason, verdict): (GateStop, Verdict),
        counted: Counted,
        flips: Flips,
        evidence: Vec<EvidenceRow>,
        candidate_correctness: BTreeMap<QuestionId, bool>,
    ) -> Result<Self, GateError> {
        let observed: BTreeMap<_, _> = evidence
            .iter()
            .filter_map(|row| Some((row.unit_id.clone(), (row.baseline_correct?, row.candidate_correct?))))
            .collect();
        let accuracies = compute_accuracy(&observed)?;
        Ok(Self {
            task_type,
            action: stop_reason.action(),
            stop_reason,
            no_kind: NoKind::of(stop_reason.decision(), flips),
            e_value: verdict.e_value,
            wald_lambda: verdict.wald_lambda,
            w: flips.w(),
            l: flips.l(),
            n_used: u32::try_from(observed.len()).unwrap_or(u32::MAX),
            n_plan: counted.n_plan,
            n_excluded: counted.n_excluded,
            delta_hat: verdict.delta_hat,
            delta_shrunk: verdict.delta_shrunk,
            baseline_acc: accuracies.base,
            candidate_acc: accuracies.cand,
            quadrants: classify_quadrants(&observed),
            candidate_correctness,
            evidence,
            curtailment: None,
        })
    }

    pub(super) fn curtailed_to(&mut self, curtailment: Option<Curtailment>) {
        if let Some(Curtailment { e_min, .. }) = curtailment {
            self.e_value = e_min;
            self.curtailment = curtailment;
        }
    }
}
