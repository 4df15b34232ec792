//! From the answers of two arms to flips, quadrants and accuracies.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Flips, GateError};
use crate::domain::UnitId;

/// The units of a block with both arms' correctness, and how often they disagreed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PairBlock {
    /// Wins and losses.
    pub flips: Flips,
    /// unit → (base right, candidate right).
    pub observed: BTreeMap<UnitId, (bool, bool)>,
}

/// Pairs both arms' correctness on `units`.
///
/// # Errors
/// [`GateError::MissingAnswer`] if an arm has no answer for a unit: an absent answer is never
/// taken for a wrong one. [`GateError::UnitTwice`] if a unit is listed twice.
pub fn pair_block(
    base: &BTreeMap<UnitId, bool>,
    cand: &BTreeMap<UnitId, bool>,
    units: &[UnitId],
) -> Result<PairBlock, GateError> {
    let mut block = PairBlock::default();
    for unit in units {
        let answer = |of: &BTreeMap<UnitId, bool>, arm| {
            of.get(unit).copied().ok_or_else(|| GateError::MissingAnswer { unit: unit.clone(), arm })
        };
        let pair = (answer(base, "base")?, answer(cand, "cand")?);
        if block.observed.insert(unit.clone(), pair).is_some() {
            return Err(GateError::UnitTwice { unit: unit.clone() });
        }
        block.flips = block.flips.after(pair.0, pair.1);
    }
    Ok(block)
}

/// The units of a gate by what the candidate did to them; each list is sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Quadrants {
    /// Base wrong, candidate right.
    pub improvements: Vec<UnitId>,
    /// Base right, candidate wrong.
    pub regressions: Vec<UnitId>,
    /// Both wrong.
    pub persistent_fails: Vec<UnitId>,
    /// Both right.
    pub stable_successes: Vec<UnitId>,
}

/// Sorts observed units into the four quadrants.
#[must_use]
pub fn classify_quadrants(observed: &BTreeMap<UnitId, (bool, bool)>) -> Quadrants {
    let mut quadrants = Quadrants::default();
    // The map is ordered by unit id, so each list comes out sorted.
    for (unit, pair) in observed {
        let list = match pair {
            (false, true) => &mut quadrants.improvements,
            (true, false) => &mut quadrants.regressions,
            (false, false) => &mut quadrants.persistent_fails,
            (true, true) => &mut quadrants.stable_successes,
        };
        list.push(unit.clone());
    }
    quadrants
}

/// The shares of right answers of both arms, each 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Accuracies {
    /// Of the current skill.
    pub base: f64,
    /// Of the candidate.
    pub cand: f64,
}

/// The accuracies of both arms over observed units.
///
/// # Errors
/// [`GateError::NoAnswers`] over nothing.
pub fn compute_accuracy(observed: &BTreeMap<UnitId, (bool, bool)>) -> Result<Accuracies, GateError> {
    if observed.is_empty() {
        return Err(GateError::NoAnswers);
    }
    #[expect(clippy::cast_precision_loss, reason = "a gate has at most 100,000 units, exact in a double")]
    let share = |right: usize| right as f64 / observed.len() as f64;
    Ok(Accuracies {
        base: share(observed.values().filter(|pair| pair.0).count()),
        cand: share(observed.values().filter(|pair| pair.1).count()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unit(name: &str) -> UnitId {
        name.parse().unwrap()
    }

    fn answers(pairs: &[(&str, bool)]) -> BTreeMap<UnitId, bool> {
        pairs.iter().map(|(name, right)| (unit(name), *right)).collect()
    }

    #[test]
    fn flips_quadrants_and_accuracies_agree() {
        let base = answers(&[("d", false), ("a", true), ("c", true), ("b", false), ("e", false)]);
        let cand = answers(&[("d", true), ("a", false), ("c", true), ("b", false), ("e", true)]);
        let units = ["e", "d", "c", "b", "a"].map(unit);
        let block = pair_block(&base, &cand, &units).unwrap();
        assert_eq!(block.flips, Flips::new(2, 1).unwrap());
        let quadrants = classify_quadrants(&block.observed);
        assert_eq!(quadrants.improvements, ["d", "e"].map(unit));
        assert_eq!(quadrants.regressions, [unit("a")]);
        assert_eq!(quadrants.persistent_fails, [unit("b")]);
        assert_eq!(quadrants.stable_successes, [unit("c")]);
        assert_eq!(compute_accuracy(&block.observed), Ok(Accuracies { base: 0.4, cand: 0.6 }));
    }

    #[test]
    fn an_absent_answer_is_an_error_and_not_wrong() {
        let full = answers(&[("a", true)]);
        let missing = pair_block(&full, &BTreeMap::new(), &[unit("a")]);
        assert_eq!(missing, Err(GateError::MissingAnswer { unit: unit("a"), arm: "cand" }));
        let twice = pair_block(&full, &full, &[unit("a"), unit("a")]);
        assert_eq!(twice, Err(GateError::UnitTwice { unit: unit("a") }));
        assert_eq!(compute_accuracy(&BTreeMap::new()), Err(GateError::NoAnswers));
    }
}
