//! Diagnosing stored answers with the judge of the session.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::attended::{Attended, Counter, WorkPlace, WorkProgress};
use super::kernel_error::KernelError;
use super::run_log::StoredRunLog;
use super::session::Session;
use super::versions::VersionedSkills;
use crate::config::RoleGroup;
use crate::domain::{Question, QuestionId, Role, RunId, TaskType, VideoId, VideoTree};
use crate::evolution::diagnosis::{DiagnosisInput, DiagnosisResult, DiagnosisSettings, run_diagnosis};
use crate::evolution::ports::RunLog;
use crate::store::{PhaseKey, Scope};

pub use super::attended::{WorkPlace as DiagnosePlace, WorkProgress as DiagnoseProgress};
pub use super::diagnosis_rows::{put_diagnosis, stored_pack};

/// Which answers are diagnosed.
#[derive(Debug, Clone)]
pub struct DiagnoseRequest {
    /// The run that has the answers.
    pub run: RunId,
    /// The part of it.
    pub scope: Scope,
    /// What they were produced for.
    pub phase: PhaseKey,
    /// The questions; those without an answer are left out.
    pub questions: Vec<Question>,
    /// The skills with which they were answered.
    pub skills: Arc<VersionedSkills>,
    /// Only these of them.
    pub question_ids: Option<Vec<QuestionId>>,
    /// Only these task types.
    pub task_types: Option<Vec<TaskType>>,
    /// Only wrong answers; there are no successes to learn from then.
    pub only_incorrect: bool,
    /// Where the judge's calls belong.
    pub place: WorkPlace,
    /// Told how it gets on.
    pub progress: Option<Arc<dyn WorkProgress>>,
}

impl DiagnoseRequest {
    /// All answers of a phase; the judge's calls belong to the same part of the run.
    #[must_use]
    pub fn of_phase(
        run: RunId,
        scope: Scope,
        phase: PhaseKey,
        questions: Vec<Question>,
        skills: Arc<VersionedSkills>,
    ) -> Self {
        let place = WorkPlace { run: run.clone(), scope };
        Self {
            run,
            scope,
            phase,
            questions,
            skills,
            question_ids: None,
            task_types: None,
            only_incorrect: false,
            place,
            progress: None,
        }
    }

    fn is_selected(&self, question: &Question) -> bool {
        self.question_ids.as_ref().is_none_or(|ids| ids.contains(&question.question_id))
            && self.task_types.as_ref().is_none_or(|types| types.contains(&question.task_type))
    }
}

/// Diagnoses answers. The result is the same for the same answers and replies, whatever the concurrency; storing it is
/// the caller's ([`put_diagnosis`]), its calls are stored already.
///
/// # Errors
/// The judge could not be reached (exit class 4; nothing is concluded), the budget is spent, somebody asked to stop, or
/// answers, skills or trees could not be read. What the judge writes never leads to an error.
pub async fn diagnose(session: &Session, request: &DiagnoseRequest) -> Result<DiagnosisResult, KernelError> {
    let counter = Counter::default();
    let activity = "diagnosis";
    let attended = Attended {
        session,
        place: &request.place,
        activity,
        group: "judge",
        item: None,
        what: format!("diagnose the answers of run {} ({})", request.run, request.scope),
        progress: request.progress.as_ref(),
        counter: &counter,
    };
    let store = session.bench.store.clone();
    let run_log = StoredRunLog::new(store, request.run.clone(), request.scope, request.phase.clone());
    let trees = trees_for(session, request, &run_log).await?;
    let settings = DiagnosisSettings {
        concurrency: session.bench.concurrency.max(1),
        question_ids: request.question_ids.clone(),
        task_types: request.task_types.clone(),
        only_incorrect: request.only_incorrect,
        max_block_chars: Some(block_chars(session.config.llm.role(Role::Judge))),
        scope: request.place.calls(activity),
    };
    let on_progress = |done: usize, total: usize| counter.set(done, total);
    let (run_id, judge) = (run_log.run_id(), session.kernel_model(Role::Judge));
    let input = DiagnosisInput {
        run_id: &run_id,
        questions: &request.questions,
        trees: &trees,
        judge: &judge,
        run_log: &run_log,
        skills: request.skills.as_ref(),
        prompts: &session.templates.judge,
        progress: Some(&on_progress),
    };
    attended.run(run_diagnosis(input, &settings)).await
}

/// The trees of the questions that will be judged, and no others: a tree takes megabytes.
async fn trees_for(
    session: &Session,
    request: &DiagnoseRequest,
    run_log: &StoredRunLog,
) -> Result<BTreeMap<VideoId, Arc<VideoTree>>, KernelError> {
    let selected = request.questions.iter().filter(|question| request.is_selected(question));
    let selected: BTreeMap<QuestionId, VideoId> =
        selected.map(|question| (question.question_id.clone(), question.video_id.clone())).collect();
    let ids: Vec<QuestionId> = selected.keys().cloned().collect();
    let predictions = run_log.get_predictions(&run_log.run_id(), Some(&ids)).await;
    let predictions = predictions.map_err(crate::evolution::EvolutionError::from)?;
    let judged: BTreeSet<QuestionId> = predictions
        .into_iter()
        .filter(|row| !row.stop_reason.is_infra())
        .filter(|row| row.correctness.is_some_and(|correct| !(correct && request.only_incorrect)))
        .map(|row| row.question_id)
        .collect();
    let trees = Arc::clone(&session.bench.trees);
    let reading = tokio::task::spawn_blocking(move || {
        let mut found: BTreeMap<VideoId, Arc<VideoTree>> = BTreeMap::new();
        for (question, video) in selected.into_iter().filter(|(question, _)| judged.contains(question)) {
            if let Entry::Vacant(place) = found.entry(video) {
                let stored = trees.get(place.key()).map_err(|source| KernelError::Video { question, source })?;
                place.insert(Arc::new(stored.tree.clone()));
            }
        }
        Ok(found)
    });
    reading.await.map_err(|_| KernelError::Panic { what: format!("read the trees of run {}", request.run) })?
}

/// The most characters of one block in a prompt of this role. A prompt has three long blocks at most, and three
/// characters are about a token: a block gets as many characters as the context has tokens beside the reply and a
/// thousand tokens of template.
pub(super) fn block_chars(role: &RoleGroup) -> usize {
    let free = role.context_tokens.saturating_sub(role.max_tokens).saturating_sub(1_000);
    usize::try_from(free).unwrap_or(usize::MAX).max(500)
}
