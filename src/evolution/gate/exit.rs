//! How a gate ended: what happens to the candidate, and through which exit.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Decision;

/// What happens to the candidate (design 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateAction {
    /// Accepted for good.
    AcceptConfirmed,
    /// Accepted on probation.
    AcceptProvisional,
    /// Rejected, for one of three reasons.
    Reject,
}

/// The exit through which a gate ended (design 12).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum GateStop {
    /// E reached `e_confirm`.
    Confirmed,
    /// The ladder ended with E ≥ `e_provisional`.
    Provisional,
    /// Lambda fell to `lambda_dir`.
    Directional,
    /// Wins only could not have reached an accept.
    Futility,
    /// The ladder ended without enough evidence.
    Inertia,
}

impl GateStop {
    /// The exit of a final decision; none for `continue`.
    #[must_use]
    pub fn of(decision: Decision) -> Option<Self> {
        match decision {
            Decision::AcceptConfirmed => Some(Self::Confirmed),
            Decision::AcceptProvisional => Some(Self::Provisional),
            Decision::RejectDirectional => Some(Self::Directional),
            Decision::RejectFutility => Some(Self::Futility),
            Decision::RejectInertia => Some(Self::Inertia),
            Decision::Continue => None,
        }
    }

    /// The decision that leads to this exit.
    #[must_use]
    pub fn decision(self) -> Decision {
        match self {
            Self::Confirmed => Decision::AcceptConfirmed,
            Self::Provisional => Decision::AcceptProvisional,
            Self::Directional => Decision::RejectDirectional,
            Self::Futility => Decision::RejectFutility,
            Self::Inertia => Decision::RejectInertia,
        }
    }

    /// What this exit means for the candidate.
    #[must_use]
    pub fn action(self) -> GateAction {
        match self {
            Self::Confirmed => GateAction::AcceptConfirmed,
            Self::Provisional => GateAction::AcceptProvisional,
            Self::Directional | Self::Futility | Self::Inertia => GateAction::Reject,
        }
    }

    /// The stable name, snake_case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Provisional => "provisional",
            Self::Directional => "directional",
            Self::Futility => "futility",
            Self::Inertia => "inertia",
        }
    }
}

impl GateAction {
    /// The stable name, snake_case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AcceptConfirmed => "accept_confirmed",
            Self::AcceptProvisional => "accept_provisional",
            Self::Reject => "reject",
        }
    }

    /// Whether the candidate becomes the current skill.
    #[must_use]
    pub fn is_accept(self) -> bool {
        match self {
            Self::AcceptConfirmed | Self::AcceptProvisional => true,
            Self::Reject => false,
        }
    }
}

impl fmt::Display for GateStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Display for GateAction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
