//! The pipeline: stage 1 concurrently, the serial pass over reasoning failures, stage 2.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use futures::stream::{self, StreamExt, TryStreamExt};

use super::aggregate::{
    BehaviourSummary, OutcomeSummary, StepBenefit, ToolSummary, by_behaviour, by_outcome, by_step, by_tool,
};
use super::judge::{Judge, JudgeCost};
use super::packs::{Diagnosed, skill_packs, system_pack, tool_packs};
use super::stage_one::{Answered, StageOne, classify_reasoning, diagnose_question};
use super::trace::spans_by_question;
use crate::domain::{ChatModel, Question, QuestionId, RunId, TaskType, VideoId, VideoTree};
use crate::evolution::EvolutionError;
use crate::evolution::asking::CallScope;
use crate::evolution::ports::{PredictionRecord, RunLog, SkillStore, TraceSpan};
use crate::evolution::skill_text::{resolve_skill_file, skill_body, skill_steps};
use crate::evolution::templates::DiagnosePrompts;
use crate::evolution::types::{ErrorType, QuestionMetrics, SkillCasePack, SystemCasePack, ToolCasePack};

/// What a diagnosis looks at, and whom it asks.
#[derive(Clone, Copy)]
pub struct DiagnosisInput<'a> {
    /// The run whose answers are diagnosed.
    pub run_id: &'a RunId,
    /// The questions of the run; those without a prediction are left out.
    pub questions: &'a [Question],
    /// The trees of their videos.
    pub trees: &'a BTreeMap<VideoId, Arc<VideoTree>>,
    /// The judge.
    pub judge: &'a dyn ChatModel,
    /// Predictions and traces.
    pub run_log: &'a dyn RunLog,
    /// The skills with which the questions were answered.
    pub skills: &'a dyn SkillStore,
    /// What the judge is asked.
    pub prompts: &'a DiagnosePrompts,
    /// Told how many questions of how many have been through stage 1, whenever that changes.
    pub progress: Option<&'a OnProgress<'a>>,
}

/// Sees how a diagnosis gets on; must not block.
pub type OnProgress<'a> = dyn Fn(usize, usize) + Send + Sync + 'a;

// By hand: the ports are trait objects.
impl fmt::Debug for DiagnosisInput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiagnosisInput")
            .field("run_id", self.run_id)
            .field("questions", &self.questions.len())
            .field("trees", &self.trees.len())
            .finish_non_exhaustive()
    }
}

/// How it is done.
#[derive(Debug, Clone)]
pub struct DiagnosisSettings {
    /// How many questions are diagnosed at once, at least 1.
    pub concurrency: usize,
    /// Only these questions.
    pub question_ids: Option<Vec<QuestionId>>,
    /// Only these task types.
    pub task_types: Option<Vec<TaskType>>,
    /// Only wrong answers; there are no successes to learn from then.
    pub only_incorrect: bool,
    /// The most characters of one block of data in a prompt (first two thirds and last third are kept); none cuts
    /// nothing. For judges with a short context.
    pub max_block_chars: Option<usize>,
    /// Where the judge's calls belong.
    pub scope: CallScope,
}

/// What a diagnosis found. The same for the same records and the same replies, whatever the concurrency.
#[derive(Debug, Clone, PartialEq)]
pub struct DiagnosisResult {
    /// Stage 1, by question id; D1 is in each wrong answer's `attribution`.
    pub questions: Vec<QuestionMetrics>,
    /// D2, by tool.
    pub tools: Vec<ToolSummary>,
    /// D3, by task type; wrong answers before right ones.
    pub outcomes: Vec<OutcomeSummary>,
    /// D4, by task type and step.
    pub steps: Vec<StepBenefit>,
    /// D5.
    pub behaviour: BehaviourSummary,
    /// One pack per task type with something to learn from.
    pub skill_packs: BTreeMap<TaskType, SkillCasePack>,
    /// Behaviour across types, if a pattern was seen often enough.
    pub system_pack: Option<SystemCasePack>,
    /// One pack per tool with bad reports.
    pub tool_packs: BTreeMap<String, ToolCasePack>,
    /// Questions with something the judge left unreadable.
    pub n_degraded: usize,
    /// Technical failures: never diagnosed, never wrong.
    pub n_infra: usize,
    /// What the judge has cost.
    pub cost: JudgeCost,
}

