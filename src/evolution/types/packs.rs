//! Case packs: what a writer is shown.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::metrics::named_enum;
use super::{ErrorType, ReasoningSub, SpanTag};
use crate::domain::{Choice, NodeId, QuestionId, TaskType};

/// One turn of a case, as the writer sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CaseStep {
    /// The step.
    pub step: u32,
    /// What the agent thought.
    pub thought: String,
    /// The tool it called; none if the turn could not be read.
    pub tool: Option<String>,
    /// The arguments, JSON text.
    pub args: String,
    /// What came back, at most 500 characters.
    pub output: String,
}

/// One answered question, as the writer sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CaseSample {
    /// The question.
    pub question_id: QuestionId,
    /// Its task type.
    pub task_type: TaskType,
    /// Its text.
    pub question: String,
    /// Its options.
    pub options: Vec<Choice>,
    /// The right option.
    pub answer: char,
    /// The chosen option; none if none could be read.
    pub agent_answer: Option<char>,
    /// Whether it was answered right.
    pub correct: bool,
    /// Why it was wrong; none if it was right.
    pub error_type: Option<ErrorType>,
    /// What went wrong in reasoning.
    pub reasoning_sub: Option<ReasoningSub>,
    /// The agent's confidence.
    pub confidence: Option<f64>,
    /// Steps used of the steps allowed.
    pub budget_use: f64,
    /// Why the agent chose its answer.
    pub agent_reasoning: String,
    /// Nodes that it should have opened.
    pub missed_nodes: Vec<NodeId>,
    /// What it did.
    pub steps: Vec<CaseStep>,
}

/// The cases of one task type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SkillCasePack {
    /// The task type.
    pub task_type: TaskType,
    /// Answers of the type that were diagnosed; INFRA is none.
    pub n_questions: usize,
    /// Share of them that were right.
    pub accuracy: f64,
    /// Failures whose cause is a defect: at most two per error type, the most severe.
    pub failure_cases: Vec<CaseSample>,
    /// What shall stay as it is.
    pub success_cases: Vec<CaseSample>,
    /// Reminders from failures whose cause is a lapse, by question id, none of them blank.
    pub lapse_notes: Vec<String>,
    /// The questions that the reminders come from, in the same order.
    pub lapse_questions: Vec<QuestionId>,
}

impl SkillCasePack {
    /// The questions that the candidate is made from: never gate questions of the same step. Sorted.
    #[must_use]
    pub fn question_ids(&self) -> BTreeSet<QuestionId> {
        let cases = self.failure_cases.iter().chain(&self.success_cases);
        cases.map(|case| &case.question_id).chain(&self.lapse_questions).cloned().collect()
    }
}

named_enum! {
    /// Behaviour that is at fault across task types.
    BehaviourPattern {
        /// A wrong answer with less than 0.3 of the steps used.
        EarlySubmit = "early_submit",
        /// A wrong answer with a confidence of at least 0.7.
        HighConfWrong = "high_conf_wrong",
        /// A wrong answer after looking only for what supports the first guess.
        ConfirmationBias = "confirmation_bias",
    }
}

/// How often a pattern was seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternCount {
    /// The pattern.
    pub pattern: BehaviourPattern,
    /// In how many answers.
    pub count: usize,
}

/// A failure that shows a pattern.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemCase {
    /// The pattern.
    pub pattern: BehaviourPattern,
    /// The case.
    pub case: CaseSample,
}

/// What was counted in one step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepStats {
    /// Answers that were diagnosed.
    pub n_questions: usize,
    /// Of them wrong.
    pub n_wrong: usize,
    /// All patterns, those below the threshold included.
    pub patterns: Vec<PatternCount>,
    /// Mean share of the steps used.
    pub mean_budget_use: Option<f64>,
    /// Mean share of repeated visits.
    pub mean_repeat_visit_rate: Option<f64>,
    /// Mean of the largest similarity of consecutive queries.
    pub mean_keyword_repetition: Option<f64>,
}

/// The statistics of a pack, step by step: they are never summed or averaged over steps.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct PackStats {
    /// One entry per step, in order of the steps.
    pub per_step: Vec<StepStats>,
}

/// The cases of behaviour across task types.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SystemCasePack {
    /// At most two per pattern that was seen at least three times.
    pub failure_cases: Vec<SystemCase>,
    /// What shall stay as it is.
    pub success_cases: Vec<CaseSample>,
    /// What was counted.
    pub stats: PackStats,
}

/// One tool call, as the writer sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpanSample {
    /// The question.
    pub question_id: QuestionId,
    /// Its text.
    pub question: String,
    /// Place of the span in the trace.
    pub span_index: u32,
    /// The arguments, JSON text.
    pub args: String,
    /// What the tool reported, at most 500 characters.
    pub output: String,
    /// See [`SpanMetrics`](super::SpanMetrics).
    pub completeness: f64,
    /// See [`SpanMetrics`](super::SpanMetrics).
    pub hallucination: f64,
    /// See [`SpanMetrics`](super::SpanMetrics).
    pub tags: Vec<SpanTag>,
}

/// The cases of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolCasePack {
    /// The tool.
    pub tool: String,
    /// At most four: the two least complete and the two most hallucinated.
    pub failure_spans: Vec<SpanSample>,
    /// Complete (≥ 0.9) and without hallucination.
    pub success_spans: Vec<SpanSample>,
}
