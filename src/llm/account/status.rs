//! A snapshot of model access for status displays and the heartbeat row.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ledger::Totals;
use super::money::Money;
use crate::domain::{ChatErrorKind, Role};

/// What model access is doing right now.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LlmStatus {
    /// One for each role that has a model, in order of roles.
    pub roles: Vec<RoleStatus>,
    /// Spending.
    pub budget: BudgetStatus,
    /// The response cache.
    pub cache: CacheStatus,
    /// Sums over everything since the start of the process.
    pub totals: Totals,
}

impl LlmStatus {
    /// The longest wait of any role, as a line for people: `waiting for rate limit 0:45`.
    #[must_use]
    pub fn waiting_line(&self) -> Option<String> {
        let waits = self.roles.iter().flat_map(|role| &role.waiting);
        let longest = waits.filter(|wait| wait.reason != WaitReason::Concurrency).max_by_key(|wait| wait.seconds)?;
        let (minutes, seconds) = (longest.seconds / 60, longest.seconds % 60);
        Some(format!("waiting for {} {minutes}:{seconds:02}", longest.reason.words()))
    }
}

/// One role.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RoleStatus {
    /// The role.
    pub role: Role,
    /// Its model.
    pub model: String,
    /// Requests at an endpoint now.
    pub in_flight: u64,
    /// Requests that may be in flight now; less than configured after a 429.
    pub concurrency: u64,
    /// Share of the configured rate in use now; less than 1 after a 429.
    pub rate_share: f64,
    /// Answered calls a minute, over the last minute, without cached ones.
    pub calls_per_minute: f64,
    /// Tries that failed, by class, whether or not a retry helped.
    pub failed_tries: BTreeMap<ChatErrorKind, u64>,
    /// Calls that failed after all retries, by class.
    pub errors: BTreeMap<ChatErrorKind, u64>,
    /// Tries beyond the first.
    pub retries: u64,
    /// Calls that wait, by reason.
    pub waiting: Vec<Waiting>,
    /// The endpoints.
    pub endpoints: Vec<EndpointStatus>,
}

/// Calls that wait for one thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// For what.
    pub reason: WaitReason,
    /// How many.
    pub calls: u64,
    /// Until the first of them may go on, in seconds, where that is known; else 0.
    pub seconds: u64,
}

/// What a call waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// Other calls hold what is left of the budget.
    Budget,
    /// As many requests as allowed are in flight.
    Concurrency,
    /// The role's own rate, or an endpoint's Retry-After.
    RateLimit,
    /// The circuits of all endpoints are open.
    Circuit,
    /// Between two tries.
    Backoff,
}

impl WaitReason {
    /// All reasons, in order of declaration.
    pub const ALL: [Self; 5] = [Self::Budget, Self::Concurrency, Self::RateLimit, Self::Circuit, Self::Backoff];

    /// For people.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Budget => "budget",
            Self::Concurrency => "a free slot",
            Self::RateLimit => "rate limit",
            Self::Circuit => "a failing endpoint",
            Self::Backoff => "the next try",
        }
    }
}

/// One endpoint of a role.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointStatus {
    /// Its base URL, without credentials.
    pub name: String,
    /// Requests there now.
    pub in_flight: u64,
    /// Its circuit.
    pub circuit: CircuitState,
    /// Until it may be asked again, in seconds: Retry-After or an open circuit; else 0.
    pub paused_seconds: u64,
}

/// The circuit of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CircuitState {
    /// Calls pass.
    Closed,
    /// No call passes.
    Open,
    /// One call may probe.
    HalfOpen,
}

/// Spending against the caps.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct BudgetStatus {
    /// Spent, earlier sessions included.
    pub spent: Money,
    /// Reserved by calls in flight.
    pub reserved: Money,
    /// The cap in dollars.
    pub max_usd: Option<f64>,
    /// Tokens used, earlier sessions included.
    pub tokens: u64,
    /// Tokens reserved by calls in flight.
    pub reserved_tokens: u64,
    /// The cap in tokens.
    pub max_tokens: Option<u64>,
    /// Whether a call was refused for lack of budget.
    pub reached: bool,
}

/// The response cache.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CacheStatus {
    /// `off`, `file` or `redis`.
    pub backend: String,
    /// Lookups that found an entry.
    pub hits: u64,
    /// Lookups that found none.
    pub misses: u64,
    /// Entries written.
    pub stored: u64,
    /// Why the cache does not work as configured, if so.
    pub trouble: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_is_told_in_words() {
        let wait = |reason, seconds| Waiting { reason, calls: 3, seconds };
        let role = RoleStatus {
            role: Role::Search,
            model: "m".into(),
            in_flight: 0,
            concurrency: 1,
            rate_share: 1.0,
            calls_per_minute: 0.0,
            failed_tries: BTreeMap::new(),
            errors: BTreeMap::new(),
            retries: 0,
            waiting: vec![
                wait(WaitReason::Concurrency, 500),
                wait(WaitReason::RateLimit, 45),
                wait(WaitReason::Backoff, 2),
            ],
            endpoints: Vec::new(),
        };
        let status = LlmStatus { roles: vec![role], ..LlmStatus::default() };
        assert_eq!(status.waiting_line().unwrap(), "waiting for rate limit 0:45");
        assert_eq!(LlmStatus::default().waiting_line(), None);
    }
}
