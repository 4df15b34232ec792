//! The part of a run that rows belong to: what a range delete removes.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::domain::EpochStep;

/// The part of a run that a row belongs to; its order is the order of the keys on disk.
///
/// Every value maps to columns of its own, so that a scope is one contiguous range and `e1 s1`
/// never touches `e1 s10` (design 03).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// The run that answers all questions before the pools are cut.
    Baseline,
    /// One mini-batch step.
    Step(EpochStep),
    /// One sub-step of the slow update at the end of an epoch.
    Slow {
        /// From 1.
        epoch: u32,
        /// 1 to 10, in the order of design 07.
        sub_step: u32,
    },
    /// The test evaluation at the end of training.
    Final,
    /// `trm eval`.
    Eval,
    /// `trm infer` and other single answers.
    Adhoc,
}

/// The columns of a scope in a key: stage, epoch, part (0 step, 1 slow), number.
pub(crate) type ScopeColumns = (u8, u32, u8, u32);

impl Scope {
    /// The step scope `e{epoch} s{step}`.
    #[must_use]
    pub fn step(epoch: u32, step: u32) -> Self {
        Self::Step(EpochStep { epoch, step })
    }

    /// The epoch of a step or of a slow sub-step.
    #[must_use]
    pub fn epoch(self) -> Option<u32> {
        match self {
            Self::Step(place) => Some(place.epoch),
            Self::Slow { epoch, .. } => Some(epoch),
            Self::Baseline | Self::Final | Self::Eval | Self::Adhoc => None,
        }
    }

    pub(crate) fn columns(self) -> ScopeColumns {
        match self {
            Self::Baseline => (0, 0, 0, 0),
            Self::Step(place) => (1, place.epoch, 0, place.step),
            Self::Slow { epoch, sub_step } => (1, epoch, 1, sub_step),
            Self::Final => (2, 0, 0, 0),
            Self::Eval => (3, 0, 0, 0),
            Self::Adhoc => (4, 0, 0, 0),
        }
    }

    /// The scope of these columns; none if nothing writes such columns.
    pub(crate) fn from_columns(columns: ScopeColumns) -> Option<Self> {
        Some(match columns {
            (0, 0, 0, 0) => Self::Baseline,
            (1, epoch @ 1.., 0, step) => Self::step(epoch, step),
            (1, epoch @ 1.., 1, sub_step @ 1..) => Self::Slow { epoch, sub_step },
            (2, 0, 0, 0) => Self::Final,
            (3, 0, 0, 0) => Self::Eval,
            (4, 0, 0, 0) => Self::Adhoc,
            _ => return None,
        })
    }
}

impl Ord for Scope {
    fn cmp(&self, other: &Self) -> Ordering {
        self.columns().cmp(&other.columns())
    }
}

impl PartialOrd for Scope {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Baseline => "baseline".to_owned(),
            Self::Step(place) => place.to_string(),
            Self::Slow { epoch, sub_step } => format!("e{epoch} slow{sub_step}"),
            Self::Final => "final".to_owned(),
            Self::Eval => "eval".to_owned(),
            Self::Adhoc => "adhoc".to_owned(),
        };
        f.pad(&text)
    }
}

/// The text names no part of a run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {0:?} as a part of a run: 'baseline', 'e1 s0', 'e1 slow2', 'final', 'eval' or 'adhoc' expected")]
pub struct ScopeParseError(String);

impl FromStr for Scope {
    type Err = ScopeParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let slow = || {
            let (epoch, sub_step) = text.strip_prefix('e')?.split_once("slow")?;
            let number = |digits: &str| digits.trim().parse::<u32>().ok();
            let scope = Self::Slow { epoch: number(epoch)?, sub_step: number(sub_step)? };
            Self::from_columns(scope.columns())
        };
        match text {
            "baseline" => Ok(Self::Baseline),
            "final" => Ok(Self::Final),
            "eval" => Ok(Self::Eval),
            "adhoc" => Ok(Self::Adhoc),
            _ => slow()
                .or_else(|| text.parse().ok().map(Self::Step))
                .ok_or_else(|| ScopeParseError(text.chars().take(80).collect())),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = ScopeParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_scope() -> impl Strategy<Value = Scope> {
        prop_oneof![
            Just(Scope::Baseline),
            (1_u32.., any::<u32>()).prop_map(|(epoch, step)| Scope::step(epoch, step)),
            (1_u32.., 1_u32..).prop_map(|(epoch, sub_step)| Scope::Slow { epoch, sub_step }),
            Just(Scope::Final),
            Just(Scope::Eval),
            Just(Scope::Adhoc),
        ]
    }

    proptest! {
        #[test]
        fn text_and_columns_round_trip(scope in any_scope()) {
            prop_assert_eq!(Scope::from_columns(scope.columns()), Some(scope));
            prop_assert_eq!(scope.to_string().parse(), Ok(scope));
        }
    }

    #[test]
    fn a_training_is_ordered_as_it_happens() {
        let order = [
            Scope::Baseline,
            Scope::step(1, 0),
            Scope::step(1, 1),
            Scope::step(1, 10),
            Scope::Slow { epoch: 1, sub_step: 1 },
            Scope::Slow { epoch: 1, sub_step: 10 },
            Scope::step(2, 0),
            Scope::Final,
            Scope::Eval,
            Scope::Adhoc,
        ];
        assert!(order.is_sorted());
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in ["", "e1", "e1 slow", "slow1", "e1 slow-1", "step", "e0 s0", "e0 slow1", "e1 slow0"] {
            assert!(bad.parse::<Scope>().is_err(), "{bad:?} was accepted");
        }
    }
}
