//! Which cases go into a pack, rule by rule.

use std::collections::BTreeMap;

use super::packs::{Diagnosed, merge_system_packs, merge_tool_packs, skill_packs, system_pack, tool_packs};
use super::samples::metrics;
use super::stage_one::Answered;
use crate::domain::{Choice, Question, StopReason, TaskType, VideoTree};
use crate::evolution::ports::{PredictionRecord, TraceSpan};
use crate::evolution::types::{
    BehaviourPattern, Calibration, Cause, ErrorType, QuestionMetrics, SkillCasePack, SkillStepAdherence, SpanMetrics,
    StepVerdict,
};

/// Answers to metrics, in the order of the metrics, which is by id.
struct Answers {
    metrics: Vec<QuestionMetrics>,
    questions: Vec<Question>,
    predictions: Vec<PredictionRecord>,
    spans: Vec<TraceSpan>,
    tree: VideoTree,
}

impl Answers {
    fn new(mut metrics: Vec<QuestionMetrics>) -> Self {
        metrics.sort_by(|a, b| a.question_id.cmp(&b.question_id));
        let question = |metrics: &QuestionMetrics| Question {
            question_id: metrics.question_id.clone(),
            video_id: metrics.video_id.clone(),
            task_type: metrics.task_type.clone(),
            question: "What?".into(),
            options: vec![Choice { letter: 'A', text: "one".into() }, Choice { letter: 'B', text: "two".into() }],
            answer: 'A',
            pair_id: None,
            source_nodes: vec![],
            difficulty: None,
        };
        let prediction = |metrics: &QuestionMetrics| PredictionRecord {
            question_id: metrics.question_id.clone(),
            answer: Some('B'),
            correctness: Some(metrics.correct),
            stop_reason: StopReason::Finished,
            steps_used: 1,
            steps_of: 2,
            confidence: metrics.confidence,
            evidence: String::new(),
            reasoning: "so".into(),
            prompt_tokens: 0,
            completion_tokens: 0,
        };
        let span = |metrics: &QuestionMetrics| TraceSpan {
            question_id: metrics.question_id.clone(),
            span_index: 0,
            step: 1,
            thought: String::new(),
            plan: String::new(),
            tool: Some("view_node".into()),
            args: "{}".into(),
            output: "ö".repeat(600),
            raw: String::new(),
            prompt_tokens: 0,
            completion_tokens: 0,
        };
        Self {
            questions: metrics.iter().map(question).collect(),
            predictions: metrics.iter().map(prediction).collect(),
            spans: metrics.iter().map(span).collect(),
            tree: serde_json::from_value(serde_json::json!({"videoID": "v", "duration_seconds": 1.0, "nodes": {}}))
                .unwrap(),
            metrics,
        }
    }

