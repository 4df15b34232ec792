//! How a provisional accept ends: confirmed, rolled back, or still open.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::compare::e_reaches;
use super::e_value::{Flips, e_value};
use super::{GateError, GateParams};

/// What probation says about a provisionally accepted skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbationVerdict {
    /// Fresh evidence confirms it.
    Confirm,
    /// Fresh evidence speaks against it: back to the anchor version.
    Rollback,
    /// Neither: the account stays open.
    Hold,
}

impl ProbationVerdict {
    /// The stable name, snake_case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Rollback => "rollback",
            Self::Hold => "hold",
        }
    }

    /// What it means, as a phrase.
    #[must_use]
    pub fn meaning(self) -> &'static str {
        match self {
            Self::Confirm => "the accept on probation is confirmed",
            Self::Rollback => "the candidate does harm: back to the version before it",
            Self::Hold => "not enough evidence either way, the probation goes on",
        }
    }
}

impl fmt::Display for ProbationVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A probation verdict and the numbers it rests on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Probation {
    /// What to do.
    pub verdict: ProbationVerdict,
    /// E(W, L): evidence for an improvement.
    pub e_value: f64,
    /// E(L, W): evidence for harm.
    pub e_swapped: f64,
}

/// `confirm` if E(W, L) ≥ `e_confirm`; `rollback` if E(L, W) ≥ `e_rollback`; else `hold` (design 04).
///
/// Rolling back is easier than confirming on purpose: a skill on probation has not
/// earned the benefit of the doubt.
///
/// # Errors
/// [`GateError::NotFinite`] if a threshold is not a number.
pub fn probation_verdict(flips: Flips, params: &GateParams) -> Result<Probation, GateError> {
    params.check_finite()?;
    let verdict = if e_reaches(flips, params.e_confirm) {
        ProbationVerdict::Confirm
    } else if e_reaches(flips.swapped(), params.e_rollback) {
        ProbationVerdict::Rollback
    } else {
        ProbationVerdict::Hold
    };
    Ok(Probation { verdict, e_value: e_value(flips), e_swapped: e_value(flips.swapped()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolling_back_needs_less_evidence_than_confirming() {
        let settle = |w, l| probation_verdict(Flips::new(w, l).unwrap(), &GateParams::default()).unwrap().verdict;
        assert_eq!(settle(6, 0), ProbationVerdict::Hold);
        assert_eq!(settle(7, 0), ProbationVerdict::Confirm);
        assert_eq!(settle(0, 5), ProbationVerdict::Rollback);
        assert_eq!(settle(0, 4), ProbationVerdict::Hold);
        assert_eq!(settle(0, 0), ProbationVerdict::Hold);
    }
}
