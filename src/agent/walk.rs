//! The loop: ask, read, act, answer, until something is submitted or nothing more can be (design 06, "Agent loop").

use std::collections::BTreeSet;

use tokio::time::Instant;

use super::answer::{AnswerRule, Extraction, from_reply, from_value};
use super::call::{Asked, CallPlace, Caller};
use super::checks::check_submission;
use super::conversation::Conversation;
use super::error::AgentInterrupted;
use super::form::turn_format;
use super::record::{AgentRecord, FrameHealth, Outcome, Span, SpanKind, Spent};
use super::reply::{Turn, Unreadable, as_text, read_turn, stated_confidence};
use super::run::{Agent, milliseconds_since};
use super::settings::ReplyForm;
use super::text::cut;
use super::tools::{Offered, Submission, ToolCall, ToolContext, offered, read_call, run_tool};
use super::video::VideoEnvironment;
use super::wording::{invalid_message, question_message, result_message, system_message, unreadable_message};
use crate::domain::{ChatError, ChatReply, NodeId, Question, Role, StopReason};

/// How much of its own earlier words a model is shown again, in characters.
const SAID_CHARS: usize = 4_000;

/// A walk in progress.
struct Walk<'a> {
    agent: &'a Agent,
    video: &'a VideoEnvironment,
    question: &'a Question,
    place: &'a CallPlace,
    form: ReplyForm,
    offered: Offered,
    letters: Vec<char>,
    conversation: Conversation,
    record: AgentRecord,
    visited: BTreeSet<NodeId>,
    done: Vec<(ToolCall, u32, String)>,
    unreadable_in_a_row: u32,
    invalid_in_a_row: u32,
}

/// Whether the walk goes on.
enum Next {
    Turn,
    End,
}

/// Walks until the end and gives the record.
///
/// # Errors
/// The run was cancelled or its budget is spent.
pub(super) async fn walk(
    agent: &Agent,
    video: &VideoEnvironment,
    question: &Question,
    place: &CallPlace,
) -> Result<AgentRecord, AgentInterrupted> {
    let mut record = AgentRecord::pessimistic(question, place.sample, agent.settings.max_steps);
    let form = match agent.forms.resolve(agent.settings.reply_form, agent.model.as_ref()).await {
        Ok(form) => form,
        Err(error) => {
            interrupted(&error)?;
            record.error = Some(error.to_string());
            return Ok(record);
        }
    };
    let mut walk = Walk::new(agent, video, question, place, form, record);
    while let Next::Turn = walk.turn().await? {}
    Ok(walk.record)
}

/// A failed call that ends the run rather than the question.
pub(super) fn interrupted(error: &ChatError) -> Result<(), AgentInterrupted> {
    AgentInterrupted::from_chat(error).map_or(Ok(()), Err)
}

impl<'a> Walk<'a> {
    fn new(
        agent: &'a Agent,
        video: &'a VideoEnvironment,
        question: &'a Question,
        place: &'a CallPlace,
        form: ReplyForm,
        record: AgentRecord,
    ) -> Self {
        let settings = &agent.settings;
        let offered = offered(settings, video);
        let system = system_message(&agent.texts, settings.skill_mode, question, offered, form);
        let first = question_message(question, video, settings.max_steps);
        Self {
            agent,
            video,
            question,
            place,
            form,
            offered,
            letters: question.options.iter().map(|choice| choice.letter).collect(),
            conversation: Conversation::new(system, first, settings.message_tokens()),
            record,
            visited: BTreeSet::new(),
            done: Vec::new(),
            unreadable_in_a_row: 0,
            invalid_in_a_row: 0,
        }
    }

