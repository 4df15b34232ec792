//! A step: begin, rollout, diagnosis, candidates, gates, settlement (design 07).

use std::sync::Arc;

use super::candidates::{Plan, propose};
use super::gating::run_step_gates;
use super::settlement::{Outcome, Settlement, Verdict};
use super::story::TrainEvent;
use super::trainer::{Trainer, counts};
use super::{TrainError, state};
use crate::domain::{EpochStep, Phase, QuestionId};
use crate::evolution::diagnosis::DiagnosisResult;
use crate::harness::diagnosing::{DiagnoseRequest, diagnose, put_diagnosis};
use crate::harness::versions::VersionedSkills;
use crate::store::rows::{Checkpoint, PointerName, RunState, ScopeMark, StartState};
use crate::store::{Batch, PhaseKey, Scope};

/// Runs one step from its beginning to its settlement and gives the state after it.
///
/// A crash in between leaves rows of this step only, and the first transaction of the next attempt deletes them.
pub(super) async fn run_step(
    trainer: &Trainer<'_>,
    start: &Checkpoint,
    place: EpochStep,
    global_step: u32,
) -> Result<Checkpoint, TrainError> {
    let scope = Scope::Step(place);
    let current = trainer.current()?;
    let rollout = PhaseKey::plain(Phase::Rollout);
    let batch = start.batches.get(place.step as usize).cloned().unwrap_or_default();
    let mark = trainer.mark(Some(global_step), current, &[(&rollout, &batch)]);
    begin_step(trainer, start, scope, &mark).await?;

    let answers = trainer.answer(scope, &rollout, &batch, current).await?;
    let (right, answered, infra) = counts(&answers);
    trainer.report.event(&TrainEvent::RolledOut { step: place, right, answered, infra });

    let skills = Arc::new(VersionedSkills::load(&trainer.snapshot()?, current.skills)?);
    let diagnosis = diagnose_step(trainer, scope, &batch, &skills).await?;
    let (packs, degraded) = (diagnosis.skill_packs.len(), diagnosis.n_degraded);
    trainer.report.event(&TrainEvent::Diagnosed { step: place, packs, degraded });

    let plans = propose(trainer, start, place, global_step, current, &skills, &diagnosis).await?;
    let candidates = plans.values().filter(|plan| matches!(plan, Plan::Candidate(_))).count();
    trainer.report.event(&TrainEvent::Evolved { step: place, candidates, types: plans.len() });

    let mut gated = run_step_gates(trainer, place, current, &skills, &plans).await?;
    let verdicts = plans.into_iter().map(|(task_type, plan)| {
        let outcome = match plan {
            Plan::Idle { action, note, edit_budget } => Outcome::Idle { action, note, edit_budget },
            Plan::Candidate(candidate) => match gated.settled.remove(&task_type) {
                Some(gate) => Outcome::Gated { candidate, gate: Box::new(gate), wall_ms: gated.wall_ms },
                None => return Err(trainer.missing(format!("the outcome of the gate of {task_type}"))),
            },
        };
        Ok(Verdict { task_type, outcome })
    });
    let verdicts: Vec<Verdict> = verdicts.collect::<Result<_, TrainError>>()?;
    settle(trainer, start, Settling { place, global_step, current, mark, answers, diagnosis, verdicts }).await
}

/// The first transaction: what an earlier attempt left goes, the step is marked as begun.
async fn begin_step(
    trainer: &Trainer<'_>,
    start: &Checkpoint,
    scope: Scope,
    mark: &ScopeMark,
) -> Result<(), TrainError> {
    let row = trainer.start_state(start, mark.versions)?;
    let mut batch = Batch::new();
    batch.label("begin step").delete_scope(&trainer.run, scope);
    batch.put(&trainer.run, scope, &(), mark);
    batch.put(&trainer.run, scope, &(), &row);
    trainer.write(batch).await
}

