//! Before the first step: the baseline answers everything, then pools and ladders are cut from it and frozen.

use super::TrainError;
use super::material::{accuracy, per_unit, pool_questions};
use super::plan::pool_settings;
use super::state::stored_ladders;
use super::story::TrainEvent;
use super::trainer::{Trainer, share_right};
use crate::domain::{Phase, QuestionId, Unit, UnitId};
use crate::harness::correctness::Correctness;
use crate::harness::evaluation::eval_report;
use crate::harness::inference::Answered;
use crate::harness::ladder::GatePools;
use crate::harness::pools::cut_pools;
use crate::store::rows::{Checkpoint, PointerName, PoolUnit, Pools, Prediction, Progress, ScopeMark};
use crate::store::{Batch, PhaseKey, Scope};

/// Runs the baseline and makes the first training state. Durable baseline answers of an earlier session are kept.
pub(super) async fn prepare(trainer: &Trainer<'_>) -> Result<Checkpoint, TrainError> {
    let (run, versions) = (&trainer.run, trainer.current()?);
    let phase = PhaseKey::plain(Phase::Baseline);
    let all: Vec<QuestionId> = trainer.material.questions.keys().cloned().collect();
    let stored = trainer.snapshot()?.row::<ScopeMark>(run, Scope::Baseline, &())?;
    let mut mark = stored.unwrap_or_else(|| trainer.mark(None, versions, &[(&phase, &all)]));
    let mut batch = Batch::new();
    batch.label("begin baseline").put(run, Scope::Baseline, &(), &mark);
    trainer.write(batch).await?;
    let answers = trainer.answer(Scope::Baseline, &phase, &all, versions).await?;
    let baseline: Correctness =
        answers.iter().filter_map(|(question, correct)| Some((question.clone(), (*correct)?))).collect();

    let units: Vec<Unit> = trainer.material.units.values().cloned().collect();
    let cut = cut_pools(&units, &baseline, &pool_settings(trainer.config()))?;
    let data = trainer.session.questions.fingerprint;
    let pool = |ids: &std::collections::BTreeSet<UnitId>| -> Vec<PoolUnit> {
        ids.iter().filter_map(|id| trainer.material.units.get(id)).map(pool_unit).collect()
    };
    let pools = Pools {
        data_fingerprint: data,
        baseline_run: run.clone(),
        test: pool(&cut.test),
        validation: pool(&cut.validation),
        diagnosis: pool(&cut.diagnosis),
    };
    let on_ladders = cut.validation.iter().chain(&cut.diagnosis).filter_map(|id| trainer.material.units.get(id));
    let ladders = stored_ladders(&GatePools::from_baseline(on_ladders, &baseline), data);
    let validation = accuracy(&pool_questions(&pools.validation), &baseline);
    let state = Checkpoint {
        config_fingerprint: trainer.session.frozen().structural,
        data_fingerprint: data,
        progress: Progress::Prepared,
        unit_correctness: per_unit(trainer.material.units.values(), &baseline),
        correctness: baseline,
        eval_prev_acc: validation,
        eval_prev_run_id: Some(phase.run_id(run, Scope::Baseline)),
        baseline_skills_version: versions.skills,
        baseline_prompts_version: versions.prompts,
        steps_since_best_improved: 0,
        epoch_start_skills: Default::default(),
        epoch_start_skills_version: versions.skills,
        changed_task_types: Vec::new(),
        rejected_edits: Default::default(),
        system_packs: Vec::new(),
        tool_packs: Default::default(),
        probations: Default::default(),
        gate_cooldown: Default::default(),
        gate_epoch_observed: false,
        batches: Vec::new(),
    };
    mark.settled = true;
    let answered = trainer.snapshot()?.rows_of::<Prediction>(run, Scope::Baseline, &phase)?;
    let answered: Vec<Answered> =
        answered.into_iter().map(|(key, prediction)| Answered { question: key.question, prediction }).collect();
    let mut batch = Batch::new();
    batch.label("prepare");
    batch.put(run, Scope::Baseline, &phase, &eval_report(versions, &answered));
    batch.put(run, Scope::Baseline, &(), &mark);
    batch.put_pools(run, &pools);
    for (task_type, ladder) in &ladders {
        batch.put_ladder(run, task_type, ladder);
    }
    batch.put_pointer(PointerName::Current, &trainer.moved(Scope::Baseline, versions, validation));
    batch.put_pointer(PointerName::Best, &trainer.moved(Scope::Baseline, versions, validation));
    batch.put_checkpoint(run, &state);
    trainer.write(batch).await?;
    trainer.report.event(&TrainEvent::Prepared {
        questions: answers.len(),
        accuracy: share_right(&answers),
        validation,
        pools: (pools.test.len(), pools.validation.len(), pools.diagnosis.len()),
    });
    Ok(state)
}

fn pool_unit(unit: &Unit) -> PoolUnit {
    PoolUnit { unit_id: unit.unit_id.clone(), task_type: unit.task_type.clone(), questions: unit.question_ids.clone() }
}
