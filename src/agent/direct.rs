//! Direct mode: skill, question and as much of the video's text as fits, in one call. The baseline of every walk.

use tokio::time::Instant;

use super::answer::from_reply;
use super::call::{Asked, CallPlace, Caller};
use super::description::describe;
use super::error::AgentInterrupted;
use super::form::direct_format;
use super::record::{AgentRecord, Outcome, Span, SpanKind};
use super::reply::{as_text, stated_confidence};
use super::run::{Agent, milliseconds_since};
use super::text::estimated_tokens;
use super::video::VideoEnvironment;
use super::walk::interrupted;
use super::wording::{direct_message, direct_system};
use crate::domain::{ChatError, ChatReply, Message, Question, Role, StopReason};
use crate::evolution::json::extract_object;

/// One prompt, one answer. Only an empty reply is asked again, at most `max_parse_retries` times in all.
///
/// # Errors
/// The run was cancelled or its budget is spent.
pub(super) async fn answer_directly(
    agent: &Agent,
    video: &VideoEnvironment,
    question: &Question,
    place: &CallPlace,
) -> Result<AgentRecord, AgentInterrupted> {
    let mut record = AgentRecord::pessimistic(question, place.sample, 1);
    let letters: Vec<char> = question.options.iter().map(|choice| choice.letter).collect();
    let form = match agent.forms.resolve(agent.settings.reply_form, agent.model.as_ref()).await {
        Ok(form) => form,
        Err(error) => return failed(record, &error),
    };
    let mut messages = prompt(agent, video, question);
    for attempt in 1..=agent.settings.max_parse_retries.max(1) {
        let started = Instant::now();
        let caller = Caller::new(agent.model.as_ref(), place, &question.question_id);
        let format = direct_format(form, &letters);
        let asked =
            Asked { role: Role::Search, purpose: "direct", messages: messages.clone(), format, tools: Vec::new() };
        let reply = match caller.ask(asked).await {
            Ok(reply) => reply,
            Err(error) => {
                record.spent.add(caller.spent());
                return failed(record, &error);
            }
        };
        record.spent.add(caller.spent());
        let is_empty = reply.content.trim().is_empty();
        record.trace.push(span(&reply, &caller, started, is_empty));
        if !is_empty {
            finish(&mut record, &reply, question);
            return Ok(record);
        }
        record.stop_reason = StopReason::ParseError;
        record.error = Some(format!("the reply was empty ({attempt} times in a row)"));
        messages.push(Message::assistant("(empty)"));
        messages.push(Message::user("Your reply was empty. Reply with the JSON object."));
    }
    Ok(record)
}

/// The system message with the skill, and the question around the description. The description gets what the rest
/// leaves of the context.
fn prompt(agent: &Agent, video: &VideoEnvironment, question: &Question) -> Vec<Message> {
    let system = direct_system(&agent.texts, agent.settings.skill_mode, question);
    let around = estimated_tokens(&system) + estimated_tokens(&direct_message(question, "")) + 16;
    let room = agent.settings.message_tokens().saturating_sub(around);
    let description = describe(video.tree(), room);
    vec![Message::system(system), Message::user(direct_message(question, &description))]
}

fn failed(mut record: AgentRecord, error: &ChatError) -> Result<AgentRecord, AgentInterrupted> {
    interrupted(error)?;
    record.error = Some(error.to_string());
    Ok(record)
}

fn span(reply: &ChatReply, caller: &Caller<'_>, started: Instant, is_empty: bool) -> Span {
    Span {
        kind: if is_empty { SpanKind::ParseError } else { SpanKind::Submit },
        step: 0,
        thought: reply.reasoning.clone().unwrap_or_default(),
        plan: String::new(),
        tool: None,
        args: None,
        output: String::new(),
        raw: reply.raw.clone(),
        spent: caller.spent(),
        cached: reply.cached,
        latency_ms: milliseconds_since(started),
        error: is_empty.then(|| "the reply was empty".to_owned()),
    }
}

fn finish(record: &mut AgentRecord, reply: &ChatReply, question: &Question) {
    record.steps = 1;
    record.stop_reason = StopReason::Finished;
    record.error = None;
    record.extraction = from_reply(&reply.content, &question.options);
    record.raw_answer.clone_from(&reply.content);
    if let Ok(object) = extract_object(&reply.content) {
        let reasoning = object.get("analysis").or_else(|| object.get("reasoning"));
        record.reasoning = reasoning.map(as_text).unwrap_or_default();
        record.confidence = object.get("confidence").and_then(stated_confidence);
    }
    record.outcome = Outcome::of(record.stop_reason, record.extraction, question.answer);
}
