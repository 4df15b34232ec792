//! A rate: so many units a minute, evenly, on tokio's clock (so that tests run in virtual time).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// What a 429 leaves of the rate.
const CUT: f64 = 0.7;

/// The least that is left after many.
const LEAST_SHARE: f64 = 0.1;

/// The full rate is back this long after the last 429.
const RECOVERY: Duration = Duration::from_secs(60);

/// A waiting call looks at the rate again after this long, since it may have changed.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// A token bucket (first come, first served) that holds one second's worth, so that any minute sees at most 61 of 60
/// parts of the rate. A cost above what the bucket holds passes when it is full and leaves a debt.
#[derive(Debug)]
pub(super) struct Bucket {
    per_second: f64,
    burst: f64,
    queue: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    level: f64,
    filled: Instant,
    share_at_cut: f64,
    last_cut: Option<Instant>,
    /// When the call at the head of the queue may pass, as far as known.
    next: Option<Instant>,
}

impl Bucket {
    pub(super) fn per_minute(units: u32) -> Self {
        let per_second = f64::from(units) / 60.0;
        let burst = per_second.max(1.0);
        let now = Instant::now();
        let state = State { level: burst, filled: now, share_at_cut: 1.0, last_cut: None, next: None };
        Self { per_second, burst, queue: tokio::sync::Mutex::new(()), state: Mutex::new(state) }
    }

    /// Waits until `cost` units may be used. Dropping the future gives the place in the queue up.
    pub(super) async fn take(&self, cost: f64) {
        let _turn = self.queue.lock().await;
        let _known = Known(self);
        while let Some(wait) = self.try_take(cost) {
            sleep_until(Instant::now() + wait.min(LOOK_AGAIN)).await;
        }
    }

    /// Gives units back, or (negative) takes more, when the true cost is known.
    pub(super) fn correct(&self, units: f64) {
        let mut state = self.refilled();
        state.level = (state.level + units).min(self.burst);
    }

    /// The endpoint said 429 to a request that went out at `sent`.
    pub(super) fn cut(&self, sent: Instant) {
        let mut state = self.refilled();
        if state.last_cut.is_some_and(|cut| sent <= cut) {
            return;
        }
        let now = Instant::now();
        state.share_at_cut = (share(&state, now) * CUT).max(LEAST_SHARE);
        state.last_cut = Some(now);
    }

    /// Share of the rate that is used now, 0.1 to 1.
    pub(super) fn share(&self) -> f64 {
        share(&self.state(), Instant::now())
    }

    /// Until the head of the queue may pass.
    pub(super) fn wait(&self) -> Duration {
        self.state().next.map_or(Duration::ZERO, |next| next.saturating_duration_since(Instant::now()))
    }

    /// Takes the units, or tells how long to wait at least.
    fn try_take(&self, cost: f64) -> Option<Duration> {
        let mut state = self.refilled();
        let missing = cost.min(self.burst) - state.level;
        if missing <= 1e-9 {
            state.level -= cost;
            state.next = None;
            return None;
        }
        let rate = self.per_second * share(&state, state.filled);
        // At least a millisecond (the clock's grain): a shorter sleep could end at once, again and again.
        let wait = Duration::try_from_secs_f64(missing / rate).unwrap_or(Duration::MAX).max(Duration::from_millis(1));
        state.next = state.filled.checked_add(wait);
        Some(wait)
    }

    fn refilled(&self) -> MutexGuard<'_, State> {
        let mut state = self.state();
        let now = Instant::now();
        // The share grows while time passes: that at the beginning is the cautious one.
        let gained = (now - state.filled).as_secs_f64() * self.per_second * share(&state, state.filled);
        state.level = (state.level + gained).min(self.burst);
        state.filled = now;
        state
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the known wait when the head of the queue leaves, however it leaves.
struct Known<'a>(&'a Bucket);

impl Drop for Known<'_> {
    fn drop(&mut self) {
        self.0.state().next = None;
    }
}

fn share(state: &State, now: Instant) -> f64 {
    let Some(cut) = state.last_cut else { return 1.0 };
    let recovered = now.saturating_duration_since(cut).as_secs_f64() / RECOVERY.as_secs_f64();
    (state.share_at_cut + (1.0 - state.share_at_cut) * recovered).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn seconds_for(bucket: &Bucket, calls: usize, cost: f64) -> f64 {
        let start = Instant::now();
        futures::future::join_all((0..calls).map(|_| bucket.take(cost))).await;
        start.elapsed().as_secs_f64()
    }

    #[tokio::test(start_paused = true)]
    async fn calls_pass_evenly_at_the_rate() {
        let bucket = Bucket::per_minute(60);
        // One at once, then one a second.
        let seconds = seconds_for(&bucket, 121, 1.0).await;
        assert!((120.0..120.5).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn no_minute_sees_more_than_the_rate_and_one_second() {
        let bucket = Bucket::per_minute(600);
        let start = Instant::now();
        let mut passed = Vec::new();
        for _ in 0..2_000 {
            bucket.take(1.0).await;
            passed.push(start.elapsed().as_secs_f64());
        }
        for (index, first) in passed.iter().enumerate() {
            let within = passed.iter().skip(index).take_while(|time| **time < first + 60.0).count();
            assert!(within <= 611, "{within} calls in the minute from {first}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cost_above_the_bucket_passes_and_is_paid_off() {
        let bucket = Bucket::per_minute(6_000);
        // 100 a second, so 3,000 tokens are 30 s; the first passes at once because the bucket is full.
        let seconds = seconds_for(&bucket, 3, 3_000.0).await;
        assert!((59.0..61.0).contains(&seconds), "{seconds}");
        bucket.correct(2_900.0);
        let seconds = seconds_for(&bucket, 1, 10.0).await;
        assert!(seconds < 1.0, "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_429_cuts_the_rate_once_and_it_recovers_in_a_minute() {
        let bucket = Bucket::per_minute(600);
        let sent = Instant::now();
        bucket.cut(sent);
        bucket.cut(sent);
        assert!((bucket.share() - 0.7).abs() < 1e-9);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!((bucket.share() - 0.85).abs() < 1e-9);
        tokio::time::advance(Duration::from_secs(30)).await;
        assert!((bucket.share() - 1.0).abs() < 1e-9);
        for _ in 0..50 {
            tokio::time::advance(Duration::from_millis(1)).await;
            bucket.cut(Instant::now());
        }
        assert!((LEAST_SHARE..0.2).contains(&bucket.share()));
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_leaves_the_queue_costs_nothing() {
        let bucket = Bucket::per_minute(60);
        bucket.take(1.0).await;
        assert!(tokio::time::timeout(Duration::from_millis(10), bucket.take(1.0)).await.is_err());
        assert_eq!(bucket.wait(), Duration::ZERO);
        let seconds = seconds_for(&bucket, 1, 1.0).await;
        assert!((0.9..1.01).contains(&seconds), "{seconds}");
    }

    #[tokio::test(start_paused = true)]
    async fn the_wait_of_the_head_is_known() {
        let bucket = Bucket::per_minute(1);
        bucket.take(1.0).await;
        let waiting = bucket.take(1.0);
        tokio::pin!(waiting);
        assert!(tokio::time::timeout(Duration::from_secs(15), &mut waiting).await.is_err());
        assert_eq!(bucket.wait().as_secs(), 45);
    }
}
