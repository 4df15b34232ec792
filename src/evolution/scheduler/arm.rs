//! What goes into the scheduler and what comes out of it.

use crate::domain::{Arm, StopReason};

use super::{GateFailure, SettledGate};

/// One arm of one unit: the piece of work the scheduler launches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ArmRef {
    /// The place of the task type among the specs.
    pub type_index: usize,
    /// The unit's place in the ladder, from 0.
    pub rank: usize,
    /// Which side.
    pub arm: Arm,
}

/// How one question of an arm was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Whether it was right; ignored when the stop reason is a technical failure.
    pub correct: bool,
    /// How the agent's work ended.
    pub stop_reason: StopReason,
}

/// What is known about an arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArmState {
    /// Not launched.
    Pending,
    /// Launched, not returned.
    Running,
    /// Answered; whether the unit is right, that is, all its questions are.
    Answered(bool),
    /// Failed technically: at least one of its questions did.
    Infra,
    /// Returned after the verdict, or never: counts nowhere.
    Unused,
}

impl ArmState {
    /// Whether the prefix need not wait for it.
    #[must_use]
    pub fn is_resolved(self) -> bool {
        match self {
            Self::Answered(_) | Self::Infra => true,
            Self::Pending | Self::Running | Self::Unused => false,
        }
    }

    /// The answer, if there is one.
    #[must_use]
    pub fn answer(self) -> Option<bool> {
        match self {
            Self::Answered(correct) => Some(correct),
            Self::Pending | Self::Running | Self::Infra | Self::Unused => None,
        }
    }
}

/// What happened outside.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The baseline cache holds this unit's base answer; delivered before [`Event::Start`].
    BaseCached {
        /// The place of the task type among the specs.
        type_index: usize,
        /// The unit's place in the ladder.
        rank: usize,
        /// Whether the unit is right.
        correct: bool,
    },
    /// All cached answers were told: launch.
    Start,
    /// A launched arm returned; one answer per question of the unit, in the unit's order.
    ArmDone {
        /// Which.
        arm: ArmRef,
        /// Its answers.
        answers: Vec<Answer>,
    },
    /// A launched arm found its type frozen before its first question ran.
    ArmSkipped(ArmRef),
    /// A launched arm ended with an error that is no answer: the step cannot go on.
    ArmFailed(ArmRef),
    /// A launched arm was dropped after [`Command::CancelAll`].
    ArmCancelled(ArmRef),
    /// The user, a budget or a shutdown ends the step.
    Cancelled,
}

/// What the outside is to do, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Run the questions of this arm; its slots are taken.
    Launch(ArmRef),
    /// Store the answers that this arm returned.
    Record {
        /// Which.
        arm: ArmRef,
        /// The unit's base answer for the baseline cache, in the same transaction; none for a
        /// candidate, a technical failure, and an arm that returned after its type's verdict.
        base_cache: Option<bool>,
    },
    /// The type has its verdict: nothing more of it starts, what runs is stored but not counted.
    Freeze {
        /// The place of the task type among the specs.
        type_index: usize,
    },
    /// Stop every running arm and report each by an event; [`Command::Abort`] follows the last.
    CancelAll,
    /// All gates are settled and nothing runs: the outcomes, in the order of the specs.
    Finish(Vec<SettledGate>),
    /// The step failed and nothing runs.
    Abort(GateFailure),
}
