//! The place of a mini-batch in a training: epoch and step.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// `e1 s0`: epochs count from 1, steps from 0 within an epoch (design 01).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct EpochStep {
    /// From 1.
    pub epoch: u32,
    /// From 0 within the epoch.
    pub step: u32,
}

impl fmt::Display for EpochStep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&format!("e{} s{}", self.epoch, self.step))
    }
}

/// The text names no step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {0:?} as a step: 'e1 s0' or 'e1s0' expected (epochs from 1, steps from 0)")]
pub struct EpochStepError(String);

impl FromStr for EpochStep {
    type Err = EpochStepError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (epoch, step) = text.trim().strip_prefix('e')?.split_once('s')?;
            let epoch: u32 = epoch.trim_end().parse().ok()?;
            let step = step.parse().ok()?;
            (epoch > 0).then_some(Self { epoch, step })
        };
        parse().ok_or_else(|| EpochStepError(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_read() {
        let expected = EpochStep { epoch: 12, step: 3 };
        assert_eq!("e12 s3".parse(), Ok(expected));
        assert_eq!("e12s3".parse(), Ok(expected));
        assert_eq!(expected.to_string(), "e12 s3");
        for bad in ["e0s0", "e1", "s1", "e-1s0", "1 0", "e1s", "e1 s0 x"] {
            assert!(bad.parse::<EpochStep>().is_err(), "{bad:?} was accepted");
        }
    }
}
