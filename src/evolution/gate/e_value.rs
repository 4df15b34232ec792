//! The e-value of W wins and L losses, and the Wald statistic.

use serde::Serialize;

use super::GateError;

/// The most units one gate may count. Ladders have tens to thousands; the bound keeps an
/// exact comparison of hostile input below a second.
pub const MAX_UNITS: u64 = 100_000;

/// ln(2 · 0.70), the step of lambda for a win: `theta_1` = 0.70 (design 12).
pub(super) const LN_WIN: f64 = 0.336_472_236_621_212_93;

/// ln(2 · 0.30), the step of lambda for a loss; larger than a win's step on purpose.
pub(super) const LN_LOSS: f64 = -0.510_825_623_765_990_7;

/// How often the arms disagreed: wins (base wrong, candidate right) and losses (base right, candidate wrong).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize)]
pub struct Flips {
    w: u32,
    l: u32,
}

impl Flips {
    /// No flip yet.
    pub const NONE: Self = Self { w: 0, l: 0 };

    /// Checks two counts, each ≥ 0 and together at most [`MAX_UNITS`].
    ///
    /// # Errors
    /// [`GateError::NegativeCount`] or [`GateError::TooManyUnits`].
    pub fn new(w: i64, l: i64) -> Result<Self, GateError> {
        let count = |name, value: i64| u64::try_from(value).map_err(|_| GateError::NegativeCount { name, value });
        let (w, l) = (count("w", w)?, count("l", l)?);
        let units = w.saturating_add(l);
        let fits = |count: u64| u32::try_from(count).ok().filter(|_| units <= MAX_UNITS);
        match (fits(w), fits(l)) {
            (Some(w), Some(l)) => Ok(Self { w, l }),
            _ => Err(GateError::TooManyUnits { units }),
        }
    }

    /// Wins.
    #[must_use]
    pub fn w(self) -> u32 {
        self.w
    }

    /// Losses.
    #[must_use]
    pub fn l(self) -> u32 {
        self.l
    }

    /// W + L.
    #[must_use]
    pub fn total(self) -> u32 {
        self.w.saturating_add(self.l)
    }

    /// W − L.
    #[must_use]
    pub fn net(self) -> i64 {
        i64::from(self.w) - i64::from(self.l)
    }

    /// Wins and losses exchanged, as a rollback looks at them.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self { w: self.l, l: self.w }
    }

    /// These flips and `wins` more wins, capped at [`MAX_UNITS`].
    pub(super) fn with_wins(self, wins: u32) -> Self {
        let room = (MAX_UNITS as u32).saturating_sub(self.total());
        Self { w: self.w.saturating_add(wins.min(room)), l: self.l }
    }

    /// These flips and one more unit: a win, a loss, or neither when the arms agree.
    #[must_use]
    pub fn after(self, base_correct: bool, cand_correct: bool) -> Self {
        match (base_correct, cand_correct) {
            (false, true) => Self { w: self.w.saturating_add(1), ..self },
            (true, false) => Self { l: self.l.saturating_add(1), ..self },
            (true, true) | (false, false) => self,
        }
    }
}

/// E(W, L) = 2^(W+L+1) · B(W+1, L+1) · I½(L+1, W+1): the evidence against "no improvement".
///
/// The likelihood of the flips under a win probability drawn uniformly from (½, 1),
/// relative to fair coin flips; E(0, 0) = 1. With no effect it is a test martingale
/// along the ladder, so P(sup E ≥ c) ≤ 1/c (Ville) however the gate stops (design 04).
///
/// Computed by E(W, L) = (1 + W·E(W−1, L+1)) / (L+1), E(0, L) = 1/(L+1). All terms are
/// positive, so nothing cancels: with u = 2⁻⁵³ the start has one rounding and each of the
/// W steps three, and |relative error| ≤ (1+u)^(3W+1) − 1. A value beyond the range of a
/// double (about W − L > 1,030) is `f64::MAX`.
#[must_use]
pub fn e_value(flips: Flips) -> f64 {
    let total = f64::from(flips.total());
    let mut value = 1.0 / (total + 1.0);
    for wins in 1..=flips.w {
        let wins = f64::from(wins);
        value = (1.0 + wins * value) / (total - wins + 1.0);
    }
    value.min(f64::MAX)
}

/// lambda(W, L) = W·ln 1.4 + L·ln 0.6, from the totals so that no rounding accumulates.
#[must_use]
pub fn wald_lambda(flips: Flips) -> f64 {
    f64::from(flips.w) * LN_WIN + f64::from(flips.l) * LN_LOSS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flips(w: i64, l: i64) -> Flips {
        Flips::new(w, l).unwrap()
    }

    #[test]
    fn known_values() {
        assert_eq!(e_value(Flips::NONE), 1.0);
        assert_eq!(e_value(flips(7, 0)), 31.875);
        assert!((e_value(flips(6, 0)) - 18.142_857_142_857_142).abs() < 1e-14);
        assert!((e_value(flips(2, 0)) - 7.0 / 3.0).abs() < 1e-15);
        assert_eq!(e_value(flips(0, 100)), 1.0 / 101.0);
    }

    #[test]
    fn negative_and_absurd_counts_are_errors() {
        assert_eq!(Flips::new(-1, 0), Err(GateError::NegativeCount { name: "w", value: -1 }));
        assert_eq!(Flips::new(0, -1), Err(GateError::NegativeCount { name: "l", value: -1 }));
        assert_eq!(Flips::new(60_000, 60_000), Err(GateError::TooManyUnits { units: 120_000 }));
        assert!(Flips::new(i64::MAX, i64::MAX).is_err());
        assert!(Flips::new(100_000, 0).is_ok());
    }

    #[test]
    fn a_value_beyond_doubles_saturates_and_stays_ordered() {
        assert_eq!(e_value(flips(5_000, 0)), f64::MAX);
        assert!(e_value(flips(0, 100_000)) > 0.0);
    }

    #[test]
    fn the_wald_exit_is_below_a_tie_of_four() {
        assert!(wald_lambda(flips(4, 4)) < -0.642);
        assert!(wald_lambda(flips(3, 3)) > -0.642);
    }
}
