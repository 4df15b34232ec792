//! `trm infer` and `trm eval`: one phase of answers as a run of its own, resumable and reported.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::inference::{AnswerPlan, Answered, Bench, InferenceError, Report, answer_all, now_ms};
use super::intervals::{Interval, share};
use super::session::spent_before;
use crate::agent::AgentTexts;
use crate::domain::{ContentHash, ExitClass, Fault, Hasher, IdError, Phase, Question, RunId, TaskType};
use crate::store::rows::{
    EvalCounts, EvalReport, ExpectedAnswers, Outcome, Prediction, Run, RunEvent, RunMode, RunState, ScopeMark, Usage,
    VersionPair,
};
use crate::store::{Batch, PhaseKey, Scope, Snapshot, StoreError};

/// What to answer, with what.
#[derive(Debug, Clone)]
pub struct EvaluationRequest {
    /// [`RunMode::Infer`] or [`RunMode::Eval`].
    pub mode: RunMode,
    /// A run id of the user's choice.
    pub run_id: Option<RunId>,
    /// Begin a new run even if this one exists.
    pub fresh: bool,
    /// The versions to answer with.
    pub versions: VersionPair,
    /// Their texts.
    pub texts: Arc<AgentTexts>,
    /// The questions.
    pub questions: Vec<Question>,
    /// The run's configuration and fingerprints.
    pub frozen: FrozenConfig,
}

/// What a run row keeps of its configuration.
#[derive(Debug, Clone)]
pub struct FrozenConfig {
    /// JSON text without secrets.
    pub snapshot: String,
    /// Hash of its structural keys.
    pub structural: ContentHash,
    /// Fingerprint of the question set.
    pub data: ContentHash,
    /// Fingerprint of all that answers depend on beside skill and prompts.
    pub environment: ContentHash,
    /// All randomness derives from it.
    pub seed: u64,
    /// Guard on technical failures, a share.
    pub guard_err: f64,
}

/// The result of an evaluation.
#[derive(Debug, Clone, Serialize)]
pub struct EvaluationSummary {
    /// The run.
    pub run_id: RunId,
    /// Skills that were read.
    pub skills_version: String,
    /// Prompts that were read.
    pub prompts_version: String,
    /// Questions asked.
    pub questions: usize,
    /// Of these, answered in an earlier session.
    pub resumed: usize,
    /// Right.
    pub correct: u32,
    /// Wrong, unparsed ones included.
    pub wrong: u32,
    /// Of the wrong ones, those from which no option could be read.
    pub unparsed: u32,
    /// Technical failures, which count nowhere.
    pub infra: u32,
    /// Share right with its 95 % interval (Wilson).
    pub accuracy: Option<Interval>,
    /// The same by task type.
    pub by_task_type: BTreeMap<TaskType, TypeSummary>,
    /// Model calls of the whole run.
    pub calls: u64,
    /// Of these, answered by the response cache.
    pub cached_calls: u64,
    /// Tokens read and paid for.
    pub prompt_tokens: u64,
    /// Tokens written and paid for.
    pub completion_tokens: u64,
    /// US dollars.
    pub cost_usd: f64,
    /// Wall time of this session in seconds.
    pub seconds: f64,
}

/// One task type of a summary.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct TypeSummary {
    /// Right.
    pub correct: u32,
    /// Wrong.
    pub wrong: u32,
    /// Technical failures.
    pub infra: u32,
    /// Share right with its interval.
    pub accuracy: Option<Interval>,
}