    async fn turn(&mut self) -> Result<Next, AgentInterrupted> {
        let started = Instant::now();
        let model = self.agent.model.as_ref();
        let caller = Caller::new(model, self.place, &self.question.question_id);
        let is_last = self.record.steps.saturating_add(1) >= self.record.max_steps;
        let (format, tools) = turn_format(self.form, self.offered, is_last, &self.letters);
        let messages = self.conversation.messages();
        let asked = Asked { role: Role::Search, purpose: "turn", messages, format, tools };
        let reply = match caller.ask(asked).await {
            Ok(reply) => reply,
            Err(error) => return self.fail(&error, self.span(SpanKind::Error, None), &caller, started),
        };
        let mut span = self.span(SpanKind::Tool, Some(&reply));
        let next = match read_turn(&reply) {
            Err(unreadable) => self.unreadable(&reply, &unreadable, &mut span),
            Ok(turn) => {
                span.thought.clone_from(&turn.thought);
                span.plan.clone_from(&turn.plan);
                span.tool = Some(turn.tool.clone());
                span.args = Some(serde_json::Value::Object(turn.args.clone()).to_string());
                match self.act(&reply, turn, &mut span, &caller).await {
                    Ok(next) => next,
                    Err(error) => return self.fail(&error, span, &caller, started),
                }
            }
        };
        self.close(span, caller.spent(), started);
        Ok(next)
    }

    fn span(&self, kind: SpanKind, reply: Option<&ChatReply>) -> Span {
        Span {
            kind,
            step: self.record.steps,
            thought: String::new(),
            plan: String::new(),
            tool: None,
            args: None,
            output: String::new(),
            raw: reply.map(|reply| reply.raw.clone()).unwrap_or_default(),
            spent: Spent::default(),
            cached: reply.is_some_and(|reply| reply.cached),
            latency_ms: 0,
            error: None,
        }
    }

    /// Every span goes into the record, whatever became of its turn.
    fn close(&mut self, mut span: Span, spent: Spent, started: Instant) {
        span.spent = spent;
        span.latency_ms = milliseconds_since(started);
        self.record.spent.add(spent);
        self.record.trace.push(span);
    }

    /// A technical failure: the question is INFRA, unless the run itself ended.
    fn fail(
        &mut self,
        error: &ChatError,
        mut span: Span,
        caller: &Caller<'_>,
        started: Instant,
    ) -> Result<Next, AgentInterrupted> {
        interrupted(error)?;
        span.kind = SpanKind::Error;
        span.error = Some(error.to_string());
        self.record.error = Some(error.to_string());
        self.close(span, caller.spent(), started);
        self.stop(StopReason::Error);
        Ok(Next::End)
    }

    fn stop(&mut self, reason: StopReason) -> Next {
        self.record.stop_reason = reason;
        self.record.outcome = Outcome::of(reason, self.record.extraction, self.question.answer);
        if !reason.is_infra() {
            self.record.error = None;
        }
        Next::End
    }

    /// A reply without a call costs a retry; too many in a row end the question. If the last of them states its answer
    /// in plain words, that is taken: the model answered, only not by the tool.
    fn unreadable(&mut self, reply: &ChatReply, unreadable: &Unreadable, span: &mut Span) -> Next {
        span.kind = SpanKind::ParseError;
        span.thought.clone_from(&unreadable.thought);
        span.error = Some(unreadable.problem.to_owned());
        self.unreadable_in_a_row += 1;
        if self.unreadable_in_a_row < self.agent.settings.max_parse_retries {
            span.output = unreadable_message(unreadable, self.form, self.record.steps, self.record.max_steps);
            self.conversation.push(said(&reply.content), span.output.clone());
            return Next::Turn;
        }
        let extraction = from_reply(&unreadable.text, &self.question.options);
        if let Extraction::Letter {
            rule: AnswerRule::Marker | AnswerRule::OnlyLetter | AnswerRule::OptionText, ..
        } = extraction
        {
            self.record.extraction = extraction;
            self.record.raw_answer.clone_from(&unreadable.text);
            self.record.validation_flags = vec!["answered_in_prose".to_owned()];
            return self.stop(StopReason::Finished);
        }
        self.record.error = Some(format!("{} ({} times in a row)", unreadable.problem, self.unreadable_in_a_row));
        self.stop(StopReason::ParseError)
    }