/// Diagnoses the answers of a run.
///
/// # Errors
/// The judge could not be reached (nothing is concluded then), records, skills or trees could not be read, or a
/// setting makes no sense. What the judge writes never leads to an error.
pub async fn run_diagnosis(
    input: DiagnosisInput<'_>,
    settings: &DiagnosisSettings,
) -> Result<DiagnosisResult, EvolutionError> {
    let questions = selected(input.questions, settings)?;
    let ids: Vec<QuestionId> = questions.iter().map(|question| question.question_id.clone()).collect();
    let predictions = input.run_log.get_predictions(input.run_id, Some(&ids)).await?;
    let traces = input.run_log.get_traces(input.run_id, Some(&ids)).await?;
    let skills = skill_texts(&questions, input.skills)?;
    let records = Records::sort(&questions, &predictions);
    let spans = spans_by_question(&traces);
    let answered = answered(&records, &spans, input.trees, &skills, settings.only_incorrect)?;
    let stage = StageOne {
        judge: Judge::new(input.judge, &settings.scope),
        prompts: input.prompts,
        max_block_chars: settings.max_block_chars,
    };
    let mut metrics = stage_one(&stage, &answered, settings.concurrency, input.progress).await?;
    classify_reasoning_failures(&stage, &answered, &mut metrics).await?;
    let diagnosed: Vec<Diagnosed<'_>> = metrics.iter().zip(&answered).collect();
    Ok(DiagnosisResult {
        tools: by_tool(&metrics),
        outcomes: by_outcome(&metrics),
        steps: by_step(&metrics),
        behaviour: by_behaviour(&metrics),
        skill_packs: skill_packs(&diagnosed, &records.counts),
        system_pack: system_pack(&diagnosed),
        tool_packs: tool_packs(&diagnosed),
        n_degraded: metrics.iter().filter(|question| question.degraded).count(),
        n_infra: records.n_infra,
        cost: stage.judge.cost(),
        questions: metrics,
    })
}

/// The questions that pass the filters, by id.
fn selected<'a>(questions: &'a [Question], settings: &DiagnosisSettings) -> Result<Vec<&'a Question>, EvolutionError> {
    let refuse = |what: String| Err(EvolutionError::Setting { what });
    if settings.concurrency == 0 {
        return refuse("diagnose with a concurrency of 0".into());
    }
    let known: BTreeMap<&QuestionId, &Question> =
        questions.iter().map(|question| (&question.question_id, question)).collect();
    if let Some(unknown) = settings.question_ids.iter().flatten().find(|id| !known.contains_key(id)) {
        return refuse(format!("diagnose question {unknown}: it is not among the questions of the run"));
    }
    let types: BTreeSet<&TaskType> = questions.iter().map(|question| &question.task_type).collect();
    if let Some(unknown) = settings.task_types.iter().flatten().find(|task_type| !types.contains(task_type)) {
        return refuse(format!("diagnose task type {unknown}: no question of the run has it"));
    }
    let by_id =
        |question: &Question| settings.question_ids.as_ref().is_none_or(|ids| ids.contains(&question.question_id));
    let by_type =
        |question: &Question| settings.task_types.as_ref().is_none_or(|types| types.contains(&question.task_type));
    Ok(known.into_values().filter(|question| by_id(question) && by_type(question)).collect())
}

/// The answers that count, by question id, and how many there are.
struct Records<'a> {
    answered: Vec<(&'a Question, &'a PredictionRecord, bool)>,
    /// Right and all answers per task type.
    counts: BTreeMap<TaskType, (usize, usize)>,
    n_infra: usize,
}

