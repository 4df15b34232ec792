//! Exact operating characteristics: how a gate ends when units flip with known probabilities.

use std::collections::BTreeMap;

use super::compare::e_reaches;
use super::e_value::Flips;
use super::{Boundaries, Decision, GateError, GateParams, Verdict};

/// Every state a gate of `n_max` units can be in before it stops, with the decision in each.
///
/// It depends on the thresholds only, so that one tree serves any number of effects. Gates
/// stop early, so the states stay few: some hundreds per level at the defaults.
#[derive(Debug, Clone)]
pub struct GateTree {
    /// Level n − 1 holds the states after n units.
    levels: Vec<Vec<Node>>,
}

#[derive(Debug, Clone, Copy)]
struct Node {
    verdict: Verdict,
    /// Places in the next level after a win, a loss and a tie; only those of a state that continues are used.
    next: [usize; 3],
}

/// How likely each exit is, and what it costs.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Characteristics {
    /// Probability of `accept_confirmed`.
    pub accept_confirmed: f64,
    /// Probability of `accept_provisional`.
    pub accept_provisional: f64,
    /// Probability of `reject_directional`.
    pub reject_directional: f64,
    /// Probability of `reject_futility`.
    pub reject_futility: f64,
    /// Probability of `reject_inertia`.
    pub reject_inertia: f64,
    /// Mean number of consumed units.
    pub expected_n_used: f64,
    /// Mean E at the stop: 1 under no effect, for E is a martingale.
    pub expected_e_stop: f64,
}

impl Characteristics {
    /// The sum of all exits: 1 up to rounding.
    #[must_use]
    pub fn total(&self) -> f64 {
        self.accept_confirmed
            + self.accept_provisional
            + self.reject_directional
            + self.reject_futility
            + self.reject_inertia
    }

    fn stop(&mut self, probability: f64, n_used: f64, verdict: &Verdict) {
        let exit = match verdict.decision {
            Decision::AcceptConfirmed => &mut self.accept_confirmed,
            Decision::AcceptProvisional => &mut self.accept_provisional,
            Decision::RejectDirectional => &mut self.reject_directional,
            Decision::RejectFutility => &mut self.reject_futility,
            Decision::RejectInertia => &mut self.reject_inertia,
            Decision::Continue => return,
        };
        *exit += probability;
        self.expected_n_used += probability * n_used;
        self.expected_e_stop += probability * verdict.e_value;
    }
}

impl GateTree {
    /// The states of a gate of `n_max` units without exclusions.
    ///
    /// # Errors
    /// Those of [`Boundaries::new`]: thresholds that are no numbers, too many units.
    pub fn new(n_max: u32, params: &GateParams) -> Result<Self, GateError> {
        let boundaries = Boundaries::new(n_max, params)?;
        let mut levels: Vec<Vec<Node>> = Vec::new();
        // What the previous level continues with: its place there, and its flips.
        let mut open: Vec<(usize, Flips)> = vec![(0, Flips::NONE)];
        for n_used in 1..=n_max {
            let mut places: BTreeMap<Flips, usize> = BTreeMap::new();
            let mut level = Vec::new();
            let mut still_open = Vec::new();
            for (place, flips) in open {
                let mut next = [0; 3];
                for (slot, after) in next.iter_mut().zip(successors(flips)) {
                    *slot = match places.get(&after) {
                        Some(known) => *known,
                        None => {
                            let decision = boundaries.decide(after, n_used, n_max.saturating_sub(n_used));
                            let verdict = Verdict::new(decision, after, n_used.into());
                            places.insert(after, level.len());
                            if !verdict.decision.is_final() {
                                still_open.push((level.len(), after));
                            }
                            level.push(Node { verdict, next: [0; 3] });
                            level.len().saturating_sub(1)
                        }
                    };
                }
                if let Some(node) = levels.last_mut().and_then(|level| level.get_mut(place)) {
                    node.next = next;
                }
            }
            levels.push(level);
            open = still_open;
            if open.is_empty() {
                break;
            }
        }
        Ok(Self { levels })
    }

