//! Stage 2, the summaries: D2 by tool, D3 by task type and outcome, D4 by step of the skill, D5 by behaviour.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::rules::share;
use crate::domain::TaskType;
use crate::evolution::types::mean;
use crate::evolution::types::{
    BehaviourPattern, Calibration, ErrorType, PatternCount, QuestionMetrics, SpanMetrics, SpanTag, StepStats,
    StepVerdict,
};

/// D2: one tool over all questions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSummary {
    /// The tool.
    pub tool: String,
    /// Calls in all.
    pub calls: u64,
    /// Calls that were judged.
    pub judged: usize,
    /// Mean completeness of these; null without any.
    pub mean_completeness: Option<f64>,
    /// Mean hallucination of these; null without any.
    pub mean_hallucination: Option<f64>,
    /// How often each tag was given.
    pub tags: BTreeMap<SpanTag, u64>,
}

/// D3: the right or the wrong answers of one task type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OutcomeSummary {
    /// The task type.
    pub task_type: TaskType,
    /// Which of its answers.
    pub correct: bool,
    /// How many they are.
    pub n: usize,
    /// How many of them the judge left incomplete.
    pub degraded: usize,
    /// Wrong answers by kind of failure.
    pub error_types: BTreeMap<ErrorType, u64>,
    /// Mean share of the steps used.
    pub mean_budget_use: Option<f64>,
    /// Mean share of repeated visits.
    pub mean_repeat_visit_rate: Option<f64>,
    /// Mean adherence to the skill, of those where it is known.
    pub mean_adherence: Option<f64>,
    /// Share of answers with sufficient evidence, of those where it is known.
    pub evidence_sufficient: Option<f64>,
}

/// D4: one step of one skill.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepBenefit {
    /// The task type.
    pub task_type: TaskType,
    /// Number of the step, from 1.
    pub step: u32,
    /// Its text.
    pub text: String,
    /// Answers in which it was followed.
    pub followed: usize,
    /// Answers in which it applied and was not followed.
    pub not_followed: usize,
    /// Accuracy where followed minus accuracy where not, -1 to 1; null if either does not occur.
    pub benefit: Option<f64>,
}

/// D5: behaviour over all task types, and per task type.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BehaviourSummary {
    /// Over all questions.
    pub all: StepStats,
    /// Per task type.
    pub by_task_type: BTreeMap<TaskType, StepStats>,
    /// Right answers that were given without confidence.
    pub low_conf_right: usize,
}

/// D2, by tool.
#[must_use]
pub(super) fn by_tool(metrics: &[QuestionMetrics]) -> Vec<ToolSummary> {
    let mut calls: BTreeMap<&str, u64> = BTreeMap::new();
    let mut judged: BTreeMap<&str, Vec<&SpanMetrics>> = BTreeMap::new();
    for question in metrics {
        for (tool, count) in &question.rules.tool_usage {
            *calls.entry(tool).or_default() += u64::from(*count);
        }
        for span in question.judge.spans.iter().flatten() {
            judged.entry(&span.tool).or_default().push(span);
        }
    }
    let summary = |(tool, calls): (&str, u64)| {
        let spans = judged.get(tool).map(Vec::as_slice).unwrap_or_default();
        let mut tags = BTreeMap::new();
        for tag in spans.iter().flat_map(|span| &span.tags) {
            *tags.entry(*tag).or_default() += 1;
        }
        ToolSummary {
            tool: tool.to_owned(),
            calls,
            judged: spans.len(),
            mean_completeness: mean(spans.iter().map(|span| span.completeness)),
            mean_hallucination: mean(spans.iter().map(|span| span.hallucination)),
            tags,
        }
    };
    calls.into_iter().map(summary).collect()
}

