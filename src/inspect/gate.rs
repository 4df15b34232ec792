//! The gates of a step: the evidence unit by unit, and the verdict in words.

use serde::Serialize;

use super::found::{InspectError, config_of, needs_step, pick_type, training_run};
use crate::domain::{EpochStep, RunId, TaskType};
use crate::evolution::gate::{Flips, GateParams, GateStop as Exit, NoKind, explain_decision};
use crate::store::rows::{FailedArm, GateEvidence, GateStop, StepReport};
use crate::store::{RankKey, Scope, Snapshot};

/// One gate.
#[derive(Debug, Clone, Serialize)]
pub struct GateView {
    /// The run.
    pub run_id: String,
    /// `e1 s0`.
    pub step: String,
    /// The task type.
    pub task_type: TaskType,
    /// The thresholds in force; null if another version of the program wrote the run's configuration.
    pub thresholds: Option<GateParams>,
    /// Units of the plan; null while the step is not settled.
    pub n_plan: Option<u32>,
    /// What was done; null while the step is not settled.
    pub action: Option<&'static str>,
    /// Which of the three kinds of no it is.
    pub no_kind: Option<NoKind>,
    /// The verdict in words.
    pub reason: String,
    /// Units settled by curtailment behind the last row.
    pub curtailed: u32,
    /// The ladder as far as it was consumed.
    pub evidence: Vec<GateRow>,
}

/// One unit of the ladder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GateRow {
    /// Place in the plan, from 0.
    pub ladder_rank: u32,
    /// The unit.
    pub unit_id: String,
    /// Its questions.
    pub questions: Vec<String>,
    /// The current skill's correctness; null when excluded.
    pub base_correct: Option<bool>,
    /// The candidate's.
    pub cand_correct: Option<bool>,
    /// Wins after it.
    pub w: u32,
    /// Losses after it.
    pub l: u32,
    /// Pairs after it.
    pub n_used: u32,
    /// Units left.
    pub n_remaining: u32,
    /// E(W, L) after it.
    pub e_value: f64,
    /// Wald lambda after it.
    pub lambda: f64,
    /// `base`, `cand` or `both`, when a technical failure took it out.
    pub excluded_arm: Option<&'static str>,
    /// Whether the base answer came from the baseline cache.
    pub base_cached: bool,
    /// On the last consumed unit.
    pub stop_reason: Option<&'static str>,
}

/// The gates of a step, by task type; of one type if named by its name or slug.
///
/// # Errors
/// There is no such run, step or gate, or the store cannot be read.
pub fn gates(
    snapshot: &Snapshot<'_>,
    run: Option<&RunId>,
    place: EpochStep,
    task_type: Option<&str>,
) -> Result<Vec<GateView>, InspectError> {
    let (run, row) = training_run(snapshot, run)?;
    needs_step(snapshot, &run, place)?;
    let params = config_of(&run, &row).ok().map(|config| config.gate.params());
    let scope = Scope::Step(place);
    let evidence = snapshot.rows::<GateEvidence>(&run, scope)?;
    let mut types: Vec<&TaskType> = evidence.iter().map(|(key, _)| &key.task_type).collect();
    types.dedup();
    let wanted =
        task_type.map(|name| pick_type(types.iter().copied(), name, &format!("a gate in {place}"))).transpose()?;
    if types.is_empty() {
        let hint = format!("nothing was gated in {place}: 'trm inspect step {place}' says why");
        return Err(InspectError::nothing(format!("a gate in {place}"), hint));
    }
    let mut views = Vec::new();
    for name in types.into_iter().filter(|name| wanted.as_ref().is_none_or(|wanted| wanted == *name)) {
        let report = snapshot.row::<StepReport>(&run, scope, name)?;
        let rows: Vec<&(RankKey, GateEvidence)> = evidence.iter().filter(|(key, _)| key.task_type == *name).collect();
        let last = rows.iter().rev().find(|(_, row)| !row.excluded).map(|(_, row)| row);
        views.push(GateView {
            run_id: run.to_string(),
            step: place.to_string(),
            task_type: name.clone(),
            thresholds: params,
            n_plan: report.as_ref().and_then(|report| report.n_plan),
            action: report.as_ref().map(|report| report.action.name()),
            no_kind: report.as_ref().and_then(no_kind),
            reason: report
                .as_ref()
                .map_or_else(|| "not settled yet".to_owned(), |report| reason(report, last, params.as_ref())),
            curtailed: last.map_or(0, |row| row.curtailed),
            evidence: rows.iter().map(|(key, row)| gate_row(key.rank, row)).collect(),
        });
    }
    Ok(views)
}

fn gate_row(rank: u32, row: &GateEvidence) -> GateRow {
    GateRow {
        ladder_rank: rank,
        unit_id: row.unit_id.to_string(),
        questions: row.questions.iter().map(ToString::to_string).collect(),
        base_correct: row.base_correct,
        cand_correct: row.cand_correct,
        w: row.wins,
        l: row.losses,
        n_used: row.n_used,
        n_remaining: row.n_remaining,
        e_value: row.e_value,
        lambda: row.lambda,
        excluded_arm: row.excluded_arm.map(FailedArm::name),
        base_cached: row.base_cached,
        stop_reason: row.stop_reason.map(GateStop::name),
    }
}

/// The stored exit in the kernel's words.
#[must_use]
pub(crate) fn exit_of(stop: GateStop) -> Exit {
    match stop {
        GateStop::Confirmed => Exit::Confirmed,
        GateStop::Directional => Exit::Directional,
        GateStop::Futility => Exit::Futility,
        GateStop::Provisional => Exit::Provisional,
        GateStop::Inertia => Exit::Inertia,
    }
}

fn flips(report: &StepReport) -> Option<Flips> {
    Flips::new(report.wins?.into(), report.losses?.into()).ok()
}

/// Which kind of no a report is.
pub(crate) fn no_kind(report: &StepReport) -> Option<NoKind> {
    NoKind::of(exit_of(report.stop_reason?).decision(), flips(report)?)
}

/// Why a task type's part of a step ended as it did.
pub(crate) fn reason(report: &StepReport, last: Option<&GateEvidence>, params: Option<&GateParams>) -> String {
    let (Some(stop), Some(flips), Some(used)) = (report.stop_reason, flips(report), report.n_used) else {
        return report.note.clone().unwrap_or_else(|| "nothing was gated".to_owned());
    };
    if let Some(curtailed) = last.map(|row| row.curtailed).filter(|units| *units > 0) {
        let kind = no_kind(report).map_or("accepted", NoKind::phrase);
        return format!(
            "{kind}: {} won and {} lost of {used} units; the answers that had come in made {stop} certain with {curtailed} units to go.",
            flips.w(),
            flips.l()
        );
    }
    let remaining = report.n_plan.unwrap_or(used).saturating_sub(report.n_excluded.unwrap_or(0)).saturating_sub(used);
    match params {
        Some(params) => explain_decision(exit_of(stop).decision(), flips, used.into(), remaining.into(), params),
        None => format!("{stop}: {} won and {} lost of {used} units", flips.w(), flips.l()),
    }
}
