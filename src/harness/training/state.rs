//! What happens to the training state: pure changes of the checkpoint.

use std::collections::{BTreeMap, BTreeSet};

use super::material::{Material, per_unit};
use crate::domain::{ContentHash, EpochStep, FileName, QuestionId, TaskType, UnitId, VersionName};
use crate::harness::correctness::unit_correct;
use crate::store::rows::{Checkpoint, Pools, Progress};

/// One answer a question: right, wrong, or none for a technical failure, which changes nothing.
pub(super) type Answers = BTreeMap<QuestionId, Option<bool>>;

/// Where the training goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Position {
    /// An epoch begins; `global_step` is that of its first step.
    EpochStart { epoch: u32, global_step: u32 },
    /// A step.
    Step { place: EpochStep, global_step: u32 },
    /// A sub-step of the slow update, from 1; `global_step` is that of the last step.
    Slow { epoch: u32, sub_step: u32, global_step: u32 },
    /// All epochs are done, or training ends early.
    End,
}

/// Sub-steps of the slow update.
pub(super) const SLOW_SUB_STEPS: u32 = 10;

/// What follows the state that is stored.
pub(super) fn position(state: &Checkpoint, epochs: u32, patience_epochs: u32) -> Position {
    match state.progress {
        Progress::Prepared => Position::EpochStart { epoch: 1, global_step: 0 },
        Progress::InEpoch { step, global_step } => {
            let next = EpochStep { epoch: step.epoch, step: step.step.saturating_add(1) };
            if (next.step as usize) < state.batches.len() {
                Position::Step { place: next, global_step: global_step.saturating_add(1) }
            } else {
                Position::Slow { epoch: step.epoch, sub_step: 1, global_step }
            }
        }
        Progress::Slow { epoch, sub_step, global_step } => {
            Position::Slow { epoch, sub_step: sub_step.saturating_add(1), global_step }
        }
        Progress::EpochDone { epoch, .. } if epoch >= epochs || stops_early(state, patience_epochs) => Position::End,
        Progress::EpochDone { epoch, global_step } => {
            Position::EpochStart { epoch: epoch.saturating_add(1), global_step: global_step.saturating_add(1) }
        }
    }
}

/// Whether the best pointer has not moved for so many epochs, counted in steps (design 02).
pub(super) fn stops_early(state: &Checkpoint, patience_epochs: u32) -> bool {
    let steps = u32::try_from(state.batches.len().max(1)).unwrap_or(u32::MAX);
    state.steps_since_best_improved >= patience_epochs.saturating_mul(steps)
}

/// The state with which an epoch begins: packs and changed types cleared, batches and starting skills anew (design 12).
pub(super) fn begin_epoch(
    state: &Checkpoint,
    batches: Vec<Vec<QuestionId>>,
    (version, files): (VersionName, BTreeMap<FileName, ContentHash>),
) -> Checkpoint {
    Checkpoint {
        batches,
        epoch_start_skills: files,
        epoch_start_skills_version: version,
        changed_task_types: Vec::new(),
        system_packs: Vec::new(),
        tool_packs: BTreeMap::new(),
        ..state.clone()
    }
}

/// Takes answers over into both tracks of correctness; technical failures leave both as they were.
pub(super) fn take_answers(
    state: &mut Checkpoint,
    material: &Material,
    answers: impl IntoIterator<Item = (QuestionId, Option<bool>)>,
) {
    let mut touched = BTreeSet::new();
    for (question, correct) in answers {
        let Some(correct) = correct else { continue };
        touched.extend(material.unit_of(&question).map(|unit| unit.unit_id.clone()));
        state.correctness.insert(question, correct);
    }
    for unit in touched.iter().filter_map(|unit| material.units.get(unit)) {
        if let Some(correct) = unit_correct(unit, &state.correctness) {
            state.unit_correctness.insert(unit.unit_id.clone(), correct);
        }
    }
}

/// The correctness of a task type as it is now, for a later rollback: per question and per unit.
pub(super) fn snapshot_of(
    state: &Checkpoint,
    material: &Material,
    task_type: &TaskType,
) -> (BTreeMap<QuestionId, bool>, BTreeMap<UnitId, bool>) {
    let units: Vec<_> = material.units.values().filter(|unit| unit.task_type == *task_type).collect();
    let questions = units
        .iter()
        .flat_map(|unit| &unit.question_ids)
        .filter_map(|question| Some((question.clone(), *state.correctness.get(question)?)))
        .collect();
    (questions, per_unit(units, &state.correctness))
}

/// One step less of rest for every resting type.
pub(super) fn tick_cooldown(state: &mut Checkpoint) {
    state.gate_cooldown = std::mem::take(&mut state.gate_cooldown)
        .into_iter()
        .filter_map(|(task_type, left)| (left > 1).then(|| (task_type, left - 1)))
        .collect();
}

/// How many steps the training has, as far as this epoch tells: T of the edit budget.
pub(super) fn total_steps(epochs: u32, state: &Checkpoint) -> u32 {
    epochs.saturating_mul(u32::try_from(state.batches.len().max(1)).unwrap_or(u32::MAX))
}

/// The units of a type that a gate could ever use: those of validation and diagnosis.
pub(super) fn ladder_units(pools: &Pools) -> BTreeMap<TaskType, usize> {
    let mut counts = BTreeMap::new();
    for unit in pools.validation.iter().chain(&pools.diagnosis) {
        *counts.entry(unit.task_type.clone()).or_insert(0) += 1;
    }
    counts
}
