//! A training as a whole: its steps, its epochs, the best accuracy over time, and what went wrong.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;

use super::found::{config_of, steps_of};
use super::step::AnswerCounts;
use crate::domain::{EpochStep, Phase, RunId, StopReason, TaskType};
use crate::store::rows::{
    DualMetricEval, EpochReport, HoldoutEval, Outcome, PointerName, Prediction, Progress, Run, ScopeMark, StepAction,
    StepReport, VersionPair,
};
use crate::store::{AnswerKey, PhaseKey, Scope, Snapshot, StoreError};

/// A training.
#[derive(Debug, Clone, Serialize)]
pub struct TrainingView {
    /// Where it is, in words.
    pub progress: Option<String>,
    /// Its steps in order.
    pub steps: Vec<StepLine>,
    /// Its epochs in order.
    pub epochs: Vec<EpochLine>,
    /// The best versions now.
    pub best: Option<VersionsView>,
    /// Their validation accuracy.
    pub best_val_acc: Option<f64>,
    /// Steps since they were found.
    pub steps_since_best_improved: Option<u32>,
    /// Task types on probation, with the last confirmed version.
    pub probations: BTreeMap<TaskType, String>,
    /// Resting task types, with the steps left.
    pub cooldowns: BTreeMap<TaskType, u32>,
    /// Technical failures by phase, where there are any.
    pub failures: Vec<FailureLine>,
    /// Gates so far.
    pub gates: u32,
    /// Of these, confirmed accepts.
    pub confirmed: u32,
    /// Of these, accepts on probation.
    pub provisional: u32,
    /// The most false confirmed accepts to expect if no candidate helped: gates / `e_confirm`.
    pub false_accept_bound: Option<f64>,
}

/// Skills and prompts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VersionsView {
    /// Skills.
    pub skills: String,
    /// Prompts.
    pub prompts: String,
}

impl From<VersionPair> for VersionsView {
    fn from(pair: VersionPair) -> Self {
        Self { skills: pair.skills.to_string(), prompts: pair.prompts.to_string() }
    }
}

/// One step of the table.
#[derive(Debug, Clone, Serialize)]
pub struct StepLine {
    /// `e1 s0`.
    pub step: String,
    /// Whether it is settled.
    pub settled: bool,
    /// Answers of the mini-batch.
    pub batch: AnswerCounts,
    /// What was done per task type.
    pub actions: Vec<ActionLine>,
}

/// What a step did with one task type.
#[derive(Debug, Clone, Serialize)]
pub struct ActionLine {
    /// The task type.
    pub task_type: TaskType,
    /// The action.
    pub action: &'static str,
    /// E, where something was gated.
    pub e_value: Option<f64>,
    /// The version that it made.
    pub new_version: Option<String>,
}

/// One epoch of the table.
#[derive(Debug, Clone, Serialize)]
pub struct EpochLine {
    /// From 1.
    pub epoch: u32,
    /// Validation accuracy of the re-run R.
    pub r_accuracy: Option<f64>,
    /// Of R2, if it ran.
    pub r2_accuracy: Option<f64>,
    /// The best validation accuracy so far.
    pub best_val_acc: Option<f64>,
    /// The versions it belongs to.
    pub best: Option<VersionsView>,
    /// What became of the prompts.
    pub system_tool_action: Option<&'static str>,
    /// Accuracy on the test pool with the versions of the epoch's end; nothing selects on it.
    pub holdout_end: Option<f64>,
    /// Whether the epoch's report is stored.
    pub done: bool,
}

/// Technical failures of one phase.
#[derive(Debug, Clone, Serialize)]
pub struct FailureLine {
    /// The phase.
    pub phase: &'static str,
    /// Questions asked.
    pub asked: u32,
    /// Of these, failed.
    pub failed: u32,
    /// By the way they ended.
    pub by_stop_reason: BTreeMap<&'static str, u32>,
}

