//! The four exits of a gate and the verdict that carries them.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::compare::{e_reaches, lambda_at_most, ratio_reaches};
use super::e_value::{Flips, MAX_UNITS, e_value, wald_lambda};
use super::{GateError, GateParams};

/// Added to `n_used` in the shrunken estimate of the gain (Agresti–Coull).
const SHRINK_UNITS: u64 = 4;

/// What a gate decides after a pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// The evidence suffices: accepted for good.
    AcceptConfirmed,
    /// The ladder is used up with some evidence: accepted on probation.
    AcceptProvisional,
    /// The flips point away from an improvement of the size looked for.
    RejectDirectional,
    /// Not even wins only could reach an accept any more.
    RejectFutility,
    /// The ladder is used up without enough evidence.
    RejectInertia,
    /// Not decided: the next pair, please.
    Continue,
}

impl Decision {
    /// The stable name, snake_case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AcceptConfirmed => "accept_confirmed",
            Self::AcceptProvisional => "accept_provisional",
            Self::RejectDirectional => "reject_directional",
            Self::RejectFutility => "reject_futility",
            Self::RejectInertia => "reject_inertia",
            Self::Continue => "continue",
        }
    }

    /// Whether the gate stops here.
    #[must_use]
    pub fn is_final(self) -> bool {
        self != Self::Continue
    }
}

impl fmt::Display for Decision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A decision and the numbers it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The exit, or `continue`.
    pub decision: Decision,
    /// E(W, L).
    pub e_value: f64,
    /// W·ln 1.4 + L·ln 0.6.
    pub wald_lambda: f64,
    /// (W − L) / `n_used`: the observed gain in accuracy, −1 to 1.
    pub delta_hat: f64,
    /// (W − L) / (`n_used` + 4): the gain shrunk towards 0. Observation only, it decides nothing.
    pub delta_shrunk: f64,
}

/// Decides after `n_used` consumed units with `n_remaining` still to come (design 04); the first match wins:
///
/// 1. `accept_confirmed`: E ≥ `e_confirm` and (W − L)/`n_used` ≥ `delta_min`
/// 2. `reject_directional`: lambda ≤ `lambda_dir`
/// 3. `reject_futility`: units remain, and E(W + `n_remaining`, L) < `e_provisional`
/// 4. no unit remains: `accept_provisional` if E ≥ `e_provisional` and W − L ≥ `w_net_min`, else `reject_inertia`
/// 5. `continue`
///
/// # Errors
/// [`GateError::NothingUsed`], [`GateError::MoreFlipsThanUnits`], [`GateError::TooManyUnits`],
/// [`GateError::NotFinite`].
pub fn gate_decision(flips: Flips, n_used: u64, n_remaining: u64, params: &GateParams) -> Result<Verdict, GateError> {
    params.check_finite()?;
    if n_used == 0 {
        return Err(GateError::NothingUsed);
    }
    if u64::from(flips.total()) > n_used {
        return Err(GateError::MoreFlipsThanUnits { flips: flips.total().into(), n_used });
    }
    let units = n_used.saturating_add(n_remaining);
    if units > MAX_UNITS {
        return Err(GateError::TooManyUnits { units });
    }
    Ok(Verdict::new(decide(flips, n_used, n_remaining, params), flips, n_used))
}

impl Verdict {
    /// A decision with the numbers of its state; `n_used` ≥ 1.
    pub(crate) fn new(decision: Decision, flips: Flips, n_used: u64) -> Self {
        let net = flips.net();
        #[expect(clippy::cast_precision_loss, reason = "both are at most MAX_UNITS, exact in a double")]
        let gain_over = |units: u64| net as f64 / units as f64;
        Self {
            decision,
            e_value: e_value(flips),
            wald_lambda: wald_lambda(flips),
            delta_hat: gain_over(n_used),
            delta_shrunk: gain_over(n_used.saturating_add(SHRINK_UNITS)),
        }
    }
}

/// E(W + `n_remaining`, L): what the e-value would be if every remaining unit were a win.
#[must_use]
pub fn best_e_value(flips: Flips, n_remaining: u64) -> f64 {
    e_value(best_case(flips, n_remaining))
}

pub(super) fn decide(flips: Flips, n_used: u64, n_remaining: u64, params: &GateParams) -> Decision {
    let net = flips.net();
    if e_reaches(flips, params.e_confirm) && ratio_reaches(net, n_used, params.delta_min) {
        Decision::AcceptConfirmed
    } else if lambda_at_most(flips, params.lambda_dir) {
        Decision::RejectDirectional
    } else if n_remaining > 0 {
        let hopeless = !e_reaches(best_case(flips, n_remaining), params.e_provisional);
        if hopeless { Decision::RejectFutility } else { Decision::Continue }
    } else if e_reaches(flips, params.e_provisional) && net >= params.w_net_min {
        Decision::AcceptProvisional
    } else {
        Decision::RejectInertia
    }
}

fn best_case(flips: Flips, n_remaining: u64) -> Flips {
    flips.with_wins(u32::try_from(n_remaining).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decision(w: i64, l: i64, n_used: u64, n_remaining: u64) -> Decision {
        gate_decision(Flips::new(w, l).unwrap(), n_used, n_remaining, &GateParams::default()).unwrap().decision
    }

    #[test]
    fn seven_wins_in_a_row_confirm_and_six_do_not() {
        assert_eq!(decision(6, 0, 6, 6), Decision::Continue);
        assert_eq!(decision(7, 0, 7, 5), Decision::AcceptConfirmed);
    }

    #[test]
    fn wins_needed_at_each_number_of_losses() {
        // Design 11: for C 7, 10, 12, 14, 16; for P 3, 6, 8, 10, 12.
        let needed = |threshold: f64, losses: i64| {
            (0..100).find(|wins| e_reaches(Flips::new(*wins, losses).unwrap(), threshold)).unwrap()
        };
        assert_eq!([0, 1, 2, 3, 4].map(|losses| needed(20.0, losses)), [7, 10, 12, 14, 16]);
        assert_eq!([0, 1, 2, 3, 4].map(|losses| needed(3.0, losses)), [3, 6, 8, 10, 12]);
    }

    #[test]
    fn a_gate_that_is_used_up_never_continues() {
        for w in 0..12 {
            for l in 0..12 {
                assert!(decision(w, l, 24, 0).is_final(), "{w} {l}");
            }
        }
    }

    #[test]
    fn one_tie_of_three_units_is_already_futile() {
        assert_eq!(decision(0, 0, 1, 2), Decision::RejectFutility);
    }

    #[test]
    fn futility_is_no_reason_once_nothing_remains() {
        assert_eq!(decision(0, 0, 3, 0), Decision::RejectInertia);
    }

    #[test]
    fn impossible_counts_are_errors() {
        let ask = |w, l, used, remaining| {
            gate_decision(Flips::new(w, l).unwrap(), used, remaining, &GateParams::default()).unwrap_err()
        };
        assert_eq!(ask(0, 0, 0, 5), GateError::NothingUsed);
        assert_eq!(ask(3, 3, 5, 0), GateError::MoreFlipsThanUnits { flips: 6, n_used: 5 });
        assert_eq!(ask(0, 0, 1, u64::MAX), GateError::TooManyUnits { units: u64::MAX });
    }
}
