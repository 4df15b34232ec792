//! `trm diagnose`: a diagnosis of stored answers as a run of its own.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::answered_phase::{AnsweredPhase, SourceError, answered_phase, source_run};
use super::attended::{WorkPlace, WorkProgress};
use super::diagnosing::{DiagnoseRequest, diagnose, put_diagnosis};
use super::diagnosis_report::{KernelCost, ReportOf};
use super::inference::now_ms;
use super::kernel_error::KernelError;
use super::session::{Session, spent_of};
use crate::domain::{ExitClass, Fault, Hasher, IdError, Question, QuestionId, RunId, TaskType};
use crate::evolution::diagnosis::DiagnosisResult;
use crate::store::rows::{CasePack, QuestionMetrics, Run, RunEvent, RunMode, RunState, ScopeMark, StepRow};
use crate::store::{Batch, Scope, Snapshot, StoreError};

pub use super::diagnosis_report::{DiagnosisFilters, DiagnosisReport, PackSummary, TypeDiagnosis};

/// Which answers are diagnosed.
#[derive(Debug, Clone)]
pub struct DiagnosisRunRequest {
    /// The run that has the answers.
    pub source: RunId,
    /// The part of it; none: see [`answered_phase`].
    pub scope: Option<Scope>,
    /// Which of its answers.
    pub filters: DiagnosisFilters,
    /// Told how it gets on.
    pub progress: Option<Arc<dyn WorkProgress>>,
}

