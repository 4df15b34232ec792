//! From what the agent leaves to what the store keeps: separate types on purpose (design 09).

use std::collections::BTreeMap;

use crate::agent::answer::Extraction;
use crate::agent::{AgentRecord, Outcome as AgentOutcome, Span, SpanKind as AgentSpanKind};
use crate::domain::{Question, RunId, Usage};
use crate::llm::{CallOutcome, CallRecord};
use crate::store::rows::{
    AnchorCheck, Call, ObserveFrameHealth, Outcome, Prediction, SpanKind, Tokens, TraceSpan, Usage as UsageTotals,
    UsageKey, ValidationFlags, VersionPair,
};
use crate::store::{AnswerKey, Batch, CallKey, PhaseKey, Scope, SpanKey};

/// Where an answer belongs.
pub(in crate::harness) struct AnswerPlace<'a> {
    pub(in crate::harness) run: &'a RunId,
    pub(in crate::harness) scope: Scope,
    pub(in crate::harness) phase: &'a PhaseKey,
    pub(in crate::harness) versions: VersionPair,
    pub(in crate::harness) now_ms: i64,
}

pub(super) fn outcome(outcome: AgentOutcome) -> Outcome {
    match outcome {
        AgentOutcome::Correct => Outcome::Correct,
        AgentOutcome::Wrong => Outcome::Wrong,
        AgentOutcome::Unparsed => Outcome::Unparsed,
        AgentOutcome::Infra => Outcome::Infra,
    }
}

fn tokens(usage: Usage) -> Tokens {
    Tokens {
        prompt: usage.prompt_tokens,
        cached: usage.cached_tokens,
        completion: usage.completion_tokens,
        estimated: usage.estimated,
    }
}

/// Adds one answered question to the batch: prediction, trace of all samples, plug-in reports. Returns the prediction.
pub(super) fn add_answer(
    batch: &mut Batch,
    place: &AnswerPlace<'_>,
    question: &Question,
    chosen: &AgentRecord,
    samples: &[AgentRecord],
) -> Prediction {
    let key = AnswerKey { phase: place.phase.clone(), question: question.question_id.clone() };
    let prediction = prediction(place, question, chosen, samples);
    batch.put(place.run, place.scope, &key, &prediction);
    let spans = samples.iter().flat_map(|sample| sample.trace.iter().map(move |span| (sample.sample, span)));
    for (index, (sample, span)) in spans.enumerate() {
        let span_key = SpanKey { answer: key.clone(), span: u32::try_from(index).unwrap_or(u32::MAX) };
        batch.put(place.run, place.scope, &span_key, &trace_span(sample, span));
    }
    let flags = ValidationFlags { flags: chosen.validation_flags.clone(), details: chosen.validation_details.clone() };
    batch.put(place.run, place.scope, &key, &flags);
    let anchors = AnchorCheck {
        cited: chosen.anchor_check.cited.clone(),
        missing: chosen.anchor_check.missing.clone(),
        unvisited: chosen.anchor_check.unvisited.clone(),
    };
    batch.put(place.run, place.scope, &key, &anchors);
    if let Some(health) = &chosen.observe_frame_health {
        let row = ObserveFrameHealth {
            asked: health.asked,
            found: health.found,
            read: health.read,
            failed: health.failed,
            failures: health.failures.clone(),
        };
        batch.put(place.run, place.scope, &key, &row);
    }
    prediction
}

fn prediction(
    place: &AnswerPlace<'_>,
    question: &Question,
    chosen: &AgentRecord,
    samples: &[AgentRecord],
) -> Prediction {
    let mut spent = crate::agent::Spent::default();
    samples.iter().for_each(|sample| spent.add(sample.spent));
    Prediction {
        task_type: question.task_type.clone(),
        video_id: question.video_id.clone(),
        unit_id: question.unit_id(),
        answer: chosen.answer().map(String::from),
        read_by: Some(read_by(chosen.extraction)),
        outcome: outcome(chosen.outcome),
        stop_reason: chosen.stop_reason,
        raw_answer: chosen.raw_answer.clone(),
        evidence: chosen.evidence.clone(),
        reasoning: chosen.reasoning.clone(),
        confidence: chosen.confidence,
        graded_credit: None,
        samples: u32::try_from(samples.len()).unwrap_or(u32::MAX),
        steps: chosen.steps,
        max_steps: chosen.max_steps,
        spans: u32::try_from(samples.iter().map(|sample| sample.trace.len()).sum::<usize>()).unwrap_or(u32::MAX),
        calls: spent.calls,
        cached_calls: spent.cached_calls,
        tokens: tokens(spent.usage),
        latency_ms: samples.iter().map(|sample| sample.latency_ms).sum(),
        skills_version: place.versions.skills,
        prompts_version: place.versions.prompts,
        error: chosen.error.clone().filter(|_| chosen.outcome == AgentOutcome::Infra),
        finished_ms: place.now_ms,
    }
}