impl<'a> Records<'a> {
    fn sort(questions: &[&'a Question], predictions: &'a [PredictionRecord]) -> Self {
        let by_id: BTreeMap<&QuestionId, &PredictionRecord> =
            predictions.iter().map(|prediction| (&prediction.question_id, prediction)).collect();
        let mut records = Self { answered: Vec::new(), counts: BTreeMap::new(), n_infra: 0 };
        for question in questions {
            let Some(prediction) = by_id.get(&question.question_id) else { continue };
            let correct = prediction.correctness.filter(|_| !prediction.stop_reason.is_infra());
            let Some(correct) = correct else {
                records.n_infra += 1;
                continue;
            };
            let (right, all) = records.counts.entry(question.task_type.clone()).or_default();
            *right += usize::from(correct);
            *all += 1;
            records.answered.push((question, prediction, correct));
        }
        records
    }
}

/// Body and steps of the skill of each task type.
type SkillTexts<'a> = BTreeMap<&'a TaskType, (String, Vec<String>)>;

fn skill_texts<'a>(questions: &[&'a Question], store: &dyn SkillStore) -> Result<SkillTexts<'a>, EvolutionError> {
    let mut texts = BTreeMap::new();
    for question in questions {
        if !texts.contains_key(&question.task_type) {
            let text = store.read_skill(&resolve_skill_file(store, &question.task_type)?)?;
            texts.insert(&question.task_type, (skill_body(&text), skill_steps(&text)));
        }
    }
    Ok(texts)
}

fn answered<'a>(
    records: &Records<'a>,
    spans: &BTreeMap<&str, Vec<&'a TraceSpan>>,
    trees: &'a BTreeMap<VideoId, Arc<VideoTree>>,
    skills: &'a SkillTexts<'_>,
    only_incorrect: bool,
) -> Result<Vec<Answered<'a>>, EvolutionError> {
    let mut all = Vec::new();
    for (question, prediction, correct) in &records.answered {
        if only_incorrect && *correct {
            continue;
        }
        let tree = trees.get(&question.video_id).ok_or_else(|| EvolutionError::NoTree {
            question: question.question_id.clone(),
            video: question.video_id.clone(),
        })?;
        let (skill, steps) = skills.get(&question.task_type).map_or(("", [].as_slice()), |(body, steps)| (body, steps));
        let spans = spans.get(question.question_id.as_str()).cloned().unwrap_or_default();
        all.push(Answered { question, prediction, correct: *correct, spans, tree, skill, steps });
    }
    Ok(all)
}

/// Stage 1 over all questions, in order of `answered` whatever finishes first.
async fn stage_one(
    stage: &StageOne<'_>,
    answered: &[Answered<'_>],
    concurrency: usize,
    progress: Option<&OnProgress<'_>>,
) -> Result<Vec<QuestionMetrics>, EvolutionError> {
    let tell = |done: usize| progress.into_iter().for_each(|tell| tell(done, answered.len()));
    tell(0);
    let calls: Vec<_> = answered
        .iter()
        .enumerate()
        .map(|(place, one)| async move { diagnose_question(stage, one).await.map(|metrics| (place, metrics)) })
        .collect();
    let mut found: Vec<(usize, QuestionMetrics)> = Vec::with_capacity(answered.len());
    let mut running = stream::iter(calls).buffer_unordered(concurrency);
    while let Some(diagnosed) = running.try_next().await? {
        found.push(diagnosed);
        tell(found.len());
    }
    found.sort_by_key(|(place, _)| *place);
    Ok(found.into_iter().map(|(_, metrics)| metrics).collect())
}

/// The serial pass: what went wrong in each reasoning failure.
async fn classify_reasoning_failures(
    stage: &StageOne<'_>,
    answered: &[Answered<'_>],
    metrics: &mut [QuestionMetrics],
) -> Result<(), EvolutionError> {
    for (one, metrics) in answered.iter().zip(metrics) {
        let Some(attribution) = &mut metrics.attribution else { continue };
        if attribution.error_type != ErrorType::Reasoning {
            continue;
        }
        attribution.reasoning_sub = classify_reasoning(stage, one).await?;
        if attribution.reasoning_sub.is_none() {
            metrics.degraded = true;
            metrics.degraded_by.push("judge.reasoning_sub".into());
            metrics.degraded_by.sort();
        }
    }
    Ok(())
}
