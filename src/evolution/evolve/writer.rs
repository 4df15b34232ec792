//! The writer, and what every evolution is given.

use std::fmt;

use super::leak::LeakIndex;
use super::record::WriterCost;
use crate::domain::{ChatModel, FinishReason, Message, Role};
use crate::evolution::EvolutionError;
use crate::evolution::asking::{Ask, CallScope, Form, reply_text};
use crate::evolution::json::{Object, writer_object};
use crate::evolution::patch::FrozenHeadings;
use crate::evolution::templates::EvolvePrompts;

/// How long texts may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvolveLimits {
    /// The most tokens of a skill (see [`estimate_tokens`](super::estimate_tokens)); a skill that is longer already
    /// may not grow.
    pub skill_max_tokens: usize,
    /// The most characters of one block of cases in a prompt, shared evenly by its cases; none cuts nothing.
    pub max_block_chars: Option<usize>,
}

impl Default for EvolveLimits {
    /// 4,000 tokens a skill (design 05), 24,000 characters (about 6,000 tokens) of cases a block.
    fn default() -> Self {
        Self { skill_max_tokens: 4_000, max_block_chars: Some(24_000) }
    }
}

/// What every evolution is given.
#[derive(Clone, Copy)]
pub struct EvolveContext<'a> {
    /// The writer.
    pub writer: &'a dyn ChatModel,
    /// What it is asked.
    pub prompts: &'a EvolvePrompts,
    /// All questions of the run, in whatever pool: none may be quoted.
    pub leaks: &'a LeakIndex,
    /// Which sections of prompts are frozen.
    pub headings: &'a FrozenHeadings,
    /// How long texts may be.
    pub limits: EvolveLimits,
    /// Where the writer's calls belong.
    pub scope: &'a CallScope,
}

// By hand: the writer is a trait object.
impl fmt::Debug for EvolveContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EvolveContext").field("limits", &self.limits).field("scope", self.scope).finish_non_exhaustive()
    }
}

/// What came back.
#[derive(Debug)]
pub(super) enum WriterReply {
    /// An object.
    Object(Object),
    /// Text without a whole object, and what to tell the writer about it.
    Unreadable(&'static str),
    /// The model cannot take this text at all.
    Impossible,
}

/// The writer at work on one subject.
pub(super) struct Writer<'a> {
    context: EvolveContext<'a>,
    /// The task type, `system`, or the tool's pair.
    subject: &'a str,
    pub(super) cost: WriterCost,
}

impl<'a> Writer<'a> {
    pub(super) fn new(context: EvolveContext<'a>, subject: &'a str) -> Self {
        Self { context, subject, cost: WriterCost::default() }
    }

    /// One call.
    ///
    /// # Errors
    /// The model could not be reached.
    pub(super) async fn ask(
        &mut self,
        form: &Form,
        messages: Vec<Message>,
        attempt: u32,
    ) -> Result<WriterReply, EvolutionError> {
        let ask = Ask { role: Role::Evolve, form, item: self.subject, sample: 0, messages };
        let Some(reply) = ask.once(self.context.writer, self.context.scope, attempt, None).await? else {
            return Ok(WriterReply::Impossible);
        };
        self.cost.calls += 1;
        self.cost.prompt_tokens += reply.usage.prompt_tokens;
        self.cost.completion_tokens += reply.usage.completion_tokens;
        Ok(match writer_object(reply_text(&reply)) {
            Some(object) => WriterReply::Object(object),
            None if reply.finish == FinishReason::Length => {
                WriterReply::Unreadable("it was cut off before the JSON object ended; write less")
            }
            None => WriterReply::Unreadable("it was not one valid JSON object"),
        })
    }
}
