//! `trm evolve`: one candidate for one skill, to look at. No version is ever changed by it.

use std::sync::Arc;

use serde::Serialize;

use super::answered_phase::SourceName;
use super::attended::{WorkPlace, WorkProgress};
use super::diagnosing::stored_pack;
use super::diagnosis_report::KernelCost;
use super::diagnosis_run::{
    DiagnosisFilters, DiagnosisReport, DiagnosisRunError, DiagnosisRunRequest, cost_of, diagnose_run, last_diagnosis,
};
use super::evolving::{branch_name, evolve_skill, put_evolution, texts_of};
use super::kernel_error::KernelError;
use super::session::{Session, spent_of};
use super::versions::{FileSet, VersionedSkills, VersionsError, unified_diff};
use crate::domain::{ExitClass, Fault, FileName, RunId, TaskType, VersionName};
use crate::evolution::evolve::{DroppedNote, EvolutionRecord, EvolutionStatus};
use crate::evolution::types::SkillCasePack;
use crate::store::rows::{CasePack, Evolution};
use crate::store::{Batch, Scope, StoreError, Target};

/// What is evolved.
#[derive(Debug, Clone)]
pub struct EvolveRunRequest {
    /// The run whose answers are learned from, or a diagnosis of them.
    pub source: RunId,
    /// The part of it, as for a diagnosis.
    pub scope: Option<Scope>,
    /// The task type.
    pub task_type: TaskType,
    /// Told how the diagnosis gets on, if one is needed.
    pub progress: Option<Arc<dyn WorkProgress>>,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EvolveReport {
    /// The diagnosis whose case pack was used; it holds the evolution as well.
    pub run_id: RunId,
    /// The answers that it is about.
    pub source: SourceName,
    /// Whether the answers had to be diagnosed first.
    pub diagnosed_now: bool,
    /// The task type.
    pub task_type: TaskType,
    /// The skill file.
    pub file: FileName,
    /// The version that was read.
    pub source_version: VersionName,
    /// `evolved`, `rejected` or `skipped`.
    pub status: &'static str,
    /// Why there is no candidate; empty if there is one.
    pub reason: String,
    /// `lapse`, `rewrite` or `patch`.
    pub branch: &'static str,
    /// What the writer was shown: cases that went wrong, cases that went well, reminders.
    pub shown: (usize, usize, usize),
    /// The edits, each with what became of it.
    pub edits: Vec<EditSummary>,
    /// How many edits were allowed.
    pub edit_budget: u32,
    /// How many were proposed.
    pub proposed: usize,
    /// What was wrong with attempts that failed.
    pub failed_attempts: Vec<String>,
    /// Reminders that were added to the appendix.
    pub notes_added: Vec<String>,
    /// Reminders that were not, with the reason.
    pub notes_dropped: Vec<DroppedNote>,
    /// The difference as a unified diff; empty if there is no candidate.
    pub diff: String,
    /// The whole candidate; none if there is none.
    pub candidate: Option<String>,
    /// Of the writer's calls in this run, earlier sessions included.
    pub cost: KernelCost,
}

/// One edit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EditSummary {
    /// Its operation.
    pub op: String,
    /// What became of it.
    pub status: &'static str,
    /// The text it looks for.
    pub target: String,
    /// The text it adds.
    pub content: String,
}

