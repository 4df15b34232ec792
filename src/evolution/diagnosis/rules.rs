//! The seven metrics that need no model (design 05, stage 1).

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::trace::opened_nodes;
use crate::domain::VideoTree;
use crate::evolution::json::stored_object;
use crate::evolution::ports::{PredictionRecord, TraceSpan};
use crate::evolution::types::{Calibration, RuleMetrics};

/// From this confidence on, a wrong answer is over-confident.
pub(super) const HIGH_CONFIDENCE: f64 = 0.7;
/// Below this confidence, a right answer is under-confident.
const LOW_CONFIDENCE: f64 = 0.5;

/// All seven, for one answered question and its spans in order.
pub(super) fn rule_metrics(
    prediction: &PredictionRecord,
    correct: bool,
    spans: &[&TraceSpan],
    tree: &VideoTree,
) -> RuleMetrics {
    let visits: Vec<_> = spans.iter().flat_map(|span| opened_nodes(span, tree)).collect();
    let level_path: Vec<u8> = visits.iter().filter_map(|id| tree.nodes.get(id)).map(|node| node.level).collect();
    let queries: Vec<String> = spans.iter().filter_map(|span| search_query(span)).collect();
    let mut tool_usage = BTreeMap::new();
    for tool in spans.iter().filter_map(|span| span.tool.as_ref()) {
        *tool_usage.entry(tool.clone()).or_default() += 1;
    }
    RuleMetrics {
        format_compliance: format_compliance(spans),
        budget_use: budget_use(prediction),
        calibration: prediction.confidence.map(|confidence| calibration(confidence, correct)),
        repeat_visit_rate: repeat_rate(&visits),
        keyword_repetition: keyword_repetition(&queries),
        level_jumps: level_jumps(&level_path),
        level_path,
        tool_usage,
    }
}

/// Share of turns that were a call with an object of arguments.
fn format_compliance(spans: &[&TraceSpan]) -> Option<f64> {
    let compliant = |span: &&&TraceSpan| {
        let args = span.args.trim();
        span.tool.is_some()
            && (args.is_empty() || serde_json::from_str::<Value>(args).is_ok_and(|args| args.is_object()))
    };
    let good = spans.iter().filter(compliant).count();
    (!spans.is_empty()).then(|| share(good, spans.len()))
}

fn budget_use(prediction: &PredictionRecord) -> f64 {
    if prediction.steps_of == 0 {
        return 0.0;
    }
    (f64::from(prediction.steps_used) / f64::from(prediction.steps_of)).min(1.0)
}

fn calibration(confidence: f64, correct: bool) -> Calibration {
    match correct {
        false if confidence >= HIGH_CONFIDENCE => Calibration::HighConfWrong,
        true if confidence < LOW_CONFIDENCE => Calibration::LowConfRight,
        _ => Calibration::Calibrated,
    }
}

/// Share of visits that went where the agent had been before.
fn repeat_rate<T: Ord>(visits: &[T]) -> f64 {
    let distinct: BTreeSet<&T> = visits.iter().collect();
    if visits.is_empty() { 0.0 } else { share(visits.len() - distinct.len(), visits.len()) }
}

fn search_query(span: &TraceSpan) -> Option<String> {
    if span.tool.as_deref() != Some("search_similar") {
        return None;
    }
    stored_object(&span.args)?.get("query")?.as_str().map(str::to_owned)
}

/// The largest similarity of two consecutive queries.
fn keyword_repetition(queries: &[String]) -> f64 {
    let pairs = queries.iter().zip(queries.iter().skip(1));
    pairs.map(|(first, second)| trigram_similarity(first, second)).fold(0.0, f64::max)
}

/// Jaccard similarity of the sets of character trigrams, case and outer white space aside, 0 to 1. Texts of fewer
/// than three characters are one gram.
fn trigram_similarity(first: &str, second: &str) -> f64 {
    let (first, second) = (trigrams(first), trigrams(second));
    let common = first.intersection(&second).count();
    let all = first.len() + second.len() - common;
    if all == 0 { 0.0 } else { share(common, all) }
}

fn trigrams(text: &str) -> BTreeSet<Vec<char>> {
    let chars: Vec<char> = text.trim().to_lowercase().chars().collect();
    match chars.len() {
        0 => BTreeSet::new(),
        1 | 2 => BTreeSet::from([chars]),
        _ => chars.windows(3).map(<[char]>::to_vec).collect(),
    }
}

/// How many visits went more than one level deeper than the one before.
fn level_jumps(path: &[u8]) -> u32 {
    let jumps = path.iter().zip(path.iter().skip(1)).filter(|(from, to)| **to > from.saturating_add(1));
    u32::try_from(jumps.count()).unwrap_or(u32::MAX)
}