/// D3, by task type; wrong answers before right ones.
#[must_use]
pub(super) fn by_outcome(metrics: &[QuestionMetrics]) -> Vec<OutcomeSummary> {
    let mut groups: BTreeMap<(&TaskType, bool), Vec<&QuestionMetrics>> = BTreeMap::new();
    for question in metrics {
        groups.entry((&question.task_type, question.correct)).or_default().push(question);
    }
    let summary = |((task_type, correct), group): ((&TaskType, bool), Vec<&QuestionMetrics>)| {
        let mut error_types = BTreeMap::new();
        for attribution in group.iter().filter_map(|question| question.attribution.as_ref()) {
            *error_types.entry(attribution.error_type).or_default() += 1;
        }
        let sufficient = group.iter().filter_map(|question| question.judge.evidence_sufficient);
        OutcomeSummary {
            task_type: task_type.clone(),
            correct,
            n: group.len(),
            degraded: group.iter().filter(|question| question.degraded).count(),
            error_types,
            mean_budget_use: mean(group.iter().map(|question| question.rules.budget_use)),
            mean_repeat_visit_rate: mean(group.iter().map(|question| question.rules.repeat_visit_rate)),
            mean_adherence: mean(group.iter().filter_map(|question| question.judge.adherence())),
            evidence_sufficient: mean(sufficient.map(f64::from)),
        }
    };
    groups.into_iter().map(summary).collect()
}

/// D4, by task type and step.
#[must_use]
pub(super) fn by_step(metrics: &[QuestionMetrics]) -> Vec<StepBenefit> {
    /// Right and all answers.
    type Tally = (usize, usize);
    let mut steps: BTreeMap<(&TaskType, u32), (&str, Tally, Tally)> = BTreeMap::new();
    for question in metrics {
        for step in question.judge.skill_adherence.iter().flatten() {
            let key = (&question.task_type, step.step);
            let (_, followed, not_followed) = steps.entry(key).or_insert((&step.text, (0, 0), (0, 0)));
            let tally = match step.verdict {
                StepVerdict::Followed => followed,
                StepVerdict::NotFollowed => not_followed,
                StepVerdict::NotApplicable => continue,
            };
            tally.0 += usize::from(question.correct);
            tally.1 += 1;
        }
    }
    let accuracy = |(right, all): Tally| (all > 0).then(|| share(right, all));
    steps
        .into_iter()
        .map(|((task_type, step), (text, followed, not_followed))| StepBenefit {
            task_type: task_type.clone(),
            step,
            text: text.to_owned(),
            followed: followed.1,
            not_followed: not_followed.1,
            benefit: accuracy(followed).zip(accuracy(not_followed)).map(|(with, without)| with - without),
        })
        .collect()
}

/// D5.
#[must_use]
pub(super) fn by_behaviour(metrics: &[QuestionMetrics]) -> BehaviourSummary {
    let mut groups: BTreeMap<&TaskType, Vec<&QuestionMetrics>> = BTreeMap::new();
    for question in metrics {
        groups.entry(&question.task_type).or_default().push(question);
    }
    let all: Vec<&QuestionMetrics> = metrics.iter().collect();
    let unsure = |question: &&QuestionMetrics| question.rules.calibration == Some(Calibration::LowConfRight);
    BehaviourSummary {
        all: step_stats(&all),
        by_task_type: groups.into_iter().map(|(task_type, group)| (task_type.clone(), step_stats(&group))).collect(),
        low_conf_right: metrics.iter().filter(unsure).count(),
    }
}

fn step_stats(group: &[&QuestionMetrics]) -> StepStats {
    let count = |pattern: &BehaviourPattern| PatternCount {
        pattern: *pattern,
        count: group.iter().filter(|question| shows(question, *pattern)).count(),
    };
    StepStats {
        n_questions: group.len(),
        n_wrong: group.iter().filter(|question| !question.correct).count(),
        patterns: BehaviourPattern::ALL.iter().map(count).collect(),
        mean_budget_use: mean(group.iter().map(|question| question.rules.budget_use)),
        mean_repeat_visit_rate: mean(group.iter().map(|question| question.rules.repeat_visit_rate)),
        mean_keyword_repetition: mean(group.iter().map(|question| question.rules.keyword_repetition)),
    }
}

/// Below this share of the steps an answer is early.
const EARLY: f64 = 0.3;

