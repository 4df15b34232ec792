//! The end of a training: the best version in a folder, the untouched test pool, the summary.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::account::{ErrorAccount, error_account};
use super::begin::event;
use super::material::pool_questions;
use super::state::Answers;
use super::story::TrainEvent;
use super::trainer::Trainer;
use super::{TrainError, material};
use crate::domain::{Phase, QuestionId, RunId, TaskType};
use crate::harness::evaluation::eval_report;
use crate::harness::inference::{Answered, now_ms};
use crate::harness::intervals::{Interval, paired_gain, share};
use crate::harness::versions::{VersionedPrompts, VersionedSkills, checkout};
use crate::store::rows::{
    Checkpoint, Outcome, PointerName, Prediction, Progress, RunState, ScopeMark, StepAction, StepReport, Usage,
    VersionPair,
};
use crate::store::{Batch, PhaseKey, Scope};

/// The folder of the workspace that the best version is delivered to.
const BEST_FOLDER: &str = "best";

/// The final evaluation on the test pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestResult {
    /// The best pair's share of right answers, with its interval.
    pub accuracy: Option<Interval>,
    /// The first pair's, from the baseline.
    pub baseline: Option<Interval>,
    /// Gain per unit over the baseline on the same units, with its interval.
    pub gain: Option<Interval>,
    /// Units that only the best pair got right.
    pub wins: u64,
    /// Units that only the first pair got right.
    pub losses: u64,
    /// Units that both answered.
    pub pairs: u64,
    /// Technical failures, left out.
    pub infra: usize,
}

/// What a training came to.
#[derive(Debug, Clone, Serialize)]
pub struct TrainSummary {
    /// The run.
    pub run_id: RunId,
    /// Whether it is over.
    pub finished: bool,
    /// How far it is, such as `e2 s0` or `e1 slow4`.
    pub progress: String,
    /// Epochs that are done.
    pub epochs_done: u32,
    /// Steps that are settled.
    pub steps: usize,
    /// Versions that the run began with.
    pub start: VersionPair,
    /// Versions that are trained on now.
    pub current: VersionPair,
    /// The best versions.
    pub best: VersionPair,
    /// Validation accuracy of the first versions.
    pub baseline_val_acc: Option<f64>,
    /// Validation accuracy of the best versions.
    pub best_val_acc: Option<f64>,
    /// Gates that accepted for good.
    pub confirmed: usize,
    /// Gates that accepted on probation.
    pub provisional: usize,
    /// Gates that refused.
    pub rejected: usize,
    /// Types that had nothing to gate, over all steps.
    pub skipped: usize,
    /// How many accepts would be expected if no edit helped at all.
    pub error_account: ErrorAccount,
    /// Types that are on probation still: accepted, not confirmed.
    pub unconfirmed: Vec<TaskType>,
    /// The test pool; none before the end.
    pub test: Option<TestResult>,
    /// Technical failures by phase.
    pub errors: BTreeMap<String, u64>,
    /// Answers by phase.
    pub answers: BTreeMap<String, u64>,
    /// Model calls.
    pub calls: u64,
    /// Of these, answered by the response cache.
    pub cached_calls: u64,
    /// Tokens read and paid for.
    pub prompt_tokens: u64,
    /// Tokens written and paid for.
    pub completion_tokens: u64,
    /// US dollars.
    pub cost_usd: f64,
    /// Where the best versions lie as files.
    pub delivered: Option<String>,
    /// Wall time of this session in seconds.
    pub seconds: f64,
}

