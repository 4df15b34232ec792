//! What a phase has done so far, for progress displays and the heartbeat.

use std::time::{Duration, Instant};

use crate::store::rows::Outcome;

/// Counts of one phase.
#[derive(Debug, Clone)]
pub struct Tally {
    /// Questions of the phase.
    pub total: usize,
    /// Of these, answered in an earlier session.
    pub resumed: usize,
    /// Answered so far, earlier sessions included.
    pub done: usize,
    /// Right so far.
    pub correct: usize,
    /// Wrong so far, unparsed ones included.
    pub wrong: usize,
    /// Of the wrong ones, those from which no option could be read.
    pub unparsed: usize,
    /// Technical failures so far.
    pub infra: usize,
    /// Questions being worked on.
    pub in_flight: usize,
    started: Instant,
}

impl Tally {
    pub(super) fn new(total: usize) -> Self {
        Self {
            total,
            resumed: 0,
            done: 0,
            correct: 0,
            wrong: 0,
            unparsed: 0,
            infra: 0,
            in_flight: 0,
            started: Instant::now(),
        }
    }

    pub(super) fn add(&mut self, outcome: Outcome) {
        self.done += 1;
        match outcome {
            Outcome::Correct => self.correct += 1,
            Outcome::Wrong => self.wrong += 1,
            Outcome::Unparsed => {
                self.wrong += 1;
                self.unparsed += 1;
            }
            Outcome::Infra => self.infra += 1,
        }
    }

    /// Share right of those that count; none before the first.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
    pub fn accuracy(&self) -> Option<f64> {
        let counted = self.correct + self.wrong;
        (counted > 0).then(|| self.correct as f64 / counted as f64)
    }

    /// Questions a minute in this session; none before there is anything to tell.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
    pub fn per_minute(&self) -> Option<f64> {
        let fresh = self.done.saturating_sub(self.resumed);
        let minutes = self.started.elapsed().as_secs_f64() / 60.0;
        (fresh > 0 && minutes > 0.0).then(|| fresh as f64 / minutes)
    }

    /// How long the rest takes at the rate so far.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
    pub fn eta(&self) -> Option<Duration> {
        let rate = self.per_minute()?;
        let left = self.total.saturating_sub(self.done) as f64;
        Duration::try_from_secs_f64(left / rate * 60.0).ok()
    }
}

/// Sees how a phase gets on; called often, must not block.
pub trait Report: Send + Sync {
    /// The counts changed, or a second has passed.
    fn update(&self, phase: &str, tally: &Tally, waiting: Option<&str>);
}

/// Sees nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoReport;

impl Report for NoReport {
    fn update(&self, _phase: &str, _tally: &Tally, _waiting: Option<&str>) {}
}
