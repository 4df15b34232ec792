//! What is tried again, and when: one exhaustive match, full jitter.

use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBackoff, ExponentialBuilder};
use rand::RngExt;

use crate::domain::{ChatErrorKind, ContentHash, SeedRng, seeded_rng};
use crate::llm::backend::TryError;
use crate::llm::settings::RetrySettings;

/// Tries after one that timed out: a time-out is long, may have cost money, and comes again if the reply is too long for
/// it.
const TIMEOUT_RETRIES: u32 = 2;

/// Whether another try may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    /// It never will.
    Never,
    /// The endpoint or the way to it failed.
    AfterFailure,
    /// The endpoint kept silent for as long as a try may take.
    AfterTimeout,
    /// The endpoint asks for patience.
    AfterThrottle,
}

/// The one decision on retryability.
pub(super) fn retryability(kind: ChatErrorKind) -> Retry {
    match kind {
        ChatErrorKind::Connection | ChatErrorKind::Server | ChatErrorKind::Malformed => Retry::AfterFailure,
        ChatErrorKind::Timeout => Retry::AfterTimeout,
        ChatErrorKind::RateLimited => Retry::AfterThrottle,
        // The same request gets the same answer, or the call itself is over.
        ChatErrorKind::Unauthorized
        | ChatErrorKind::NotFound
        | ChatErrorKind::BadRequest
        | ChatErrorKind::ContextOverflow
        | ChatErrorKind::Refused
        | ChatErrorKind::CircuitOpen
        | ChatErrorKind::Budget
        | ChatErrorKind::Cancelled
        | ChatErrorKind::Configuration => Retry::Never,
    }
}

/// The delays of one call.
#[derive(Debug)]
pub(super) struct Delays {
    settings: RetrySettings,
    ceilings: ExponentialBackoff,
    failures: u32,
    timeouts: u32,
    throttles: u32,
    rng: SeedRng,
}

impl Delays {
    /// Jitter is drawn from the seed and the call, so that a run repeats its waits.
    pub(super) fn new(settings: RetrySettings, seed: u64, key: ContentHash) -> Self {
        let ceilings = ExponentialBuilder::new()
            .with_min_delay(settings.base_delay)
            .with_max_delay(settings.max_delay)
            .with_factor(2.0)
            .without_max_times()
            .build();
        let rng = seeded_rng(seed, &["retry", &key.to_string()]);
        Self { settings, ceilings, failures: 0, timeouts: 0, throttles: 0, rng }
    }

    /// The delay before the next try; `None` if there shall be none.
    ///
    /// Full jitter: uniform between 0 and a ceiling that doubles. Where the endpoint named a time, its pause is kept
    /// by [`Endpoints`](super::Endpoints), for all calls, and the delay here only spreads the calls out.
    pub(super) fn next(&mut self, error: &TryError) -> Option<Duration> {
        let (count, limit) = match retryability(error.kind) {
            Retry::Never => return None,
            Retry::AfterFailure => (&mut self.failures, self.settings.retries),
            Retry::AfterTimeout => (&mut self.timeouts, self.settings.retries.min(TIMEOUT_RETRIES)),
            Retry::AfterThrottle => (&mut self.throttles, self.settings.rate_limit_retries),
        };
        *count += 1;
        if *count > limit {
            return None;
        }
        let growing = self.ceilings.next().unwrap_or(self.settings.max_delay);
        let ceiling = if error.retry_after.is_some() { self.settings.base_delay } else { growing };
        Some(ceiling.mul_f64(self.rng.random_range(0.0..=1.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn delays(settings: RetrySettings) -> Delays {
        Delays::new(settings, 1, ContentHash::of("call"))
    }

    fn all(kind: ChatErrorKind) -> Vec<Duration> {
        let mut delays = delays(RetrySettings::default());
        std::iter::from_fn(|| delays.next(&TryError::new(kind, ""))).collect()
    }

    #[test]
    fn failures_and_throttling_are_counted_apart() {
        let settings = RetrySettings::default();
        assert_eq!(all(ChatErrorKind::Server).len(), settings.retries as usize);
        assert_eq!(all(ChatErrorKind::Timeout).len(), 2);
        assert_eq!(all(ChatErrorKind::RateLimited).len(), settings.rate_limit_retries as usize);
        assert_eq!(all(ChatErrorKind::ContextOverflow), []);
    }

    #[test]
    fn delays_stay_below_a_ceiling_that_doubles_up_to_the_maximum() {
        let settings = RetrySettings::default();
        let mut ceiling = settings.base_delay;
        for delay in all(ChatErrorKind::RateLimited) {
            assert!(delay <= ceiling, "{delay:?} > {ceiling:?}");
            ceiling = (ceiling * 2).min(settings.max_delay);
        }
    }

    #[test]
    fn equal_calls_draw_equal_delays_and_others_do_not() {
        assert_eq!(all(ChatErrorKind::Server), all(ChatErrorKind::Malformed));
        let mut other = Delays::new(RetrySettings::default(), 2, ContentHash::of("call"));
        assert_ne!(other.next(&TryError::new(ChatErrorKind::Server, "")), all(ChatErrorKind::Server).first().copied());
    }

    #[test]
    fn a_named_time_is_not_waited_for_twice() {
        let mut error = TryError::new(ChatErrorKind::RateLimited, "");
        error.retry_after = Some(Duration::from_secs(45));
        let mut delays = delays(RetrySettings::default());
        for _ in 0..10 {
            assert!(delays.next(&error).unwrap() <= RetrySettings::default().base_delay);
        }
    }
}
