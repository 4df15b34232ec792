//! One step, explained: what was answered, what was written, what the gates decided and why.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::found::{InspectError, config_of, needs_step, training_run};
use super::gate::{no_kind, reason};
use super::run::{UsageView, usage_views};
use crate::domain::{EpochStep, RunId, TaskType};
use crate::evolution::gate::{GateParams, NoKind};
use crate::store::rows::{
    CasePack, Checkpoint, Evolution, GateEvidence, Outcome, Prediction, Quadrant, QuadrantPair, QuestionMetrics,
    ScopeMark, StartState, StepReport, Usage,
};
use crate::store::{Scope, Snapshot, StoreError, Target};

/// Counts of answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct AnswerCounts {
    /// Right.
    pub correct: u32,
    /// Wrong, unparsed ones included.
    pub wrong: u32,
    /// Technical failures, which count nowhere.
    pub infra: u32,
}

impl AnswerCounts {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Correct => self.correct += 1,
            Outcome::Wrong | Outcome::Unparsed => self.wrong += 1,
            Outcome::Infra => self.infra += 1,
        }
    }

    /// Share right of those that count.
    #[must_use]
    pub fn accuracy(&self) -> Option<f64> {
        let counted = f64::from(self.correct) + f64::from(self.wrong);
        (counted > 0.0).then(|| f64::from(self.correct) / counted)
    }
}

/// One step.
#[derive(Debug, Clone, Serialize)]
pub struct StepView {
    /// The run.
    pub run_id: String,
    /// `e1 s0`.
    pub step: String,
    /// From 0 over the run.
    pub global_step: Option<u32>,
    /// Whether its settlement is stored.
    pub settled: bool,
    /// When it began, in milliseconds since 1970.
    pub begun_ms: Option<i64>,
    /// Skills and prompts that it began with.
    pub versions: Option<(String, String)>,
    /// Answers of the mini-batch.
    pub batch: AnswerCounts,
    /// The same by task type.
    pub batch_by_type: BTreeMap<TaskType, AnswerCounts>,
    /// One for each task type that has a report.
    pub task_types: Vec<TypeView>,
    /// What writers were shown.
    pub case_packs: Vec<PackView>,
    /// Model use by role.
    pub usage: Vec<UsageView>,
}

/// What a step did with one task type. Gate fields are null where nothing was gated.
#[derive(Debug, Clone, Serialize)]
pub struct TypeView {
    /// The task type.
    pub task_type: TaskType,
    /// `accept_confirmed`, `accept_provisional`, `reject`, `skipped` or `cooldown`.
    pub action: &'static str,
    /// The exit of the gate.
    pub stop_reason: Option<&'static str>,
    /// Which of the three kinds of no it is.
    pub no_kind: Option<NoKind>,
    /// Why, in words.
    pub reason: String,
    /// Wins.
    pub w: Option<u32>,
    /// Losses.
    pub l: Option<u32>,
    /// E(W, L).
    pub e_value: Option<f64>,
    /// Wald lambda.
    pub lambda: Option<f64>,
    /// Pairs consumed.
    pub n_used: Option<u32>,
    /// Units of the plan.
    pub n_plan: Option<u32>,
    /// Units that technical failures took out.
    pub n_excluded: Option<u32>,
    /// Question inferences that the verdict did not need.
    pub wasted_runs: Option<u32>,
    /// Wall time of the gate in milliseconds.
    pub wall_ms: Option<u64>,
    /// Of the current skill, per consumed unit; without a gate over the type's validation questions.
    pub baseline_acc: Option<f64>,
    /// Of the candidate, per consumed unit.
    pub candidate_acc: Option<f64>,
    /// E along the ladder; null for excluded units.
    pub e_path: Vec<Option<f64>>,
    /// Consumed units by quadrant.
    pub quadrants: BTreeMap<&'static str, u32>,
    /// Edits allowed.
    pub edit_budget: Option<u32>,
    /// The skills version before.
    pub source_version: String,
    /// The version that the acceptance made.
    pub new_version: Option<String>,
    /// The file concerned.
    pub target_file: Option<String>,
    /// What the writer proposed.
    pub evolution: Option<EvolutionView>,
    /// Diagnosed failures by error type.
    pub error_types: BTreeMap<String, u32>,
    /// Probation and rest before and after, in words, where they changed.
    pub state_change: Option<String>,
}

/// What a writer was shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PackView {
    /// `skill:TYPE`, `system` or `tool:NAME`.
    pub target: String,
    /// Questions.
    pub questions: usize,
    /// Of these, failures.
    pub failures: u32,
    /// Of these, successes.
    pub successes: u32,
}

