//! Money in whole picodollars, so that sums do not depend on the order of concurrent calls.

use std::collections::BTreeMap;
use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

use crate::domain::Usage;

/// Picodollars in a dollar.
const PICO: f64 = 1e12;

/// An amount of US dollars, exact to 10⁻¹²; saturates at about 18 million dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Money(u64);

impl Money {
    /// Nothing.
    pub const ZERO: Self = Self(0);

    /// An amount in dollars; negative amounts and NaN count as nothing.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "`as` saturates, which is what is meant"
    )]
    pub fn from_usd(dollars: f64) -> Self {
        Self((dollars * PICO).round() as u64)
    }

    /// An amount in picodollars, as stored.
    #[must_use]
    pub fn from_picodollars(amount: u64) -> Self {
        Self(amount)
    }

    /// The amount in picodollars, for storage.
    #[must_use]
    pub fn picodollars(self) -> u64 {
        self.0
    }

    /// The amount in dollars.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for display")]
    pub fn usd(self) -> f64 {
        self.0 as f64 / PICO
    }

    /// The difference, at least nothing.
    #[must_use]
    pub fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    fn times(self, count: u64) -> Self {
        Self(self.0.saturating_mul(count))
    }
}

impl Add for Money {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl AddAssign for Money {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Money {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Money {
    /// Dollars with cents; small amounts with as many digits as they need to show.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.0 == 0 || self.0 >= 10_000_000_000 { 2 } else { 6 };
        write!(f, "${:.digits$}", self.usd())
    }
}

/// What a model costs, in US dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Price {
    /// Tokens read.
    pub prompt: f64,
    /// Tokens read from the endpoint's prompt cache; as `prompt` when absent.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Tokens written.
    pub completion: f64,
}

impl Price {
    /// What these tokens cost.
    #[must_use]
    pub fn of(&self, usage: &Usage) -> Money {
        let per_token = |per_million: f64| Money::from_usd(per_million / 1e6);
        let cached = usage.cached_tokens.min(usage.prompt_tokens);
        per_token(self.prompt).times(usage.prompt_tokens - cached)
            + per_token(self.cached.unwrap_or(self.prompt)).times(cached)
            + per_token(self.completion).times(usage.completion_tokens)
    }
}

/// Prices by model name; a name that ends with `*` covers all names that begin so, the longest such name first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PriceTable(BTreeMap<String, Price>);

impl PriceTable {
    /// Sets the price of a model.
    pub fn insert(&mut self, model: impl Into<String>, price: Price) {
        self.0.insert(model.into(), price);
    }

    /// The price of a model, if known.
    #[must_use]
    pub fn of(&self, model: &str) -> Option<Price> {
        let covers = |name: &str| name.strip_suffix('*').is_some_and(|start| model.starts_with(start));
        let by_start = || self.0.iter().filter(|(name, _)| covers(name)).max_by_key(|(name, _)| name.len());
        self.0.get(model).or_else(|| by_start().map(|(_, price)| price)).copied()
    }
}

impl FromIterator<(String, Price)> for PriceTable {
    fn from_iter<I: IntoIterator<Item = (String, Price)>>(prices: I) -> Self {
        Self(prices.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_cost_their_own_price_and_never_more_than_there_are() {
        let price = Price { prompt: 0.15, cached: Some(0.075), completion: 0.60 };
        let usage =
            Usage { prompt_tokens: 1_000_000, cached_tokens: 400_000, completion_tokens: 10_000, estimated: false };
        assert_eq!(price.of(&usage).to_string(), "$0.13");
        assert_eq!(price.of(&usage), Money::from_usd(0.09 + 0.03 + 0.006));
        let lying = Usage { prompt_tokens: 10, cached_tokens: 400_000, ..Usage::default() };
        assert_eq!(price.of(&lying), Money::from_usd(10.0 * 0.075e-6));
    }

    #[test]
    fn the_longest_matching_start_gives_the_price() {
        let price = |completion| Price { prompt: 0.0, cached: None, completion };
        let table: PriceTable = [
            ("gpt-*".to_owned(), price(1.0)),
            ("gpt-5*".to_owned(), price(2.0)),
            ("gpt-5-mini".to_owned(), price(3.0)),
        ]
        .into_iter()
        .collect();
        let completion = |model| table.of(model).map(|price| price.completion);
        assert_eq!(completion("gpt-4"), Some(1.0));
        assert_eq!(completion("gpt-5-2026"), Some(2.0));
        assert_eq!(completion("gpt-5-mini"), Some(3.0));
        assert_eq!(completion("qwen"), None);
    }

    #[test]
    fn money_saturates_instead_of_wrapping() {
        assert_eq!(Money::from_usd(f64::MAX) + Money::from_usd(1.0), Money::from_usd(f64::MAX));
        assert_eq!(Money::from_usd(f64::NAN), Money::ZERO);
        assert_eq!(Money::from_usd(-1.0), Money::ZERO);
    }
}
