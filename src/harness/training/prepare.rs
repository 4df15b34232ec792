//! Before the first step: the baseline answers everything, then pools and ladders are cut from it and frozen.

use super::TrainError;
use super::material::{accuracy, per_unit, pool_questions};
use super::plan::pool_settings;
use super::story::TrainEvent;
use super::trainer::{Trainer, share_right};
use crate::domain::{Phase, QuestionId, Unit, UnitId};
use crate::harness::correctness::Correctness;
use crate::harness::evaluation::eval_report;
use crate::harness::inference::Answered;
use crate::harness::ladder::GatePools;
use crate::harness::ladder_store::stored_ladders;
use crate::harness::pools::cut_pools;
use crate::store::rows::{
    Checkpoint, Outcome, PointerName, PoolUnit, Pools, Prediction, Progress, ScopeMark, Seed, VersionPair,
};
use crate::store::{AnswerKey, Batch, PhaseKey, Scope, StoreError};

/// Runs the baseline and makes the first training state. Durable baseline answers of an earlier session are kept, and
/// those of a seed that vouches for the first versions are taken over.
pub(super) async fn prepare(trainer: &Trainer<'_>) -> Result<Checkpoint, TrainError> {
    let (run, versions) = (&trainer.run, trainer.current()?);
    let phase = PhaseKey::plain(Phase::Baseline);
    let all: Vec<QuestionId> = trainer.material.questions.keys().cloned().collect();
    let stored = trainer.snapshot()?.row::<ScopeMark>(run, Scope::Baseline, &())?;
    let begun = stored.is_some();
    let mut mark = stored.unwrap_or_else(|| trainer.mark(None, versions, &[(&phase, &all)]));
    let mut batch = Batch::new();
    batch.label("begin baseline").put(run, Scope::Baseline, &(), &mark);
    if !begun && let Some((name, seed)) = vouching_seed(trainer, versions)? {
        take_over(trainer, &mut batch, &phase, &name, &seed)?;
    }
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

/// The newest seed whose evaluation asked these questions of these models with these texts: it serves as the baseline
/// (design 12).
fn vouching_seed(trainer: &Trainer<'_>, versions: VersionPair) -> Result<Option<(String, Seed)>, StoreError> {
    let snapshot = trainer.session.bench.store.snapshot()?;
    let (data, environment) = (trainer.session.questions.fingerprint, trainer.session.environment);
    let mut newest: Option<(String, Seed)> = None;
    for name in snapshot.seeds()? {
        let Some(seed) = snapshot.seed(&name)? else { continue };
        let fits =
            (seed.data_fingerprint, seed.environment_fingerprint, seed.eval_versions) == (data, environment, versions);
        if fits && newest.as_ref().is_none_or(|(_, best)| best.created_ms < seed.created_ms) {
            newest = Some((name, seed));
        }
    }
    Ok(newest)
}

/// The seed's answers become the baseline's, without their traces, which stay with its run. Technical failures are asked
/// again.
fn take_over(
    trainer: &Trainer<'_>,
    batch: &mut Batch,
    phase: &PhaseKey,
    name: &str,
    seed: &Seed,
) -> Result<(), TrainError> {
    let answered = seed.predictions.iter().filter(|(question, answer)| {
        answer.outcome != Outcome::Infra && trainer.material.questions.contains_key(question)
    });
    let mut answers = 0;
    for (question, answer) in answered {
        let key = AnswerKey { phase: phase.clone(), question: question.clone() };
        batch.put(&trainer.run, Scope::Baseline, &key, &Prediction { spans: 0, ..answer.clone() });
        answers += 1;
    }
    let event = TrainEvent::BaselineFrom { seed: name.to_owned(), answers };
    let mut row = trainer.snapshot()?.run(&trainer.run)?.ok_or_else(|| trainer.missing("its row".to_owned()))?;
    row.history.push(super::begin::event("baseline", event.to_string()));
    batch.put_run(&trainer.run, &row);
    trainer.report.event(&event);
    Ok(())
}

fn pool_unit(unit: &Unit) -> PoolUnit {
    PoolUnit { unit_id: unit.unit_id.clone(), task_type: unit.task_type.clone(), questions: unit.question_ids.clone() }
}