/// The view of a training.
///
/// # Errors
/// The store cannot be read.
pub fn training(snapshot: &Snapshot<'_>, run: &RunId, row: &Run) -> Result<TrainingView, StoreError> {
    let state = snapshot.checkpoint(run)?;
    // The manifest is the workspace's: what it names belongs to this run only if this run moved it there.
    let mut steps = Vec::new();
    for place in steps_of(snapshot, run)? {
        steps.push(step_line(snapshot, run, place)?);
    }
    let epochs = epochs(snapshot, run)?;
    let count = |wanted: &[StepAction]| {
        let all = steps.iter().flat_map(|step| &step.actions);
        let found = all.filter(|line| wanted.iter().any(|action| action.name() == line.action)).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    let gates = count(&[StepAction::AcceptConfirmed, StepAction::AcceptProvisional, StepAction::Reject]);
    let e_confirm = config_of(run, row).ok().map(|config| config.gate.e_confirm);
    let pointer = snapshot.pointer(PointerName::Best)?;
    let reported = epochs.iter().rev().find(|epoch| epoch.done);
    Ok(TrainingView {
        progress: state.as_ref().map(|state| progress_words(state.progress)),
        best: reported
            .and_then(|epoch| epoch.best.clone())
            .or_else(|| pointer.as_ref().map(|pointer| pointer.versions.into())),
        best_val_acc: reported.map_or_else(|| pointer.and_then(|pointer| pointer.val_acc), |epoch| epoch.best_val_acc),
        steps_since_best_improved: state.as_ref().map(|state| state.steps_since_best_improved),
        probations: state
            .iter()
            .flat_map(|state| &state.probations)
            .map(|(name, probation)| (name.clone(), probation.anchor_skills_version.to_string()))
            .collect(),
        cooldowns: state.map(|state| state.gate_cooldown).unwrap_or_default(),
        failures: failures(snapshot, run)?,
        confirmed: count(&[StepAction::AcceptConfirmed]),
        provisional: count(&[StepAction::AcceptProvisional]),
        false_accept_bound: e_confirm.map(|e_confirm| f64::from(gates) / e_confirm),
        gates,
        steps,
        epochs,
    })
}

/// Where a training is, for a person.
#[must_use]
pub fn progress_words(progress: Progress) -> String {
    match progress {
        Progress::Prepared => "pools and ladder stand, no step is settled".to_owned(),
        Progress::InEpoch { step, .. } => format!("{step} is settled"),
        Progress::Slow { epoch, sub_step: 0, .. } => format!("all steps of epoch {epoch} are settled"),
        Progress::Slow { epoch, sub_step, .. } => format!("slow update of epoch {epoch}, {sub_step} of 10 done"),
        Progress::EpochDone { epoch, .. } => format!("epoch {epoch} is done"),
    }
}

fn step_line(snapshot: &Snapshot<'_>, run: &RunId, place: EpochStep) -> Result<StepLine, StoreError> {
    let scope = Scope::Step(place);
    let mut batch = AnswerCounts::default();
    for (_, row) in snapshot.rows_of::<Prediction>(run, scope, &Phase::Rollout)? {
        batch.add(row.outcome);
    }
    let action = |(task_type, report): (TaskType, StepReport)| ActionLine {
        task_type,
        action: report.action.name(),
        e_value: report.e_value,
        new_version: report.new_version.map(|version| version.to_string()),
    };
    Ok(StepLine {
        step: place.to_string(),
        settled: snapshot.row::<ScopeMark>(run, scope, &())?.is_some_and(|mark| mark.settled),
        batch,
        actions: snapshot.rows::<StepReport>(run, scope)?.into_iter().map(action).collect(),
    })
}

fn epochs(snapshot: &Snapshot<'_>, run: &RunId) -> Result<Vec<EpochLine>, StoreError> {
    let mut lines: BTreeMap<u32, EpochLine> = BTreeMap::new();
    for scope in snapshot.scopes(run)? {
        let Scope::Slow { epoch, .. } = scope else { continue };
        let line = lines.entry(epoch).or_insert_with(|| EpochLine {
            epoch,
            r_accuracy: None,
            r2_accuracy: None,
            best_val_acc: None,
            best: None,
            system_tool_action: None,
            holdout_end: None,
            done: false,
        });
        for (key, row) in snapshot.rows::<DualMetricEval>(run, scope)? {
            if key.phase() == Phase::SlowR {
                line.r_accuracy = row.hard;
            } else if key.phase() == Phase::SlowR2 {
                line.r2_accuracy = row.hard;
            }
        }
        let Some(report) = snapshot.row::<EpochReport>(run, scope, &())? else { continue };
        let end = PhaseKey::versions(Phase::Holdout, report.end.skills, report.end.prompts);
        line.holdout_end = snapshot.row::<HoldoutEval>(run, scope, &end)?.and_then(|row| row.accuracy);
        line.r_accuracy = report.r_accuracy.or(line.r_accuracy);
        line.r2_accuracy = report.r2_accuracy.or(line.r2_accuracy);
        line.best_val_acc = report.best_val_acc;
        line.best = Some(report.best.into());
        line.system_tool_action = Some(report.system_tool_action.name());
        line.done = true;
    }
    Ok(lines.into_values().collect())
}

fn failures(snapshot: &Snapshot<'_>, run: &RunId) -> Result<Vec<FailureLine>, StoreError> {
    let mut lines: BTreeMap<Phase, (u32, BTreeMap<StopReason, u32>)> = BTreeMap::new();
    for scope in snapshot.scopes(run)? {
        snapshot.visit::<Prediction>(run, scope, |AnswerKey { phase, .. }, row| {
            let (asked, failed) = lines.entry(phase.phase()).or_default();
            *asked += 1;
            if row.outcome == Outcome::Infra {
                *failed.entry(row.stop_reason).or_default() += 1;
            }
            ControlFlow::Continue(())
        })?;
    }
    let line = |(phase, (asked, failed)): (Phase, (u32, BTreeMap<StopReason, u32>))| FailureLine {
        phase: phase.name(),
        asked,
        failed: failed.values().sum(),
        by_stop_reason: failed.into_iter().map(|(reason, count)| (reason.name(), count)).collect(),
    };
    Ok(lines.into_iter().map(line).filter(|line| line.failed > 0).collect())
}
