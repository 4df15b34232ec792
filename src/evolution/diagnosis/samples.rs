//! Metrics for tests.

use std::collections::BTreeMap;

use crate::evolution::types::{Cause, ErrorAttribution, ErrorType, JudgeMetrics, QuestionMetrics, RuleMetrics};

/// Metrics of a question with nothing remarkable about it; a wrong one is a mixed defect.
pub(super) fn metrics(id: &str, task_type: &str, correct: bool) -> QuestionMetrics {
    let attribution = ErrorAttribution {
        error_type: ErrorType::Mixed,
        reasoning_sub: None,
        cause: Cause::Defect,
        lapse_note: Some(format!("note of {id}")),
    };
    QuestionMetrics {
        question_id: id.parse().unwrap(),
        video_id: "v".parse().unwrap(),
        task_type: task_type.parse().unwrap(),
        correct,
        confidence: None,
        rules: RuleMetrics {
            format_compliance: Some(1.0),
            budget_use: 0.5,
            calibration: None,
            repeat_visit_rate: 0.0,
            keyword_repetition: 0.0,
            level_path: vec![],
            level_jumps: 0,
            tool_usage: BTreeMap::new(),
        },
        judge: JudgeMetrics::default(),
        attribution: (!correct).then_some(attribution),
        degraded: false,
        degraded_by: vec![],
    }
}