/// What a writer made of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EvolutionView {
    /// `skill:TYPE`, `system` or `tool:NAME`.
    pub target: String,
    /// `applied`, `applied_append`, `rejected` or `skipped`.
    pub status: &'static str,
    /// Why, when rejected or skipped.
    pub reason: Option<String>,
    /// `lapse`, `rewrite` or `patch`.
    pub branch: String,
    /// Attempts after the first.
    pub retries: u32,
    /// Edits before and after clipping, where they were clipped.
    pub clipped: Option<(u32, u32)>,
    /// The edits with what became of them.
    pub edits: Vec<EditView>,
    /// Notes added to the appendix.
    pub lapse_notes: Vec<String>,
}

/// One edit. Model text: whoever prints it makes it harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditView {
    /// `append`, `insert_after`, `replace`, `delete`, or what the model wrote.
    pub op: String,
    /// `applied`, `skipped_frozen` …; empty if there is no report of it.
    pub status: String,
    /// Where.
    pub target: String,
    /// What.
    pub content: String,
}

/// The step of a run, or of the newest training.
///
/// # Errors
/// There is no such run or step, or the store cannot be read.
pub fn step(snapshot: &Snapshot<'_>, run: Option<&RunId>, place: EpochStep) -> Result<StepView, InspectError> {
    let (run, row) = training_run(snapshot, run)?;
    needs_step(snapshot, &run, place)?;
    let params = config_of(&run, &row).ok().map(|config| config.gate.params());
    let scope = Scope::Step(place);
    let mark = snapshot.row::<ScopeMark>(&run, scope, &())?;
    let (batch, batch_by_type) = rollout(snapshot, &run, scope)?;
    let packs = snapshot.rows::<CasePack>(&run, scope)?;
    Ok(StepView {
        run_id: run.to_string(),
        step: place.to_string(),
        global_step: mark.as_ref().and_then(|mark| mark.global_step),
        settled: mark.as_ref().is_some_and(|mark| mark.settled),
        begun_ms: mark.as_ref().map(|mark| mark.begun_ms),
        versions: mark.map(|mark| (mark.versions.skills.to_string(), mark.versions.prompts.to_string())),
        batch,
        batch_by_type,
        task_types: task_types(snapshot, &run, place, params.as_ref())?,
        case_packs: packs.iter().map(|(target, pack)| pack_view(target, pack)).collect(),
        usage: usage(snapshot, &run, scope)?,
    })
}

fn rollout(
    snapshot: &Snapshot<'_>,
    run: &RunId,
    scope: Scope,
) -> Result<(AnswerCounts, BTreeMap<TaskType, AnswerCounts>), StoreError> {
    let mut all = AnswerCounts::default();
    let mut by_type: BTreeMap<TaskType, AnswerCounts> = BTreeMap::new();
    for (_, row) in snapshot.rows_of::<Prediction>(run, scope, &crate::domain::Phase::Rollout)? {
        all.add(row.outcome);
        by_type.entry(row.task_type).or_default().add(row.outcome);
    }
    Ok((all, by_type))
}

fn usage(snapshot: &Snapshot<'_>, run: &RunId, scope: Scope) -> Result<Vec<UsageView>, StoreError> {
    let mut by_role: BTreeMap<crate::domain::Role, Usage> = BTreeMap::new();
    for (key, row) in snapshot.usage(run)?.into_iter().filter(|(key, _)| key.scope == scope) {
        by_role.entry(key.role).or_default().add(&row);
    }
    Ok(usage_views(by_role))
}

fn task_types(
    snapshot: &Snapshot<'_>,
    run: &RunId,
    place: EpochStep,
    params: Option<&GateParams>,
) -> Result<Vec<TypeView>, StoreError> {
    let scope = Scope::Step(place);
    let evidence = snapshot.rows::<GateEvidence>(run, scope)?;
    let quadrants = snapshot.rows::<QuadrantPair>(run, scope)?;
    let metrics = snapshot.rows::<QuestionMetrics>(run, scope)?;
    let before = snapshot.row::<StartState>(run, scope, &())?.map(|start| start.state);
    let after = state_after(snapshot, run, place)?;
    let mut views = Vec::new();
    for (task_type, report) in snapshot.rows::<StepReport>(run, scope)? {
        let of_type: Vec<&GateEvidence> =
            evidence.iter().filter(|(key, _)| key.task_type == task_type).map(|(_, row)| row).collect();
        let last = of_type.iter().rev().find(|row| !row.excluded).copied();
        let mut counts: BTreeMap<&'static str, u32> = Quadrant::ALL.iter().map(|one| (one.name(), 0)).collect();
        for (_, row) in quadrants.iter().filter(|(key, _)| key.task_type == task_type) {
            *counts.entry(row.quadrant.name()).or_default() += 1;
        }
        let mut error_types = BTreeMap::new();
        for (_, row) in metrics.iter().filter(|(_, row)| row.task_type == task_type) {
            if let Some(name) = &row.error_type {
                *error_types.entry(name.clone()).or_default() += 1;
            }
        }
        let target = Target::Skill(task_type.clone());
        let evolution = snapshot.row::<Evolution>(run, scope, &target)?;
        views.push(TypeView {
            action: report.action.name(),
            stop_reason: report.stop_reason.map(crate::store::rows::GateStop::name),
            no_kind: no_kind(&report),
            reason: reason(&report, last, params),
            w: report.wins,
            l: report.losses,
            e_value: report.e_value,
            lambda: report.lambda,
            n_used: report.n_used,
            n_plan: report.n_plan,
            n_excluded: report.n_excluded,
            wasted_runs: report.wasted_runs,
            wall_ms: report.wall_ms,
            baseline_acc: report.baseline_acc,
            candidate_acc: report.candidate_acc,
            e_path: of_type.iter().map(|row| (!row.excluded).then_some(row.e_value)).collect(),
            quadrants: counts,
            edit_budget: report.edit_budget,
            source_version: report.source_version.to_string(),
            new_version: report.new_version.map(|version| version.to_string()),
            target_file: report.target_file.as_ref().map(ToString::to_string),
            evolution: evolution.map(|row| evolution_view(&target, row)),
            error_types,
            state_change: before.as_ref().zip(after.as_ref()).and_then(|(a, b)| state_change(&task_type, a, b)),
            task_type,
        });
    }
    Ok(views)
}

