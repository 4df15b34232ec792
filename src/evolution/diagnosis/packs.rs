//! Stage 2, the case packs: few cases, chosen by rule, in an order that ties cannot change.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::aggregate::{by_behaviour, shows};
use super::rules::share;
use super::stage_one::Answered;
use super::trace::{cut, question_text};
use crate::domain::{QuestionId, TaskType};
use crate::evolution::types::{
    BehaviourPattern, Calibration, CaseSample, CaseStep, Cause, ErrorType, PackStats, QuestionMetrics, SkillCasePack,
    SpanMetrics, SpanSample, SystemCase, SystemCasePack, ToolCasePack,
};

/// The most characters of a tool's output in a case.
const OUTPUT_CHARS: usize = 500;
/// How many cases of a kind are taken.
const TOP: usize = 2;
/// How often a pattern must have been seen.
const MIN_PATTERN_COUNT: usize = 3;
/// At or below this accuracy successes are chosen by budget alone.
const LOW_ACCURACY: f64 = 0.3;
/// From this completeness on a report without hallucination is good.
const GOOD_COMPLETENESS: f64 = 0.9;

/// A question with its metrics; all packs are made from a list of these, sorted by question id.
pub(super) type Diagnosed<'a> = (&'a QuestionMetrics, &'a Answered<'a>);

/// One pack per task type that has failures to learn from. `n_right` and `n_all` per type count all answers, whether
/// they were diagnosed or not.
pub(super) fn skill_packs(
    diagnosed: &[Diagnosed<'_>],
    counts: &BTreeMap<TaskType, (usize, usize)>,
) -> BTreeMap<TaskType, SkillCasePack> {
    let mut groups: BTreeMap<&TaskType, Vec<Diagnosed<'_>>> = BTreeMap::new();
    for one in diagnosed {
        groups.entry(&one.0.task_type).or_default().push(*one);
    }
    let pack = |(task_type, group): (&TaskType, Vec<Diagnosed<'_>>)| {
        let (right, all) = counts.get(task_type).copied().unwrap_or_default();
        let pack = skill_pack(task_type, &group, right, all);
        let useful = !pack.failure_cases.is_empty() || !pack.lapse_notes.is_empty();
        useful.then(|| (task_type.clone(), pack))
    };
    groups.into_iter().filter_map(pack).collect()
}

fn skill_pack(task_type: &TaskType, group: &[Diagnosed<'_>], n_right: usize, n_all: usize) -> SkillCasePack {
    let of_cause = |cause: Cause| {
        let fits = move |one: &Diagnosed<'_>| one.0.attribution.as_ref().is_some_and(|found| found.cause == cause);
        group.iter().copied().filter(fits).collect::<Vec<_>>()
    };
    let mut defects = of_cause(Cause::Defect);
    let mut lapses = of_cause(Cause::Lapse);
    // A single failure is no reason to edit the body of a skill.
    if defects.len() == 1 {
        lapses.append(&mut defects);
        lapses.sort_by(by_id);
    }
    let failures = most_severe(&defects);
    let accuracy = if n_all == 0 { 0.0 } else { share(n_right, n_all) };
    let noted = lapses.iter().filter_map(|(metrics, _)| {
        let note = metrics.attribution.as_ref()?.lapse_note.as_ref()?.trim();
        (!note.is_empty()).then(|| (note.to_owned(), metrics.question_id.clone()))
    });
    let (lapse_notes, lapse_questions) = noted.unzip();
    SkillCasePack {
        task_type: task_type.clone(),
        n_questions: n_all,
        accuracy,
        success_cases: skill_successes(group, failures.len(), accuracy),
        failure_cases: failures.iter().map(case_sample).collect(),
        lapse_notes,
        lapse_questions,
    }
}

/// At most two failures per error type, the most severe first.
fn most_severe<'a>(defects: &[Diagnosed<'a>]) -> Vec<Diagnosed<'a>> {
    let mut chosen = Vec::new();
    for error_type in ErrorType::ALL {
        let fits =
            |one: &Diagnosed<'_>| one.0.attribution.as_ref().is_some_and(|found| found.error_type == *error_type);
        let mut of_type: Vec<Diagnosed<'a>> = defects.iter().copied().filter(fits).collect();
        of_type.sort_by(|a, b| severity(*error_type, b.0, a.0).then_with(|| by_id(a, b)));
        chosen.extend(of_type.into_iter().take(TOP));
    }
    chosen
}

