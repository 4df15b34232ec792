//! Comparisons with thresholds that come out as in exact arithmetic.
//!
//! Each asks doubles first and believes them only when the difference is larger than
//! their error can be; what is nearer is decided in big integers. Thresholds are the
//! decimal numbers that were written ([`Decimal`]).

use num_bigint::BigInt;
use num_traits::{One, Zero};

use super::decimal::Decimal;
use super::e_value::{Flips, e_value, wald_lambda};

/// Half the distance of 1.0 to the next double: the largest relative error of one rounding.
const UNIT_ROUNDOFF: f64 = f64::EPSILON / 2.0;

/// Digits behind the point of the two logarithms below.
const LN_DIGITS: i32 = 70;

/// ⌊ln 1.4 · 10^70⌋.
const LN_WIN_DIGITS: &str = "3364722366212129305045934102169920901114833753133434665467422584634008";

/// ⌊−ln 0.6 · 10^70⌋ + 1, so that its negative is the floor of ln 0.6 · 10^70.
const LN_LOSS_DIGITS: &str = "5108256237659906832055140963036619348781107964457682701779535578366847";

/// Whether E(W, L) ≥ threshold.
///
/// The computed E is off by at most (1+u)^(3W+1) − 1 (see [`e_value`]) and the double of the
/// threshold by u from the decimal; the margin of (6W + 16)·u is about twice their sum, which
/// also covers its own rounding.
pub(super) fn e_reaches(flips: Flips, threshold: f64) -> bool {
    let value = e_value(flips);
    let margin = (6.0 * f64::from(flips.w()) + 16.0) * UNIT_ROUNDOFF * value.max(threshold.abs());
    let saturated = value >= f64::MAX;
    if !saturated && (value - threshold).abs() > margin {
        return value > threshold;
    }
    if saturated && threshold < f64::MAX / 2.0 {
        // The recurrence overflowed: E exceeds MAX less its error of at most 1e-10.
        return true;
    }
    let Some(threshold) = Decimal::of(threshold) else { return false };
    let (numerator, denominator) = exact_e_value(flips);
    threshold.is_reached_by(&numerator, &denominator)
}

/// E as a fraction: Σ_{k=L+1}^{n+1} C(n+1, k) over (n+1)·C(n, W), n = W + L (design 04).
fn exact_e_value(flips: Flips) -> (BigInt, BigInt) {
    let n1 = u64::from(flips.total()) + 1;
    let first = u64::from(flips.l()) + 1;
    // From k = n+1, where C = 1, down to k = L+1, with C(n+1, k−1) = C(n+1, k)·k / (n+2−k).
    let mut term = BigInt::one();
    let mut sum = BigInt::zero();
    let mut k = n1;
    loop {
        sum += &term;
        if k == first {
            break;
        }
        term = term * k / (n1 + 1 - k);
        k -= 1;
    }
    // (n+1)·C(n, W) = (L+1)·C(n+1, L+1), and the last term is that coefficient.
    (sum, term * first)
}

/// Whether lambda(W, L) ≤ threshold.
///
/// The doubles' sum has four roundings of terms no larger than `size` and two rounded
/// constants; sixteen roundoffs of it are a safe margin. Beyond it 70 decimals decide: the
/// statistic is irrational unless W = L = 0, so equality needs no rule of its own.
pub(super) fn lambda_at_most(flips: Flips, threshold: f64) -> bool {
    let value = wald_lambda(flips);
    let size = f64::from(flips.total()) + threshold.abs();
    if (value - threshold).abs() > 16.0 * UNIT_ROUNDOFF * size {
        return value < threshold;
    }
    let parsed = (Decimal::of(-threshold), LN_WIN_DIGITS.parse::<BigInt>(), LN_LOSS_DIGITS.parse::<BigInt>());
    let (Some(negated), Ok(win), Ok(loss)) = parsed else { return value <= threshold };
    // lambda ≤ t is −lambda ≥ −t.
    let negative_lambda = loss * flips.l() - win * flips.w();
    negated.is_reached_by(&negative_lambda, &num_traits::pow(BigInt::from(10), LN_DIGITS.unsigned_abs() as usize))
}