/// Why an evaluation did not end.
#[derive(Debug, thiserror::Error)]
pub enum EvaluationError {
    /// The answers.
    #[error(transparent)]
    Inference(#[from] InferenceError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The derived run id is none: a bug.
    #[error(transparent)]
    Id(#[from] IdError),
    /// No question is left to ask.
    #[error("answer questions: none is selected")]
    NoQuestions,
    /// The run id belongs to a run of another kind, configuration or question set.
    #[error("go on with run {run}: it differs in {what}")]
    OtherRun {
        /// The run.
        run: RunId,
        /// In what.
        what: &'static str,
    },
}

impl Fault for EvaluationError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Inference(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Id(_) => ExitClass::Internal,
            Self::NoQuestions => ExitClass::Data,
            Self::OtherRun { .. } => ExitClass::Usage,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Inference(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Id(_) => "run.id",
            Self::NoQuestions => "run.no_questions",
            Self::OtherRun { .. } => "run.other",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Inference(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Id(_) => None,
            Self::NoQuestions => Some("import questions with 'trm import', or widen the selection".into()),
            Self::OtherRun { .. } => Some("choose another --run-id, or add --fresh".into()),
        }
    }
}

/// Answers the questions, or goes on with the run of the same command, and reports.
///
/// The same command finds the same run: its id derives from mode, versions, structural configuration and questions. Durable
/// answers are kept; technical failures are asked again.
///
/// # Errors
/// [`EvaluationError`]; what was answered is durable.
pub async fn evaluate(
    bench: &Bench,
    request: &EvaluationRequest,
    report: &dyn Report,
) -> Result<EvaluationSummary, EvaluationError> {
    if request.questions.is_empty() {
        return Err(EvaluationError::NoQuestions);
    }
    let started = std::time::Instant::now();
    let (scope, phase) = match request.mode {
        RunMode::Eval => (Scope::Eval, PhaseKey::plain(Phase::Eval)),
        RunMode::Infer | RunMode::Train | RunMode::Diagnose => (Scope::Adhoc, PhaseKey::plain(Phase::Adhoc)),
    };
    let run = begin(bench, request, scope, &phase).await?;
    let (spent, tokens) = spent_before(&bench.store, &run)?;
    bench.hub.count_spent(spent, tokens);
    let mut earlier = 0_usize;
    bench.store.snapshot()?.visit::<Prediction>(&run, scope, |_, answer| {
        earlier += usize::from(answer.outcome != Outcome::Infra);
        std::ops::ControlFlow::Continue(())
    })?;
    let plan = AnswerPlan {
        run: run.clone(),
        scope,
        phase: phase.clone(),
        questions: request.questions.clone(),
        texts: Arc::clone(&request.texts),
        versions: request.versions,
    };
    let answers = answer_all(bench, &plan, request.frozen.guard_err, report).await?;
    let eval = eval_report(request.versions, &answers);
    let mut summary = summarise(&run, request, &eval, &bench.store.snapshot()?)?;
    summary.resumed = earlier.min(answers.len());
    summary.seconds = started.elapsed().as_secs_f64();
    settle(bench, request, &run, scope, &phase, &eval, &summary).await?;
    Ok(summary)
}

/// The run of this command: found or created, its scope marked.
async fn begin(
    bench: &Bench,
    request: &EvaluationRequest,
    scope: Scope,
    phase: &PhaseKey,
) -> Result<RunId, EvaluationError> {
    let snapshot = bench.store.snapshot()?;
    let wanted = match &request.run_id {
        Some(run) => run.clone(),
        None => derived_run_id(request)?,
    };
    let run = if request.fresh { unused(&snapshot, &wanted)? } else { wanted };
    let frozen = &request.frozen;
    let mut batch = Batch::new();
    batch.label("begin evaluation");
    match snapshot.run(&run)? {
        Some(row) => {
            let differs = [
                (row.mode != request.mode, "what it does"),
                (row.data_fingerprint != frozen.data, "its questions"),
                (row.config_fingerprint != frozen.structural, "its structural configuration"),
                (row.versions != request.versions, "its versions"),
                (row.environment_fingerprint != frozen.environment, "its videos"),
            ];
            if let Some((_, what)) = differs.into_iter().find(|(differs, _)| *differs) {
                return Err(EvaluationError::OtherRun { run, what });
            }
            let mut row = row;
            row.history.push(RunEvent { at_ms: now_ms(), what: "resumed".into(), note: String::new() });
            batch.put_run(&run, &row);
        }
        None => {
            batch.create_run(&run, new_run(request));
        }
    }
    batch.put(&run, scope, &(), &mark(request, phase, false));
    bench.store.write(batch).await?;
    Ok(run)
}

fn new_run(request: &EvaluationRequest) -> Run {
    let frozen = &request.frozen;
    Run {
        sequence: 0,
        mode: request.mode,
        state: RunState::Unfinished,
        config: frozen.snapshot.clone(),
        config_fingerprint: frozen.structural,
        data_fingerprint: frozen.data,
        environment_fingerprint: frozen.environment,
        seed: frozen.seed,
        versions: request.versions,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms: now_ms(),
        finished_ms: None,
        history: vec![RunEvent { at_ms: now_ms(), what: "started".into(), note: String::new() }],
        summary: None,
    }
}

fn mark(request: &EvaluationRequest, phase: &PhaseKey, settled: bool) -> ScopeMark {
    let questions = request.questions.iter().map(|question| question.question_id.clone()).collect();
    ScopeMark {
        global_step: None,
        versions: request.versions,
        expected: vec![ExpectedAnswers { phase: phase.to_string(), questions }],
        settled,
        begun_ms: now_ms(),
    }
}

/// One transaction ends the run: report, mark, summary, state.
async fn settle(
    bench: &Bench,
    request: &EvaluationRequest,
    run: &RunId,
    scope: Scope,
    phase: &PhaseKey,
    report: &EvalReport,
    summary: &EvaluationSummary,
) -> Result<(), EvaluationError> {
    let mut row = bench.store.snapshot()?.run(run)?.unwrap_or_else(|| new_run(request));
    row.state = RunState::Finished;
    row.finished_ms = Some(now_ms());
    row.summary = serde_json::to_string(summary).ok();
    row.history.push(RunEvent { at_ms: now_ms(), what: "finished".into(), note: String::new() });
    let mut batch = Batch::new();
    batch.label("settle evaluation");
    batch.put(run, scope, phase, report);
    batch.put(run, scope, &(), &mark(request, phase, true));
    batch.put_run(run, &row);
    bench.store.write(batch).await?;
    Ok(())
}

fn derived_run_id(request: &EvaluationRequest) -> Result<RunId, IdError> {
    let mut hasher = Hasher::new("trm.evaluation");
    let frozen = &request.frozen;
    hasher.part(frozen.structural.as_bytes()).part(frozen.data.as_bytes()).part(frozen.environment.as_bytes());
    for question in &request.questions {
        hasher.part(question.question_id.as_str());
    }
    let VersionPair { skills, prompts } = request.versions;
    RunId::new(format!("{}-{skills}-{prompts}-{}", request.mode.name(), hasher.finish().short()))
}

/// The id itself if it is unused, else with the first free number behind it.
fn unused(snapshot: &Snapshot<'_>, wanted: &RunId) -> Result<RunId, EvaluationError> {
    let mut candidate = wanted.clone();
    for number in 2_u32.. {
        if snapshot.run(&candidate)?.is_none() {
            break;
        }
        candidate = RunId::new(format!("{wanted}-{number}"))?;
    }
    Ok(candidate)
}

/// Counts per task type.
#[must_use]
pub fn eval_report(versions: VersionPair, answers: &[Answered]) -> EvalReport {
    let mut total = EvalCounts::default();
    let mut by_type: BTreeMap<TaskType, EvalCounts> = BTreeMap::new();
    for answer in answers {
        let of_type = by_type.entry(answer.prediction.task_type.clone()).or_default();
        for counts in [&mut total, of_type] {
            match answer.prediction.outcome {
                Outcome::Correct => counts.correct += 1,
                Outcome::Wrong => counts.wrong += 1,
                Outcome::Unparsed => {
                    counts.wrong += 1;
                    counts.unparsed += 1;
                }
                Outcome::Infra => counts.infra += 1,
            }
        }
    }
    EvalReport { versions, total, by_task_type: by_type.into_iter().collect() }
}

fn summarise(
    run: &RunId,
    request: &EvaluationRequest,
    report: &EvalReport,
    snapshot: &Snapshot<'_>,
) -> Result<EvaluationSummary, StoreError> {
    let mut usage = Usage::default();
    for (_, row) in snapshot.usage(run)? {
        usage.add(&row);
    }
    let accuracy =
        |counts: &EvalCounts| share(counts.correct.into(), u64::from(counts.correct) + u64::from(counts.wrong));
    let by_type = report.by_task_type.iter().map(|(task_type, counts)| {
        let summary = TypeSummary {
            correct: counts.correct,
            wrong: counts.wrong,
            infra: counts.infra,
            accuracy: accuracy(counts),
        };
        (task_type.clone(), summary)
    });
    let EvalCounts { correct, wrong, unparsed, infra } = report.total;
    Ok(EvaluationSummary {
        run_id: run.clone(),
        skills_version: request.versions.skills.to_string(),
        prompts_version: request.versions.prompts.to_string(),
        questions: request.questions.len(),
        resumed: 0,
        correct,
        wrong,
        unparsed,
        infra,
        accuracy: accuracy(&report.total),
        by_task_type: by_type.collect(),
        calls: usage.calls,
        cached_calls: usage.cached_calls,
        prompt_tokens: usage.tokens.prompt,
        completion_tokens: usage.tokens.completion,
        cost_usd: usage.cost_usd,
        seconds: 0.0,
    })
}