    async fn act(
        &mut self,
        reply: &ChatReply,
        turn: Turn,
        span: &mut Span,
        caller: &Caller<'_>,
    ) -> Result<Next, ChatError> {
        if turn.confidence.is_some() {
            self.record.confidence = turn.confidence;
        }
        let call = match read_call(&turn.tool, &turn.args, &self.offered, self.video, &self.question.question) {
            Ok(call) => call,
            Err(problem) => return Ok(self.invalid(reply, &problem, span)),
        };
        self.unreadable_in_a_row = 0;
        self.invalid_in_a_row = 0;
        self.record.steps += 1;
        if let ToolCall::SubmitAnswer(submission) = &call {
            span.kind = SpanKind::Submit;
            return Ok(self.submit(submission));
        }
        if self.record.steps >= self.record.max_steps {
            span.output = "not run: the steps are used up".to_owned();
            return Ok(self.stop(StopReason::BudgetExceeded));
        }
        span.output = self.call_tool(call, caller).await?;
        let told = result_message(&turn.tool, &span.output, self.record.steps, self.record.max_steps);
        self.conversation.push(said_turn(reply, &turn), told);
        Ok(Next::Turn)
    }

    /// An invalid call is answered with what was wrong and costs no step; too many in a row end the question.
    fn invalid(&mut self, reply: &ChatReply, problem: &str, span: &mut Span) -> Next {
        span.kind = SpanKind::InvalidCall;
        span.error = Some(problem.to_owned());
        self.invalid_in_a_row += 1;
        if self.invalid_in_a_row >= self.agent.settings.max_parse_retries {
            self.record.error = Some(format!("{problem} ({} invalid calls in a row)", self.invalid_in_a_row));
            return self.stop(StopReason::ParseError);
        }
        span.output = invalid_message(problem, self.record.steps, self.record.max_steps);
        self.conversation.push(said(&reply.content), span.output.clone());
        Next::Turn
    }

    /// A call that was made before is answered from memory: the tree has not changed.
    async fn call_tool(&mut self, call: ToolCall, caller: &Caller<'_>) -> Result<String, ChatError> {
        if let Some((_, step, output)) = self.done.iter().find(|(made, _, _)| *made == call) {
            return Ok(format!("(the same call as in step {step}; its result is the same)\n{output}"));
        }
        let settings = &self.agent.settings;
        let context = ToolContext {
            settings,
            texts: &self.agent.texts,
            video: self.video,
            indexes: &self.agent.indexes,
            embed: self.agent.embed.as_deref(),
            caller,
            result_tokens: settings.result_tokens(),
            source_tokens: settings.source_tokens(),
        };
        let output = run_tool(&context, &call).await?;
        self.visited.extend(output.visited);
        if let Some(frames) = output.frames {
            add_health(self.record.observe_frame_health.get_or_insert_default(), frames);
        }
        self.done.push((call, self.record.steps, output.text.clone()));
        Ok(output.text)
    }

    fn submit(&mut self, submission: &Submission) -> Next {
        let record = &mut self.record;
        record.extraction = from_value(&submission.answer, &self.question.options);
        record.raw_answer = as_text(&submission.answer);
        record.evidence = submission.evidence.as_ref().map(as_text).unwrap_or_default();
        record.reasoning = submission.reasoning.as_ref().map(as_text).unwrap_or_default();
        if let Some(confidence) = submission.confidence.as_ref().and_then(stated_confidence) {
            record.confidence = Some(confidence);
        }
        check_submission(record, submission, self.video, &self.visited);
        self.stop(StopReason::Finished)
    }
}

fn add_health(sum: &mut FrameHealth, one: FrameHealth) {
    sum.asked += one.asked;
    sum.found += one.found;
    sum.read += one.read;
    sum.failed += one.failed;
    sum.failures.extend(one.failures);
}

/// What the model is shown of its own reply: without reasoning, and not endlessly.
fn said(content: &str) -> String {
    let text = cut(super::answer::strip_reasoning(content).trim(), SAID_CHARS);
    // Some servers refuse an empty message.
    if text.is_empty() { "(empty)".to_owned() } else { text }
}

/// A native call leaves no text: it is written down in the reply form.
fn said_turn(reply: &ChatReply, turn: &Turn) -> String {
    if reply.tool_calls.is_empty() {
        return said(&reply.content);
    }
    let call = serde_json::json!({"action": {"tool": turn.tool, "args": turn.args}});
    cut(format!("{}\n{call}", reply.content.trim()).trim(), SAID_CHARS)
}
