//! Sub-steps 1 to 3: the whole validation pool again (R), its scores, its answers into the state.

use super::super::TrainError;
use super::super::material::pool_questions;
use super::super::state::take_answers;
use super::super::story::TrainEvent;
use super::super::trainer::{Trainer, share_right};
use super::{At, begin, re_run as stored_re_run, settle, settle_alone};
use crate::domain::Phase;
use crate::harness::evaluation::eval_report;
use crate::harness::inference::Answered;
use crate::store::rows::{Checkpoint, DualMetricEval, Outcome, PointerName, Prediction, VersionPair};
use crate::store::{Batch, PhaseKey, Scope};

/// 1: version snapshot and R.
pub(super) async fn re_run(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let (versions, phase) = (trainer.current()?, PhaseKey::plain(Phase::SlowR));
    let questions = pool_questions(&trainer.pools()?.validation);
    let mark = begin(trainer, at, versions, &[(&phase, &questions)]).await?;
    let answers = trainer.answer(at.scope(), &phase, &questions, versions).await?;
    let accuracy = share_right(&answers);
    let mut batch = Batch::new();
    let rows = answered(trainer, at.scope(), &phase)?;
    batch.put(&trainer.run, at.scope(), &phase, &eval_report(versions, &rows));
    batch.put(&trainer.run, at.scope(), &(), &trainer.start_state(state, versions)?);
    let state = settle(trainer, at, state.clone(), mark, batch).await?;
    let best = trainer.pointer(PointerName::Best)?.val_acc;
    trainer.report.event(&TrainEvent::ReRun { epoch: at.epoch, accuracy, best });
    Ok(state)
}

/// 2: hard, soft and mixed score of R.
pub(super) async fn dual_metrics(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let (phase, versions) = (PhaseKey::plain(Phase::SlowR), stored_re_run(trainer, at)?.versions);
    let rows = answered(trainer, at.sibling(1), &phase)?;
    let mut batch = Batch::new();
    batch.put(&trainer.run, at.scope(), &phase, &dual_metric(versions, &rows));
    settle_alone(trainer, at, state.clone(), versions, batch).await
}

/// 3: R's per-question correctness replaces what was known, unconditionally.
pub(super) async fn write_back(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let answers = trainer.stored_answers(at.sibling(1), &PhaseKey::plain(Phase::SlowR))?;
    let mut after = state.clone();
    take_answers(&mut after, &trainer.material, answers);
    let versions = stored_re_run(trainer, at)?.versions;
    settle_alone(trainer, at, after, versions, Batch::new()).await
}

/// The stored answers of a phase, as evaluations take them.
pub(super) fn answered(trainer: &Trainer<'_>, scope: Scope, phase: &PhaseKey) -> Result<Vec<Answered>, TrainError> {
    let rows = trainer.snapshot()?.rows_of::<Prediction>(&trainer.run, scope, phase)?;
    Ok(rows.into_iter().map(|(key, prediction)| Answered { question: key.question, prediction }).collect())
}

/// Hard = share right; soft = mean graded credit, null if there is none; mixed = their mean, null if soft is (design 12).
pub(super) fn dual_metric(versions: VersionPair, answers: &[Answered]) -> DualMetricEval {
    let counted: Vec<&Prediction> = answers
        .iter()
        .map(|answer| &answer.prediction)
        .filter(|prediction| prediction.outcome != Outcome::Infra)
        .collect();
    let right = counted.iter().filter(|prediction| prediction.outcome == Outcome::Correct).count();
    let credits: Vec<f64> = counted.iter().filter_map(|prediction| prediction.graded_credit).collect();
    let hard = mean_of(right, counted.len());
    let soft = mean(&credits);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    DualMetricEval {
        versions,
        hard,
        soft,
        mixed: hard.zip(soft).map(|(hard, soft)| f64::midpoint(hard, soft)),
        n: count(counted.len()),
        n_infra: count(answers.len() - counted.len()),
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
fn mean_of(right: usize, counted: usize) -> Option<f64> {
    (counted > 0).then(|| right as f64 / counted as f64)
}

#[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}
