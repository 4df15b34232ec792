//! The slow update of an epoch: re-runs, probations, momentum, prompts, observation, held-out evaluation.

use serde::Serialize;

use super::found::{InspectError, training_run};
use super::step::{EvolutionView, evolution_view};
use super::training::VersionsView;
use crate::domain::{RunId, TaskType};
use crate::store::rows::{
    DualMetricEval, EpochReport, Evolution, HoldoutEval, Momentum, ProbationSettlement, ShadowGate,
};
use crate::store::{Scope, Snapshot};

/// One epoch's slow update, as far as it is done.
#[derive(Debug, Clone, Default, Serialize)]
pub struct EpochView {
    /// The run.
    pub run_id: String,
    /// From 1.
    pub epoch: u32,
    /// Whether its report is stored.
    pub done: bool,
    /// Versions at the start.
    pub start: Option<VersionsView>,
    /// Versions of the re-run R.
    pub evaluated: Option<VersionsView>,
    /// Versions at the end.
    pub end: Option<VersionsView>,
    /// The best versions after it.
    pub best: Option<VersionsView>,
    /// Their validation accuracy.
    pub best_val_acc: Option<f64>,
    /// `none`, `kept` or `reverted`.
    pub system_tool_action: Option<&'static str>,
    /// R, R2 and other runs over a pool by three scores.
    pub evaluations: Vec<ScoreView>,
    /// Probations that were settled.
    pub probations: Vec<ProbationView>,
    /// Momentum per skill file.
    pub momentum: Vec<MomentumView>,
    /// What writers made of the prompts.
    pub prompts: Vec<EvolutionView>,
    /// What would be best by the mixed score.
    pub shadow: Option<ShadowView>,
    /// The version pairs on the test pool; nothing selects on it.
    pub holdout: Vec<HoldoutView>,
}

/// Accuracy of one run over a pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ScoreView {
    /// The phase.
    pub phase: String,
    /// What was evaluated.
    pub versions: VersionsView,
    /// Share correct.
    pub hard: Option<f64>,
    /// Mean graded credit; null if there is none.
    pub soft: Option<f64>,
    /// Their mean.
    pub mixed: Option<f64>,
    /// Questions that count.
    pub n: u32,
    /// Technical failures.
    pub n_infra: u32,
}

/// A settled probation.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ProbationView {
    /// The task type.
    pub task_type: TaskType,
    /// `confirm`, `hold` or `rollback`.
    pub outcome: &'static str,
    /// Wins of the re-run over the snapshot.
    pub w: u32,
    /// Losses.
    pub l: u32,
    /// Units compared.
    pub n: u32,
    /// E(W, L): confirmed from `e_confirm`.
    pub e_value: f64,
    /// E(L, W): rolled back from `e_rollback`.
    pub e_swapped: f64,
    /// The last confirmed version.
    pub anchor: String,
    /// The version that a rollback made.
    pub new_version: Option<String>,
}

/// The momentum of one skill file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MomentumView {
    /// The file.
    pub file: String,
    /// `updated`, `kept` or `skipped`.
    pub status: &'static str,
    /// Why the guidance stays.
    pub reason: Option<String>,
    /// The guidance now. Model text: whoever prints it makes it harmless.
    pub guidance: String,
    /// Sampled questions: improved, regressed, wrong twice, right twice.
    pub improved: u32,
    /// See `improved`.
    pub regressed: u32,
    /// See `improved`.
    pub persistent_fail: u32,
    /// See `improved`.
    pub stable_success: u32,
}

/// What would be best by the mixed score.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShadowView {
    /// The pair that is best by it.
    pub versions: VersionsView,
    /// Its mixed score.
    pub mixed: Option<f64>,
    /// Whether it differs from the best pointer.
    pub differs: bool,
}