/// Compares the severity of two failures of one type: search (missed nodes, budget), extraction (largest
/// hallucination, incompleteness), reasoning (high confidence, budget), mixed (budget, missed nodes).
fn severity(error_type: ErrorType, a: &QuestionMetrics, b: &QuestionMetrics) -> Ordering {
    let missed = || a.judge.missed_count().cmp(&b.judge.missed_count());
    let budget = || a.rules.budget_use.total_cmp(&b.rules.budget_use);
    let invented = |metrics: &QuestionMetrics| metrics.judge.max_hallucination().unwrap_or(0.0);
    let incomplete = |metrics: &QuestionMetrics| 1.0 - metrics.judge.mean_completeness().unwrap_or(1.0);
    let sure = |metrics: &QuestionMetrics| metrics.rules.calibration == Some(Calibration::HighConfWrong);
    match error_type {
        ErrorType::Search => missed().then_with(budget),
        ErrorType::Extraction => {
            invented(a).total_cmp(&invented(b)).then_with(|| incomplete(a).total_cmp(&incomplete(b)))
        }
        ErrorType::Reasoning => sure(a).cmp(&sure(b)).then_with(budget),
        ErrorType::Mixed => budget().then_with(missed),
    }
}

/// max(2, ⌊failures/2⌋) successes: at an accuracy of at most 0.3 the cheapest, else those that followed the skill best.
fn skill_successes(group: &[Diagnosed<'_>], failures: usize, accuracy: f64) -> Vec<CaseSample> {
    let mut right: Vec<Diagnosed<'_>> = group.iter().copied().filter(|(metrics, _)| metrics.correct).collect();
    let budget = |one: &Diagnosed<'_>| one.0.rules.budget_use;
    // Unknown adherence comes after every known one.
    let adherence = |one: &Diagnosed<'_>| one.0.judge.adherence().unwrap_or(-1.0);
    right.sort_by(|a, b| {
        let by_adherence =
            if accuracy <= LOW_ACCURACY { Ordering::Equal } else { adherence(b).total_cmp(&adherence(a)) };
        by_adherence.then_with(|| budget(a).total_cmp(&budget(b))).then_with(|| by_id(a, b))
    });
    right.iter().take((failures / 2).max(TOP)).map(case_sample).collect()
}

/// The pack of behaviour across types; none if no pattern was seen three times.
pub(super) fn system_pack(diagnosed: &[Diagnosed<'_>]) -> Option<SystemCasePack> {
    let mut failure_cases = Vec::new();
    for pattern in BehaviourPattern::ALL {
        let mut seen: Vec<Diagnosed<'_>> =
            diagnosed.iter().copied().filter(|(metrics, _)| shows(metrics, *pattern)).collect();
        if seen.len() < MIN_PATTERN_COUNT {
            continue;
        }
        seen.sort_by(|a, b| worse_pattern(*pattern, a.0, b.0).then_with(|| by_id(a, b)));
        let cases = seen.iter().take(TOP).map(|one| SystemCase { pattern: *pattern, case: case_sample(one) });
        failure_cases.extend(cases);
    }
    if failure_cases.is_empty() {
        return None;
    }
    let mut good: Vec<Diagnosed<'_>> =
        diagnosed.iter().copied().filter(|(metrics, _)| is_well_behaved(metrics)).collect();
    let distance = |one: &Diagnosed<'_>| (one.0.rules.budget_use - 0.5).abs();
    good.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then_with(|| by_id(a, b)));
    let success_cases = good.iter().take((failure_cases.len() / 2).max(TOP)).map(case_sample).collect();
    let metrics: Vec<QuestionMetrics> = diagnosed.iter().map(|(metrics, _)| (*metrics).clone()).collect();
    let stats = PackStats { per_step: vec![by_behaviour(&metrics).all] };
    Some(SystemCasePack { failure_cases, success_cases, stats })
}

/// The clearest case of a pattern first: least budget, or highest confidence.
fn worse_pattern(pattern: BehaviourPattern, a: &QuestionMetrics, b: &QuestionMetrics) -> Ordering {
    let budget = || a.rules.budget_use.total_cmp(&b.rules.budget_use);
    let confidence = |metrics: &QuestionMetrics| metrics.confidence.unwrap_or(0.0);
    match pattern {
        BehaviourPattern::EarlySubmit => budget(),
        BehaviourPattern::HighConfWrong | BehaviourPattern::ConfirmationBias => {
            confidence(b).total_cmp(&confidence(a)).then_with(budget)
        }
    }
}

/// Correct, calibrated, known to be unbiased, with 0.3 to 0.8 of the steps used.
fn is_well_behaved(metrics: &QuestionMetrics) -> bool {
    let calibrated = metrics.rules.calibration.is_none_or(|calibration| calibration == Calibration::Calibrated);
    let unbiased = metrics.judge.confirmation_bias == Some(false);
    metrics.correct && calibrated && unbiased && (0.3..=0.8).contains(&metrics.rules.budget_use)
}

/// One pack per tool that gave bad reports.
pub(super) fn tool_packs(diagnosed: &[Diagnosed<'_>]) -> BTreeMap<String, ToolCasePack> {
    let mut samples: BTreeMap<&str, Vec<SpanSample>> = BTreeMap::new();
    for (metrics, answered) in diagnosed {
        for span in metrics.judge.spans.iter().flatten() {
            samples.entry(&span.tool).or_default().push(span_sample(span, answered));
        }
    }
    let pack = |(tool, spans): (&str, Vec<SpanSample>)| {
        let pack = tool_pack(tool, spans);
        (!pack.failure_spans.is_empty()).then(|| (tool.to_owned(), pack))
    };
    samples.into_iter().filter_map(pack).collect()
}

/// The two least complete and the two most hallucinated bad reports, distinct; good ones, the most complete first.
fn tool_pack(tool: &str, spans: Vec<SpanSample>) -> ToolCasePack {
    let is_good = |span: &SpanSample| span.completeness >= GOOD_COMPLETENESS && span.hallucination == 0.0;
    let (mut good, bad): (Vec<SpanSample>, Vec<SpanSample>) = spans.into_iter().partition(is_good);
    let mut incomplete: Vec<&SpanSample> = bad.iter().filter(|span| span.completeness < GOOD_COMPLETENESS).collect();
    incomplete.sort_by(|a, b| a.completeness.total_cmp(&b.completeness).then_with(|| by_place(a, b)));
    let mut invented: Vec<&SpanSample> = bad.iter().filter(|span| span.hallucination > 0.0).collect();
    invented.sort_by(|a, b| b.hallucination.total_cmp(&a.hallucination).then_with(|| by_place(a, b)));
    let mut failure_spans: Vec<SpanSample> = incomplete.into_iter().take(TOP).cloned().collect();
    for span in invented.into_iter().take(TOP) {
        if !failure_spans.contains(span) {
            failure_spans.push(span.clone());
        }
    }
    good.sort_by(|a, b| b.completeness.total_cmp(&a.completeness).then_with(|| by_place(a, b)));
    good.truncate((failure_spans.len() / 2).max(TOP));
    ToolCasePack { tool: tool.to_owned(), failure_spans, success_spans: good }
}

/// Joins the system packs of several steps, in their order. Statistics stay apart; of a pattern the cases of all
/// steps are kept, each question once per pattern.
#[must_use]
pub fn merge_system_packs(packs: &[SystemCasePack]) -> Option<SystemCasePack> {
    let mut merged = packs.first()?.clone();
    let mut failures: BTreeSet<(BehaviourPattern, QuestionId)> = BTreeSet::new();
    let mut successes: BTreeSet<QuestionId> = BTreeSet::new();
    merged.failure_cases = packs.iter().flat_map(|pack| pack.failure_cases.iter().cloned()).collect();
    merged.failure_cases.retain(|case| failures.insert((case.pattern, case.case.question_id.clone())));
    merged.success_cases = packs.iter().flat_map(|pack| pack.success_cases.iter().cloned()).collect();
    merged.success_cases.retain(|case| successes.insert(case.question_id.clone()));
    merged.stats = PackStats { per_step: packs.iter().flat_map(|pack| pack.stats.per_step.iter().cloned()).collect() };
    Some(merged)
}

/// Joins the packs of one tool: chosen again, by the same rule, from all that the packs hold.
#[must_use]
pub fn merge_tool_packs(packs: &[ToolCasePack]) -> Option<ToolCasePack> {
    let tool = &packs.first()?.tool;
    let mut spans: Vec<SpanSample> = Vec::new();
    for span in packs.iter().flat_map(|pack| pack.failure_spans.iter().chain(&pack.success_spans)) {
        if !spans.contains(span) {
            spans.push(span.clone());
        }
    }
    Some(tool_pack(tool, spans))
}

fn case_sample(one: &Diagnosed<'_>) -> CaseSample {
    let (metrics, answered) = one;
    let attribution = metrics.attribution.as_ref();
    let step = |span: &&crate::evolution::ports::TraceSpan| CaseStep {
        step: span.step,
        thought: span.thought.clone(),
        tool: span.tool.clone(),
        args: span.args.clone(),
        output: cut(span.output.trim(), Some(OUTPUT_CHARS)),
    };
    CaseSample {
        question_id: metrics.question_id.clone(),
        task_type: metrics.task_type.clone(),
        question: answered.question.question.clone(),
        options: answered.question.options.clone(),
        answer: answered.question.answer,
        agent_answer: answered.prediction.answer,
        correct: metrics.correct,
        error_type: attribution.map(|found| found.error_type),
        reasoning_sub: attribution.and_then(|found| found.reasoning_sub),
        confidence: metrics.confidence,
        budget_use: metrics.rules.budget_use,
        agent_reasoning: answered.prediction.reasoning.clone(),
        missed_nodes: metrics.judge.missed_nodes.clone().unwrap_or_default(),
        steps: answered.spans.iter().map(step).collect(),
    }
}

fn span_sample(span: &SpanMetrics, answered: &Answered<'_>) -> SpanSample {
    let recorded = answered.spans.iter().find(|recorded| recorded.span_index == span.span_index);
    SpanSample {
        question_id: answered.question.question_id.clone(),
        question: question_text(answered.question),
        span_index: span.span_index,
        args: recorded.map_or_else(String::new, |recorded| recorded.args.clone()),
        output: recorded.map_or_else(String::new, |recorded| cut(recorded.output.trim(), Some(OUTPUT_CHARS))),
        completeness: span.completeness,
        hallucination: span.hallucination,
        tags: span.tags.clone(),
    }
}

fn by_id(a: &Diagnosed<'_>, b: &Diagnosed<'_>) -> Ordering {
    a.0.question_id.cmp(&b.0.question_id)
}

fn by_place(a: &SpanSample, b: &SpanSample) -> Ordering {
    (&a.question_id, a.span_index).cmp(&(&b.question_id, b.span_index))
}
