//! Answers: predictions, traces, calls, and what the plug-ins report.

use super::step::{Item, dataset, with_phase};
use crate::export::column::ColumnType::{Bool, Bytes, Float64, Label, Text, TextList, Timestamp, UInt32, UInt64};
use crate::export::column::{Cell, Column, column, nullable};
use crate::export::dataset::Dataset;
use crate::store::rows::{AnchorCheck, Call, ObserveFrameHealth, Prediction, TraceSpan, ValidationFlags};

pub(super) fn datasets() -> Vec<Box<dyn Dataset>> {
    vec![predictions(), traces(), calls(), validation_flags(), anchor_checks(), frame_health()]
}

fn predictions() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<Prediction>>> = vec![
        column("question_id", Text, "the question", |item| Cell::text(item.key.question.as_str())),
        column("unit_id", Text, "what the statistics count: the question, or its pair", |item| {
            Cell::text(item.row.unit_id.as_str())
        }),
        column("video_id", Label, "the video", |item| Cell::text(item.row.video_id.as_str())),
        column("task_type", Label, "the task type", |item| Cell::text(item.row.task_type.as_str())),
        nullable("answer", Label, "the letter that was read; null if none could be", |item| {
            Cell::opt_text(item.row.answer.as_deref())
        }),
        nullable("read_by", Label, "how the letter was read, or why none could be", |item| {
            Cell::opt_text(item.row.read_by.as_deref())
        }),
        column("outcome", Label, "correct, wrong, unparsed or infra", |item| Cell::text(item.row.outcome.name())),
        nullable("correct", Bool, "whether it is right; null for a technical failure", |item| {
            Cell::or_null(item.row.outcome.correctness(), Cell::Bool)
        }),
        column("stop_reason", Label, "finished, budget_exceeded, parse_error or error", |item| {
            Cell::text(item.row.stop_reason.name())
        }),
        column("raw_answer", Text, "the answer as the model wrote it", |item| Cell::text(&item.row.raw_answer)),
        column("evidence", Text, "the submitted evidence", |item| Cell::text(&item.row.evidence)),
        column("reasoning", Text, "the submitted reasoning", |item| Cell::text(&item.row.reasoning)),
        nullable("confidence", Float64, "0 to 1; null if the agent stated none", |item| {
            Cell::float(item.row.confidence)
        }),
        nullable("graded_credit", Float64, "0 to 1; null if no judge gave one", |item| {
            Cell::float(item.row.graded_credit)
        }),
        column("samples", UInt32, "repeated samples that the answer stands for", |item| {
            Cell::UInt(item.row.samples.into())
        }),
        column("steps", UInt32, "steps used", |item| Cell::UInt(item.row.steps.into())),
        column("max_steps", UInt32, "steps allowed", |item| Cell::UInt(item.row.max_steps.into())),
        column("calls", UInt32, "model calls that were answered", |item| Cell::UInt(item.row.calls.into())),
        column("cached_calls", UInt32, "of these, answered by the response cache", |item| {
            Cell::UInt(item.row.cached_calls.into())
        }),
        column("prompt_tokens", UInt64, "tokens read, those of cached calls included", |item| {
            Cell::UInt(item.row.tokens.prompt)
        }),
        column("cached_tokens", UInt64, "of these, from the endpoint's own prompt cache", |item| {
            Cell::UInt(item.row.tokens.cached)
        }),
        column("completion_tokens", UInt64, "tokens written", |item| Cell::UInt(item.row.tokens.completion)),
        column("tokens_estimated", Bool, "whether any token figure is an estimate", |item| {
            Cell::Bool(item.row.tokens.estimated)
        }),
        column("latency_ms", UInt64, "wall time in milliseconds", |item| Cell::UInt(item.row.latency_ms)),
        column("skills_version", Label, "skills that were read", |item| {
            Cell::owned(item.row.skills_version.to_string())
        }),
        column("prompts_version", Label, "prompts that were read", |item| {
            Cell::owned(item.row.prompts_version.to_string())
        }),
        nullable("error", Text, "what failed, for a technical failure", |item| {
            Cell::opt_text(item.row.error.as_deref())
        }),
        column("finished_at", Timestamp, "when it was stored", |item| Cell::Timestamp(item.row.finished_ms)),
    ];
    dataset("predictions", "One answer of the agent.", with_phase(columns))
}

