//! A double as the decimal number that was written for it.

use num_bigint::BigInt;
use num_traits::Pow;

/// digits · 10^exponent: the shortest decimal that reads back as the double.
///
/// A person writes `delta_min: 0.02` and means 1/50; the nearest double is a little more,
/// so that with it one win in fifty would miss the threshold. The shortest decimal is what
/// was written, up to 17 digits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    digits: BigInt,
    exponent: i32,
}

impl Decimal {
    /// None for what is not finite.
    pub(super) fn of(number: f64) -> Option<Self> {
        if !number.is_finite() {
            return None;
        }
        // The exponent form prints the shortest digits that read back: "-1.25e-3".
        let text = format!("{number:e}");
        let (mantissa, exponent) = text.split_once('e')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}").parse().ok()?;
        let shift = i32::try_from(fraction.len()).ok()?;
        Some(Self { digits, exponent: exponent.parse::<i32>().ok()?.checked_sub(shift)? })
    }

    /// Whether numerator / denominator ≥ this number; the denominator is positive.
    pub(super) fn is_reached_by(&self, numerator: &BigInt, denominator: &BigInt) -> bool {
        let power = |exponent: i32| BigInt::from(10).pow(exponent.unsigned_abs());
        if self.exponent < 0 {
            numerator * power(self.exponent) >= &self.digits * denominator
        } else {
            numerator >= &(&self.digits * power(self.exponent) * denominator)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_written_is_kept() {
        let decimal = |digits: i64, exponent| Decimal { digits: digits.into(), exponent };
        assert_eq!(Decimal::of(20.0), Some(decimal(2, 1)));
        assert_eq!(Decimal::of(-0.642), Some(decimal(-642, -3)));
        assert_eq!(Decimal::of(31.875), Some(decimal(31_875, -3)));
        assert_eq!(Decimal::of(0.0), Some(decimal(0, 0)));
        assert_eq!(Decimal::of(f64::INFINITY), None);
    }

    #[test]
    fn one_win_in_fifty_reaches_two_percent() {
        let reached = |n: i64, d: i64| Decimal::of(0.02).unwrap().is_reached_by(&n.into(), &d.into());
        assert!(reached(1, 50));
        assert!(!reached(999_999_999, 50_000_000_000));
        assert!(Decimal::of(-0.5).unwrap().is_reached_by(&(-1).into(), &2.into()));
    }
}
