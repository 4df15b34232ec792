//! Where the newest run is.

use std::collections::BTreeMap;

use serde::Serialize;

use super::found::config_of;
use super::run::{RunView, runs};
use super::training::progress_words;
use crate::domain::{RunId, TaskType};
use crate::store::rows::{PointerName, Progress};
use crate::store::{Snapshot, StoreError};

/// A heartbeat older than this is a sign that nothing works.
const ALIVE_MS: i64 = 10_000;

/// Where a run is.
#[derive(Debug, Clone, Serialize)]
pub struct StatusView {
    /// The run.
    #[serde(flatten)]
    pub run: RunView,
    /// Whether a process works on it now.
    pub working: bool,
    /// Age of the last sign of life in milliseconds; null if there was none.
    pub heartbeat_age_ms: Option<i64>,
    /// What it does or did last.
    pub activity: Option<String>,
    /// The part of the run.
    pub scope: Option<String>,
    /// Items done and in all.
    pub progress: Option<(u64, u64)>,
    /// Questions in flight.
    pub in_flight: Option<u32>,
    /// Items a minute.
    pub per_minute: Option<f64>,
    /// Seconds left at this rate.
    pub eta_s: Option<f64>,
    /// Retries so far.
    pub retries: Option<u64>,
    /// Calls that wait for a limit.
    pub waiting: Option<u32>,
    /// US dollars spent.
    pub cost_usd: Option<f64>,
    /// Roles, endpoints, errors by class, waits, cache, budget.
    pub llm: Option<serde_json::Value>,
    /// Where a training is.
    pub training: Option<TrainingStatus>,
}

/// Where a training is, by its stored state: true also while nothing works on it.
#[derive(Debug, Clone, Serialize)]
pub struct TrainingStatus {
    /// In words.
    pub progress: String,
    /// The epoch, from 1; null before the first.
    pub epoch: Option<u32>,
    /// The last settled step over the run, from 0.
    pub global_step: Option<u32>,
    /// Epochs and steps per epoch that are planned, where they are known.
    pub planned: (Option<u32>, Option<u32>),
    /// The best versions of the workspace, skills and prompts.
    pub best: Option<(String, String)>,
    /// Their validation accuracy.
    pub best_val_acc: Option<f64>,
    /// Task types on probation.
    pub probations: Vec<TaskType>,
    /// Resting task types, with the steps left.
    pub cooldowns: BTreeMap<TaskType, u32>,
}

/// The status of a run, or of the newest one; none if there is no run. `now_ms` is the time of asking.
///
/// # Errors
/// The store cannot be read.
#[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
pub fn status(snapshot: &Snapshot<'_>, run: Option<&RunId>, now_ms: i64) -> Result<Option<StatusView>, StoreError> {
    let all = runs(snapshot)?;
    let chosen = match run {
        Some(run) => all.into_iter().find(|view| view.run_id == run.as_str()),
        None => all.into_iter().next(),
    };
    let Some(view) = chosen else { return Ok(None) };
    let heartbeat = match view.run_id.parse::<RunId>() {
        Ok(id) => snapshot.heartbeat(&id)?,
        Err(_) => None,
    };
    let age = heartbeat.as_ref().map(|beat| now_ms.saturating_sub(beat.at_ms).max(0));
    let beat = heartbeat.as_ref();
    let eta_s = beat.and_then(|beat| {
        let rate = beat.per_minute.filter(|rate| *rate > 0.0)?;
        Some(beat.total.saturating_sub(beat.done) as f64 / rate * 60.0)
    });
    Ok(Some(StatusView {
        working: view.state == "unfinished" && age.is_some_and(|age| age < ALIVE_MS),
        heartbeat_age_ms: age,
        activity: beat.map(|beat| beat.activity.clone()),
        scope: beat.and_then(|beat| beat.scope).map(|scope| scope.to_string()),
        progress: beat.map(|beat| (beat.done, beat.total)),
        in_flight: beat.map(|beat| beat.in_flight),
        per_minute: beat.and_then(|beat| beat.per_minute),
        eta_s,
        retries: beat.map(|beat| beat.retries),
        waiting: beat.map(|beat| beat.waiting),
        cost_usd: beat.map(|beat| beat.cost_usd).or(spent(snapshot, &view)?),
        llm: beat.and_then(|beat| serde_json::from_str(&beat.details).ok()),
        training: training_status(snapshot, &view)?,
        run: view,
    }))
}

/// What all calls of the run cost, for a run without a heartbeat.
fn spent(snapshot: &Snapshot<'_>, view: &RunView) -> Result<Option<f64>, StoreError> {
    let Ok(run) = view.run_id.parse::<RunId>() else { return Ok(None) };
    let rows = snapshot.usage(&run)?;
    Ok((!rows.is_empty()).then(|| rows.iter().map(|(_, usage)| usage.cost_usd).sum()))
}

fn training_status(snapshot: &Snapshot<'_>, view: &RunView) -> Result<Option<TrainingStatus>, StoreError> {
    let Ok(run) = view.run_id.parse::<RunId>() else { return Ok(None) };
    let Some(state) = snapshot.checkpoint(&run)? else { return Ok(None) };
    let (epoch, global_step) = match state.progress {
        Progress::Prepared => (None, None),
        Progress::InEpoch { step, global_step } => (Some(step.epoch), Some(global_step)),
        Progress::Slow { epoch, global_step, .. } | Progress::EpochDone { epoch, global_step } => {
            (Some(epoch), Some(global_step))
        }
    };
    let epochs = snapshot.run(&run)?.and_then(|row| config_of(&run, &row).ok()).map(|config| config.epochs.epochs);
    let steps = u32::try_from(state.batches.len()).ok().filter(|steps| *steps > 0);
    let best = snapshot.pointer(PointerName::Best)?;
    Ok(Some(TrainingStatus {
        progress: progress_words(state.progress),
        epoch,
        global_step,
        planned: (epochs, steps),
        best: best.as_ref().map(|best| (best.versions.skills.to_string(), best.versions.prompts.to_string())),
        best_val_acc: best.and_then(|best| best.val_acc),
        probations: state.probations.into_keys().collect(),
        cooldowns: state.gate_cooldown,
    }))
}
