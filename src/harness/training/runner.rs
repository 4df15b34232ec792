//! The runner: epoch after epoch, step after step, from wherever the checkpoint stands.

use std::sync::Arc;

use super::begin::{RunChoice, begin, chosen_run, event};
use super::finish::{TrainSummary, finish, summary_of};
use super::material::Material;
use super::plan::check_plan;
use super::prepare::prepare;
use super::state::{Position, begin_epoch, position, stops_early};
use super::step::run_step;
use super::story::{TrainEvent, TrainReport};
use super::trainer::Trainer;
use super::{TrainError, slow, step};
use crate::domain::{EpochStep, Unit};
use crate::harness::batching::{BatchSettings, build_batches};
use crate::harness::session::Session;
use crate::store::Batch;
use crate::store::rows::{Checkpoint, Progress, RunState, VersionKind};

/// Where a training stops on its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopAt {
    /// After this step's settlement.
    Step(EpochStep),
    /// After this epoch's slow update.
    Epoch(u32),
}

/// What to train.
#[derive(Debug, Clone, Default)]
pub struct TrainRequest {
    /// Which run.
    pub choice: RunChoice,
    /// Where to stop.
    pub until: Option<StopAt>,
    /// Run this step again first, and stop behind it.
    pub rerun: Option<EpochStep>,
}

/// Trains, or goes on with a training, to its end or to where the request says.
///
/// # Errors
/// [`TrainError`]. Everything that was settled is durable; the same call goes on from there.
pub async fn train(
    session: &Session,
    request: &TrainRequest,
    report: &dyn TrainReport,
) -> Result<TrainSummary, TrainError> {
    let started = std::time::Instant::now();
    let material = Arc::new(Material::of(session)?);
    check_plan(session, &material)?;
    let (run, _) = chosen_run(&session.bench.store.snapshot()?, &session.config, &request.choice)?;
    let row = begin(session, &request.choice, request.rerun, report).await?;
    let trainer = Trainer { session, run, material, report };
    if row.state == RunState::Finished && request.rerun.is_none() {
        return summary_of(&trainer, started.elapsed());
    }
    let result = drive(&trainer, request).await;
    if let Err(error) = &result {
        note_stop(&trainer, &error.to_string()).await;
    }
    result?;
    summary_of(&trainer, started.elapsed())
}

async fn drive(trainer: &Trainer<'_>, request: &TrainRequest) -> Result<(), TrainError> {
    let mut state = match trainer.checkpoint()? {
        Some(state) => state,
        None => prepare(trainer).await?,
    };
    let mut until = request.until;
    if let Some(step) = request.rerun {
        state = step::rewind(trainer, &state, step).await?;
        until = Some(StopAt::Step(step));
    }
    super::plan::tell_types(trainer)?;
    let epochs = trainer.config().epochs.epochs;
    let patience = trainer.config().epochs.early_stop_patience_epochs;
    if reached(&state, until) {
        return Ok(());
    }
    let mut next = position(&state, epochs, patience);
    loop {
        next = match next {
            Position::EpochStart { epoch, global_step } => {
                state = start_epoch(trainer, &state, epoch)?;
                let steps = state.batches.len();
                trainer.report.event(&TrainEvent::EpochBegan { epoch, epochs, steps });
                if steps == 0 {
                    Position::Slow { epoch, sub_step: 1, global_step: global_step.saturating_sub(1) }
                } else {
                    Position::Step { place: EpochStep { epoch, step: 0 }, global_step }
                }
            }
            Position::Step { place, global_step } => {
                state = run_step(trainer, &state, place, global_step).await?;
                if reached(&state, until) {
                    return Ok(());
                }
                position(&state, epochs, patience)
            }
            Position::Slow { epoch, sub_step, global_step } => {
                state = slow::run(trainer, &state, epoch, sub_step, global_step).await?;
                if reached(&state, until) {
                    return Ok(());
                }
                position(&state, epochs, patience)
            }
            Position::End => break,
        };
    }
    if let Progress::EpochDone { epoch, .. } = state.progress
        && epoch < epochs
        && stops_early(&state, patience)
    {
        trainer.report.event(&TrainEvent::EarlyStop { epoch, steps: state.steps_since_best_improved });
    }
    finish(trainer, &state).await
}

fn reached(state: &Checkpoint, until: Option<StopAt>) -> bool {
    match (until, state.progress) {
        (None, _) | (_, Progress::Prepared) => false,
        (Some(StopAt::Step(until)), Progress::InEpoch { step, .. }) => step >= until,
        (Some(StopAt::Step(until)), Progress::Slow { epoch, .. } | Progress::EpochDone { epoch, .. }) => {
            epoch >= until.epoch
        }
        (Some(StopAt::Epoch(until)), Progress::EpochDone { epoch, .. }) => epoch >= until,
        (Some(StopAt::Epoch(until)), Progress::InEpoch { step, .. }) => step.epoch > until,
        (Some(StopAt::Epoch(until)), Progress::Slow { epoch, .. }) => epoch > until,
    }
}

/// The state with which an epoch begins. A pure function of the state before, so it need not be stored.
fn start_epoch(trainer: &Trainer<'_>, state: &Checkpoint, epoch: u32) -> Result<Checkpoint, TrainError> {
    let config = trainer.config();
    let settings = BatchSettings {
        batch_size: config.minibatch.batch_size,
        min_class_per_batch: config.minibatch.min_class_per_batch,
        max_steps_per_epoch: config.minibatch.max_steps_per_epoch,
        mix_correct_ratio: config.minibatch.mix_correct_ratio,
        seed: config.run.seed,
    };
    let pools = trainer.pools()?;
    let units: Vec<&Unit> =
        pools.diagnosis.iter().filter_map(|unit| trainer.material.units.get(&unit.unit_id)).collect();
    let batches = build_batches(&units, &state.correctness, epoch, &settings)?;
    let version = trainer.current()?.skills;
    let files = trainer.snapshot()?.version(VersionKind::Skills, version)?.map(|version| version.files);
    let files = files.ok_or_else(|| trainer.missing(format!("skills {version}")))?;
    Ok(begin_epoch(state, batches, (version, files)))
}

/// The history tells why a session ended; that it does is worth no second error.
async fn note_stop(trainer: &Trainer<'_>, why: &str) {
    let noted = async {
        let Some(mut row) = trainer.snapshot()?.run(&trainer.run)? else { return Ok(()) };
        row.history.push(event("stopped", why.chars().take(300).collect()));
        let mut batch = Batch::new();
        batch.put_run(&trainer.run, &row);
        trainer.write(batch).await
    };
    if let Err(error) = noted.await {
        tracing::warn!(%error, "the run's history could not be written");
    }
}