/// Whether net / n ≥ threshold, for n > 0.
pub(super) fn ratio_reaches(net: i64, n: u64, threshold: f64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "both are at most MAX_UNITS, exact in a double")]
    let value = net as f64 / n as f64;
    if (value - threshold).abs() > 8.0 * UNIT_ROUNDOFF * value.abs().max(threshold.abs()) {
        return value > threshold;
    }
    Decimal::of(threshold).is_some_and(|threshold| threshold.is_reached_by(&net.into(), &n.into()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn flips(w: i64, l: i64) -> Flips {
        Flips::new(w, l).unwrap()
    }

    #[test]
    fn an_exact_hit_reaches_and_the_next_double_does_not() {
        // 31.875 is a dyadic number: the decimal and the double agree.
        assert!(e_reaches(flips(7, 0), 31.875));
        assert!(!e_reaches(flips(7, 0), 31.875_f64.next_up()));
        assert!(e_reaches(flips(7, 0), 31.875_f64.next_down()));
        // E(2, 0) = 7/3 lies between two doubles.
        let near = 7.0_f64 / 3.0;
        let exact_is_above = e_reaches(flips(2, 0), near);
        assert!(e_reaches(flips(2, 0), near.next_down()));
        assert!(!e_reaches(flips(2, 0), near.next_up()));
        // 7/3 = 2.33333…; its double prints as 2.3333333333333335, which is more.
        assert!(!exact_is_above);
    }

    #[test]
    fn thresholds_beyond_the_range_of_a_double_are_compared_exactly() {
        assert!(e_reaches(flips(3_000, 0), 1e300));
        assert!(e_reaches(flips(3_000, 0), f64::MAX));
        // E(1030, 0) is about 2^1031 / 1031: below the largest double, which is about 2^1024, by none.
        assert_eq!(e_reaches(flips(1_020, 0), f64::MAX), e_value(flips(1_020, 0)) >= f64::MAX);
        assert!(!e_reaches(flips(0, 0), f64::MAX));
    }

    #[test]
    fn zero_lambda_equals_a_zero_threshold() {
        assert!(lambda_at_most(Flips::NONE, 0.0));
        assert!(!lambda_at_most(Flips::NONE, -0.642));
    }

    #[test]
    fn logarithms_are_compared_beyond_the_precision_of_doubles() {
        // The double nearest to ln 1.4 prints as 0.3364722366212129, which is below it.
        assert!(!lambda_at_most(flips(1, 0), 0.336_472_236_621_212_9));
        assert!(lambda_at_most(flips(1, 0), 0.336_472_236_621_212_95));
    }

    proptest! {
        /// The value of the recurrence and the exact fraction are the same number.
        #[test]
        fn the_fraction_agrees_with_the_recurrence(w in 0_i64..60, l in 0_i64..60) {
            let state = flips(w, l);
            let (numerator, denominator) = exact_e_value(state);
            let value = e_value(state);
            let digits = Decimal::of(value * (1.0 - 1e-14)).unwrap();
            prop_assert!(digits.is_reached_by(&numerator, &denominator));
            let digits = Decimal::of(value * (1.0 + 1e-14)).unwrap();
            prop_assert!(!digits.is_reached_by(&numerator, &denominator));
        }

        /// Doubles and integers never disagree about which of two states is stronger.
        #[test]
        fn a_threshold_near_the_value_is_decided_exactly(w in 0_i64..200, l in 0_i64..200, step in -40_i32..40) {
            let state = flips(w, l);
            let mut threshold = e_value(state);
            for _ in 0..step.abs() {
                threshold = if step < 0 { threshold.next_down() } else { threshold.next_up() };
            }
            let (numerator, denominator) = exact_e_value(state);
            let exact = Decimal::of(threshold).unwrap().is_reached_by(&numerator, &denominator);
            prop_assert_eq!(e_reaches(state, threshold), exact);
        }
    }
}