/// `part / whole` for counts, exact for all that fits a double.
pub(in crate::evolution) fn share(part: usize, whole: usize) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let (part, whole) = (part as f64, whole as f64);
    part / whole
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{QuestionId, StopReason};

    fn prediction(used: u32, of: u32, confidence: Option<f64>) -> PredictionRecord {
        PredictionRecord {
            question_id: QuestionId::new("q").unwrap(),
            answer: Some('A'),
            correctness: Some(true),
            stop_reason: StopReason::Finished,
            steps_used: used,
            steps_of: of,
            confidence,
            evidence: String::new(),
            reasoning: String::new(),
            prompt_tokens: 0,
            completion_tokens: 0,
        }
    }

    fn span(tool: Option<&str>, args: &str) -> TraceSpan {
        TraceSpan {
            question_id: QuestionId::new("q").unwrap(),
            span_index: 0,
            step: 1,
            thought: String::new(),
            plan: String::new(),
            tool: tool.map(str::to_owned),
            args: args.into(),
            output: String::new(),
            raw: String::new(),
            prompt_tokens: 0,
            completion_tokens: 0,
        }
    }

    fn tree() -> VideoTree {
        serde_json::from_value(serde_json::json!({
            "videoID": "v", "duration_seconds": 9.0, "nodes": {
                "r": {"level": 1, "time_range": [0.0, 9.0], "children_ids": ["e"]},
                "e": {"level": 2, "time_range": [0.0, 9.0], "children_ids": ["f"]},
                "f": {"level": 3, "time_range": [0.0, 9.0]},
            }
        }))
        .unwrap()
    }

    fn metrics(prediction: &PredictionRecord, correct: bool, spans: &[TraceSpan]) -> RuleMetrics {
        rule_metrics(prediction, correct, &spans.iter().collect::<Vec<_>>(), &tree())
    }

    #[test]
    fn format_compliance_is_the_share_of_readable_calls() {
        let plain = prediction(1, 4, None);
        let spans = [
            span(Some("view_node"), "{\"node_id\": \"r\"}"),
            span(None, ""),
            span(Some("x"), "[1]"),
            span(Some("x"), ""),
        ];
        assert_eq!(metrics(&plain, true, &spans).format_compliance, Some(0.5));
        assert_eq!(metrics(&plain, true, &[]).format_compliance, None);
    }

    #[test]
    fn budget_use_is_a_share_even_without_a_budget() {
        for (used, of, expected) in [(1, 4, 0.25), (9, 4, 1.0), (0, 0, 0.0), (3, 0, 0.0)] {
            assert_eq!(metrics(&prediction(used, of, None), true, &[]).budget_use, expected);
        }
    }

    #[test]
    fn calibration_has_two_thresholds() {
        let of = |confidence, correct| metrics(&prediction(1, 4, confidence), correct, &[]).calibration;
        assert_eq!(of(Some(0.7), false), Some(Calibration::HighConfWrong));
        assert_eq!(of(Some(0.69), false), Some(Calibration::Calibrated));
        assert_eq!(of(Some(0.49), true), Some(Calibration::LowConfRight));
        assert_eq!(of(Some(0.5), true), Some(Calibration::Calibrated));
        assert_eq!(of(None, false), None);
    }

    #[test]
    fn visits_give_repeats_levels_and_jumps() {
        let view = |id: &str| span(Some("view_node"), &format!("{{\"node_id\": \"{id}\"}}"));
        let spans =
            [view("r"), span(Some("observe_frame"), "{'node_ids': ['f', 'f', 'unknown']}"), view("e"), view("r")];
        let found = metrics(&prediction(4, 8, None), true, &spans);
        assert_eq!(found.level_path, [1, 3, 3, 2, 1]);
        assert_eq!(found.level_jumps, 1);
        assert_eq!(found.repeat_visit_rate, 0.4);
        assert_eq!(found.tool_usage, BTreeMap::from([("observe_frame".into(), 1), ("view_node".into(), 3)]));
    }

    #[test]
    fn keyword_repetition_is_the_largest_similarity_of_neighbours() {
        let search = |query: &str| span(Some("search_similar"), &serde_json::json!({"query": query}).to_string());
        let of = |queries: &[&str]| {
            let spans: Vec<_> = queries.iter().map(|query| search(query)).collect();
            metrics(&prediction(1, 4, None), true, &spans).keyword_repetition
        };
        assert_eq!(of(&["abcd", "xyz", "ABCD "]), 0.0, "only neighbours count");
        assert_eq!(of(&["abcd", "abce", "zzzz"]), 1.0 / 3.0, "abc of abc, bcd, bce");
        assert_eq!(of(&["他们为什么", "他们为什么"]), 1.0);
        assert_eq!(of(&["ab", "ab"]), 1.0);
        assert_eq!(of(&["", ""]), 0.0);
        assert_eq!(of(&["one"]), 0.0);
    }
}