/// Test evaluation, delivery, and the run's end, in this order: the run is over only when all is there.
pub(super) async fn finish(trainer: &Trainer<'_>, state: &Checkpoint) -> Result<(), TrainError> {
    let best = trainer.pointer(PointerName::Best)?.versions;
    let phase = PhaseKey::plain(Phase::FinalTest);
    let questions = pool_questions(&trainer.pools()?.test);
    let stored = trainer.snapshot()?.row::<ScopeMark>(&trainer.run, Scope::Final, &())?;
    let resumable = stored.filter(|mark| mark.versions == best && !mark.settled);
    let mut batch = Batch::new();
    batch.label("begin final test");
    let mark = match resumable {
        Some(mark) => mark,
        None => {
            batch.delete_scope(&trainer.run, Scope::Final);
            trainer.mark(None, best, &[(&phase, &questions)])
        }
    };
    batch.put(&trainer.run, Scope::Final, &(), &mark);
    trainer.write(batch).await?;
    trainer.answer(Scope::Final, &phase, &questions, best).await?;
    let rows = trainer.snapshot()?.rows_of::<Prediction>(&trainer.run, Scope::Final, &phase)?;
    let answered: Vec<Answered> =
        rows.into_iter().map(|(key, prediction)| Answered { question: key.question, prediction }).collect();

    let folder = deliver(trainer, best)?;
    trainer.report.event(&TrainEvent::Delivered { folder: folder.clone(), versions: best });
    let mut row = trainer.snapshot()?.run(&trainer.run)?.ok_or_else(|| trainer.missing("its row"))?;
    row.state = RunState::Finished;
    row.finished_ms = Some(now_ms());
    row.history.push(event("finished", String::new()));
    row.summary = serde_json::to_string(&serde_json::json!({
        "best_skills": best.skills.to_string(),
        "best_prompts": best.prompts.to_string(),
        "unconfirmed": state.probations.keys().collect::<Vec<_>>(),
        "delivered": folder,
    }))
    .ok();
    let mut batch = Batch::new();
    batch.label("finish");
    batch.put(&trainer.run, Scope::Final, &phase, &eval_report(best, &answered));
    batch.put(&trainer.run, Scope::Final, &(), &ScopeMark { settled: true, ..mark });
    batch.put_run(&trainer.run, &row);
    trainer.write(batch).await
}

/// Writes the best skills and prompts as files. An earlier delivery is replaced; a crash leaves the old or the new one.
fn deliver(trainer: &Trainer<'_>, best: VersionPair) -> Result<String, TrainError> {
    let snapshot = trainer.snapshot()?;
    let folder = trainer.session.workspace.root().join(BEST_FOLDER);
    checkout(&folder.join("skills"), VersionedSkills::load(&snapshot, best.skills)?.files(), true)?;
    checkout(&folder.join("prompts"), VersionedPrompts::load(&snapshot, best.prompts)?.files(), true)?;
    Ok(folder.display().to_string())
}

/// What the store knows of the run.
pub(super) fn summary_of(trainer: &Trainer<'_>, wall: Duration) -> Result<TrainSummary, TrainError> {
    let (run, snapshot) = (&trainer.run, trainer.snapshot()?);
    let row = snapshot.run(run)?.ok_or_else(|| trainer.missing("its row"))?;
    let state = snapshot.checkpoint(run)?.ok_or_else(|| trainer.missing("its training state"))?;
    let (current, best) = (trainer.pointer(PointerName::Current)?, trainer.pointer(PointerName::Best)?);
    let mut usage = Usage::default();
    snapshot.usage(run)?.iter().for_each(|(_, one)| usage.add(one));
    let (mut actions, mut ladders): (Vec<StepAction>, Vec<u32>) = (Vec::new(), Vec::new());
    let (mut steps, mut errors, mut answers) = (0, BTreeMap::new(), BTreeMap::new());
    for scope in snapshot.scopes(run)? {
        let settled = snapshot.row::<ScopeMark>(run, scope, &())?.is_some_and(|mark| mark.settled);
        steps += usize::from(settled && matches!(scope, Scope::Step(_)));
        if settled {
            for (_, report) in snapshot.rows::<StepReport>(run, scope)? {
                actions.push(report.action);
                ladders.extend(report.n_plan);
            }
        }
        snapshot.visit::<Prediction>(run, scope, |key, prediction| {
            let phase = key.phase.phase().name().to_owned();
            if prediction.outcome == Outcome::Infra {
                *errors.entry(phase.clone()).or_insert(0) += 1;
            }
            *answers.entry(phase).or_insert(0) += 1;
            std::ops::ControlFlow::Continue(())
        })?;
    }
    let count = |action: StepAction| actions.iter().filter(|found| **found == action).count();
    let pools = snapshot.pools(run)?.ok_or_else(|| trainer.missing("its pools"))?;
    let baseline = trainer.stored_answers(Scope::Baseline, &PhaseKey::plain(Phase::Baseline))?;
    let finished = row.state == RunState::Finished;
    Ok(TrainSummary {
        run_id: run.clone(),
        finished,
        progress: progress_text(&state),
        epochs_done: epochs_done(&state),
        steps,
        start: row.versions,
        current: current.versions,
        best: best.versions,
        baseline_val_acc: share_of(&pool_questions(&pools.validation), &baseline),
        best_val_acc: best.val_acc,
        confirmed: count(StepAction::AcceptConfirmed),
        provisional: count(StepAction::AcceptProvisional),
        rejected: count(StepAction::Reject),
        skipped: count(StepAction::Skipped) + count(StepAction::Cooldown),
        error_account: error_account(&ladders, &trainer.config().gate.params()),
        unconfirmed: state.probations.keys().cloned().collect(),
        test: if finished { Some(test_result(trainer, &pool_questions(&pools.test), &baseline)?) } else { None },
        errors,
        answers,
        calls: usage.calls,
        cached_calls: usage.cached_calls,
        prompt_tokens: usage.tokens.prompt,
        completion_tokens: usage.tokens.completion,
        cost_usd: usage.cost_usd,
        delivered: finished.then(|| trainer.session.workspace.root().join(BEST_FOLDER).display().to_string()),
        seconds: wall.as_secs_f64(),
    })
}

