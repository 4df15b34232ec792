//! Audits the gates of a stored step: recomputes every verdict from its evidence, with the thresholds of its run.

use std::collections::{BTreeMap, BTreeSet};

use super::gate_replay::{AuditedGate, GateKey, ReplayError};
use crate::domain::{EpochStep, ExitClass, Fault, RunId, TaskType};
use crate::evolution::gate::{Difference, ExcludedArm, GateAction, GateError, GateParams, Replay, StoredRow, replay};
use crate::inspect::{InspectError, config_of, exit_of, steps_of, training_run};
use crate::store::rows::{FailedArm, GateEvidence, GateThresholds, ScopeMark, StartState, StepAction, StepReport};
use crate::store::{Scope, Snapshot, StoreError};

/// What an audit found.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredAudit {
    /// The run.
    pub run: RunId,
    /// The thresholds that its configuration stores.
    pub params: GateParams,
    /// Its gates, in order.
    pub gates: Vec<AuditedGate>,
    /// Task types of the audited steps for which nothing was gated.
    pub ungated: u32,
    /// Steps that were passed over because they are not settled.
    pub unsettled: Vec<EpochStep>,
}

/// Why a step cannot be audited.
#[derive(Debug, thiserror::Error)]
pub enum AuditError {
    /// It is not there.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Numbers without a verdict.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// Its gates are still at work, or were cut off.
    #[error("audit {place} of run {run}: the step is not settled")]
    Unsettled {
        /// The run.
        run: RunId,
        /// The step.
        place: EpochStep,
    },
}

impl Fault for AuditError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Inspect(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Replay(error) => error.class(),
            Self::Unsettled { .. } => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Inspect(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Replay(error) => error.code(),
            Self::Unsettled { .. } => "gate.unsettled",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Inspect(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Replay(error) => error.hint(),
            Self::Unsettled { .. } => Some("'trm train' goes on with it".to_owned()),
        }
    }
}

/// Audits one step, or all settled steps of a run.
///
/// `over` changes the stored thresholds: what would another threshold have decided?
///
/// # Errors
/// [`AuditError`]; differences are no error here but part of the result.
pub fn audit_run(
    snapshot: &Snapshot<'_>,
    run: Option<&RunId>,
    place: Option<EpochStep>,
    over: impl Fn(GateParams) -> Result<GateParams, GateError>,
) -> Result<StoredAudit, AuditError> {
    let (run, row) = training_run(snapshot, run)?;
    let stored = config_of(&run, &row)?.gate.params();
    let failed = |source| ReplayError::Gate { key: Box::new(key(&run, None, None)), source };
    let params = over(stored).map_err(failed)?;
    let known = steps_of(snapshot, &run)?;
    let steps = match place {
        Some(place) if known.contains(&place) => vec![place],
        Some(place) => {
            let hint = format!("'trm inspect run {run}' lists its steps");
            return Err(InspectError::nothing(format!("step {place} of run {run}"), hint).into());
        }
        None => known,
    };
    let mut audit = StoredAudit { run: run.clone(), params, gates: Vec::new(), ungated: 0, unsettled: Vec::new() };
    for step in steps {
        let settled = snapshot.row::<ScopeMark>(&run, Scope::Step(step), &())?.is_some_and(|mark| mark.settled);
        if settled {
            let params = match snapshot.row::<StartState>(&audit.run, Scope::Step(step), &())? {
                Some(start) => over(params_of(start.thresholds)).map_err(failed)?,
                None => params,
            };
            audit_step(snapshot, step, &params, &mut audit)?;
        } else if place.is_some() {
            return Err(AuditError::Unsettled { run, place: step });
        } else {
            audit.unsettled.push(step);
        }
    }
    Ok(audit)
}

fn key(run: &RunId, place: Option<EpochStep>, task_type: Option<&TaskType>) -> GateKey {
    GateKey {
        run_id: Some(run.to_string()),
        epoch: place.map(|place| place.epoch),
        step: place.map(|place| place.step),
        task_type: task_type.cloned(),
    }
}

/// The thresholds that a step was decided by; they may differ from those with which its run began.
fn params_of(stored: GateThresholds) -> GateParams {
    let GateThresholds { e_confirm, e_provisional, w_net_min, delta_min, lambda_dir, e_rollback } = stored;
    GateParams { e_confirm, e_provisional, w_net_min, delta_min, lambda_dir, e_rollback }
}

fn audit_step(
    snapshot: &Snapshot<'_>,
    place: EpochStep,
    params: &GateParams,
    audit: &mut StoredAudit,
) -> Result<(), AuditError> {
    let scope = Scope::Step(place);
    let mut evidence: BTreeMap<TaskType, Vec<StoredRow>> = BTreeMap::new();
    for (key, row) in snapshot.rows::<GateEvidence>(&audit.run, scope)? {
        evidence.entry(key.task_type).or_default().push(stored_row(key.rank, row));
    }
    let reports: BTreeMap<TaskType, StepReport> = snapshot.rows::<StepReport>(&audit.run, scope)?.into_iter().collect();
    let types: BTreeSet<&TaskType> = evidence.keys().chain(reports.keys()).collect();
    for name in types {
        let rows = evidence.get(name).map(Vec::as_slice).unwrap_or_default();
        let report = reports.get(name);
        let gated = report.is_some_and(|report| report.stop_reason.is_some());
        if !gated && rows.is_empty() {
            audit.ungated = audit.ungated.saturating_add(1);
            continue;
        }
        let key = key(&audit.run, Some(place), Some(name));
        let implied = rows.last().and_then(|row| row.n_remaining?.checked_add(row.ladder_rank)?.checked_add(1));
        let Some(n_plan) = report.and_then(|report| report.n_plan).or(implied) else {
            return Err(ReplayError::UnknownPlan(Box::new(key)).into());
        };
        let mut replayed =
            replay(rows, n_plan, params).map_err(|source| ReplayError::Gate { key: Box::new(key.clone()), source })?;
        let differences = match report {
            Some(report) if gated => against_report(&replayed, rows, report),
            _ => vec![difference("step_report", &"no gate", &"a gate with evidence")],
        };
        replayed.differences.extend(differences);
        audit.gates.push(AuditedGate { key, n_plan, replay: replayed });
    }
    Ok(())
}

