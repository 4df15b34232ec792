//! One question to the judge: asked three times at most, then given up.

use std::sync::Mutex;

use crate::domain::{ChatModel, Message, Role, Usage};
use crate::evolution::EvolutionError;
use crate::evolution::asking::{Ask, CallScope, Form, reply_text};
use crate::evolution::json::{Object, extract_object};

/// How often a judge is asked in all.
const ATTEMPTS: u32 = 3;

/// What the judge has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct JudgeCost {
    /// Calls that were answered.
    pub calls: u64,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
}

/// The judge, and what it has cost so far.
pub(super) struct Judge<'a> {
    model: &'a dyn ChatModel,
    scope: &'a CallScope,
    cost: Mutex<JudgeCost>,
}

impl<'a> Judge<'a> {
    pub(super) fn new(model: &'a dyn ChatModel, scope: &'a CallScope) -> Self {
        Self { model, scope, cost: Mutex::default() }
    }

    /// Asks until a reply can be read; none after three tries, or if the text cannot be judged at all (too long for
    /// the model, refused).
    ///
    /// # Errors
    /// The model could not be reached.
    pub(super) async fn ask<T>(
        &self,
        form: &Form,
        item: &str,
        sample: u32,
        messages: Vec<Message>,
        read: impl Fn(&Object) -> Result<T, String>,
    ) -> Result<Option<T>, EvolutionError> {
        let ask = Ask { role: Role::Judge, form, item, sample, messages };
        let mut problem: Option<String> = None;
        for attempt in 0..ATTEMPTS {
            let Some(reply) = ask.once(self.model, self.scope, attempt, problem.as_deref()).await? else {
                return Ok(None);
            };
            self.count(reply.usage);
            let found = extract_object(reply_text(&reply)).map_err(|error| format!("could not {error}"));
            match found.and_then(|object| read(&object)) {
                Ok(value) => return Ok(Some(value)),
                Err(what) => problem = Some(what),
            }
        }
        Ok(None)
    }

    fn count(&self, usage: Usage) {
        if let Ok(mut cost) = self.cost.lock() {
            cost.calls += 1;
            cost.prompt_tokens += usage.prompt_tokens;
            cost.completion_tokens += usage.completion_tokens;
        }
    }

    pub(super) fn cost(&self) -> JudgeCost {
        self.cost.lock().map(|cost| *cost).unwrap_or_default()
    }
}
