//! Live counters of one role.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::status::WaitReason;
use crate::domain::ChatErrorKind;

/// Calls a minute are counted over this long.
const WINDOW: Duration = Duration::from_secs(60);

/// Live counters of one role.
#[derive(Debug)]
pub(in crate::llm) struct RoleMeter {
    started: Instant,
    in_flight: AtomicU64,
    retries: AtomicU64,
    waiting: [AtomicU64; WaitReason::ALL.len()],
    seen: Mutex<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    failed_tries: BTreeMap<ChatErrorKind, u64>,
    errors: BTreeMap<ChatErrorKind, u64>,
    /// (second since the start, calls answered in it), oldest first; at most 61 entries.
    seconds: VecDeque<(u64, u64)>,
}

/// Counts one thing up while it lives.
#[derive(Debug)]
pub(in crate::llm) struct Counted<'a>(&'a AtomicU64);

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicU64) -> Self {
        counter.fetch_add(1, Ordering::Relaxed);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl RoleMeter {
    pub(in crate::llm) fn new() -> Self {
        Self {
            started: Instant::now(),
            in_flight: AtomicU64::new(0),
            retries: AtomicU64::new(0),
            waiting: Default::default(),
            seen: Mutex::default(),
        }
    }

    /// Counts a request at an endpoint until dropped.
    pub(in crate::llm) fn enter(&self) -> Counted<'_> {
        Counted::new(&self.in_flight)
    }

    /// Counts a waiting call until dropped.
    pub(in crate::llm) fn wait(&self, reason: WaitReason) -> Counted<'_> {
        // The declaration order of the reasons is the order of the counters.
        Counted::new(self.waiting.get(reason as usize).unwrap_or(&self.in_flight))
    }

    pub(in crate::llm) fn answered(&self) {
        let second = self.started.elapsed().as_secs();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        match seen.seconds.back_mut() {
            Some((last, count)) if *last == second => *count += 1,
            _ => seen.seconds.push_back((second, 1)),
        }
        forget_old(&mut seen.seconds, second);
    }

    pub(in crate::llm) fn try_failed(&self, kind: ChatErrorKind) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner).failed_tries.entry(kind).or_default() += 1;
    }

    pub(in crate::llm) fn call_failed(&self, kind: ChatErrorKind) {
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner).errors.entry(kind).or_default() += 1;
    }

    pub(in crate::llm) fn retried(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    pub(in crate::llm) fn in_flight(&self) -> u64 {
        self.in_flight.load(Ordering::Relaxed)
    }

    pub(in crate::llm) fn retries(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }

    pub(in crate::llm) fn waiting(&self, reason: WaitReason) -> u64 {
        self.waiting.get(reason as usize).map_or(0, |count| count.load(Ordering::Relaxed))
    }

    pub(in crate::llm) fn failed_tries(&self) -> BTreeMap<ChatErrorKind, u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).failed_tries.clone()
    }

    pub(in crate::llm) fn errors(&self) -> BTreeMap<ChatErrorKind, u64> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).errors.clone()
    }

    #[expect(clippy::cast_precision_loss, reason = "a rate for display")]
    pub(in crate::llm) fn calls_per_minute(&self) -> f64 {
        let elapsed = self.started.elapsed();
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        forget_old(&mut seen.seconds, elapsed.as_secs());
        let calls: u64 = seen.seconds.iter().map(|(_, count)| count).sum();
        // In the first minute the window is as long as the process is old, but never so short that one call looks like many.
        let window = elapsed.clamp(Duration::from_secs(5), WINDOW);
        calls as f64 * 60.0 / window.as_secs_f64()
    }
}

fn forget_old(seconds: &mut VecDeque<(u64, u64)>, now: u64) {
    while seconds.front().is_some_and(|(second, _)| second + WINDOW.as_secs() <= now) {
        seconds.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_rate_is_that_of_the_last_minute() {
        let meter = RoleMeter::new();
        for _ in 0..120 {
            meter.answered();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert!((meter.calls_per_minute() - 59.5).abs() < 1.0, "{}", meter.calls_per_minute());
        tokio::time::advance(Duration::from_secs(120)).await;
        assert_eq!(meter.calls_per_minute(), 0.0);
    }

    #[tokio::test]
    async fn a_wait_counts_only_while_it_lasts() {
        let meter = RoleMeter::new();
        let wait = meter.wait(WaitReason::Backoff);
        assert_eq!(meter.waiting(WaitReason::Backoff), 1);
        assert_eq!(meter.waiting(WaitReason::Budget), 0);
        drop(wait);
        assert_eq!(meter.waiting(WaitReason::Backoff), 0);
    }
}