fn traces() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<TraceSpan>>> = vec![
        column("question_id", Text, "the question", |item| Cell::text(item.key.answer.question.as_str())),
        column("span", UInt32, "from 0 within the answer", |item| Cell::UInt(item.key.span.into())),
        column("kind", Label, "tool, invalid_call, parse_error, submit or error", |item| {
            Cell::text(item.row.kind.name())
        }),
        column("sample", UInt32, "repeated sample of the question, from 0", |item| Cell::UInt(item.row.sample.into())),
        column("agent_step", UInt32, "steps used before it", |item| Cell::UInt(item.row.step.into())),
        column("thought", Text, "text outside of the action, and the reflection", |item| Cell::text(&item.row.thought)),
        column("plan", Text, "the plan", |item| Cell::text(&item.row.plan)),
        nullable("tool", Label, "the tool; null if none was called", |item| Cell::opt_text(item.row.tool.as_deref())),
        nullable("args", Text, "its arguments as JSON text", |item| Cell::opt_text(item.row.args.as_deref())),
        column("output", Text, "what the tool answered", |item| Cell::text(&item.row.output)),
        column("raw", Bytes, "the model's message as received", |item| Cell::Bytes(&item.row.raw)),
        nullable("calls", UInt32, "model calls of the turn; null where they were not counted", |item| {
            Cell::count(item.row.calls)
        }),
        nullable("cached_calls", UInt32, "of these, answered by the response cache", |item| {
            Cell::count(item.row.cached_calls)
        }),
        column("prompt_tokens", UInt64, "tokens read in the turn", |item| Cell::UInt(item.row.tokens.prompt)),
        column("completion_tokens", UInt64, "tokens written in the turn", |item| {
            Cell::UInt(item.row.tokens.completion)
        }),
        column("cached", Bool, "whether the response cache gave the turn", |item| Cell::Bool(item.row.cached)),
        column("latency_ms", UInt64, "wall time in milliseconds", |item| Cell::UInt(item.row.latency_ms)),
        nullable("error", Text, "what failed", |item| Cell::opt_text(item.row.error.as_deref())),
    ];
    dataset("traces", "One turn of the agent.", with_phase(columns))
}

fn calls() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<Call>>> = vec![
        column("group", Label, "the phase, judge or writer that the call belongs to", |item| {
            Cell::text(&item.key.group)
        }),
        column("item", Text, "the question, or what stands for it", |item| Cell::text(&item.key.item)),
        column("call", UInt32, "from 0 within group and item", |item| Cell::UInt(item.key.index.into())),
        column("role", Label, "search, tool, judge, evolve, vision or embed", |item| Cell::text(item.row.role.name())),
        column("purpose", Label, "what the call is for", |item| Cell::text(&item.row.purpose)),
        column("model", Label, "the model that was asked", |item| Cell::text(&item.row.model)),
        column("sample", UInt32, "repeated sample, from 0", |item| Cell::UInt(item.row.sample.into())),
        column("attempt", UInt32, "how often it was asked again before", |item| Cell::UInt(item.row.attempt.into())),
        column("tries", UInt32, "tries of the retry loop; 0 when cached", |item| Cell::UInt(item.row.tries.into())),
        column("cached", Bool, "whether the response cache answered", |item| Cell::Bool(item.row.cached)),
        nullable("error_kind", Label, "class of the failure; null if it succeeded", |item| {
            Cell::opt_text(item.row.error_kind.as_deref())
        }),
        nullable("error", Text, "what failed", |item| Cell::opt_text(item.row.error.as_deref())),
        nullable("finish", Label, "why the model stopped writing", |item| Cell::opt_text(item.row.finish.as_deref())),
        column("prompt_tokens", UInt64, "tokens read; of the original call when cached", |item| {
            Cell::UInt(item.row.tokens.prompt)
        }),
        column("cached_tokens", UInt64, "of these, from the endpoint's prompt cache", |item| {
            Cell::UInt(item.row.tokens.cached)
        }),
        column("completion_tokens", UInt64, "tokens written", |item| Cell::UInt(item.row.tokens.completion)),
        nullable("cost_usd", Float64, "US dollars; null without a price", |item| Cell::float(item.row.cost_usd)),
        column("latency_ms", UInt64, "wall time, waits included", |item| Cell::UInt(item.row.latency_ms)),
        column("waited_ms", UInt64, "of this, waiting for limits and retries", |item| Cell::UInt(item.row.waited_ms)),
        column("started_at", Timestamp, "when it began", |item| Cell::Timestamp(item.row.started_ms)),
    ];
    dataset("calls", "One model call.", columns)
}

fn validation_flags() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<ValidationFlags>>> = vec![
        column("question_id", Text, "the question", |item| Cell::text(item.key.question.as_str())),
        column("flags", TextList, "malformed answer fields", |item| Cell::texts(&item.row.flags)),
        column("details", Text, "JSON text", |item| Cell::text(&item.row.details)),
    ];
    dataset("validation_flags", "Malformed fields of one answer.", with_phase(columns))
}

fn anchor_checks() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<AnchorCheck>>> = vec![
        column("question_id", Text, "the question", |item| Cell::text(item.key.question.as_str())),
        column("cited", TextList, "cited node ids, as written", |item| Cell::texts(&item.row.cited)),
        column("missing", TextList, "of these, unknown in the tree", |item| Cell::texts(&item.row.missing)),
        column("unvisited", TextList, "of these, never visited", |item| Cell::texts(&item.row.unvisited)),
    ];
    dataset("anchor_checks", "Nodes that one answer cites.", with_phase(columns))
}

fn frame_health() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<ObserveFrameHealth>>> = vec![
        column("question_id", Text, "the question", |item| Cell::text(item.key.question.as_str())),
        column("asked", UInt32, "frames asked for", |item| Cell::UInt(item.row.asked.into())),
        column("found", UInt32, "of these, files that exist", |item| Cell::UInt(item.row.found.into())),
        column("read", UInt32, "of these, read by the vision model", |item| Cell::UInt(item.row.read.into())),
        column("failed", UInt32, "of those found, not read", |item| Cell::UInt(item.row.failed.into())),
        column("failures", TextList, "what failed", |item| Cell::texts(&item.row.failures)),
    ];
    dataset("observe_frame_health", "Frames of one answer.", with_phase(columns))
}
