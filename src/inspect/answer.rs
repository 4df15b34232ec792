//! The answers that were given to one question, with their traces.

use serde::Serialize;

use crate::domain::{QuestionId, RunId};
use crate::store::rows::{Prediction, TraceSpan};
use crate::store::{AnswerKey, Scope, Snapshot, StoreError};

/// One answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerView {
    /// The run.
    pub run_id: String,
    /// The part of it.
    pub scope: String,
    /// The phase.
    pub phase: String,
    /// The letter; null if none could be read.
    pub answer: Option<String>,
    /// `correct`, `wrong`, `unparsed` or `infra`.
    pub outcome: &'static str,
    /// How the work ended.
    pub stop_reason: &'static str,
    /// The answer as the model wrote it.
    pub raw_answer: String,
    /// The submitted evidence.
    pub evidence: String,
    /// The submitted reasoning.
    pub reasoning: String,
    /// 0 to 1.
    pub confidence: Option<f64>,
    /// Steps used and allowed.
    pub steps: (u32, u32),
    /// Calls, and those answered by the response cache.
    pub calls: (u32, u32),
    /// Wall time in milliseconds.
    pub latency_ms: u64,
    /// Skills and prompts that were read.
    pub versions: (String, String),
    /// What failed.
    pub error: Option<String>,
    /// The turns.
    pub trace: Vec<SpanView>,
}

/// One turn. Text of models may hold anything: whoever prints it makes it harmless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SpanView {
    /// `tool`, `invalid_call`, `parse_error`, `submit` or `error`.
    pub kind: &'static str,
    /// Repeated sample, from 0.
    pub sample: u32,
    /// Steps used before it.
    pub step: u32,
    /// Thought and plan.
    pub thought: String,
    /// The tool.
    pub tool: Option<String>,
    /// Its arguments as JSON text.
    pub args: Option<String>,
    /// What it answered.
    pub output: String,
    /// The model's message, lone surrogates and invalid bytes as U+FFFD.
    pub raw: String,
    /// Whether the response cache gave it.
    pub cached: bool,
    /// What failed.
    pub error: Option<String>,
}

/// Every stored answer to a question, in the order of the store; of one run if named.
///
/// # Errors
/// The store cannot be read.
pub fn answers_of(
    snapshot: &Snapshot<'_>,
    question: &QuestionId,
    run: Option<&RunId>,
) -> Result<Vec<AnswerView>, StoreError> {
    let mut views = Vec::new();
    for (id, _) in snapshot.runs()? {
        if run.is_some_and(|wanted| *wanted != id) {
            continue;
        }
        for scope in snapshot.scopes(&id)? {
            for (key, prediction) in snapshot.rows::<Prediction>(&id, scope)? {
                if key.question == *question {
                    views.push(view(snapshot, &id, scope, &key, prediction)?);
                }
            }
        }
    }
    Ok(views)
}

fn view(
    snapshot: &Snapshot<'_>,
    run: &RunId,
    scope: Scope,
    key: &AnswerKey,
    row: Prediction,
) -> Result<AnswerView, StoreError> {
    let trace = snapshot.trace(run, scope, key)?;
    Ok(AnswerView {
        run_id: run.to_string(),
        scope: scope.to_string(),
        phase: key.phase.to_string(),
        answer: row.answer,
        outcome: row.outcome.name(),
        stop_reason: row.stop_reason.name(),
        raw_answer: row.raw_answer,
        evidence: row.evidence,
        reasoning: row.reasoning,
        confidence: row.confidence,
        steps: (row.steps, row.max_steps),
        calls: (row.calls, row.cached_calls),
        latency_ms: row.latency_ms,
        versions: (row.skills_version.to_string(), row.prompts_version.to_string()),
        error: row.error,
        trace: trace.into_iter().map(|(_, span)| span_view(span)).collect(),
    })
}

fn span_view(span: TraceSpan) -> SpanView {
    SpanView {
        kind: span.kind.name(),
        sample: span.sample,
        step: span.step,
        thought: span.thought,
        tool: span.tool,
        args: span.args,
        output: span.output,
        raw: String::from_utf8_lossy(&span.raw).into_owned(),
        cached: span.cached,
        error: span.error,
    }
}
