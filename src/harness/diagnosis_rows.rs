//! A diagnosis as rows of the store, and its packs back from them.

use std::collections::BTreeSet;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::domain::{QuestionId, RunId};
use crate::evolution::diagnosis::DiagnosisResult;
use crate::evolution::types::{self, Calibration, SystemCasePack, ToolCasePack};
use crate::store::rows::{CasePack, QuestionMetrics};
use crate::store::{Batch, Scope, Target};

/// Adds a diagnosis to a batch: one row of metrics per question, one row per case pack (skills by task type, the
/// system prompt, tools).
pub fn put_diagnosis(batch: &mut Batch, run: &RunId, scope: Scope, result: &DiagnosisResult) {
    for metrics in &result.questions {
        batch.put(run, scope, &metrics.question_id, &metrics_row(metrics));
    }
    for (task_type, pack) in &result.skill_packs {
        let row = CasePack {
            pack: json(pack),
            questions: pack.question_ids().into_iter().collect(),
            // Lapses are failures too, shown to the writer as notes.
            failures: count(pack.failure_cases.len() + pack.lapse_questions.len()),
            successes: count(pack.success_cases.len()),
        };
        batch.put(run, scope, &Target::Skill(task_type.clone()), &row);
    }
    if let Some(pack) = &result.system_pack {
        batch.put(run, scope, &Target::System, &system_row(pack));
    }
    for (tool, pack) in &result.tool_packs {
        batch.put(run, scope, &Target::Tool(tool.clone()), &tool_row(pack));
    }
}

/// The pack of a row; none if it is of another kind, or was written by a program with other packs.
#[must_use]
pub fn stored_pack<P: DeserializeOwned>(row: &CasePack) -> Option<P> {
    serde_json::from_str(&row.pack).ok()
}

fn metrics_row(metrics: &types::QuestionMetrics) -> QuestionMetrics {
    let (rules, judge) = (&metrics.rules, &metrics.judge);
    let cause = metrics.attribution.as_ref();
    QuestionMetrics {
        task_type: metrics.task_type.clone(),
        correct: metrics.correct,
        format_ok: rules.format_compliance.is_none_or(|share| share >= 1.0),
        budget_used: rules.budget_use,
        calibration: rules
            .calibration
            .filter(|calibration| *calibration != Calibration::Calibrated)
            .map(|calibration| calibration.name().to_owned()),
        repeat_visit_rate: rules.repeat_visit_rate,
        query_repetition: rules.keyword_repetition,
        level_jumps: json(&serde_json::json!({"path": rules.level_path, "jumps": rules.level_jumps})),
        tool_usage: json(&rules.tool_usage),
        span_quality: judge.spans.as_ref().map(json),
        missed_nodes: judge.missed_nodes.as_ref().map(json),
        skill_adherence: judge.skill_adherence.as_ref().map(json),
        confirmation_bias: judge.confirmation_bias.as_ref().map(json),
        evidence_sufficiency: judge.evidence_sufficient.as_ref().map(json),
        degraded: metrics.degraded,
        error_type: cause.map(|found| found.error_type.name().to_owned()),
        error_subtype: cause.and_then(|found| found.reasoning_sub).map(|sub| sub.name().to_owned()),
        cause_category: cause.map(|found| found.cause.name().to_owned()),
        lapse_note: cause.and_then(|found| found.lapse_note.clone()),
    }
}

fn system_row(pack: &SystemCasePack) -> CasePack {
    let failures = pack.failure_cases.iter().map(|case| &case.case.question_id);
    let questions: BTreeSet<&QuestionId> =
        failures.chain(pack.success_cases.iter().map(|case| &case.question_id)).collect();
    CasePack {
        pack: json(pack),
        questions: questions.into_iter().cloned().collect(),
        failures: count(pack.failure_cases.len()),
        successes: count(pack.success_cases.len()),
    }
}

fn tool_row(pack: &ToolCasePack) -> CasePack {
    let spans = pack.failure_spans.iter().chain(&pack.success_spans);
    let questions: BTreeSet<&QuestionId> = spans.map(|span| &span.question_id).collect();
    CasePack {
        pack: json(pack),
        questions: questions.into_iter().cloned().collect(),
        failures: count(pack.failure_spans.len()),
        successes: count(pack.success_spans.len()),
    }
}

/// JSON text; plain values always have one.
fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
