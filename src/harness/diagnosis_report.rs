//! A diagnosis as a report: what went wrong, where the fault lies, what a writer would be shown.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::answered_phase::SourceName;
use crate::domain::{QuestionId, RunId, TaskType, VersionName};
use crate::evolution::diagnosis::{DiagnosisResult, OutcomeSummary, StepBenefit, ToolSummary};
use crate::evolution::types::{Cause, ErrorType, QuestionMetrics, ReasoningSub, StepStats};
use crate::store::Target;
use crate::store::rows::Usage;

/// Which of the answers a diagnosis looked at.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct DiagnosisFilters {
    /// Only these questions; empty: all.
    pub questions: Vec<QuestionId>,
    /// Only these task types; empty: all.
    pub task_types: Vec<TaskType>,
    /// Only wrong answers.
    pub only_incorrect: bool,
}

/// What a diagnosis found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DiagnosisReport {
    /// The run that holds the diagnosis.
    pub run_id: RunId,
    /// The answers that were diagnosed.
    pub source: SourceName,
    /// Which of them.
    pub filters: DiagnosisFilters,
    /// The skills with which they were given.
    pub skills_version: VersionName,
    /// Answers that were diagnosed.
    pub diagnosed: usize,
    /// Of these, wrong.
    pub wrong: usize,
    /// Technical failures, which are not diagnosed.
    pub infra: usize,
    /// Diagnosed answers with something that the judge left unreadable.
    pub degraded: usize,
    /// By task type.
    pub task_types: BTreeMap<TaskType, TypeDiagnosis>,
    /// What went wrong in reasoning over sufficient evidence, by kind.
    pub reasoning: BTreeMap<String, u64>,
    /// By tool.
    pub tools: Vec<ToolSummary>,
    /// Right and wrong answers of each task type.
    pub outcomes: Vec<OutcomeSummary>,
    /// Steps of the skills, and whether following them helps.
    pub steps: Vec<StepBenefit>,
    /// Behaviour across task types.
    pub behaviour: StepStats,
    /// Case packs: what a writer would be shown.
    pub packs: Vec<PackSummary>,
    /// Of the judge's calls of this run, earlier sessions included.
    pub cost: KernelCost,
}

/// One task type of a diagnosis.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TypeDiagnosis {
    /// Answers that were diagnosed.
    pub diagnosed: usize,
    /// Of these, wrong.
    pub wrong: usize,
    /// Wrong ones by kind of failure.
    pub error_types: BTreeMap<ErrorType, usize>,
    /// Wrong ones for which the skill is at fault.
    pub defects: usize,
    /// Wrong ones for which it was right and not followed.
    pub lapses: usize,
}

/// One case pack.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackSummary {
    /// `skill:TYPE`, `system` or `tool:NAME`.
    pub target: String,
    /// Cases that went wrong.
    pub failures: usize,
    /// Cases that went well.
    pub successes: usize,
    /// Reminders for the appendix of a skill.
    pub notes: usize,
}

/// What judge or writer calls have cost.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct KernelCost {
    /// Calls.
    pub calls: u64,
    /// Of these, answered by the response cache.
    pub cached_calls: u64,
    /// Tokens read and paid for.
    pub prompt_tokens: u64,
    /// Tokens written and paid for.
    pub completion_tokens: u64,
    /// US dollars.
    pub cost_usd: f64,
}

impl KernelCost {
    pub(super) fn add(&mut self, usage: &Usage) {
        self.calls += usage.calls;
        self.cached_calls += usage.cached_calls;
        self.prompt_tokens += usage.tokens.prompt;
        self.completion_tokens += usage.tokens.completion;
        self.cost_usd += usage.cost_usd;
    }
}

/// Where a report comes from.
pub(super) struct ReportOf {
    pub(super) run_id: RunId,
    pub(super) source: SourceName,
    pub(super) filters: DiagnosisFilters,
    pub(super) skills_version: VersionName,
    pub(super) cost: KernelCost,
}

impl DiagnosisReport {
    pub(super) fn new(of: ReportOf, result: &DiagnosisResult) -> Self {
        let ReportOf { run_id, source, filters, skills_version, cost } = of;
        let mut task_types: BTreeMap<TaskType, TypeDiagnosis> = BTreeMap::new();
        let mut reasoning: BTreeMap<String, u64> = BTreeMap::new();
        for metrics in &result.questions {
            task_types.entry(metrics.task_type.clone()).or_default().add(metrics);
            let sub = metrics.attribution.as_ref().and_then(|found| found.reasoning_sub);
            if let Some(sub) = sub.map(ReasoningSub::name) {
                *reasoning.entry(sub.to_owned()).or_default() += 1;
            }
        }
        Self {
            run_id,
            source,
            filters,
            skills_version,
            diagnosed: result.questions.len(),
            wrong: result.questions.iter().filter(|metrics| !metrics.correct).count(),
            infra: result.n_infra,
            degraded: result.n_degraded,
            task_types,
            reasoning,
            tools: result.tools.clone(),
            outcomes: result.outcomes.clone(),
            steps: result.steps.clone(),
            behaviour: result.behaviour.all.clone(),
            packs: packs(result),
            cost,
        }
    }
}

impl TypeDiagnosis {
    fn add(&mut self, metrics: &QuestionMetrics) {
        self.diagnosed += 1;
        let Some(found) = &metrics.attribution else { return };
        self.wrong += 1;
        *self.error_types.entry(found.error_type).or_default() += 1;
        match found.cause {
            Cause::Defect => self.defects += 1,
            Cause::Lapse => self.lapses += 1,
        }
    }
}

fn packs(result: &DiagnosisResult) -> Vec<PackSummary> {
    let skills = result.skill_packs.iter().map(|(task_type, pack)| PackSummary {
        target: Target::Skill(task_type.clone()).to_string(),
        failures: pack.failure_cases.len(),
        successes: pack.success_cases.len(),
        notes: pack.lapse_notes.len(),
    });
    let system = result.system_pack.iter().map(|pack| PackSummary {
        target: Target::System.to_string(),
        failures: pack.failure_cases.len(),
        successes: pack.success_cases.len(),
        notes: 0,
    });
    let tools = result.tool_packs.iter().map(|(tool, pack)| PackSummary {
        target: Target::Tool(tool.clone()).to_string(),
        failures: pack.failure_spans.len(),
        successes: pack.success_spans.len(),
        notes: 0,
    });
    skills.chain(system).chain(tools).collect()
}
