//! How many requests may be in flight: fewer after a 429, then more again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

/// A limit on requests in flight that adapts: halved by a 429; after it one more with each success up to
/// half of where it was, then one more with each round of successes (as TCP does, RFC 5681). First come, first served.
#[derive(Debug)]
pub(super) struct Gate {
    permits: Semaphore,
    max: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// What the limit is; between 1 and `max`.
    limit: usize,
    /// Growth saved up towards one more.
    credit: usize,
    /// Below this the limit grows fast.
    threshold: usize,
    /// Permits out in excess of the limit: not put back when they return.
    debt: usize,
    last_cut: Option<Instant>,
}

/// A request in flight.
#[derive(Debug)]
pub(super) struct Slot<'a> {
    gate: &'a Gate,
    permit: Option<SemaphorePermit<'a>>,
}

impl Gate {
    pub(super) fn new(max: usize) -> Self {
        let state = State { limit: max, credit: 0, threshold: max, debt: 0, last_cut: None };
        Self { permits: Semaphore::new(max), max, state: Mutex::new(state) }
    }

    /// Waits for a slot; `None` never happens while the gate lives (the semaphore is not closed).
    pub(super) async fn enter(&self) -> Slot<'_> {
        Slot { gate: self, permit: self.permits.acquire().await.ok() }
    }

    /// A slot, if one is free now.
    pub(super) fn try_enter(&self) -> Option<Slot<'_>> {
        let permit = self.permits.try_acquire().ok()?;
        Some(Slot { gate: self, permit: Some(permit) })
    }

    /// The endpoint said 429 to a request that went out at `sent`. Requests that went out before the last cut tell
    /// nothing new.
    pub(super) fn cut(&self, sent: Instant, now: Instant) {
        let mut state = self.state();
        if state.last_cut.is_some_and(|cut| sent <= cut) {
            return;
        }
        let new = (state.limit / 2).max(1);
        let fewer = state.limit - new;
        state.debt += fewer - self.permits.forget_permits(fewer);
        *state = State { limit: new, credit: 0, threshold: new, debt: state.debt, last_cut: Some(now) };
        // Up to half of the lost part fast: what was just refused lies above.
        state.threshold = (new + fewer / 2).min(self.max);
    }

    /// A request went well.
    pub(super) fn grow(&self) {
        let mut state = self.state();
        if state.limit >= self.max {
            return;
        }
        state.credit += if state.limit < state.threshold { state.limit } else { 1 };
        if state.credit < state.limit {
            return;
        }
        state.credit = 0;
        state.limit += 1;
        match state.debt.checked_sub(1) {
            Some(debt) => state.debt = debt,
            None => self.permits.add_permits(1),
        }
    }

    /// The limit now.
    pub(super) fn limit(&self) -> usize {
        self.state().limit
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        let Some(permit) = self.permit.take() else { return };
        let mut state = self.gate.state();
        if let Some(debt) = state.debt.checked_sub(1) {
            state.debt = debt;
            permit.forget();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    fn free(gate: &Gate) -> usize {
        let mut slots = Vec::new();
        while let Some(slot) = gate.try_enter() {
            slots.push(slot);
        }
        slots.len()
    }

    #[tokio::test(start_paused = true)]
    async fn a_cut_halves_and_successes_bring_it_back() {
        let gate = Gate::new(16);
        let sent = Instant::now();
        let slots: Vec<_> = (0..16).filter_map(|_| gate.try_enter()).collect();
        tokio::time::advance(Duration::from_secs(1)).await;
        gate.cut(sent, Instant::now());
        gate.cut(sent, Instant::now());
        assert_eq!(gate.limit(), 8, "requests of one burst cut once");
        drop(slots);
        assert_eq!(free(&gate), 8);
        for _ in 0..4 {
            gate.grow();
        }
        assert_eq!(gate.limit(), 12);
        let mut successes = 0;
        while gate.limit() < 16 {
            gate.grow();
            successes += 1;
        }
        assert_eq!(successes, 12 + 13 + 14 + 15, "near the old limit one more with each round");
        assert_eq!(free(&gate), 16);
    }

    #[tokio::test(start_paused = true)]
    async fn it_never_closes_altogether() {
        let gate = Gate::new(3);
        for _ in 0..10 {
            tokio::time::advance(Duration::from_secs(1)).await;
            gate.cut(Instant::now(), Instant::now());
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        assert_eq!((gate.limit(), free(&gate)), (1, 1));
    }

    proptest! {
        #[test]
        fn when_all_slots_are_back_as_many_are_free_as_the_limit_says(max in 1_usize..40, acts in prop::collection::vec(0_u8..4, 0..200)) {
            let gate = Gate::new(max);
            let start = Instant::now();
            let mut slots = Vec::new();
            for (step, act) in acts.into_iter().enumerate() {
                let now = start + Duration::from_secs(u64::try_from(step).unwrap());
                match act {
                    0 => slots.extend(gate.try_enter()),
                    1 => drop(slots.pop()),
                    2 => gate.cut(now, now),
                    _ => gate.grow(),
                }
                prop_assert!((1..=max).contains(&gate.limit()));
            }
            slots.clear();
            prop_assert_eq!(free(&gate), gate.limit());
        }
    }
}
