//! The slow update at the end of an epoch: ten sub-steps in order, each with one settling transaction (design 07, 12).
//!
//! Free functions that the runner calls: each reads the state and the rows of the sub-steps before it, and ends with one
//! transaction that holds its rows and the state after it. A crash repeats the unfinished sub-step only.

mod best;
mod closed_loop;
mod momentum;
mod probation;
mod prompts;
mod refresh;
mod report;
mod rerun;

use super::TrainError;
use super::trainer::Trainer;
use crate::domain::{Phase, QuestionId};
use crate::store::rows::{Checkpoint, EvalReport, Progress, ScopeMark, VersionPair};
use crate::store::{Batch, PhaseKey, Scope};

/// Where in the training a sub-step is.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    epoch: u32,
    sub_step: u32,
    /// Number over the run of the epoch's last step.
    global_step: u32,
}

impl At {
    fn scope(self) -> Scope {
        Scope::Slow { epoch: self.epoch, sub_step: self.sub_step }
    }

    /// The scope of another sub-step of the epoch.
    fn sibling(self, sub_step: u32) -> Scope {
        Scope::Slow { epoch: self.epoch, sub_step }
    }
}

/// Runs one sub-step and gives the state after it.
pub(super) async fn run(
    trainer: &Trainer<'_>,
    state: &Checkpoint,
    epoch: u32,
    sub_step: u32,
    global_step: u32,
) -> Result<Checkpoint, TrainError> {
    let at = At { epoch, sub_step, global_step };
    match sub_step {
        0 | 1 => rerun::re_run(trainer, state, at).await,
        2 => rerun::dual_metrics(trainer, state, at).await,
        3 => rerun::write_back(trainer, state, at).await,
        4 => probation::settle(trainer, state, at).await,
        5 => best::move_best(trainer, state, at).await,
        6 => momentum::write(trainer, state, at).await,
        7 => prompts::evolve(trainer, state, at).await,
        8 => closed_loop::close(trainer, state, at).await,
        9 => report::report(trainer, state, at).await,
        _ => refresh::refresh(trainer, state, at).await,
    }
}

/// The first transaction of a sub-step that answers questions: what an earlier attempt left goes.
async fn begin(
    trainer: &Trainer<'_>,
    at: At,
    versions: VersionPair,
    expected: &[(&PhaseKey, &[QuestionId])],
) -> Result<ScopeMark, TrainError> {
    let mark = trainer.mark(None, versions, expected);
    let mut batch = Batch::new();
    batch.label("begin slow").delete_scope(&trainer.run, at.scope());
    batch.put(&trainer.run, at.scope(), &(), &mark);
    trainer.write(batch).await?;
    Ok(mark)
}

/// The settling transaction: the rows of `batch`, the settled mark, the state after the sub-step.
async fn settle(
    trainer: &Trainer<'_>,
    at: At,
    mut state: Checkpoint,
    mark: ScopeMark,
    rows: Batch,
) -> Result<Checkpoint, TrainError> {
    let At { epoch, sub_step, global_step } = at;
    state.progress = if sub_step >= super::state::SLOW_SUB_STEPS {
        Progress::EpochDone { epoch, global_step }
    } else {
        Progress::Slow { epoch, sub_step, global_step }
    };
    let mut batch = Batch::new();
    batch.label("slow update");
    batch.append(rows);
    batch.put(&trainer.run, at.scope(), &(), &ScopeMark { settled: true, ..mark });
    batch.put_checkpoint(&trainer.run, &state);
    trainer.write(batch).await?;
    Ok(state)
}

/// A sub-step that answers nothing has one transaction: its range is emptied and filled at once.
async fn settle_alone(
    trainer: &Trainer<'_>,
    at: At,
    state: Checkpoint,
    versions: VersionPair,
    rows: Batch,
) -> Result<Checkpoint, TrainError> {
    let mut batch = Batch::new();
    batch.delete_scope(&trainer.run, at.scope());
    batch.append(rows);
    settle(trainer, at, state, trainer.mark(None, versions, &[]), batch).await
}

/// The versions and counts of the epoch's re-run R, or of R2 if it ran.
fn evaluation(trainer: &Trainer<'_>, at: At, phase: Phase) -> Result<Option<EvalReport>, TrainError> {
    let scope = at.sibling(if phase == Phase::SlowR { 1 } else { 8 });
    Ok(trainer.snapshot()?.row::<EvalReport>(&trainer.run, scope, &PhaseKey::plain(phase))?)
}

/// The re-run R, which every later sub-step builds on.
fn re_run(trainer: &Trainer<'_>, at: At) -> Result<EvalReport, TrainError> {
    evaluation(trainer, at, Phase::SlowR)?.ok_or_else(|| trainer.missing(format!("the re-run of epoch {}", at.epoch)))
}

/// Share of right answers of an evaluation; none without any that counts.
fn accuracy(report: &EvalReport) -> Option<f64> {
    let (right, counted) = (report.total.correct, report.total.correct.saturating_add(report.total.wrong));
    (counted > 0).then(|| f64::from(right) / f64::from(counted))
}
