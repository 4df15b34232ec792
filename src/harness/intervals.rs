//! Confidence intervals for what a run reports: accuracies and paired gains.

use statrs::distribution::{ContinuousCDF, Normal};

/// An estimate with its two-sided confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Interval {
    /// The estimate.
    pub estimate: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The level of every interval that is shown.
pub const LEVEL: f64 = 0.95;

/// The share `right / total` with its Wilson score interval at [`LEVEL`]; none for `total` = 0.
///
/// Wilson (1927): (p + z²/2n ± z √(p(1−p)/n + z²/4n²)) / (1 + z²/n). Its coverage stays near the level even at the
/// ends of the range, where the textbook interval collapses.
#[must_use]
pub fn share(right: u64, total: u64) -> Option<Interval> {
    if total == 0 {
        return None;
    }
    let (n, z) = (as_f64(total), z()?);
    let p = as_f64(right) / n;
    let centre = p + z * z / (2.0 * n);
    let spread = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    let scale = 1.0 + z * z / n;
    Some(Interval {
        estimate: p,
        low: ((centre - spread) / scale).clamp(0.0, p),
        high: ((centre + spread) / scale).clamp(p, 1.0),
    })
}

/// The gain (wins − losses) / pairs of one version over another on the same units, with the
/// interval of Agresti and Min (2005) at [`LEVEL`]; none for `pairs` = 0.
///
/// Half a unit is added to each cell of the 2 × 2 table of pairs (two to the total), then the Wald interval is taken:
/// d ± z √((w + l) − (w − l)²/n) / n with the adjusted counts. It keeps its level for small tables.
#[must_use]
pub fn paired_gain(wins: u64, losses: u64, pairs: u64) -> Option<Interval> {
    if pairs == 0 {
        return None;
    }
    let z = z()?;
    let (w, l, n) = (as_f64(wins) + 0.5, as_f64(losses) + 0.5, as_f64(pairs) + 2.0);
    let centre = (w - l) / n;
    let spread = z * ((w + l) - (w - l) * (w - l) / n).max(0.0).sqrt() / n;
    let estimate = (as_f64(wins) - as_f64(losses)) / as_f64(pairs);
    Some(Interval {
        estimate,
        low: (centre - spread).max(-1.0).min(estimate),
        high: (centre + spread).min(1.0).max(estimate),
    })
}

/// The two-sided normal quantile of [`LEVEL`], 1.96.
fn z() -> Option<f64> {
    Normal::new(0.0, 1.0).ok().map(|normal| normal.inverse_cdf(0.5 + LEVEL / 2.0))
}

#[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
fn as_f64(count: u64) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 5e-4
    }

    #[test]
    fn wilson_agrees_with_published_values() {
        // Newcombe (1998), table I: 81/263 and 15/148 and 0/20, score method.
        let some = share(81, 263).unwrap();
        assert!(close(some.low, 0.2553) && close(some.high, 0.3662), "{some:?}");
        let few = share(15, 148).unwrap();
        assert!(close(few.low, 0.0624) && close(few.high, 0.1605), "{few:?}");
        let none = share(0, 20).unwrap();
        assert!(none.low == 0.0 && close(none.high, 0.1611), "{none:?}");
        assert_eq!(share(0, 0), None);
    }

    #[test]
    fn a_clear_gain_excludes_zero_and_a_tie_does_not() {
        assert!(paired_gain(30, 5, 100).unwrap().low > 0.0);
        let tie = paired_gain(10, 10, 100).unwrap();
        assert!(tie.low < 0.0 && tie.high > 0.0 && tie.estimate == 0.0);
        assert!(paired_gain(0, 0, 0).is_none());
    }

    #[test]
    fn the_paired_interval_keeps_its_level() {
        // Exact coverage over all tables of n = 40 with win and loss probability .15 and .05.
        let (n, pw, pl) = (40_u64, 0.15_f64, 0.05_f64);
        let mut covered = 0.0;
        for w in 0..=n {
            for l in 0..=(n - w) {
                let interval = paired_gain(w, l, n).unwrap();
                if interval.low <= pw - pl && pw - pl <= interval.high {
                    covered += multinomial(n, w, l, pw, pl);
                }
            }
        }
        assert!(covered > 0.93 && covered < 0.98, "coverage {covered}");
    }

    fn multinomial(n: u64, w: u64, l: u64, pw: f64, pl: f64) -> f64 {
        let ln_factorial = |k: u64| (1..=k).map(|i| (i as f64).ln()).sum::<f64>();
        let rest = n - w - l;
        (ln_factorial(n) - ln_factorial(w) - ln_factorial(l) - ln_factorial(rest)
            + w as f64 * pw.ln()
            + l as f64 * pl.ln()
            + rest as f64 * (1.0 - pw - pl).ln())
        .exp()
    }
}
