//! The error account of a run: how many of its accepts would be expected if no edit helped at all (design 11).

use std::collections::BTreeMap;

use serde::Serialize;

use crate::evolution::gate::GateParams;
use crate::harness::gate_simulation::{EffectRow, SimulationSettings, simulate};

/// Expected false accepts of the gates that a run has decided.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct ErrorAccount {
    /// Gates that were decided.
    pub gates: usize,
    /// Confirmed accepts expected without any effect; an upper estimate over the usual noise levels.
    pub false_confirmed: f64,
    /// Accepts on probation expected without any effect; likewise.
    pub false_provisional: f64,
}

/// The account of gates with ladders of these lengths.
///
/// Exact for each ladder by dynamic programming; how often equal skills differ is not known, so the worst of the
/// noise levels 5, 10, 15 and 20 % counts. Thresholds that cannot be evaluated count nothing.
#[must_use]
pub fn error_account(ladders: &[u32], params: &GateParams) -> ErrorAccount {
    let mut known: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    let mut account = ErrorAccount { gates: ladders.len(), ..ErrorAccount::default() };
    for length in ladders {
        let (confirmed, provisional) = *known.entry(*length).or_insert_with(|| worst(*length, params));
        account.false_confirmed += confirmed;
        account.false_provisional += provisional;
    }
    account
}

fn worst(n_max: u32, params: &GateParams) -> (f64, f64) {
    let settings = SimulationSettings { params: *params, n_max, noise: 0.15, questions_per_unit: 1.0 };
    let Ok(simulated) = simulate(&settings) else { return (0.0, 0.0) };
    let most = |of: fn(&EffectRow) -> f64| simulated.no_effect.iter().map(of).fold(0.0, f64::max);
    (most(|row| row.accept_confirmed), most(|row| row.accept_provisional))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_account_grows_with_every_gate_and_a_short_ladder_confirms_nothing() {
        let params = GateParams::default();
        let one = error_account(&[40], &params);
        let two = error_account(&[40, 40], &params);
        assert!(one.false_confirmed > 0.0 && one.false_confirmed < 0.024, "{one:?}");
        assert!((two.false_confirmed - 2.0 * one.false_confirmed).abs() < 1e-12);
        let short = error_account(&[5], &params);
        assert_eq!(short.false_confirmed, 0.0, "six units cannot reach E = 20");
        assert!(short.false_provisional > 0.0);
    }
}