/// A version pair on the test pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HoldoutView {
    /// Skills of the epoch's `start` or `end`.
    pub skills_from: String,
    /// Prompts of the epoch's `start` or `end`.
    pub prompts_from: String,
    /// The versions.
    pub versions: VersionsView,
    /// Share correct.
    pub accuracy: Option<f64>,
    /// Questions that count.
    pub n: u32,
    /// Technical failures.
    pub n_infra: u32,
}

/// The slow update of an epoch of a run, or of the newest training.
///
/// # Errors
/// There is no such run or slow update, or the store cannot be read.
pub fn epoch(snapshot: &Snapshot<'_>, run: Option<&RunId>, epoch: u32) -> Result<EpochView, InspectError> {
    let (run, _) = training_run(snapshot, run)?;
    let scopes = snapshot.scopes(&run)?;
    let of_epoch: Vec<Scope> =
        scopes.into_iter().filter(|scope| matches!(scope, Scope::Slow { epoch: of, .. } if *of == epoch)).collect();
    if of_epoch.is_empty() {
        let hint = format!("it comes behind the steps of the epoch: 'trm inspect run {run}' shows how far the run is");
        return Err(InspectError::nothing(format!("the slow update of epoch {epoch} in run {run}"), hint));
    }
    let mut view = EpochView { run_id: run.to_string(), epoch, ..EpochView::default() };
    for scope in of_epoch {
        add_scope(&mut view, snapshot, &run, scope)?;
    }
    Ok(view)
}

fn add_scope(view: &mut EpochView, snapshot: &Snapshot<'_>, run: &RunId, scope: Scope) -> Result<(), InspectError> {
    view.evaluations.extend(snapshot.rows::<DualMetricEval>(run, scope)?.into_iter().map(|(phase, row)| ScoreView {
        phase: phase.to_string(),
        versions: row.versions.into(),
        hard: row.hard,
        soft: row.soft,
        mixed: row.mixed,
        n: row.n,
        n_infra: row.n_infra,
    }));
    let probation = |(task_type, row): (TaskType, ProbationSettlement)| ProbationView {
        task_type,
        outcome: row.outcome.name(),
        w: row.wins,
        l: row.losses,
        n: row.n,
        e_value: row.e_value,
        e_swapped: row.e_swapped,
        anchor: row.anchor_skills_version.to_string(),
        new_version: row.new_version.map(|version| version.to_string()),
    };
    view.probations.extend(snapshot.rows::<ProbationSettlement>(run, scope)?.into_iter().map(probation));
    view.momentum.extend(snapshot.rows::<Momentum>(run, scope)?.into_iter().map(|(file, row)| MomentumView {
        file: file.to_string(),
        status: row.status.name(),
        reason: row.reason,
        guidance: row.guidance,
        improved: row.improved,
        regressed: row.regressed,
        persistent_fail: row.persistent_fail,
        stable_success: row.stable_success,
    }));
    let prompts = snapshot.rows::<Evolution>(run, scope)?;
    view.prompts.extend(prompts.into_iter().map(|(target, row)| evolution_view(&target, row)));
    if let Some(row) = snapshot.row::<ShadowGate>(run, scope, &())? {
        view.shadow =
            Some(ShadowView { versions: row.shadow_best.into(), mixed: row.shadow_mixed, differs: row.differs });
    }
    view.holdout.extend(snapshot.rows::<HoldoutEval>(run, scope)?.into_iter().map(|(_, row)| HoldoutView {
        skills_from: row.skills_from,
        prompts_from: row.prompts_from,
        versions: row.versions.into(),
        accuracy: row.accuracy,
        n: row.n,
        n_infra: row.n_infra,
    }));
    if let Some(row) = snapshot.row::<EpochReport>(run, scope, &())? {
        view.done = true;
        view.start = Some(row.start.into());
        view.evaluated = Some(row.evaluated.into());
        view.end = Some(row.end.into());
        view.best = Some(row.best.into());
        view.best_val_acc = row.best_val_acc;
        view.system_tool_action = Some(row.system_tool_action.name());
    }
    Ok(())
}
