//! Sub-step 5: the best pointer moves only for a strictly better validation accuracy (design 07).

use super::super::TrainError;
use super::super::story::TrainEvent;
use super::super::trainer::Trainer;
use super::{At, accuracy, re_run, settle_alone};
use crate::domain::Phase;
use crate::store::rows::{Checkpoint, DualMetricEval, Pointer, PointerName, ShadowGate, VersionPair};
use crate::store::{Batch, PhaseKey, Scope};

/// 5: argmax over what was evaluated, bound to R's version pair; the shadow gate is observed beside it.
pub(super) async fn move_best(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let evaluated = re_run(trainer, at)?;
    let before = trainer.pointer(PointerName::Best)?;
    let (mut after, mut batch) = (state.clone(), Batch::new());
    let found = accuracy(&evaluated);
    let moved = is_better(found, before.val_acc);
    let best = if moved {
        after.steps_since_best_improved = 0;
        let pointer = trainer.moved(at.scope(), evaluated.versions, found);
        batch.put_pointer(PointerName::Best, &pointer);
        pointer
    } else {
        before.clone()
    };
    after.eval_prev_acc = found;
    after.eval_prev_run_id = Some(trainer.run_id_of(Phase::SlowR, at.sibling(1)));
    if trainer.config().slow.shadow_gate {
        let row = shadow(trainer, at, evaluated.versions, &best)?;
        batch.put(&trainer.run, at.scope(), &(), &row);
    }
    let after = settle_alone(trainer, at, after, evaluated.versions, batch).await?;
    if moved {
        trainer.report.event(&TrainEvent::Best {
            versions: evaluated.versions,
            accuracy: found,
            before: before.val_acc,
        });
    }
    Ok(after)
}

/// Strictly greater; anything beats nothing known.
pub(super) fn is_better(found: Option<f64>, best: Option<f64>) -> bool {
    match (found, best) {
        (Some(found), Some(best)) => found > best,
        (Some(_), None) => true,
        (None, _) => false,
    }
}

/// What would be best by the mixed score: this epoch's pair if its mixed score is strictly greater than the best seen.
fn shadow(trainer: &Trainer<'_>, at: At, evaluated: VersionPair, best: &Pointer) -> Result<ShadowGate, TrainError> {
    let snapshot = trainer.snapshot()?;
    let phase = PhaseKey::plain(Phase::SlowR);
    let mixed = snapshot.row::<DualMetricEval>(&trainer.run, at.sibling(2), &phase)?.and_then(|row| row.mixed);
    let earlier = match at.epoch.checked_sub(1) {
        Some(epoch @ 1..) => snapshot.row::<ShadowGate>(&trainer.run, Scope::Slow { epoch, sub_step: 5 }, &())?,
        _ => None,
    };
    let before = earlier.as_ref().map_or((best.versions, None), |row| (row.shadow_best, row.shadow_mixed));
    let (shadow_best, shadow_mixed) = if is_better(mixed, before.1) { (evaluated, mixed) } else { before };
    let best_mixed = if best.versions == evaluated {
        mixed
    } else {
        earlier.filter(|row| row.best == best.versions).and_then(|row| row.best_mixed)
    };
    Ok(ShadowGate {
        shadow_best,
        shadow_mixed,
        best: best.versions,
        best_mixed,
        differs: shadow_mixed.is_some() && shadow_best != best.versions,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn best_moves_for_strictly_more_only() {
        assert!(is_better(Some(0.51), Some(0.5)));
        assert!(!is_better(Some(0.5), Some(0.5)));
        assert!(!is_better(None, Some(0.5)));
        assert!(is_better(Some(0.1), None));
    }
}
