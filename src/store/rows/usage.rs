//! Model usage totals and the heartbeat of a running training.

use serde::{Deserialize, Serialize};

use super::record;
use crate::domain::{Role, RunId};
use crate::store::keys::Scope;
use crate::store::rows::Tokens;

/// What usage is totalled by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UsageKey {
    /// The run.
    pub run: RunId,
    /// The part of it.
    pub scope: Scope,
    /// The phase as in keys, or `judge`, `writer` …
    pub phase: String,
    /// What the model was used for.
    pub role: Role,
}

/// Totals of model calls.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Calls, cached ones included.
    pub calls: u64,
    /// Of these, answered by the response cache.
    pub cached_calls: u64,
    /// Of these, failed.
    pub failed_calls: u64,
    /// Retries beyond the first try.
    pub retries: u64,
    /// Tokens that were paid for.
    pub tokens: Tokens,
    /// Tokens of the original calls that the response cache replayed.
    pub cached_tokens: Tokens,
    /// US dollars spent.
    pub cost_usd: f64,
    /// Calls without a price.
    pub unpriced_calls: u64,
}

record!(Usage, "usage");

impl Usage {
    /// Adds other totals to these.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cached_calls += other.cached_calls;
        self.failed_calls += other.failed_calls;
        self.retries += other.retries;
        self.tokens.add(&other.tokens);
        self.cached_tokens.add(&other.cached_tokens);
        self.cost_usd += other.cost_usd;
        self.unpriced_calls += other.unpriced_calls;
    }
}

impl Tokens {
    /// Adds other tokens to these.
    pub fn add(&mut self, other: &Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
        self.estimated |= other.estimated;
    }
}

/// A sign of life, at most 2 s old while a run works.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Heartbeat {
    /// When, in milliseconds since 1970.
    pub at_ms: i64,
    /// The working process.
    pub pid: u32,
    /// The part of the run it works on.
    pub scope: Option<Scope>,
    /// What it does, such as `rollout` or `gate`.
    pub activity: String,
    /// Items done.
    pub done: u64,
    /// Items in all.
    pub total: u64,
    /// Questions in flight.
    pub in_flight: u32,
    /// Items per minute, lately.
    pub per_minute: Option<f64>,
    /// Retries so far.
    pub retries: u64,
    /// Calls that wait for a limit now.
    pub waiting: u32,
    /// US dollars spent so far.
    pub cost_usd: f64,
    /// Anything else, JSON text.
    pub details: String,
}

record!(Heartbeat, "heartbeat");