    /// Runs a rule over them.
    fn with<T>(&self, rule: impl FnOnce(&[Diagnosed<'_>]) -> T) -> T {
        let parts = self.questions.iter().zip(&self.predictions).zip(&self.spans).zip(&self.metrics);
        let answered: Vec<Answered<'_>> = parts
            .map(|(((question, prediction), span), metrics)| Answered {
                question,
                prediction,
                correct: metrics.correct,
                spans: vec![span],
                tree: &self.tree,
                skill: "",
                steps: &[],
            })
            .collect();
        rule(&self.metrics.iter().zip(&answered).collect::<Vec<_>>())
    }

    fn skill_pack(&self) -> Option<SkillCasePack> {
        let mut counts: BTreeMap<TaskType, (usize, usize)> = BTreeMap::new();
        for metrics in &self.metrics {
            let (right, all) = counts.entry(metrics.task_type.clone()).or_default();
            *right += usize::from(metrics.correct);
            *all += 1;
        }
        self.with(|diagnosed| skill_packs(diagnosed, &counts)).into_values().next()
    }
}

fn failing(id: &str, error_type: ErrorType, change: impl FnOnce(&mut QuestionMetrics)) -> QuestionMetrics {
    let mut metrics = metrics(id, "A", false);
    metrics.attribution.as_mut().unwrap().error_type = error_type;
    change(&mut metrics);
    metrics
}

fn ids(cases: &[crate::evolution::types::CaseSample]) -> Vec<&str> {
    cases.iter().map(|case| case.question_id.as_str()).collect()
}

fn missed(count: usize) -> Option<Vec<crate::domain::NodeId>> {
    Some((0..count).map(|index| format!("n{index}").parse().unwrap()).collect())
}

fn span(completeness: f64, hallucination: f64) -> SpanMetrics {
    SpanMetrics { span_index: 0, step: 1, tool: "view_node".into(), completeness, hallucination, tags: vec![] }
}

#[test]
fn search_failures_are_ranked_by_missed_nodes_then_budget() {
    let of = |id: &str, count: usize, budget: f64| {
        failing(id, ErrorType::Search, |metrics| {
            metrics.judge.missed_nodes = missed(count);
            metrics.rules.budget_use = budget;
        })
    };
    let answers = Answers::new(vec![of("q1", 1, 0.9), of("q2", 3, 0.1), of("q3", 3, 0.2), of("q4", 2, 1.0)]);
    assert_eq!(ids(&answers.skill_pack().unwrap().failure_cases), ["q3", "q2"]);
}

#[test]
fn extraction_failures_are_ranked_by_hallucination_then_incompleteness() {
    let of = |id: &str, hallucination: f64, completeness: f64| {
        failing(id, ErrorType::Extraction, |metrics| {
            metrics.judge.spans = Some(vec![span(completeness, hallucination), span(completeness, 0.0)]);
        })
    };
    let answers = Answers::new(vec![of("q1", 0.6, 0.5), of("q2", 0.9, 0.9), of("q3", 0.9, 0.2), of("q4", 0.0, 0.0)]);
    assert_eq!(ids(&answers.skill_pack().unwrap().failure_cases), ["q3", "q2"]);
}

#[test]
fn reasoning_failures_are_ranked_by_high_confidence_then_budget() {
    let of = |id: &str, sure: bool, budget: f64| {
        failing(id, ErrorType::Reasoning, |metrics| {
            metrics.rules.calibration = sure.then_some(Calibration::HighConfWrong);
            metrics.rules.budget_use = budget;
        })
    };
    let answers = Answers::new(vec![of("q1", false, 0.9), of("q2", true, 0.1), of("q3", false, 0.8)]);
    assert_eq!(ids(&answers.skill_pack().unwrap().failure_cases), ["q2", "q1"]);
}

#[test]
fn mixed_failures_are_ranked_by_budget_then_missed_nodes_and_ties_by_id() {
    let of = |id: &str, budget: f64, count: usize| {
        failing(id, ErrorType::Mixed, |metrics| {
            metrics.judge.missed_nodes = missed(count);
            metrics.rules.budget_use = budget;
        })
    };
    let answers = Answers::new(vec![of("q3", 0.5, 1), of("q1", 0.5, 0), of("q2", 0.5, 1), of("q4", 0.4, 9)]);
    assert_eq!(ids(&answers.skill_pack().unwrap().failure_cases), ["q2", "q3"]);
}

#[test]
fn two_failures_of_each_type_are_taken_and_lapses_are_only_noted() {
    let mut all = Vec::new();
    for (index, error_type) in ErrorType::ALL.iter().enumerate() {
        for one in 0..3 {
            all.push(failing(&format!("q{index}{one}"), *error_type, |_| {}));
        }
    }
    for (id, note) in [("q90", Some("  b ")), ("q91", None), ("q92", Some(" ")), ("q93", Some("a"))] {
        all.push(failing(id, ErrorType::Mixed, |metrics| {
            let attribution = metrics.attribution.as_mut().unwrap();
            attribution.cause = Cause::Lapse;
            attribution.lapse_note = note.map(str::to_owned);
        }));
    }
    let pack = Answers::new(all).skill_pack().unwrap();
    assert_eq!(pack.failure_cases.len(), 8);
    assert_eq!(pack.lapse_notes, ["b", "a"]);
    assert_eq!(pack.question_ids().len(), 10);
    assert_eq!(pack.failure_cases[0].steps[0].output.chars().count(), 501, "500 characters and the ellipsis");
}

#[test]
fn successes_are_chosen_by_adherence_unless_the_type_is_weak() {
    let right = |id: &str, budget: f64, verdicts: &[StepVerdict]| {
        let mut metrics = metrics(id, "A", true);
        metrics.rules.budget_use = budget;
        let step = |verdict: &StepVerdict| SkillStepAdherence { step: 1, text: String::new(), verdict: *verdict };
        metrics.judge.skill_adherence = Some(verdicts.iter().map(step).collect());
        metrics
    };
    let rights = || {
        vec![
            right("r1", 0.1, &[StepVerdict::NotFollowed]),
            right("r2", 0.9, &[StepVerdict::Followed]),
            right("r3", 0.8, &[StepVerdict::Followed]),
            right("r4", 0.0, &[StepVerdict::NotApplicable]),
        ]
    };
    let wrong = |count: usize| (0..count).map(|index| failing(&format!("w{index:02}"), ErrorType::Mixed, |_| {}));
    let strong = Answers::new(rights().into_iter().chain(wrong(2)).collect()).skill_pack().unwrap();
    assert_eq!(ids(&strong.success_cases), ["r3", "r2"], "unknown adherence comes last");
    let weak = Answers::new(rights().into_iter().chain(wrong(10)).collect()).skill_pack().unwrap();
    assert!(weak.accuracy <= 0.3);
    assert_eq!(ids(&weak.success_cases), ["r4", "r1"]);
}

#[test]
fn half_as_many_successes_as_failures_are_taken_but_two_at_least() {
    let rights = (0..9).map(|index| metrics(&format!("r{index}"), "A", true));
    let wrong = ErrorType::ALL
        .iter()
        .enumerate()
        .flat_map(|(index, error_type)| (0..2).map(move |one| failing(&format!("w{index}{one}"), *error_type, |_| {})));
    let pack = Answers::new(rights.chain(wrong).collect()).skill_pack().unwrap();
    assert_eq!((pack.failure_cases.len(), pack.success_cases.len()), (8, 4));
}

#[test]
fn a_type_without_failures_has_no_pack() {
    assert_eq!(Answers::new(vec![metrics("q1", "A", true)]).skill_pack(), None);
}

/// A wrong answer after a tenth of the steps.
fn early(id: &str, budget: f64) -> QuestionMetrics {
    failing(id, ErrorType::Mixed, |metrics| metrics.rules.budget_use = budget)
}

#[test]
fn a_pattern_needs_three_occurrences_and_gives_its_two_clearest_cases() {
    let two = Answers::new(vec![early("q1", 0.1), early("q2", 0.1)]);
    assert_eq!(two.with(system_pack), None);
    let three = Answers::new(vec![early("q1", 0.2), early("q2", 0.1), early("q3", 0.1), metrics("r1", "B", true)]);
    let pack = three.with(system_pack).unwrap();
    let cases: Vec<_> = pack.failure_cases.iter().map(|case| (case.pattern, case.case.question_id.as_str())).collect();
    assert_eq!(cases, [(BehaviourPattern::EarlySubmit, "q2"), (BehaviourPattern::EarlySubmit, "q3")]);
    let counts: Vec<usize> = pack.stats.per_step[0].patterns.iter().map(|pattern| pattern.count).collect();
    assert_eq!(counts, [3, 0, 0]);
    assert!(pack.success_cases.is_empty(), "whether r1 is unbiased is not known");
}

#[test]
fn system_successes_are_well_behaved_and_nearest_to_half_the_budget() {
    let good = |id: &str, budget: f64, change: fn(&mut QuestionMetrics)| {
        let mut metrics = metrics(id, "A", true);
        metrics.rules.budget_use = budget;
        metrics.judge.confirmation_bias = Some(false);
        metrics.rules.calibration = Some(Calibration::Calibrated);
        change(&mut metrics);
        metrics
    };
    let mut all: Vec<_> = (0..3).map(|index| early(&format!("q{index}"), 0.1)).collect();
    all.push(good("r1", 0.8, |_| {}));
    all.push(good("r2", 0.3, |_| {}));
    all.push(good("r3", 0.6, |metrics| metrics.rules.calibration = None));
    all.push(good("r4", 0.5, |metrics| metrics.rules.calibration = Some(Calibration::LowConfRight)));
    all.push(good("r5", 0.5, |metrics| metrics.judge.confirmation_bias = Some(true)));
    all.push(good("r6", 0.9, |_| {}));
    let pack = Answers::new(all).with(system_pack).unwrap();
    assert_eq!(ids(&pack.success_cases), ["r3", "r2"]);
}

#[test]
fn merged_system_packs_keep_their_statistics_apart() {
    let pack = |prefix: &str| {
        let all = (0..3).map(|index| early(&format!("{prefix}{index}"), 0.1)).collect();
        Answers::new(all).with(system_pack).unwrap()
    };
    let merged = merge_system_packs(&[pack("a"), pack("b"), pack("a")]).unwrap();
    assert_eq!(merged.stats.per_step.len(), 3);
    assert_eq!(merged.stats.per_step[0], merged.stats.per_step[2]);
    let cases: Vec<&str> = merged.failure_cases.iter().map(|case| case.case.question_id.as_str()).collect();
    assert_eq!(cases, ["a0", "a1", "b0", "b1"]);
    let json = serde_json::to_value(&merged).unwrap();
    assert!(json["stats"]["per_step"].is_array());
    assert_eq!(merge_system_packs(&[]), None);
}

#[test]
fn tool_packs_hold_the_worst_of_both_kinds_and_what_is_good() {
    let judged = |id: &str, spans: &[(f64, f64)]| {
        let mut metrics = metrics(id, "A", true);
        let spans = (0..).zip(spans);
        metrics.judge.spans = Some(
            spans
                .map(|(index, (complete, invented))| SpanMetrics { span_index: index, ..span(*complete, *invented) })
                .collect(),
        );
        metrics
    };
    let answers = Answers::new(vec![
        judged("q1", &[(0.1, 0.9), (0.2, 0.0), (0.3, 0.0), (1.0, 0.1)]),
        judged("q2", &[(0.9, 0.0), (1.0, 0.0), (0.95, 0.2), (0.89, 0.0), (1.0, 0.0)]),
    ]);
    let pack = answers.with(tool_packs).remove("view_node").unwrap();
    let failures: Vec<_> = pack.failure_spans.iter().map(|span| (span.completeness, span.hallucination)).collect();
    assert_eq!(failures, [(0.1, 0.9), (0.2, 0.0), (0.95, 0.2)], "the worst of both kinds is taken once");
    let good: Vec<_> = pack.success_spans.iter().map(|span| (span.question_id.as_str(), span.span_index)).collect();
    assert_eq!(good, [("q2", 1), ("q2", 4)]);
    let merged = merge_tool_packs(&[pack.clone(), pack.clone()]).unwrap();
    assert_eq!(merged, pack);
    let fine = Answers::new(vec![judged("q1", &[(1.0, 0.0)])]);
    assert!(fine.with(tool_packs).is_empty());
}
