//! The decision regions of a gate as integers, so that deciding costs a few comparisons.
//!
//! Everything a gate asks grows with W: the e-value, the gain, lambda, the best case. For each
//! number of losses the answers therefore change at one number of wins each, which is found
//! once by exact comparison ([`super::compare`]).

use super::compare::{e_reaches, lambda_at_most, ratio_reaches};
use super::e_value::Flips;
use super::{Decision, GateError, GateParams};

/// Losses that have a row; a gate with more of them is decided by comparison. At the defaults
/// none gets beyond 30.
const MAX_ROWS: u32 = 256;

/// Where the exits lie in the plane of wins and losses.
#[derive(Debug, Clone)]
pub struct Boundaries {
    params: GateParams,
    /// By losses.
    rows: Vec<Row>,
}

/// The least wins, against one number of losses, that …
#[derive(Debug, Clone, Copy)]
struct Row {
    /// … reach `e_confirm`.
    confirm: u32,
    /// … reach `e_provisional`.
    provisional: u32,
    /// … lie above `lambda_dir`.
    direction: u32,
}

impl Boundaries {
    /// The boundaries for gates of at most `n_max` units.
    ///
    /// # Errors
    /// [`GateError::NotFinite`], and [`GateError::TooManyUnits`] beyond [`super::MAX_UNITS`].
    pub fn new(n_max: u32, params: &GateParams) -> Result<Self, GateError> {
        params.check_finite()?;
        Flips::new(n_max.into(), 0)?;
        let mut rows: Vec<Row> = Vec::new();
        let mut last = Row { confirm: 0, provisional: 0, direction: 0 };
        for losses in 0..=n_max.min(MAX_ROWS) {
            let most = n_max.saturating_sub(losses);
            // More losses never need fewer wins: each search goes on where the last one ended.
            let least = |from: u32, holds: &dyn Fn(Flips) -> bool| {
                let holds = |wins: u32| Flips::new(wins.into(), losses.into()).is_ok_and(holds);
                (from..=most).find(|wins| holds(*wins)).unwrap_or(most.saturating_add(1).max(from))
            };
            last = Row {
                confirm: least(last.confirm, &|flips| e_reaches(flips, params.e_confirm)),
                provisional: least(last.provisional, &|flips| e_reaches(flips, params.e_provisional)),
                direction: least(last.direction, &|flips| !lambda_at_most(flips, params.lambda_dir)),
            };
            rows.push(last);
        }
        Ok(Self { params: *params, rows })
    }

    /// The thresholds that these boundaries stand for.
    #[must_use]
    pub fn params(&self) -> &GateParams {
        &self.params
    }

    /// The decision of [`super::gate_decision`] without its numbers; `n_used` ≥ 1.
    #[must_use]
    pub fn decide(&self, flips: Flips, n_used: u32, n_remaining: u32) -> Decision {
        let Some(row) = self.rows.get(flips.l() as usize) else {
            return super::decision::decide(flips, n_used.into(), n_remaining.into(), &self.params);
        };
        let wins = flips.w();
        if wins >= row.confirm && ratio_reaches(flips.net(), n_used.into(), self.params.delta_min) {
            Decision::AcceptConfirmed
        } else if wins < row.direction {
            Decision::RejectDirectional
        } else if n_remaining > 0 {
            let hopeless = wins.saturating_add(n_remaining) < row.provisional;
            if hopeless { Decision::RejectFutility } else { Decision::Continue }
        } else if wins >= row.provisional && flips.net() >= self.params.w_net_min {
            Decision::AcceptProvisional
        } else {
            Decision::RejectInertia
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evolution::gate::gate_decision;

    fn check_all(n_max: u32, params: &GateParams) {
        let boundaries = Boundaries::new(n_max, params).unwrap();
        for n_used in 1..=n_max {
            for w in 0..=n_used {
                for l in 0..=(n_used - w) {
                    let flips = Flips::new(w.into(), l.into()).unwrap();
                    let remaining = n_max - n_used;
                    let verdict = gate_decision(flips, n_used.into(), remaining.into(), params).unwrap();
                    let decision = boundaries.decide(flips, n_used, remaining);
                    assert_eq!(decision, verdict.decision, "{w} {l} {n_used} {remaining} {params:?}");
                }
            }
        }
    }

    #[test]
    fn every_state_of_a_gate_is_decided_as_by_comparison() {
        check_all(24, &GateParams::default());
    }

    #[test]
    fn more_losses_than_rows_are_decided_by_comparison() {
        let params = GateParams { lambda_dir: -1e6, e_provisional: 1e-9, ..GateParams::default() };
        let boundaries = Boundaries::new(1_000, &params).unwrap();
        let flips = Flips::new(300, 400).unwrap();
        let verdict = gate_decision(flips, 700, 300, &params).unwrap();
        assert_eq!(boundaries.decide(flips, 700, 300), verdict.decision);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn any_thresholds_are_decided_as_by_comparison(
            e_confirm in 1.0..200.0_f64,
            e_provisional in 0.1..50.0_f64,
            w_net_min in -3..6_i64,
            delta_min in -0.2..0.5_f64,
            lambda_dir in -5.0..0.5_f64,
            exact in prop::sample::select(vec![None, Some(31.875), Some(1.5), Some(3.75)]),
        ) {
            let e_confirm = exact.unwrap_or(e_confirm);
            let params = GateParams { e_confirm, e_provisional, w_net_min, delta_min, lambda_dir, e_rollback: 10.0 };
            check_all(10, &params);
        }
    }
}
