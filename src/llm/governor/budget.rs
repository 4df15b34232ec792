//! The budget: every call reserves its worst case before it is made and settles what it really cost.

use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::llm::account::{BudgetStatus, Money};
use crate::llm::settings::BudgetSettings;

/// An amount in both currencies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::llm) struct Amount {
    pub(in crate::llm) cost: Money,
    pub(in crate::llm) tokens: u64,
}

impl Amount {
    fn plus(self, other: Self) -> Self {
        Self { cost: self.cost + other.cost, tokens: self.tokens.saturating_add(other.tokens) }
    }

    fn minus(self, other: Self) -> Self {
        Self { cost: self.cost.saturating_sub(other.cost), tokens: self.tokens.saturating_sub(other.tokens) }
    }
}

/// What may be spent, by all roles together.
#[derive(Debug)]
pub(in crate::llm) struct Budget {
    settings: BudgetSettings,
    max: Option<Money>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    spent: Amount,
    reserved: Amount,
    holders: u64,
    reached: bool,
}

/// The budget is spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reached;

impl Budget {
    /// A budget of which `spent` is gone already.
    pub(in crate::llm) fn new(settings: BudgetSettings, spent: Amount) -> Self {
        let max = settings.max_usd.map(Money::from_usd);
        Self { settings, max, state: Mutex::new(State { spent, ..State::default() }), changed: Notify::new() }
    }

    /// Counts what was spent before this session.
    pub(in crate::llm) fn count_spent(&self, amount: Amount) {
        let mut state = self.state();
        state.spent = state.spent.plus(amount);
    }

    /// Sets `worst` aside. While other calls hold what is missing, this waits for them to settle for less; when
    /// none does, the budget is reached, for this call and for all after it: a run that is out of budget shall stop,
    /// not limp on with whatever happens to be cheap.
    pub(super) async fn reserve(&self, worst: Amount) -> Result<Reservation<'_>, Reached> {
        loop {
            let changed = self.changed.notified();
            if let Some(decision) = self.decide(worst) {
                return decision;
            }
            changed.await;
        }
    }

    /// Whether what is spent and reserved exceeds a cap: only calls that used more than they reserved bring that about.
    pub(super) fn is_overdrawn(&self) -> bool {
        let state = self.state();
        !self.allows(state.spent.plus(state.reserved))
    }

    /// The state for displays.
    pub(in crate::llm) fn status(&self) -> BudgetStatus {
        let state = self.state();
        BudgetStatus {
            spent: state.spent.cost,
            reserved: state.reserved.cost,
            max_usd: self.settings.max_usd,
            tokens: state.spent.tokens,
            reserved_tokens: state.reserved.tokens,
            max_tokens: self.settings.max_tokens,
            reached: state.reached,
        }
    }

    fn decide(&self, worst: Amount) -> Option<Result<Reservation<'_>, Reached>> {
        let mut state = self.state();
        if state.reached {
            return Some(Err(Reached));
        }
        if self.allows(state.spent.plus(state.reserved).plus(worst)) {
            state.reserved = state.reserved.plus(worst);
            state.holders += 1;
            return Some(Ok(Reservation { budget: self, held: worst, charge: Amount::default() }));
        }
        if state.holders > 0 {
            return None;
        }
        state.reached = true;
        self.changed.notify_waiters();
        Some(Err(Reached))
    }

    fn allows(&self, amount: Amount) -> bool {
        let within_tokens = self.settings.max_tokens.is_none_or(|max| amount.tokens <= max);
        within_tokens && self.max.is_none_or(|max| amount.cost <= max)
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part of the budget that one call holds; given back when dropped, less what was charged.
#[derive(Debug)]
pub(super) struct Reservation<'a> {
    budget: &'a Budget,
    held: Amount,
    charge: Amount,
}

impl Reservation<'_> {
    /// Sets what the call has cost so far.
    pub(super) fn charge(&mut self, amount: Amount) {
        self.charge = amount;
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        let mut state = self.budget.state();
        state.reserved = state.reserved.minus(self.held);
        state.spent = state.spent.plus(self.charge);
        state.holders -= 1;
        drop(state);
        self.budget.changed.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn tokens(tokens: u64) -> Amount {
        Amount { cost: Money::ZERO, tokens }
    }

    fn budget(max_tokens: u64, spent: u64) -> Budget {
        Budget::new(BudgetSettings { max_usd: None, max_tokens: Some(max_tokens) }, tokens(spent))
    }

    #[tokio::test]
    async fn reservations_never_exceed_the_cap_and_what_was_not_used_comes_back() {
        let budget = budget(100, 20);
        let mut first = budget.reserve(tokens(50)).await.unwrap();
        let second = budget.reserve(tokens(30)).await.unwrap();
        assert_eq!(budget.status().reserved_tokens, 80);
        first.charge(tokens(10));
        drop(first);
        assert_eq!((budget.status().tokens, budget.status().reserved_tokens), (30, 30));
        drop(second);
        assert_eq!((budget.status().tokens, budget.status().reserved_tokens), (30, 0));
        assert!(!budget.status().reached);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_waits_while_others_hold_what_it_needs() {
        let budget = budget(100, 0);
        let holder = budget.reserve(tokens(90)).await.unwrap();
        let waiter = budget.reserve(tokens(50));
        tokio::pin!(waiter);
        assert!(tokio::time::timeout(Duration::from_secs(9), &mut waiter).await.is_err());
        drop(holder);
        assert!(waiter.await.is_ok());
    }

    #[tokio::test]
    async fn once_reached_it_stays_reached() {
        let budget = budget(100, 0);
        assert_eq!(budget.reserve(tokens(101)).await.unwrap_err(), Reached);
        assert_eq!(budget.reserve(tokens(1)).await.unwrap_err(), Reached);
        assert!(budget.status().reached);
    }

    #[tokio::test(start_paused = true)]
    async fn all_waiters_learn_that_the_budget_is_reached() {
        let budget = budget(100, 0);
        let mut holder = budget.reserve(tokens(60)).await.unwrap();
        let release = async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            holder.charge(tokens(60));
            drop(holder);
        };
        let waiters = futures::future::join_all((0..8).map(|_| budget.reserve(tokens(50))));
        let (results, ()) = futures::join!(waiters, release);
        assert!(results.iter().all(Result::is_err));
    }

    #[tokio::test]
    async fn without_a_cap_everything_fits() {
        let budget = Budget::new(BudgetSettings::default(), Amount::default());
        assert!(budget.reserve(Amount { cost: Money::from_usd(1e12), tokens: u64::MAX }).await.is_ok());
    }
}