/// Why nothing was evolved.
#[derive(Debug, thiserror::Error)]
pub enum EvolveRunError {
    /// The diagnosis that comes first.
    #[error(transparent)]
    Diagnosis(#[from] DiagnosisRunError),
    /// Evolving itself.
    #[error(transparent)]
    Kernel(#[from] KernelError),
    /// The skills.
    #[error(transparent)]
    Versions(#[from] VersionsError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The diagnosis found nothing to learn for this type.
    #[error("evolve the skill for {task_type}: the diagnosis {run} has no cases of it to learn from")]
    NoPack {
        /// The type.
        task_type: TaskType,
        /// The diagnosis.
        run: RunId,
    },
    /// The pack was written by another version of the program.
    #[error("evolve the skill for {task_type}: the cases of {run} cannot be read")]
    OldPack {
        /// The type.
        task_type: TaskType,
        /// The diagnosis.
        run: RunId,
        /// The run whose answers it is about.
        source_run: RunId,
    },
}

impl Fault for EvolveRunError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Diagnosis(error) => error.class(),
            Self::Kernel(error) => error.class(),
            Self::Versions(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::NoPack { .. } | Self::OldPack { .. } => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Diagnosis(error) => error.code(),
            Self::Kernel(error) => error.code(),
            Self::Versions(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::NoPack { .. } => "evolve.no_pack",
            Self::OldPack { .. } => "evolve.old_pack",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Diagnosis(error) => error.hint(),
            Self::Kernel(error) => error.hint(),
            Self::Versions(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::NoPack { run, .. } => Some(format!(
                "no answer of the type was wrong for a reason that a skill can mend; 'trm inspect run {run}' shows the diagnosis"
            )),
            Self::OldPack { source_run, .. } => Some(format!("'trm diagnose --run {source_run}' makes them anew")),
        }
    }
}

/// Makes a candidate from the last diagnosis of the run's answers, or from a new one, and stores it beside the diagnosis.
///
/// # Errors
/// [`EvolveRunError`].
pub async fn evolve_run(session: &Session, request: &EvolveRunRequest) -> Result<EvolveReport, EvolveRunError> {
    let (diagnosis, diagnosed_now) = diagnosis_for(session, request).await?;
    let (run, task_type) = (diagnosis.run_id.clone(), request.task_type.clone());
    let snapshot = session.bench.store.snapshot()?;
    let row = snapshot.row::<CasePack>(&run, Scope::Adhoc, &Target::Skill(task_type.clone()))?;
    let Some(row) = row else { return Err(EvolveRunError::NoPack { task_type, run }) };
    let Some(pack) = stored_pack::<SkillCasePack>(&row) else {
        return Err(EvolveRunError::OldPack { task_type, run, source_run: diagnosis.source.run });
    };
    let skills = VersionedSkills::load(&snapshot, diagnosis.skills_version)?;
    if !diagnosed_now {
        let (spent, tokens) = spent_of(&snapshot, &run)?;
        session.bench.hub.count_spent(spent, tokens);
    }
    drop(snapshot);
    let place = WorkPlace { run: run.clone(), scope: Scope::Adhoc };
    let budget = session.config.edits.edit_budget_start;
    let record = evolve_skill(session, &place, &pack, &skills, diagnosis.skills_version, budget, &[]).await?;
    let mut batch = Batch::new();
    batch.label("evolution");
    // Of an earlier session there may be another outcome, which this one replaces as a whole.
    batch.remove::<Evolution>(&run, Scope::Adhoc, &Target::Skill(task_type.clone()));
    put_evolution(&mut batch, &run, Scope::Adhoc, &record);
    session.bench.store.write(batch).await?;
    let cost = cost_of(&session.bench.store.snapshot()?, &run, "writer")?;
    Ok(report(&diagnosis, diagnosed_now, task_type, &pack, record, cost))
}

async fn diagnosis_for(
    session: &Session,
    request: &EvolveRunRequest,
) -> Result<(DiagnosisReport, bool), EvolveRunError> {
    let known = last_diagnosis(&session.bench.store.snapshot()?, &request.source, request.scope, &request.task_type)?;
    if let Some(report) = known {
        return Ok((report, false));
    }
    let request = DiagnosisRunRequest {
        source: request.source.clone(),
        scope: request.scope,
        filters: DiagnosisFilters { task_types: vec![request.task_type.clone()], ..DiagnosisFilters::default() },
        progress: request.progress.clone(),
    };
    Ok((diagnose_run(session, &request).await?, true))
}

fn report(
    diagnosis: &DiagnosisReport,
    diagnosed_now: bool,
    task_type: TaskType,
    pack: &SkillCasePack,
    record: EvolutionRecord,
    cost: KernelCost,
) -> EvolveReport {
    let set = |content: &str| -> FileSet { texts_of(&record, content).into_iter().collect() };
    let (old, new) = (set(&record.original_content), set(&record.evolved_content));
    let diff = unified_diff(&old, &new, &record.source_version.to_string(), "candidate");
    let edits = record.edits.iter().zip(&record.report).map(|(proposed, row)| EditSummary {
        op: proposed.edit.op.name().to_owned(),
        status: row.status.name(),
        target: proposed.edit.target.clone(),
        content: proposed.edit.content.clone(),
    });
    EvolveReport {
        run_id: diagnosis.run_id.clone(),
        source: diagnosis.source.clone(),
        diagnosed_now,
        file: task_type.skill_file(),
        task_type,
        source_version: record.source_version,
        status: match record.status {
            EvolutionStatus::Evolved => "evolved",
            EvolutionStatus::Rejected => "rejected",
            EvolutionStatus::Skipped => "skipped",
        },
        branch: branch_name(record.branch),
        shown: (pack.failure_cases.len(), pack.success_cases.len(), pack.lapse_notes.len()),
        edits: edits.collect(),
        edit_budget: record.edit_budget,
        proposed: record.clip_info.before,
        diff,
        candidate: record.is_real_change().then(|| record.evolved_content.clone()),
        reason: record.reason,
        failed_attempts: record.failed_attempts,
        notes_added: record.notes_added,
        notes_dropped: record.notes_dropped,
        cost,
    }
}