    /// The exits when each unit independently is a win with probability `p_win`, a loss with
    /// `p_loss`, else a tie: a forward dynamic program over (W, L).
    #[must_use]
    pub fn characteristics(&self, p_win: f64, p_loss: f64) -> Characteristics {
        let chances = [p_win, p_loss, 1.0 - p_win - p_loss];
        let mut result = Characteristics::default();
        let mut n_used = 1.0;
        // The first level has the states win, loss and tie, in the order of `successors`.
        let mut mass: Vec<f64> = chances.to_vec();
        for (level, following) in self.levels.iter().zip(self.levels.iter().skip(1).map(Vec::len).chain([0])) {
            let mut next_mass = vec![0.0; following];
            for (node, probability) in level.iter().zip(&mass) {
                if node.verdict.decision.is_final() {
                    result.stop(*probability, n_used, &node.verdict);
                    continue;
                }
                for (place, chance) in node.next.iter().zip(chances) {
                    if let Some(cell) = next_mass.get_mut(*place) {
                        *cell += probability * chance;
                    }
                }
            }
            mass = next_mass;
            n_used += 1.0;
        }
        result
    }
}

fn successors(flips: Flips) -> [Flips; 3] {
    [flips.after(false, true), flips.after(true, false), flips]
}

/// The least number of units with which a gate can reach this e-value at all: wins only.
///
/// None if [`super::MAX_UNITS`] would not suffice.
#[must_use]
pub fn units_to_reach(threshold: f64) -> Option<u32> {
    wins_to_reach(threshold, 0)
}

/// The least number of wins that reach this e-value against so many losses.
#[must_use]
pub fn wins_to_reach(threshold: f64, losses: u32) -> Option<u32> {
    let reached = |wins: u32| Flips::new(wins.into(), losses.into()).is_ok_and(|flips| e_reaches(flips, threshold));
    // E grows with W: double until it is reached, then bisect.
    let mut high = 1;
    while !reached(high) {
        high *= 2;
        if u64::from(high) > super::MAX_UNITS {
            return None;
        }
    }
    let mut low = 0;
    while low < high {
        let middle = low.midpoint(high);
        if reached(middle) { high = middle } else { low = middle.saturating_add(1) }
    }
    Some(low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exits_are_a_distribution_and_e_is_a_martingale_without_effect() {
        let tree = GateTree::new(40, &GateParams::default()).unwrap();
        for p in [0.05, 0.2, 0.5] {
            let result = tree.characteristics(p, p);
            assert!((result.total() - 1.0).abs() < 1e-12);
            assert!((result.expected_e_stop - 1.0).abs() < 1e-12, "{result:?}");
            assert!(result.accept_confirmed <= 1.0 / 20.0);
        }
    }

    #[test]
    fn a_sure_win_confirms_after_seven_units_and_a_sure_loss_stops_after_two() {
        let tree = GateTree::new(40, &GateParams::default()).unwrap();
        let win = tree.characteristics(1.0, 0.0);
        assert_eq!((win.accept_confirmed, win.expected_n_used), (1.0, 7.0));
        let loss = tree.characteristics(0.0, 1.0);
        assert_eq!((loss.reject_directional, loss.expected_n_used), (1.0, 2.0));
    }

    #[test]
    fn a_ladder_of_one_unit_has_one_level() {
        let tree = GateTree::new(1, &GateParams::default()).unwrap();
        assert!((tree.characteristics(0.3, 0.1).reject_inertia - 1.0).abs() < 1e-12);
    }

    #[test]
    fn units_needed_at_the_defaults() {
        assert_eq!(units_to_reach(20.0), Some(7));
        assert_eq!(units_to_reach(3.0), Some(3));
        assert_eq!(units_to_reach(1.0), Some(0));
        assert_eq!([0, 1, 2, 3, 4].map(|losses| wins_to_reach(20.0, losses)), [7, 10, 12, 14, 16].map(Some));
    }
}
