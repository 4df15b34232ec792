//! What each task type of a step does: rests, has nothing to gate, or brings a candidate (design 07, 12).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::try_join_all;

use super::TrainError;
use super::memory::shown;
use super::plan::{can_accept, no_shared_file};
use super::state::total_steps;
use super::trainer::Trainer;
use crate::domain::{EpochStep, QuestionId, TaskType, Unit, UnitId};
use crate::evolution::diagnosis::DiagnosisResult;
use crate::evolution::evolve::{EvolutionRecord, edit_budget_at};
use crate::evolution::types::SkillCasePack;
use crate::harness::evolving::{EvolvePlace, evolve_skill, put_evolution};
use crate::harness::ladder::LadderError;
use crate::harness::ladder_store::{gate_pools, ladder_settings};
use crate::harness::versions::VersionedSkills;
use crate::store::rows::{Checkpoint, StepAction, VersionPair};
use crate::store::{Batch, Scope};

/// What a task type with a case pack does in a step.
#[derive(Debug)]
pub(super) enum Plan {
    /// Nothing is gated.
    Idle {
        /// `skipped` or `cooldown`.
        action: StepAction,
        /// Why, in words.
        note: String,
        /// Edits that were allowed, if the writer was asked.
        edit_budget: Option<u32>,
    },
    /// A candidate and the units it is tested on.
    Candidate(Box<Candidate>),
}

/// A candidate.
#[derive(Debug)]
pub(super) struct Candidate {
    pub(super) record: EvolutionRecord,
    /// In ladder order.
    pub(super) units: Vec<Unit>,
}

fn idle(action: StepAction, note: impl Into<String>) -> Plan {
    Plan::Idle { action, note: note.into(), edit_budget: None }
}

/// Plans of all task types that have a case pack. Writers of all types work at the same time.
pub(super) async fn propose(
    trainer: &Trainer<'_>,
    start: &Checkpoint,
    place: EpochStep,
    global_step: u32,
    current: VersionPair,
    skills: &Arc<VersionedSkills>,
    diagnosis: &DiagnosisResult,
) -> Result<BTreeMap<TaskType, Plan>, TrainError> {
    let config = trainer.config();
    let mut plans = BTreeMap::new();
    let mut open: Vec<(&TaskType, &SkillCasePack, Vec<Unit>)> = Vec::new();
    let resting = |task_type: &TaskType| start.gate_cooldown.get(task_type).copied().unwrap_or(0);
    let awake: Vec<TaskType> =
        diagnosis.skill_packs.keys().filter(|task_type| resting(task_type) == 0).cloned().collect();
    if config.edits.evolve_skills {
        no_shared_file(&awake)?;
    }
    for (task_type, pack) in &diagnosis.skill_packs {
        let left = resting(task_type);
        if left > 0 {
            plans.insert(task_type.clone(), idle(StepAction::Cooldown, format!("rests for {left} more steps")));
            continue;
        }
        if !config.edits.evolve_skills {
            plans.insert(task_type.clone(), idle(StepAction::Skipped, "skills are not evolved"));
            continue;
        }
        let units = ladder(trainer, start, task_type, &pack.question_ids())?;
        match units.len() {
            0 => drop(plans.insert(task_type.clone(), idle(StepAction::Skipped, "no gate units left"))),
            few if !can_accept(config, few) => {
                let note = format!("{few} gate units are left, too few to accept anything");
                plans.insert(task_type.clone(), idle(StepAction::Skipped, note));
            }
            _ => open.push((task_type, pack, units)),
        }
    }
    let budget = edit_budget_at(
        global_step,
        total_steps(config.epochs.epochs, start),
        config.edits.edit_budget_start,
        config.edits.edit_budget_end,
    );
    let scope = Scope::Step(place);
    let writing = open.into_iter().map(|(task_type, pack, units)| async move {
        let memory = start.rejected_edits.get(task_type).map(|memory| shown(memory)).unwrap_or_default();
        let evolve_place = EvolvePlace { run: trainer.run.clone(), scope };
        let record =
            evolve_skill(trainer.session, &evolve_place, pack, skills, current.skills, budget, &memory).await?;
        Ok::<_, TrainError>((task_type.clone(), record, units))
    });
    let mut rows = Batch::new();
    rows.label("evolution");
    for (task_type, record, units) in try_join_all(writing).await? {
        put_evolution(&mut rows, &trainer.run, scope, &record);
        let plan = if record.is_real_change() {
            Plan::Candidate(Box::new(Candidate { record, units }))
        } else {
            let reason =
                if record.reason.is_empty() { "the candidate equals the current text" } else { &record.reason };
            Plan::Idle { action: StepAction::Skipped, note: reason.to_owned(), edit_budget: Some(budget) }
        };
        plans.insert(task_type, plan);
    }
    if !rows.is_empty() {
        trainer.write(rows).await?;
    }
    Ok(plans)
}

/// The ladder of a type without the units whose questions the candidate is made from.
fn ladder(
    trainer: &Trainer<'_>,
    start: &Checkpoint,
    task_type: &TaskType,
    cases: &BTreeSet<QuestionId>,
) -> Result<Vec<Unit>, TrainError> {
    let material = &trainer.material;
    let excluded: BTreeSet<UnitId> =
        cases.iter().filter_map(|question| material.unit_of(question)).map(|unit| unit.unit_id.clone()).collect();
    let pools = gate_pools(&trainer.snapshot()?.ladders(&trainer.run)?);
    if !pools.entries.contains_key(task_type) {
        return Ok(Vec::new());
    }
    let settings = ladder_settings(trainer.config(), trainer.config().run.seed, start.gate_epoch_observed);
    let ladder = pools.ladder_for(task_type, &excluded, &settings)?;
    ladder
        .iter()
        .map(|unit| material.units.get(unit).cloned().ok_or_else(|| LadderError::LostUnit(unit.clone()).into()))
        .collect()
}
