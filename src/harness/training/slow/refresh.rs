//! Sub-step 10: the ladders learn from exactly three sources (design 04, 07).

use std::collections::BTreeMap;

use super::super::TrainError;
use super::super::material::per_unit;
use super::super::state::Answers;
use super::super::step::steps_of;
use super::super::story::TrainEvent;
use super::super::trainer::Trainer;
use super::closed_loop::action_of;
use super::{At, settle_alone};
use crate::domain::{Phase, QuestionId, Unit, UnitId};
use crate::harness::ladder::GatePools;
use crate::harness::ladder_store::{gate_pools, stored_ladders};
use crate::store::rows::{Checkpoint, PointerName, SystemToolAction};
use crate::store::{Batch, PhaseKey, Scope};

/// 10: the epoch's rollouts, R, and R2 if it was kept. Never gate arms, a reverted R2, momentum or held-out answers.
pub(super) async fn refresh(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let r2_kept = action_of(trainer, at)? == SystemToolAction::Kept;
    let mut pools = gate_pools(&trainer.snapshot()?.ladders(&trainer.run)?);
    let mut observed: BTreeMap<UnitId, Vec<bool>> = BTreeMap::new();
    for (scope, phase) in sources(trainer, state, at, r2_kept)? {
        let answers = trainer.stored_answers(scope, &PhaseKey::plain(phase))?;
        observe(&mut observed, &pools, trainer.material.units.values(), &answers);
    }
    pools.refresh(&observed, trainer.config().gate.ema_gamma)?;
    let mut batch = Batch::new();
    for (task_type, ladder) in stored_ladders(&pools, trainer.session.questions.fingerprint) {
        batch.put_ladder(&trainer.run, &task_type, &ladder);
    }
    let after = Checkpoint { gate_epoch_observed: true, ..state.clone() };
    let after = settle_alone(trainer, at, after, trainer.current()?, batch).await?;
    let best = trainer.pointer(PointerName::Best)?.val_acc;
    trainer.report.event(&TrainEvent::EpochDone { epoch: at.epoch, best });
    Ok(after)
}

/// Where the answers that may be learned from lie: every phase of the epoch that says so of itself.
///
/// Only steps of the epoch's own batches: after a step ran again, the store may hold later ones that the training will not
/// come to any more.
fn sources(
    trainer: &Trainer<'_>,
    state: &Checkpoint,
    at: At,
    r2_kept: bool,
) -> Result<Vec<(Scope, Phase)>, TrainError> {
    let mut steps = steps_of(&trainer.snapshot()?.scopes(&trainer.run)?, at.epoch);
    steps.retain(|step| (step.step as usize) < state.batches.len());
    let rollouts = steps.into_iter().map(|step| (Scope::Step(step), Phase::Rollout));
    let others = [(at.sibling(1), Phase::SlowR), (at.sibling(8), Phase::SlowR2)];
    Ok(rollouts.chain(others).filter(|(_, phase)| phase.feeds_ladder(r2_kept)).collect())
}

/// One observation per unit whose questions were all answered.
fn observe<'a>(
    observed: &mut BTreeMap<UnitId, Vec<bool>>,
    pools: &GatePools,
    units: impl Iterator<Item = &'a Unit>,
    answers: &Answers,
) {
    let known: BTreeMap<QuestionId, bool> =
        answers.iter().filter_map(|(question, correct)| Some((question.clone(), (*correct)?))).collect();
    let on_ladder: std::collections::BTreeSet<&UnitId> =
        pools.entries.values().flatten().map(|entry| &entry.unit_id).collect();
    for (unit, correct) in per_unit(units.filter(|unit| on_ladder.contains(&unit.unit_id)), &known) {
        observed.entry(unit).or_default().push(correct);
    }
}
