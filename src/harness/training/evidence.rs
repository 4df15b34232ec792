//! From a gate's outcome to the rows that replay it.

use std::collections::BTreeMap;

use super::candidates::Candidate;
use crate::domain::{RunId, TaskType, Unit, UnitId};
use crate::evolution::gate::{self, ExcludedArm, GateAction};
use crate::evolution::scheduler::SettledGate;
use crate::store::rows::{FailedArm, GateEvidence, GateStop, Quadrant, QuadrantPair, StepAction, StepReport};
use crate::store::{Batch, GateUnitKey, RankKey, Scope};

/// Evidence of every unit that the prefix passed, and the quadrant of every consumed one.
pub(super) fn put_evidence(batch: &mut Batch, run: &RunId, scope: Scope, units: &[Unit], gate: &SettledGate) {
    let task_type = &gate.outcome.task_type;
    let questions: BTreeMap<&UnitId, &Unit> = units.iter().map(|unit| (&unit.unit_id, unit)).collect();
    for row in &gate.outcome.evidence {
        let stored = GateEvidence {
            unit_id: row.unit_id.clone(),
            questions: questions.get(&row.unit_id).map(|unit| unit.question_ids.clone()).unwrap_or_default(),
            base_correct: row.baseline_correct,
            cand_correct: row.candidate_correct,
            base_cached: row.base_cached,
            excluded: row.excluded.is_some(),
            excluded_arm: row.excluded.map(failed_arm),
            wins: row.w,
            losses: row.l,
            n_used: row.n_used,
            n_remaining: row.n_remaining,
            e_value: row.e_value,
            lambda: row.wald_lambda,
            stop_reason: row.stop_reason.map(stored_stop),
            curtailed: row.curtailed,
        };
        batch.put(run, scope, &RankKey { task_type: task_type.clone(), rank: row.ladder_rank }, &stored);
        if let (Some(base), Some(cand)) = (row.baseline_correct, row.candidate_correct) {
            let key = GateUnitKey { task_type: task_type.clone(), unit: row.unit_id.clone() };
            batch.put(run, scope, &key, &QuadrantPair { quadrant: Quadrant::of(base, cand) });
        }
    }
}

/// The report of a gated task type, without what its acceptance made.
pub(super) fn gated_report(
    base: &StepReport,
    candidate: &Candidate,
    gate: &SettledGate,
    wall_ms: u64,
    task_type: &TaskType,
) -> StepReport {
    let (outcome, effort, record) = (&gate.outcome, &gate.effort, &candidate.record);
    StepReport {
        action: stored_action(outcome.action),
        stop_reason: Some(stored_stop(outcome.stop_reason)),
        note: None,
        baseline_acc: Some(outcome.baseline_acc),
        candidate_acc: Some(outcome.candidate_acc),
        wins: Some(outcome.w),
        losses: Some(outcome.l),
        e_value: Some(outcome.e_value),
        lambda: Some(outcome.wald_lambda),
        delta_hat: Some(outcome.delta_hat),
        delta_shrunk: Some(outcome.delta_shrunk),
        n_plan: Some(outcome.n_plan),
        n_used: Some(outcome.n_used),
        n_excluded: Some(outcome.n_excluded),
        errors: Some(effort.errors),
        inferences: Some(effort.inferences),
        wasted_runs: Some(effort.questions_wasted()),
        wall_ms: Some(wall_ms),
        edit_budget: Some(record.edit_budget),
        clipped: Some(record.clip_info.triggered),
        target_file: Some(task_type.skill_file()),
        ..base.clone()
    }
}

fn failed_arm(arm: ExcludedArm) -> FailedArm {
    match arm {
        ExcludedArm::Base => FailedArm::Base,
        ExcludedArm::Cand => FailedArm::Cand,
        ExcludedArm::Both => FailedArm::Both,
    }
}

fn stored_stop(stop: gate::GateStop) -> GateStop {
    match stop {
        gate::GateStop::Confirmed => GateStop::Confirmed,
        gate::GateStop::Directional => GateStop::Directional,
        gate::GateStop::Futility => GateStop::Futility,
        gate::GateStop::Provisional => GateStop::Provisional,
        gate::GateStop::Inertia => GateStop::Inertia,
    }
}

fn stored_action(action: GateAction) -> StepAction {
    match action {
        GateAction::AcceptConfirmed => StepAction::AcceptConfirmed,
        GateAction::AcceptProvisional => StepAction::AcceptProvisional,
        GateAction::Reject => StepAction::Reject,
    }
}
