//! What an answer was produced for, and how it ended.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What an answer was produced for (design 01, 12): one exhaustive enum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// All questions on v1/v1, before the pools are cut.
    Baseline,
    /// The mini-batch of a step on the current versions.
    Rollout,
    /// The current skill inside a gate.
    GateBase,
    /// The candidate skill inside a gate.
    GateCand,
    /// The validation re-run R of the slow update.
    SlowR,
    /// The validation re-run R2 on momentum skills and new prompts.
    SlowR2,
    /// Momentum sample on the skills of the epoch's start.
    MomentumStart,
    /// Momentum sample on the skills of the epoch's end.
    MomentumEnd,
    /// Observation of what would be best by the mixed score.
    Shadow,
    /// Four-way evaluation on the test pool; nothing selects on it.
    Holdout,
    /// The test evaluation at the end of training.
    FinalTest,
    /// `trm eval`.
    Eval,
    /// `trm infer`.
    Adhoc,
}

impl Phase {
    /// All phases, in order of declaration.
    pub const ALL: [Self; 13] = [
        Self::Baseline,
        Self::Rollout,
        Self::GateBase,
        Self::GateCand,
        Self::SlowR,
        Self::SlowR2,
        Self::MomentumStart,
        Self::MomentumEnd,
        Self::Shadow,
        Self::Holdout,
        Self::FinalTest,
        Self::Eval,
        Self::Adhoc,
    ];

    /// Whether answers of this phase may feed the ladder's difficulty estimates: exactly three
    /// sources (design 04); `r2_kept` tells whether this epoch's R2 was kept.
    #[must_use]
    pub fn feeds_ladder(self, r2_kept: bool) -> bool {
        match self {
            Self::Rollout | Self::SlowR => true,
            Self::SlowR2 => r2_kept,
            Self::Baseline
            | Self::GateBase
            | Self::GateCand
            | Self::MomentumStart
            | Self::MomentumEnd
            | Self::Shadow
            | Self::Holdout
            | Self::FinalTest
            | Self::Eval
            | Self::Adhoc => false,
        }
    }

    /// The stable name, kebab-case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Baseline => "baseline",
            Self::Rollout => "rollout",
            Self::GateBase => "gate-base",
            Self::GateCand => "gate-cand",
            Self::SlowR => "slow-r",
            Self::SlowR2 => "slow-r2",
            Self::MomentumStart => "momentum-start",
            Self::MomentumEnd => "momentum-end",
            Self::Shadow => "shadow",
            Self::Holdout => "holdout",
            Self::FinalTest => "final-test",
            Self::Eval => "eval",
            Self::Adhoc => "adhoc",
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The text names no phase.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {0:?} as a phase")]
pub struct PhaseParseError(String);

impl FromStr for Phase {
    type Err = PhaseParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL
            .into_iter()
            .find(|phase| phase.name() == text)
            .ok_or_else(|| PhaseParseError(text.chars().take(80).collect()))
    }
}

/// One side of a gate pair.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// The current skill.
    Base,
    /// The candidate.
    Cand,
}

impl Arm {
    /// `base` or `cand`, as used in run ids and exports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Cand => "cand",
        }
    }
}

/// How the agent's work on one question ended (design 06).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// An answer was submitted.
    Finished,
    /// The steps ran out.
    BudgetExceeded,
    /// The model's output could not be read, several times in a row.
    ParseError,
    /// A technical failure.
    Error,
}

impl StopReason {
    /// A technical failure: never counted as wrong, never cached (invariant 2).
    #[must_use]
    pub fn is_infra(self) -> bool {
        match self {
            Self::ParseError | Self::Error => true,
            Self::Finished | Self::BudgetExceeded => false,
        }
    }

    /// The stable name, snake_case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Finished => "finished",
            Self::BudgetExceeded => "budget_exceeded",
            Self::ParseError => "parse_error",
            Self::Error => "error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_three_phases_feed_the_ladder() {
        let sources = |kept| Phase::ALL.into_iter().filter(|phase| phase.feeds_ladder(kept)).collect::<Vec<_>>();
        assert_eq!(sources(true), [Phase::Rollout, Phase::SlowR, Phase::SlowR2]);
        assert_eq!(sources(false), [Phase::Rollout, Phase::SlowR]);
    }

    #[test]
    fn names_round_trip_and_agree_with_serde() {
        for phase in Phase::ALL {
            assert_eq!(phase.name().parse(), Ok(phase));
            assert_eq!(serde_json::to_value(phase).unwrap(), phase.name());
        }
    }
}
