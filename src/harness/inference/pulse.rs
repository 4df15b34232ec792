//! The sign of life of work that waits for models: one row a run, written anew every second, read by `trm status`.

use std::time::Duration;

use super::answers::now_ms;
use super::plan::Bench;
use crate::domain::RunId;
use crate::store::rows::Heartbeat;
use crate::store::{Batch, Scope, StoreError};

/// How often signs of life are given and displays refreshed.
pub(in crate::harness) const PULSE: Duration = Duration::from_secs(1);

/// How far some work is.
#[derive(Debug, Clone, Copy)]
pub(in crate::harness) struct SignOfLife<'a> {
    /// The part of the run.
    pub(in crate::harness) scope: Scope,
    /// What it does: `rollout`, `gate`, `diagnosis` …
    pub(in crate::harness) activity: &'a str,
    /// Answers, arms or texts that are done.
    pub(in crate::harness) done: usize,
    /// Out of so many.
    pub(in crate::harness) total: usize,
    /// Of them in work; none: as many as there are calls.
    pub(in crate::harness) in_flight: Option<usize>,
    /// How many get done in a minute, once that is known.
    pub(in crate::harness) per_minute: Option<f64>,
}

impl SignOfLife<'_> {
    /// Writes the row, with what the model hub tells about calls, retries and money.
    ///
    /// # Errors
    /// The store failed.
    pub(in crate::harness) async fn write(&self, bench: &Bench, run: &RunId) -> Result<(), StoreError> {
        let status = bench.hub.status();
        let waiting: u64 = status.roles.iter().flat_map(|role| &role.waiting).map(|waiting| waiting.calls).sum();
        let calls: u64 = status.roles.iter().map(|role| role.in_flight).sum();
        let in_flight = self.in_flight.map_or(calls, count);
        let heartbeat = Heartbeat {
            at_ms: now_ms(),
            pid: std::process::id(),
            scope: Some(self.scope),
            activity: self.activity.to_owned(),
            done: count(self.done),
            total: count(self.total),
            in_flight: u32::try_from(in_flight).unwrap_or(u32::MAX),
            per_minute: self.per_minute,
            retries: status.roles.iter().map(|role| role.retries).sum(),
            waiting: u32::try_from(waiting).unwrap_or(u32::MAX),
            cost_usd: status.budget.spent.usd(),
            details: serde_json::to_string(&status).unwrap_or_default(),
        };
        let mut batch = Batch::new();
        batch.put_heartbeat(run, &heartbeat);
        bench.store.write(batch).await
    }
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
