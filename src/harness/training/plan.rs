//! What will be trained, and what cannot be: checked before anything is paid, and told at every start.

use std::collections::BTreeMap;

use serde::Serialize;

use super::TrainError;
use super::material::Material;
use super::state::ladder_units;
use super::story::TrainEvent;
use super::trainer::Trainer;
use crate::config::{self, RunConfig};
use crate::domain::{FileName, TaskType, UnitId};
use crate::evolution::gate::units_to_reach;
use crate::harness::correctness::Correctness;
use crate::harness::pools::{self, PoolSettings, SplitBy, cut_pools};
use crate::harness::session::Session;
use crate::harness::versions::{VersionedSkills, resolve};
use crate::store::rows::VersionKind;

/// What a task type can reach.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypePlan {
    /// The task type.
    pub task_type: TaskType,
    /// Units that its gates can use.
    pub units: usize,
    /// Whether a gate could confirm a candidate, with wins only.
    pub can_confirm: bool,
    /// Whether it is trained at all.
    pub trained: bool,
}

/// What a training would do, without doing it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct DryRun {
    /// Questions with a video.
    pub questions: usize,
    /// Questions left out for want of a video tree.
    pub without_tree: usize,
    /// Units per pool: test, validation, diagnosis.
    pub pools: (usize, usize, usize),
    /// The task types.
    pub types: Vec<TypePlan>,
    /// Epochs.
    pub epochs: u32,
    /// Steps per epoch at most.
    pub steps_per_epoch: usize,
    /// Questions that the baseline answers.
    pub baseline_answers: usize,
    /// Answers per epoch outside of gates, at most: rollouts, re-runs, momentum, held-out.
    pub answers_per_epoch: usize,
    /// Answers of all gates of an epoch, at most.
    pub gate_answers_per_epoch: usize,
}

/// Thresholds of the gate in units.
struct Reach {
    provisional: u32,
    confirm: u32,
}

fn reach(config: &RunConfig) -> Reach {
    let units = |threshold| units_to_reach(threshold).unwrap_or(u32::MAX);
    let net = u32::try_from(config.gate.w_net_min.max(0)).unwrap_or(0);
    Reach { provisional: units(config.gate.e_provisional).max(net), confirm: units(config.gate.e_confirm) }
}

fn type_plans(config: &RunConfig, units: &BTreeMap<TaskType, usize>) -> Vec<TypePlan> {
    let Reach { provisional, confirm } = reach(config);
    let plan = |(task_type, units): (&TaskType, &usize)| {
        let usable = (*units).min(config.gate.n_max);
        TypePlan {
            task_type: task_type.clone(),
            units: *units,
            can_confirm: usable >= confirm as usize,
            trained: usable >= provisional as usize,
        }
    };
    units.iter().map(plan).collect()
}

/// Whether a ladder of so many units could accept anything.
pub(super) fn can_accept(config: &RunConfig, units: usize) -> bool {
    units.min(config.gate.n_max) >= reach(config).provisional as usize
}

/// Refuses what cannot be trained: types that share a file or have none.
pub(super) fn check_plan(session: &Session, material: &Material) -> Result<(), TrainError> {
    let config = &session.config;
    if !config.edits.evolve_skills {
        return Ok(());
    }
    let task_types = material.task_types();
    no_shared_file(&task_types)?;
    let snapshot = session.bench.store.snapshot()?;
    let version = resolve(&snapshot, VersionKind::Skills, config.data.skills_version)?;
    let skills = VersionedSkills::load(&snapshot, version)?;
    let without: Vec<TaskType> =
        task_types.into_iter().filter(|task_type| !skills.files().contains_key(&task_type.skill_file())).collect();
    if without.is_empty() { Ok(()) } else { Err(TrainError::NoSkillFile { task_types: without }) }
}

/// Two task types that map to one skill file would overwrite each other's work.
pub(super) fn no_shared_file(task_types: &[TaskType]) -> Result<(), TrainError> {
    let mut by_file: BTreeMap<FileName, Vec<TaskType>> = BTreeMap::new();
    for task_type in task_types {
        by_file.entry(task_type.skill_file()).or_default().push(task_type.clone());
    }
    match by_file.into_iter().find(|(_, types)| types.len() > 1) {
        Some((file, task_types)) => Err(TrainError::SharedFile { file, task_types }),
        None => Ok(()),
    }
}