fn stored_row(rank: u32, row: GateEvidence) -> StoredRow {
    StoredRow {
        unit_id: row.unit_id,
        ladder_rank: rank,
        excluded: row.excluded,
        excluded_arm: row.excluded_arm.map(|arm| match arm {
            FailedArm::Base => ExcludedArm::Base,
            FailedArm::Cand => ExcludedArm::Cand,
            FailedArm::Both => ExcludedArm::Both,
        }),
        baseline_correct: row.base_correct,
        candidate_correct: row.cand_correct,
        w: Some(row.wins),
        l: Some(row.losses),
        n_used: Some(row.n_used),
        n_remaining: Some(row.n_remaining),
        e_value: Some(row.e_value),
        wald_lambda: Some(row.lambda),
        stop_reason: row.stop_reason.map(exit_of),
        curtailed: row.curtailed,
    }
}

fn difference(field: &'static str, stored: &dyn std::fmt::Display, recomputed: &dyn std::fmt::Display) -> Difference {
    Difference {
        ladder_rank: None,
        unit_id: None,
        field,
        stored: stored.to_string(),
        recomputed: recomputed.to_string(),
    }
}

/// What the report of the step claims about the gate as a whole.
fn against_report(replayed: &Replay, rows: &[StoredRow], report: &StepReport) -> Vec<Difference> {
    let mut found = Vec::new();
    // Curtailment settles units whose answers are not in the evidence: there the claimed exit stands, which the replay
    // has checked for being possible.
    let claimed = rows.iter().rev().find(|row| !row.excluded).and_then(|row| row.stop_reason);
    let stop = if replayed.curtailed > 0 { claimed } else { replayed.stop() };
    let name = |action: Option<GateAction>| action.map_or("none", GateAction::name);
    let action = stop.map(|stop| stop.action());
    if stored_action(report.action) != action {
        found.push(difference("action", &report.action, &name(action)));
    }
    if report.stop_reason.map(exit_of) != stop {
        let text = |stop: Option<crate::evolution::gate::GateStop>| stop.map_or("none", |stop| stop.name());
        found.push(difference("report.stop_reason", &text(report.stop_reason.map(exit_of)), &text(stop)));
    }
    let counts = [
        ("report.w", report.wins, replayed.flips.w()),
        ("report.l", report.losses, replayed.flips.l()),
        ("report.n_used", report.n_used, replayed.n_used),
        ("report.n_excluded", report.n_excluded, replayed.n_excluded),
    ];
    for (field, stored, recomputed) in counts {
        if stored != Some(recomputed) {
            let stored = stored.map_or_else(|| "null".to_owned(), |stored| stored.to_string());
            found.push(difference(field, &stored, &recomputed));
        }
    }
    let share = |right: fn(&StoredRow) -> Option<bool>| {
        let known: Vec<bool> = rows.iter().filter_map(right).collect();
        let right = u32::try_from(known.iter().filter(|right| **right).count()).unwrap_or(u32::MAX);
        f64::from(right) / f64::from(u32::try_from(known.len()).unwrap_or(u32::MAX))
    };
    let verdict = replayed.verdict;
    let numbers = [
        ("report.e_value", report.e_value, verdict.map(|verdict| verdict.e_value)),
        ("report.lambda", report.lambda, verdict.map(|verdict| verdict.wald_lambda)),
        ("report.delta_hat", report.delta_hat, verdict.map(|verdict| verdict.delta_hat)),
        ("report.delta_shrunk", report.delta_shrunk, verdict.map(|verdict| verdict.delta_shrunk)),
        ("report.baseline_acc", report.baseline_acc, Some(share(|row| row.baseline_correct))),
        ("report.candidate_acc", report.candidate_acc, Some(share(|row| row.candidate_correct))),
    ];
    for (field, stored, recomputed) in numbers {
        let same = match (stored, recomputed) {
            (Some(stored), Some(recomputed)) => {
                (stored - recomputed).abs() <= 1e-9 * stored.abs().max(recomputed.abs()).max(1e-300)
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if !same {
            let text = |number: Option<f64>| number.map_or_else(|| "null".to_owned(), |number| number.to_string());
            found.push(difference(field, &text(stored), &text(recomputed)));
        }
    }
    found
}

fn stored_action(action: StepAction) -> Option<GateAction> {
    match action {
        StepAction::AcceptConfirmed => Some(GateAction::AcceptConfirmed),
        StepAction::AcceptProvisional => Some(GateAction::AcceptProvisional),
        StepAction::Reject => Some(GateAction::Reject),
        StepAction::Skipped | StepAction::Cooldown => None,
    }
}