/// Whether a wrong answer shows a pattern.
pub(super) fn shows(question: &QuestionMetrics, pattern: BehaviourPattern) -> bool {
    let seen = match pattern {
        BehaviourPattern::EarlySubmit => question.rules.budget_use < EARLY,
        BehaviourPattern::HighConfWrong => question.rules.calibration == Some(Calibration::HighConfWrong),
        BehaviourPattern::ConfirmationBias => question.judge.confirmation_bias == Some(true),
    };
    !question.correct && seen
}

#[cfg(test)]
mod tests {
    use super::super::samples::metrics;
    use super::*;
    use crate::evolution::types::{SkillStepAdherence, SpanMetrics};

    fn span(tool: &str, completeness: f64, hallucination: f64) -> SpanMetrics {
        SpanMetrics {
            span_index: 0,
            step: 1,
            tool: tool.into(),
            completeness,
            hallucination,
            tags: vec![SpanTag::TooVague],
        }
    }

    #[test]
    fn d2_counts_calls_and_averages_what_was_judged() {
        let mut one = metrics("q1", "A", false);
        one.rules.tool_usage = BTreeMap::from([("view_node".into(), 3), ("submit_answer".into(), 1)]);
        one.judge.spans = Some(vec![span("view_node", 0.5, 0.0), span("view_node", 1.0, 0.5)]);
        let summaries = by_tool(&[one]);
        assert_eq!(summaries.len(), 2);
        assert_eq!((summaries[0].tool.as_str(), summaries[0].judged), ("submit_answer", 0));
        assert_eq!(summaries[0].mean_completeness, None);
        assert_eq!((summaries[1].calls, summaries[1].mean_completeness), (3, Some(0.75)));
        assert_eq!(summaries[1].mean_hallucination, Some(0.25));
        assert_eq!(summaries[1].tags[&SpanTag::TooVague], 2);
    }

    #[test]
    fn d3_separates_outcomes_of_each_type() {
        let all = [metrics("q1", "A", false), metrics("q2", "A", true), metrics("q3", "B", false)];
        let summaries = by_outcome(&all);
        let keys: Vec<_> =
            summaries.iter().map(|summary| (summary.task_type.as_str(), summary.correct, summary.n)).collect();
        assert_eq!(keys, [("A", false, 1), ("A", true, 1), ("B", false, 1)]);
        assert_eq!(summaries[0].error_types[&ErrorType::Mixed], 1);
        assert!(summaries[1].error_types.is_empty());
    }

    #[test]
    fn d4_compares_accuracy_with_and_without_a_step() {
        let adhering = |id: &str, correct, verdict| {
            let mut question = metrics(id, "A", correct);
            question.judge.skill_adherence = Some(vec![SkillStepAdherence { step: 1, text: "look".into(), verdict }]);
            question
        };
        let all = [
            adhering("q1", true, StepVerdict::Followed),
            adhering("q2", false, StepVerdict::Followed),
            adhering("q3", false, StepVerdict::NotFollowed),
            adhering("q4", true, StepVerdict::NotApplicable),
        ];
        let found = by_step(&all);
        assert_eq!((found[0].followed, found[0].not_followed, found[0].benefit), (2, 1, Some(0.5)));
        assert_eq!(by_step(&all[..2])[0].benefit, None);
    }

    #[test]
    fn d5_counts_patterns_in_wrong_answers_only() {
        let early = |id: &str, correct| {
            let mut question = metrics(id, "A", correct);
            question.rules.budget_use = 0.1;
            question.rules.calibration =
                Some(if correct { Calibration::LowConfRight } else { Calibration::HighConfWrong });
            question.judge.confirmation_bias = Some(true);
            question
        };
        let summary = by_behaviour(&[early("q1", false), early("q2", true)]);
        assert_eq!(summary.all.patterns.iter().map(|pattern| pattern.count).collect::<Vec<_>>(), [1, 1, 1]);
        assert_eq!((summary.all.n_questions, summary.all.n_wrong, summary.low_conf_right), (2, 1, 1));
        assert_eq!(summary.by_task_type.len(), 1);
    }
}