/// The training state behind a step: what the next step began with, or the current one if the step is the last.
fn state_after(snapshot: &Snapshot<'_>, run: &RunId, place: EpochStep) -> Result<Option<Checkpoint>, StoreError> {
    let next = Scope::step(place.epoch, place.step.saturating_add(1));
    if let Some(start) = snapshot.row::<StartState>(run, next, &())? {
        return Ok(Some(start.state));
    }
    let current = snapshot.checkpoint(run)?;
    let is_last = |state: &Checkpoint| matches!(state.progress, crate::store::rows::Progress::InEpoch { step, .. } if step == place);
    Ok(current.filter(is_last))
}

/// What became of probation and rest, in words.
fn state_change(task_type: &TaskType, before: &Checkpoint, after: &Checkpoint) -> Option<String> {
    let mut parts = Vec::new();
    match (before.probations.get(task_type), after.probations.get(task_type)) {
        (None, Some(new)) => parts.push(format!("probation opened, anchor {}", new.anchor_skills_version)),
        (Some(_), None) => parts.push("probation closed".to_owned()),
        (Some(old), Some(new)) if old != new => {
            parts.push(format!("probation extended, anchor {}", new.anchor_skills_version));
        }
        (Some(old), Some(_)) => parts.push(format!("on probation since step {}", old.opened_step)),
        (None, None) => {}
    }
    match (before.gate_cooldown.get(task_type), after.gate_cooldown.get(task_type)) {
        (Some(_), None) => parts.push("the rest is over".to_owned()),
        (_, Some(left)) => parts.push(format!("rests for {left} more steps")),
        (None, None) => {}
    }
    (!parts.is_empty()).then(|| parts.join("; "))
}

pub(super) fn pack_view(target: &Target, pack: &CasePack) -> PackView {
    PackView {
        target: target.to_string(),
        questions: pack.questions.len(),
        failures: pack.failures,
        successes: pack.successes,
    }
}

pub(super) fn evolution_view(target: &Target, row: Evolution) -> EvolutionView {
    EvolutionView {
        target: target.to_string(),
        status: row.status.name(),
        reason: row.reason,
        branch: row.branch,
        retries: row.retries,
        clipped: row.clip.filter(|clip| clip.triggered).map(|clip| (clip.before, clip.after)),
        edits: edits(&row.edits, &row.apply_report),
        lapse_notes: row.lapse_notes,
    }
}

/// Edits and their report are JSON text of the writer's making: what is not there is left empty.
fn edits(edits: &str, report: &str) -> Vec<EditView> {
    let list = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap_or_default();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let report = list(report);
    let view = |(index, proposed): (usize, Value)| {
        let edit = proposed.get("edit").unwrap_or(&proposed);
        EditView {
            op: text(edit, "op"),
            status: report.get(index).map(|row| text(row, "status")).unwrap_or_default(),
            target: text(edit, "target"),
            content: text(edit, "content"),
        }
    };
    list(edits).into_iter().enumerate().map(view).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_of_any_shape_are_read_without_a_panic() {
        let found = edits(
            r#"[{"file":"a.md","edit":{"op":"append","target":"","content":"x"}},7,{"op":"delete"}]"#,
            r#"[{"status":"applied"}]"#,
        );
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].op.as_str(), found[0].status.as_str()), ("append", "applied"));
        assert_eq!((found[2].op.as_str(), found[2].status.as_str()), ("delete", ""));
        assert!(edits("no json", "{}").is_empty());
    }
}
