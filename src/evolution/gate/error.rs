//! What the gate's mathematics refuses to compute.

use crate::domain::{ExitClass, Fault, UnitId};

use super::MAX_UNITS;

/// Inputs for which the gate has no answer.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GateError {
    /// A count of flips below zero.
    #[error("compute an e-value: {name} is {value}, and a count is never negative")]
    NegativeCount {
        /// `w`, `l`, `n_used` or `n_remaining`.
        name: &'static str,
        /// What was given.
        value: i64,
    },
    /// More units than any ladder has.
    #[error("compute an e-value: {units} units are more than the supported {MAX_UNITS}")]
    TooManyUnits {
        /// The units asked for.
        units: u64,
    },
    /// A verdict without a single used unit.
    #[error("decide a gate: no unit was used (n_used is 0)")]
    NothingUsed,
    /// More flips than units.
    #[error("decide a gate: {flips} flips among {n_used} used units")]
    MoreFlipsThanUnits {
        /// W + L.
        flips: u64,
        /// The used units.
        n_used: u64,
    },
    /// A threshold that is not a finite number.
    #[error("decide a gate: {name} is {value}, not a finite number")]
    NotFinite {
        /// The name of the parameter.
        name: &'static str,
        /// What was given.
        value: f64,
    },
    /// A threshold outside its range, or two that contradict each other.
    #[error("use the gate's parameters: {0}")]
    Params(String),
    /// A unit of the pair block that one arm has no answer for.
    #[error("pair the arms: unit {unit} has no {arm} answer")]
    MissingAnswer {
        /// The unit.
        unit: UnitId,
        /// `base` or `cand`.
        arm: &'static str,
    },
    /// A unit that stands twice in the pair block: it would be counted twice.
    #[error("pair the arms: unit {unit} is listed twice")]
    UnitTwice {
        /// The unit.
        unit: UnitId,
    },
    /// The accuracy of nothing.
    #[error("compute an accuracy: there is no answer")]
    NoAnswers,
}

impl Fault for GateError {
    fn class(&self) -> ExitClass {
        match self {
            Self::NegativeCount { .. }
            | Self::TooManyUnits { .. }
            | Self::NothingUsed
            | Self::MoreFlipsThanUnits { .. }
            | Self::NotFinite { .. }
            | Self::Params(_) => ExitClass::Usage,
            Self::MissingAnswer { .. } | Self::UnitTwice { .. } | Self::NoAnswers => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NegativeCount { .. } => "gate.negative_count",
            Self::TooManyUnits { .. } => "gate.too_many_units",
            Self::NothingUsed => "gate.nothing_used",
            Self::MoreFlipsThanUnits { .. } => "gate.more_flips_than_units",
            Self::NotFinite { .. } => "gate.not_finite",
            Self::Params(_) => "gate.params",
            Self::MissingAnswer { .. } => "gate.missing_answer",
            Self::UnitTwice { .. } => "gate.unit_twice",
            Self::NoAnswers => "gate.no_answers",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NothingUsed => Some("n_used counts the pairs consumed so far, ties included; it starts at 1".into()),
            Self::MoreFlipsThanUnits { .. } => {
                Some("each used unit is a win, a loss or a tie: W + L cannot exceed n_used".into())
            }
            Self::Params(_) => Some(
                "the rules are lambda_dir < 0, e_provisional < e_confirm, e_rollback < e_confirm, all finite".into(),
            ),
            Self::NegativeCount { .. }
            | Self::TooManyUnits { .. }
            | Self::NotFinite { .. }
            | Self::MissingAnswer { .. }
            | Self::UnitTwice { .. }
            | Self::NoAnswers => None,
        }
    }
}