/// How far a training is, in words.
fn progress_text(state: &Checkpoint) -> String {
    match state.progress {
        Progress::Prepared => "prepared".to_owned(),
        Progress::InEpoch { step, .. } => format!("{step} settled"),
        Progress::Slow { epoch, sub_step, .. } => format!("e{epoch} slow update, {sub_step} of 10 done"),
        Progress::EpochDone { epoch, .. } => format!("epoch {epoch} done"),
    }
}

fn epochs_done(state: &Checkpoint) -> u32 {
    match state.progress {
        Progress::Prepared => 0,
        Progress::InEpoch { step, .. } => step.epoch.saturating_sub(1),
        Progress::Slow { epoch, .. } => epoch.saturating_sub(1),
        Progress::EpochDone { epoch, .. } => epoch,
    }
}

/// The best pair against the baseline on the test pool, unit by unit.
fn test_result(trainer: &Trainer<'_>, test: &[QuestionId], baseline: &Answers) -> Result<TestResult, TrainError> {
    let best = trainer.stored_answers(Scope::Final, &PhaseKey::plain(Phase::FinalTest))?;
    let of_test = |answers: &Answers| -> BTreeMap<QuestionId, bool> {
        test.iter().filter_map(|id| Some((id.clone(), (*answers.get(id)?)?))).collect()
    };
    let (start, end) = (of_test(baseline), of_test(&best));
    let units = || trainer.material.units.values();
    let (start_units, end_units) = (material::per_unit(units(), &start), material::per_unit(units(), &end));
    let both: Vec<(bool, bool)> =
        start_units.iter().filter_map(|(unit, before)| Some((*before, *end_units.get(unit)?))).collect();
    let flips = |pair: (bool, bool)| both.iter().filter(|found| **found == pair).count() as u64;
    let (wins, losses, pairs) = (flips((false, true)), flips((true, false)), both.len() as u64);
    let right = |answers: &BTreeMap<QuestionId, bool>| answers.values().filter(|right| **right).count() as u64;
    Ok(TestResult {
        accuracy: share(right(&end), end.len() as u64),
        baseline: share(right(&start), start.len() as u64),
        gain: paired_gain(wins, losses, pairs),
        wins,
        losses,
        pairs,
        infra: best.values().filter(|correct| correct.is_none()).count(),
    })
}

fn share_of(questions: &[QuestionId], answers: &Answers) -> Option<f64> {
    let known: BTreeMap<QuestionId, bool> =
        answers.iter().filter_map(|(question, correct)| Some((question.clone(), (*correct)?))).collect();
    material::accuracy(questions, &known)
}