/// Why there is no diagnosis.
#[derive(Debug, thiserror::Error)]
pub enum DiagnosisRunError {
    /// The answers.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The diagnosis itself.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The derived run id is none: a bug.
    #[error(transparent)]
    Id(#[from] IdError),
    /// A filter names what the answers do not have.
    #[error("diagnose run {run}: {what}")]
    Filter {
        /// The run.
        run: RunId,
        /// What is not there.
        what: String,
    },
}

impl Fault for DiagnosisRunError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Source(error) => error.class(),
            Self::Kernel(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Id(_) => ExitClass::Internal,
            Self::Filter { .. } => ExitClass::Usage,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Source(error) => error.code(),
            Self::Kernel(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Id(_) => "run.id",
            Self::Filter { .. } => "diagnose.filter",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Source(error) => error.hint(),
            Self::Kernel(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Id(_) => None,
            Self::Filter { run, .. } => {
                Some(format!("'trm inspect run {run}' shows what it answered, 'trm inspect questions' the task types"))
            }
        }
    }
}

/// Diagnoses answers and stores the result in the ad-hoc part of a run of its own. The same command finds the same run: it
/// is diagnosed again, and what the judge said before comes from the response cache.
///
/// # Errors
/// [`DiagnosisRunError`]; the diagnosis of an earlier session stays as it was.
pub async fn diagnose_run(
    session: &Session,
    request: &DiagnosisRunRequest,
) -> Result<DiagnosisReport, DiagnosisRunError> {
    let source = {
        let snapshot = session.bench.store.snapshot()?;
        let row = source_run(&snapshot, &request.source, session.questions.fingerprint)?;
        answered_phase(&snapshot, &request.source, &row, request.scope)?
    };
    let questions = answered_questions(session, &source);
    check_filters(&source, &questions, &request.filters)?;
    let run = begin(session, &source, &request.filters).await?;
    let some = |filter: &[TaskType]| (!filter.is_empty()).then(|| filter.to_vec());
    let of_questions = &request.filters.questions;
    let result = diagnose(
        session,
        &DiagnoseRequest {
            question_ids: (!of_questions.is_empty()).then(|| of_questions.clone()),
            task_types: some(&request.filters.task_types),
            only_incorrect: request.filters.only_incorrect,
            place: WorkPlace { run: run.clone(), scope: Scope::Adhoc },
            progress: request.progress.clone(),
            ..DiagnoseRequest::of_phase(
                source.run.clone(),
                source.scope,
                source.phase.clone(),
                questions,
                Arc::clone(&source.skills),
            )
        },
    )
    .await?;
    settle(session, &source, &request.filters, &run, &result).await
}

fn answered_questions(session: &Session, source: &AnsweredPhase) -> Vec<Question> {
    source.questions.iter().filter_map(|id| session.questions.get(id)).cloned().collect()
}

fn check_filters(
    source: &AnsweredPhase,
    questions: &[Question],
    filters: &DiagnosisFilters,
) -> Result<(), DiagnosisRunError> {
    let wrong = |what: String| Err(DiagnosisRunError::Filter { run: source.run.clone(), what });
    let ids: BTreeSet<&QuestionId> = questions.iter().map(|question| &question.question_id).collect();
    if let Some(unknown) = filters.questions.iter().find(|id| !ids.contains(id)) {
        return wrong(format!("it has no answer to question {unknown} there"));
    }
    let types: BTreeSet<&TaskType> = questions.iter().map(|question| &question.task_type).collect();
    match filters.task_types.iter().find(|task_type| !types.contains(task_type)) {
        Some(unknown) => wrong(format!("it has no answer to a question of type {unknown} there")),
        None => Ok(()),
    }
}

/// The run of this command, found or created, its part marked as begun.
async fn begin(
    session: &Session,
    source: &AnsweredPhase,
    filters: &DiagnosisFilters,
) -> Result<RunId, DiagnosisRunError> {
    let run = derived_run_id(session, source, filters)?;
    let note = format!("answers of {} ({}, {})", source.run, source.scope, source.phase);
    let mut batch = Batch::new();
    batch.label("begin diagnosis");
    let snapshot = session.bench.store.snapshot()?;
    if let Some(mut row) = snapshot.run(&run)? {
        row.history.push(RunEvent { at_ms: now_ms(), what: "resumed".into(), note });
        batch.put_run(&run, &row);
    } else {
        batch.create_run(&run, new_run(session, source, note));
        batch.put(&run, Scope::Adhoc, &(), &mark(source, false));
    }
    let (spent, tokens) = spent_of(&snapshot, &run)?;
    drop(snapshot);
    session.bench.hub.count_spent(spent, tokens);
    session.bench.store.write(batch).await?;
    Ok(run)
}

fn derived_run_id(session: &Session, source: &AnsweredPhase, filters: &DiagnosisFilters) -> Result<RunId, IdError> {
    let mut hasher = Hasher::new("trm.diagnosis");
    hasher.part(source.run.as_str()).part(source.scope.to_string()).part(source.phase.to_string());
    hasher.part(session.config.structural_fingerprint().as_bytes());
    hasher.part(serde_json::to_string(filters).unwrap_or_default());
    RunId::new(format!("diagnose-{}", hasher.finish().short()))
}

fn new_run(session: &Session, source: &AnsweredPhase, note: String) -> Run {
    let frozen = session.frozen();
    Run {
        sequence: 0,
        mode: RunMode::Diagnose,
        state: RunState::Unfinished,
        config: frozen.snapshot,
        config_fingerprint: frozen.structural,
        data_fingerprint: frozen.data,
        environment_fingerprint: frozen.environment,
        seed: frozen.seed,
        versions: source.versions,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms: now_ms(),
        finished_ms: None,
        history: vec![RunEvent { at_ms: now_ms(), what: "started".into(), note }],
        summary: None,
    }
}

/// A diagnosis answers nothing itself.
fn mark(source: &AnsweredPhase, settled: bool) -> ScopeMark {
    ScopeMark { global_step: None, versions: source.versions, expected: Vec::new(), settled, begun_ms: now_ms() }
}

/// One transaction: rows of an earlier diagnosis that are none of this one go, the others are written, the run ends.
async fn settle(
    session: &Session,
    source: &AnsweredPhase,
    filters: &DiagnosisFilters,
    run: &RunId,
    result: &DiagnosisResult,
) -> Result<DiagnosisReport, DiagnosisRunError> {
    let snapshot = session.bench.store.snapshot()?;
    let of = ReportOf {
        run_id: run.clone(),
        source: source.name(),
        filters: filters.clone(),
        skills_version: source.versions.skills,
        cost: cost_of(&snapshot, run, "judge")?,
    };
    let report = DiagnosisReport::new(of, result);
    let mut batch = Batch::new();
    batch.label("settle diagnosis");
    remove_all::<QuestionMetrics>(&snapshot, run, &mut batch)?;
    remove_all::<CasePack>(&snapshot, run, &mut batch)?;
    put_diagnosis(&mut batch, run, Scope::Adhoc, result);
    batch.put(run, Scope::Adhoc, &(), &mark(source, true));
    let mut row = snapshot.run(run)?.unwrap_or_else(|| new_run(session, source, String::new()));
    row.state = RunState::Finished;
    row.finished_ms = Some(now_ms());
    row.versions = source.versions;
    row.summary = serde_json::to_string(&report).ok();
    row.history.push(RunEvent { at_ms: now_ms(), what: "finished".into(), note: String::new() });
    batch.put_run(run, &row);
    drop(snapshot);
    session.bench.store.write(batch).await?;
    Ok(report)
}

fn remove_all<R: StepRow>(snapshot: &Snapshot<'_>, run: &RunId, batch: &mut Batch) -> Result<(), StoreError> {
    for (key, _) in snapshot.rows::<R>(run, Scope::Adhoc)? {
        batch.remove::<R>(run, Scope::Adhoc, &key);
    }
    Ok(())
}

/// The totals of a group of calls of a run.
pub(super) fn cost_of(snapshot: &Snapshot<'_>, run: &RunId, group: &str) -> Result<KernelCost, StoreError> {
    let mut cost = KernelCost::default();
    for (key, usage) in snapshot.usage(run)? {
        if key.phase == group {
            cost.add(&usage);
        }
    }
    Ok(cost)
}

/// The latest finished diagnosis of a run's answers from which a task type can be evolved, if nothing happened to the run
/// since; of a diagnosis, that one itself.
///
/// # Errors
/// The store cannot be read.
pub fn last_diagnosis(
    snapshot: &Snapshot<'_>,
    source: &RunId,
    scope: Option<Scope>,
    task_type: &TaskType,
) -> Result<Option<DiagnosisReport>, StoreError> {
    let touched = snapshot.run(source)?.and_then(|row| row.history.last().map(|event| event.at_ms));
    for (run, row) in snapshot.runs()?.into_iter().rev() {
        if row.mode != RunMode::Diagnose || row.state != RunState::Finished {
            continue;
        }
        let report = row.summary.as_deref().and_then(|text| serde_json::from_str::<DiagnosisReport>(text).ok());
        let Some(report) = report else { continue };
        let whole = report.filters.questions.is_empty()
            && (report.filters.task_types.is_empty() || report.filters.task_types.contains(task_type));
        let of_source = report.source.run == *source
            && scope.is_none_or(|scope| scope == report.source.scope)
            && touched.is_some_and(|touched| row.finished_ms.is_some_and(|finished| finished >= touched));
        if run == *source || (whole && of_source) {
            return Ok(Some(report));
        }
    }
    Ok(None)
}