/// Says which types are dropped and which are trained (design 12).
pub(super) fn tell_types(trainer: &Trainer<'_>) -> Result<(), TrainError> {
    let config = trainer.config();
    if !config.edits.evolve_skills {
        return Ok(());
    }
    let needed = reach(config).provisional;
    let plans = type_plans(config, &ladder_units(&trainer.pools()?));
    for plan in plans.iter().filter(|plan| !plan.trained) {
        trainer.report.event(&TrainEvent::Dropped { task_type: plan.task_type.clone(), units: plan.units, needed });
    }
    if plans.iter().all(|plan| !plan.trained) {
        return Err(TrainError::NothingToTrain { needed });
    }
    let of = |confirmable: bool| {
        let chosen = plans.iter().filter(|plan| plan.trained && plan.can_confirm == confirmable);
        chosen.map(|plan| (plan.task_type.clone(), plan.units)).collect()
    };
    trainer.report.event(&TrainEvent::Types { confirmable: of(true), provisional_at_best: of(false) });
    Ok(())
}

/// How the pools are cut.
pub(super) fn pool_settings(config: &RunConfig) -> PoolSettings {
    let size = |size: config::PoolSize| match size {
        config::PoolSize::Count(count) => pools::PoolSize::Count(count),
        config::PoolSize::Share(share) => pools::PoolSize::Share(share),
    };
    PoolSettings {
        test: size(config.pools.test_size),
        validation: size(config.pools.val_size),
        diagnosis: size(config.pools.diag_size),
        min_per_type: config.pools.eval_min_per_class,
        correct_ratio: config.pools.correct_ratio,
        split_by: match config.pools.split_by {
            config::SplitBy::Unit => SplitBy::Unit,
            config::SplitBy::Video => SplitBy::Video,
        },
        seed: config.run.seed,
    }
}

/// What a training would do, from the questions alone: no model is asked, so the mix of pools is a guess.
///
/// # Errors
/// As at the start of a training.
pub fn dry_run(session: &Session) -> Result<DryRun, TrainError> {
    let config = &session.config;
    let material = Material::of(session)?;
    check_plan(session, &material)?;
    let units: Vec<_> = material.units.values().cloned().collect();
    let cut = cut_pools(&units, &Correctness::new(), &pool_settings(config))?;
    let mut ladders: BTreeMap<TaskType, usize> = BTreeMap::new();
    for unit in cut.validation.iter().chain(&cut.diagnosis).filter_map(|id| material.units.get(id)) {
        *ladders.entry(unit.task_type.clone()).or_default() += 1;
    }
    let questions_in = |ids: &std::collections::BTreeSet<UnitId>| -> usize {
        ids.iter().filter_map(|id| material.units.get(id)).map(|unit| unit.question_ids.len()).sum()
    };
    let types = type_plans(config, &ladders);
    let diagnosis = questions_in(&cut.diagnosis);
    let steps = diagnosis.div_ceil(config.minibatch.batch_size.max(1));
    let steps = steps.min(config.minibatch.max_steps_per_epoch.unwrap_or(usize::MAX));
    let prompts = if config.slow.system || config.slow.tools { 2 } else { 1 };
    let holdout = if config.slow.holdout { 4 * questions_in(&cut.test) } else { 0 };
    let of_gates: usize = types.iter().filter(|plan| plan.trained).map(|plan| plan.units.min(config.gate.n_max)).sum();
    Ok(DryRun {
        questions: material.questions.len(),
        without_tree: material.without_tree,
        pools: (cut.test.len(), cut.validation.len(), cut.diagnosis.len()),
        epochs: config.epochs.epochs,
        steps_per_epoch: steps,
        baseline_answers: material.questions.len(),
        answers_per_epoch: diagnosis.min(steps * config.minibatch.batch_size)
            + prompts * questions_in(&cut.validation)
            + 2 * config.slow.momentum_sample
            + holdout,
        gate_answers_per_epoch: 2 * steps * of_gates,
        types,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_that_map_to_one_file_are_named_with_it() {
        let types = |names: &[&str]| names.iter().map(|name| TaskType::new(*name).unwrap()).collect::<Vec<_>>();
        assert!(no_shared_file(&types(&["Counting", "Action Reasoning"])).is_ok());
        let shared = no_shared_file(&types(&["Action Reasoning", "Counting", "Action-Reasoning"])).unwrap_err();
        let TrainError::SharedFile { file, task_types } = &shared else { panic!("{shared}") };
        assert_eq!(*file, task_types[0].skill_file());
        assert_eq!(*task_types, types(&["Action Reasoning", "Action-Reasoning"]));
    }
}