async fn diagnose_step(
    trainer: &Trainer<'_>,
    scope: Scope,
    questions: &[QuestionId],
    skills: &Arc<VersionedSkills>,
) -> Result<DiagnosisResult, TrainError> {
    let request = DiagnoseRequest::of_phase(
        trainer.run.clone(),
        scope,
        PhaseKey::plain(Phase::Rollout),
        trainer.material.questions_of(questions),
        Arc::clone(skills),
    );
    let diagnosis = diagnose(trainer.session, &request).await?;
    let mut batch = Batch::new();
    batch.label("diagnosis");
    put_diagnosis(&mut batch, &trainer.run, scope, &diagnosis);
    trainer.write(batch).await?;
    Ok(diagnosis)
}

struct Settling {
    place: EpochStep,
    global_step: u32,
    current: crate::store::rows::VersionPair,
    mark: ScopeMark,
    answers: state::Answers,
    diagnosis: DiagnosisResult,
    verdicts: Vec<Verdict>,
}

async fn settle(trainer: &Trainer<'_>, start: &Checkpoint, step: Settling) -> Result<Checkpoint, TrainError> {
    let settlement = Settlement {
        made_by: trainer.made_by(Scope::Step(step.place)),
        place: step.place,
        global_step: step.global_step,
        state: start.clone(),
        current: step.current,
        mark: ScopeMark { settled: true, ..step.mark },
        answers: step.answers,
        system_pack: step.diagnosis.system_pack.as_ref().map(json),
        tool_packs: step.diagnosis.tool_packs.iter().map(|(tool, pack)| (tool.clone(), json(pack))).collect(),
        verdicts: step.verdicts,
        pools: trainer.pools()?,
        material: Arc::clone(&trainer.material),
    };
    let place = step.place;
    let settled = trainer
        .session
        .bench
        .store
        .transact(move |snapshot| settlement.plan(snapshot))
        .await
        .map_err(TrainError::from)?;
    for (task_type, report) in settled.reports {
        trainer.report.event(&TrainEvent::Settled { step: place, task_type, report: Box::new(report) });
    }
    Ok(settled.state)
}

/// JSON text of a pack; packs always have one.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Puts the training back to where a step began, so that it runs again; its own rows go when it does.
///
/// Rows of other steps stay where they are; those of later ones count as not settled any more, since the training will come
/// to them again.
///
/// # Errors
/// The step has never begun.
pub(super) async fn rewind(
    trainer: &Trainer<'_>,
    state: &Checkpoint,
    step: EpochStep,
) -> Result<Checkpoint, TrainError> {
    let (run, scope) = (&trainer.run, Scope::Step(step));
    let snapshot = trainer.snapshot()?;
    let Some(start) = snapshot.row::<StartState>(run, scope, &())? else {
        return Err(TrainError::NoRerun { step, why: "it has not begun yet" });
    };
    if start.state.config_fingerprint != state.config_fingerprint {
        return Err(TrainError::NoRerun { step, why: "its state belongs to another configuration" });
    }
    let mut batch = Batch::new();
    batch.label("rewind");
    for later in snapshot.scopes(run)?.into_iter().filter(|other| *other > scope && *other <= Scope::Final) {
        if let Some(mut mark) = snapshot.row::<ScopeMark>(run, later, &())? {
            mark.settled = false;
            batch.put(run, later, &(), &mark);
        }
    }
    batch.delete_scope(run, scope);
    let current = trainer.moved(scope, start.current, None);
    batch.put_pointer(PointerName::Current, &current);
    batch.put_pointer(PointerName::Best, &trainer.moved(scope, start.best, start.best_val_acc));
    for (task_type, ladder) in &start.ladders {
        batch.put_ladder(run, task_type, ladder);
    }
    batch.put_checkpoint(run, &start.state);
    if let Some(mut row) = snapshot.run(run)? {
        row.state = RunState::Unfinished;
        row.finished_ms = None;
        row.history.push(super::begin::event("rerun", step.to_string()));
        batch.put_run(run, &row);
    }
    drop(snapshot);
    trainer.write(batch).await?;
    Ok(start.state)
}

/// The steps of an epoch by number, as the store holds them.
pub(super) fn steps_of(scopes: &[Scope], epoch: u32) -> Vec<EpochStep> {
    let of_epoch = scopes.iter().filter(|scope| scope.epoch() == Some(epoch));
    let steps = of_epoch.filter_map(|scope| if let Scope::Step(step) = scope { Some(*step) } else { None });
    steps.collect()
}
