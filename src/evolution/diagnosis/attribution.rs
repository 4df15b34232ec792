//! The attribution waterfall (D1): the first branch that fires names the failure.

use crate::evolution::types::{ErrorType, JudgeMetrics};

/// Below this mean completeness the tools left out too much.
const COMPLETENESS_MIN: f64 = 0.5;
/// Above this hallucination a tool invented too much.
const HALLUCINATION_MAX: f64 = 0.5;

/// Extraction (mean completeness < 0.5 or largest hallucination > 0.5) → search (missed nodes) → reasoning (evidence
/// sufficient) → mixed. A null metric never fires its branch.
#[must_use]
pub fn attribute(judge: &JudgeMetrics) -> ErrorType {
    let incomplete = judge.mean_completeness().is_some_and(|mean| mean < COMPLETENESS_MIN);
    let invented = judge.max_hallucination().is_some_and(|max| max > HALLUCINATION_MAX);
    if incomplete || invented {
        ErrorType::Extraction
    } else if judge.missed_count() > 0 {
        ErrorType::Search
    } else if judge.evidence_sufficient == Some(true) {
        ErrorType::Reasoning
    } else {
        ErrorType::Mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolution::types::SpanMetrics;

    fn judged(spans: &[(f64, f64)], missed: usize, sufficient: Option<bool>) -> JudgeMetrics {
        let span = |(completeness, hallucination): &(f64, f64)| SpanMetrics {
            span_index: 0,
            step: 1,
            tool: "view_node".into(),
            completeness: *completeness,
            hallucination: *hallucination,
            tags: vec![],
        };
        JudgeMetrics {
            spans: Some(spans.iter().map(span).collect()),
            missed_nodes: Some((0..missed).map(|index| format!("n{index}").parse().unwrap()).collect()),
            evidence_sufficient: sufficient,
            ..JudgeMetrics::default()
        }
    }

    #[test]
    fn the_first_branch_that_fires_wins() {
        assert_eq!(attribute(&judged(&[(0.4, 0.0), (0.5, 0.0)], 1, Some(true))), ErrorType::Extraction);
        assert_eq!(attribute(&judged(&[(1.0, 0.51), (1.0, 0.0)], 1, Some(true))), ErrorType::Extraction);
        assert_eq!(attribute(&judged(&[(0.5, 0.5)], 1, Some(true))), ErrorType::Search);
        assert_eq!(attribute(&judged(&[(0.5, 0.5)], 0, Some(true))), ErrorType::Reasoning);
        assert_eq!(attribute(&judged(&[(0.5, 0.5)], 0, Some(false))), ErrorType::Mixed);
    }

    #[test]
    fn a_null_metric_never_fires_its_branch() {
        assert_eq!(attribute(&JudgeMetrics::default()), ErrorType::Mixed);
        assert_eq!(attribute(&judged(&[], 0, None)), ErrorType::Mixed);
        let unknown = JudgeMetrics { missed_nodes: None, ..judged(&[(1.0, 0.0)], 0, Some(true)) };
        assert_eq!(attribute(&unknown), ErrorType::Reasoning);
    }
}
