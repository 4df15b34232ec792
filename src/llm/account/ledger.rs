//! Totals by role, phase and purpose.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use super::money::Money;
use super::record::{CallOutcome, CallRecord};
use crate::domain::{CallTag, Role, Usage};

/// Sums over calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Totals {
    /// Calls that an endpoint answered.
    pub calls: u64,
    /// Calls that the cache, or an equal call in flight, answered.
    pub cached: u64,
    /// Calls that failed after all retries.
    pub failed: u64,
    /// Calls dropped by their caller while an endpoint was working on them.
    pub abandoned: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Tokens read, without cached calls.
    pub prompt_tokens: u64,
    /// Of these, from the endpoint's own prompt cache.
    pub cached_tokens: u64,
    /// Tokens written, without cached calls.
    pub completion_tokens: u64,
    /// Tokens that cached calls did not use again.
    pub saved_tokens: u64,
    /// Calls whose tokens are estimates, because the endpoint did not count.
    pub estimated: u64,
    /// Dollars spent.
    pub cost: Money,
    /// Milliseconds waited for budget, concurrency, rate limits, circuits and between tries.
    pub waited_ms: u64,
}

impl Totals {
    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.cached += other.cached;
        self.failed += other.failed;
        self.abandoned += other.abandoned;
        self.retries += other.retries;
        self.prompt_tokens += other.prompt_tokens;
        self.cached_tokens += other.cached_tokens;
        self.completion_tokens += other.completion_tokens;
        self.saved_tokens += other.saved_tokens;
        self.estimated += other.estimated;
        self.cost += other.cost;
        self.waited_ms += other.waited_ms;
    }

    /// Share of answered calls that needed no endpoint; `None` before the first.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a share for display")]
    pub fn hit_rate(&self) -> Option<f64> {
        let answered = self.calls + self.cached;
        (answered > 0).then(|| self.cached as f64 / answered as f64)
    }

    fn of(record: &CallRecord) -> Self {
        let mut totals = Self {
            retries: u64::from(record.retries),
            waited_ms: record.waited_ms,
            cost: record.cost,
            ..Self::default()
        };
        match &record.outcome {
            CallOutcome::Answered(_) if record.cached => {
                totals.cached = 1;
                totals.saved_tokens = record.usage.prompt_tokens + record.usage.completion_tokens;
                return totals;
            }
            CallOutcome::Answered(_) => totals.calls = 1,
            CallOutcome::Failed { .. } => totals.failed = 1,
        }
        totals.use_up(&record.usage);
        totals
    }

    fn use_up(&mut self, usage: &Usage) {
        self.prompt_tokens += usage.prompt_tokens;
        self.cached_tokens += usage.cached_tokens;
        self.completion_tokens += usage.completion_tokens;
        self.estimated += u64::from(usage.estimated);
    }
}

/// The sums of one role, phase and purpose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsageRow {
    /// The role.
    pub role: Role,
    /// Textual run id of the phase.
    pub phase_run: String,
    /// What the calls were for.
    pub purpose: String,
    /// The sums.
    pub totals: Totals,
}

/// Phase → purpose → sums: nested, so that a lookup allocates nothing.
type Purposes = BTreeMap<String, BTreeMap<String, Totals>>;

/// The sums of one process, by role, phase and purpose.
#[derive(Debug, Default)]
pub struct Ledger(Mutex<BTreeMap<Role, Purposes>>);

impl Ledger {
    /// All rows, sorted.
    #[must_use]
    pub fn rows(&self) -> Vec<UsageRow> {
        let mut rows = Vec::new();
        for (role, phases) in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            for (phase_run, purposes) in phases {
                for (purpose, totals) in purposes {
                    let (phase_run, purpose) = (phase_run.clone(), purpose.clone());
                    rows.push(UsageRow { role: *role, phase_run, purpose, totals: *totals });
                }
            }
        }
        rows
    }

    /// The sums over everything.
    #[must_use]
    pub fn total(&self) -> Totals {
        let mut sum = Totals::default();
        self.rows().iter().for_each(|row| sum.add(&row.totals));
        sum
    }

    pub(in crate::llm) fn enter(&self, record: &CallRecord) {
        self.add(record.role, &record.tag, &Totals::of(record));
    }

    /// A call that was dropped while an endpoint worked on it: its tokens and cost are estimates.
    pub(in crate::llm) fn abandon(&self, role: Role, tag: &CallTag, usage: &Usage, cost: Money) {
        let mut totals = Totals { abandoned: 1, cost, ..Totals::default() };
        totals.use_up(usage);
        self.add(role, tag, &totals);
    }

    fn add(&self, role: Role, tag: &CallTag, totals: &Totals) {
        let mut ledger = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let phases = ledger.entry(role).or_default();
        if !phases.contains_key(&tag.phase_run) {
            phases.insert(tag.phase_run.clone(), BTreeMap::new());
        }
        let Some(purposes) = phases.get_mut(&tag.phase_run) else { return };
        match purposes.get_mut(&tag.purpose) {
            Some(sum) => sum.add(totals),
            None => {
                purposes.insert(tag.purpose.clone(), *totals);
            }
        }
    }
}
