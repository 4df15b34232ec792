//! Sub-step 8: R2 on the skills with momentum and the new prompts; worse prompts are taken back (design 07).

use super::super::TrainError;
use super::super::material::pool_questions;
use super::super::state::take_answers;
use super::super::story::TrainEvent;
use super::super::trainer::{Trainer, share_right};
use super::best::is_better;
use super::rerun::{answered, dual_metric};
use super::{At, accuracy, begin, re_run, settle, settle_alone};
use crate::domain::Phase;
use crate::harness::evaluation::eval_report;
use crate::store::rows::{Checkpoint, PointerName, SystemToolAction, VersionPair};
use crate::store::{Batch, PhaseKey};

/// 8: runs only if sub-step 7 changed a prompt. Worse than R (strictly): the prompts are reverted. Else R2 is written back,
/// `best` may move to R2's own version pair, and R2 becomes the previous evaluation.
pub(super) async fn close(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let (current, evaluated) = (trainer.current()?, re_run(trainer, at)?);
    if current.prompts == evaluated.versions.prompts {
        return settle_alone(trainer, at, state.clone(), current, Batch::new()).await;
    }
    let phase = PhaseKey::plain(Phase::SlowR2);
    let questions = pool_questions(&trainer.pools()?.validation);
    let mark = begin(trainer, at, current, &[(&phase, &questions)]).await?;
    let answers = trainer.answer(at.scope(), &phase, &questions, current).await?;
    let (found, before) = (share_right(&answers), accuracy(&evaluated));
    let rows = answered(trainer, at.scope(), &phase)?;
    let (mut after, mut batch) = (state.clone(), Batch::new());
    batch.put(&trainer.run, at.scope(), &phase, &eval_report(current, &rows));
    batch.put(&trainer.run, at.scope(), &phase, &dual_metric(current, &rows));
    let action = judge(found, before);
    let best = trainer.pointer(PointerName::Best)?;
    let mut moved = None;
    if action == SystemToolAction::Reverted {
        let pair = VersionPair { prompts: evaluated.versions.prompts, ..current };
        batch.put_pointer(PointerName::Current, &trainer.moved(at.scope(), pair, None));
    } else {
        take_answers(&mut after, &trainer.material, answers);
        if is_better(found, best.val_acc) {
            after.steps_since_best_improved = 0;
            batch.put_pointer(PointerName::Best, &trainer.moved(at.scope(), current, found));
            moved = Some(TrainEvent::Best { versions: current, accuracy: found, before: best.val_acc });
        }
        after.eval_prev_acc = found;
        after.eval_prev_run_id = Some(trainer.run_id_of(Phase::SlowR2, at.scope()));
    }
    let after = settle(trainer, at, after, mark, batch).await?;
    let name = action.name();
    trainer.report.event(&TrainEvent::PromptsMeasured { epoch: at.epoch, action: name, accuracy: found });
    moved.iter().for_each(|event| trainer.report.event(event));
    Ok(after)
}

/// Kept unless strictly worse; an R2 without a single answer proves nothing, so the prompts go back.
fn judge(found: Option<f64>, before: Option<f64>) -> SystemToolAction {
    match (found, before) {
        (None, _) => SystemToolAction::Reverted,
        (Some(found), Some(before)) if found < before => SystemToolAction::Reverted,
        _ => SystemToolAction::Kept,
    }
}

/// What became of the epoch's prompts, from what the sub-steps left: none, kept or reverted.
pub(super) fn action_of(trainer: &Trainer<'_>, at: At) -> Result<SystemToolAction, TrainError> {
    let before = re_run(trainer, at)?;
    Ok(match super::evaluation(trainer, at, Phase::SlowR2)? {
        None => SystemToolAction::None,
        Some(report) => judge(accuracy(&report), accuracy(&before)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strictly_worse_prompts_go_back() {
        assert_eq!(judge(Some(0.4), Some(0.5)), SystemToolAction::Reverted);
        assert_eq!(judge(Some(0.5), Some(0.5)), SystemToolAction::Kept);
        assert_eq!(judge(Some(0.6), Some(0.5)), SystemToolAction::Kept);
        assert_eq!(judge(None, Some(0.5)), SystemToolAction::Reverted);
    }
}