/// How the letter was read, or why none could be, by its stable name.
pub(in crate::harness) fn read_by(extraction: Extraction) -> String {
    match extraction {
        Extraction::Letter { rule, .. } => name_of(rule),
        Extraction::Unparsed { reason } => reason.name().to_owned(),
    }
}

fn trace_span(sample: u32, span: &Span) -> TraceSpan {
    TraceSpan {
        kind: match span.kind {
            AgentSpanKind::Tool => SpanKind::Tool,
            AgentSpanKind::InvalidCall => SpanKind::InvalidCall,
            AgentSpanKind::ParseError => SpanKind::ParseError,
            AgentSpanKind::Submit => SpanKind::Submit,
            AgentSpanKind::Error => SpanKind::Error,
        },
        sample,
        step: span.step,
        thought: span.thought.clone(),
        plan: span.plan.clone(),
        tool: span.tool.clone(),
        args: span.args.clone(),
        output: span.output.clone(),
        raw: span.raw.clone(),
        calls: Some(span.spent.calls),
        cached_calls: Some(span.spent.cached_calls),
        tokens: tokens(span.spent.usage),
        cached: span.cached,
        latency_ms: span.latency_ms,
        error: span.error.clone(),
    }
}

/// Adds call records of an item to the batch: one row each, in order, numbered from `first`, and the totals they add to.
pub(in crate::harness) fn add_calls(
    batch: &mut Batch,
    run: &RunId,
    scope: Scope,
    group: &str,
    (item, first): (&str, u32),
    calls: &[CallRecord],
) {
    let mut totals: BTreeMap<crate::domain::Role, UsageTotals> = BTreeMap::new();
    for (index, record) in (first..).zip(calls) {
        let key = CallKey { group: group.to_owned(), item: item.to_owned(), index };
        let row = call(record);
        totals.entry(record.role).or_default().add(&usage_of(record, &row));
        batch.put(run, scope, &key, &row);
    }
    for (role, usage) in totals {
        batch.add_usage(&UsageKey { run: run.clone(), scope, phase: group.to_owned(), role }, &usage);
    }
}

fn usage_of(record: &CallRecord, row: &Call) -> UsageTotals {
    let (paid, replayed) =
        if record.cached { (Tokens::default(), row.tokens) } else { (row.tokens, Tokens::default()) };
    UsageTotals {
        calls: 1,
        cached_calls: u64::from(record.cached),
        failed_calls: u64::from(row.error_kind.is_some()),
        retries: u64::from(record.retries),
        tokens: paid,
        cached_tokens: replayed,
        cost_usd: record.cost.usd(),
        unpriced_calls: 0,
    }
}

fn call(record: &CallRecord) -> Call {
    let (finish, error_kind, error) = match &record.outcome {
        CallOutcome::Answered(finish) => (finish.map(name_of), None, None),
        CallOutcome::Failed { kind, message } => (None, Some(name_of(kind)), Some(message.clone())),
    };
    let ended = i64::try_from(record.ended_unix_ms).unwrap_or(i64::MAX);
    Call {
        role: record.role,
        purpose: record.tag.purpose.clone(),
        model: record.model.clone(),
        sample: record.tag.sample,
        attempt: record.tag.attempt,
        tries: if record.cached { 0 } else { record.retries.saturating_add(1) },
        error_kind,
        error,
        finish,
        tokens: tokens(record.usage),
        cached: record.cached,
        cost_usd: Some(record.cost.usd()),
        latency_ms: record.latency_ms,
        waited_ms: record.waited_ms,
        started_ms: ended.saturating_sub_unsigned(record.latency_ms),
    }
}

/// The stable name of a unit variant, as serde writes it.
fn name_of(value: impl serde::Serialize) -> String {
    serde_json::to_value(value).ok().and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default()
}
