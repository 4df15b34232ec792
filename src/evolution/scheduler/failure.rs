//! Why a step's gates could not be decided.

use std::fmt;

use crate::domain::{Arm, ExitClass, Fault, StopReason, TaskType, UnitId};
use crate::evolution::gate::GateError;

/// Why a step's gates could not be decided.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum GateFailure {
    /// A type without units.
    #[error("gate {task_type}: its ladder is empty")]
    EmptyLadder {
        /// The first such type.
        task_type: TaskType,
    },
    /// A ladder beyond what the mathematics supports.
    #[error("gate {task_type}: its ladder has {units} units, more than are supported")]
    LadderTooLong {
        /// The type.
        task_type: TaskType,
        /// Its units.
        units: usize,
    },
    /// A unit that would wait for ever.
    #[error("gate {task_type}: unit {unit} has {questions} questions, more than the {slots} slots")]
    UnitTooLarge {
        /// The type.
        task_type: TaskType,
        /// The first such unit.
        unit: UnitId,
        /// How many questions it has.
        questions: usize,
        /// How many may run at the same time.
        slots: usize,
    },
    /// A concurrency of 0.
    #[error("gate anything: the concurrency is 0")]
    NoSlots,
    /// Two specs of one type.
    #[error("gate {task_type}: two gates of this type in one step")]
    TypeTwice {
        /// The type.
        task_type: TaskType,
    },
    /// A run prefix that does not mark its answers as a gate's.
    #[error("gate {task_type}: the run prefix {prefix:?} does not contain '_gate_'")]
    RunPrefix {
        /// The type.
        task_type: TaskType,
        /// The prefix, cut to 80 characters.
        prefix: String,
    },
    /// A unit without questions, or one that shares its id or a question with another.
    #[error("gate {task_type}: unit {unit} has no question, or stands in the ladder twice")]
    BadUnit {
        /// The type.
        task_type: TaskType,
        /// The unit.
        unit: UnitId,
    },
    /// Thresholds that cannot be used.
    #[error("gate with these thresholds")]
    Params(#[from] GateError),
    /// Too many technical failures to trust what remains.
    #[error("gate {}: {}", .0.task_type, .0)]
    InfraGuard(Box<GuardReport>),
    /// Not one unit could be compared.
    #[error("gate {task_type}: every unit was excluded for technical failures")]
    AllExcluded {
        /// The first such type.
        task_type: TaskType,
    },
    /// An arm ended with an error that is no answer; the caller holds the cause.
    #[error("gate {task_type}: the {} arm of unit {unit} failed", .arm.name())]
    ArmFailed {
        /// The type.
        task_type: TaskType,
        /// The unit.
        unit: UnitId,
        /// The arm.
        arm: Arm,
    },
    /// The user, a budget or a shutdown ended the step.
    #[error("finish the gates: the step was cancelled")]
    Cancelled,
    /// An arm returned without an answer for each of its questions: a bug, never "wrong".
    #[error("gate {task_type}: the {} arm of unit {unit} returned {answers} answers to {questions} questions", .arm.name())]
    MissingAnswers {
        /// The type.
        task_type: TaskType,
        /// The unit.
        unit: UnitId,
        /// The arm.
        arm: Arm,
        /// How many answers came back.
        answers: usize,
        /// How many were asked for.
        questions: usize,
    },
    /// The scheduler was fed an event that cannot happen, or its policy refuses to go on: a bug.
    #[error("schedule the gates: {0}")]
    Protocol(String),
}

impl GateFailure {
    /// The type it names, if it names one.
    #[must_use]
    pub fn task_type(&self) -> Option<&TaskType> {
        match self {
            Self::EmptyLadder { task_type }
            | Self::LadderTooLong { task_type, .. }
            | Self::UnitTooLarge { task_type, .. }
            | Self::TypeTwice { task_type }
            | Self::RunPrefix { task_type, .. }
            | Self::BadUnit { task_type, .. }
            | Self::AllExcluded { task_type }
            | Self::ArmFailed { task_type, .. }
            | Self::MissingAnswers { task_type, .. } => Some(task_type),
            Self::InfraGuard(report) => Some(&report.task_type),
            Self::NoSlots | Self::Params(_) | Self::Cancelled | Self::Protocol(_) => None,
        }
    }
}

impl Fault for GateFailure {
    fn class(&self) -> ExitClass {
        match self {
            Self::EmptyLadder { .. } | Self::LadderTooLong { .. } => ExitClass::Data,
            Self::UnitTooLarge { .. } | Self::NoSlots => ExitClass::Usage,
            Self::Params(error) => error.class(),
            Self::InfraGuard(_) | Self::AllExcluded { .. } => ExitClass::Endpoint,
            Self::Cancelled => ExitClass::Interrupted,
            Self::TypeTwice { .. }
            | Self::RunPrefix { .. }
            | Self::BadUnit { .. }
            | Self::ArmFailed { .. }
            | Self::MissingAnswers { .. }
            | Self::Protocol(_) => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::EmptyLadder { .. } => "gate.empty_ladder",
            Self::LadderTooLong { .. } => "gate.ladder_too_long",
            Self::UnitTooLarge { .. } => "gate.unit_too_large",
            Self::NoSlots => "gate.no_slots",
            Self::TypeTwice { .. } => "gate.type_twice",
            Self::RunPrefix { .. } => "gate.run_prefix",
            Self::BadUnit { .. } => "gate.bad_unit",
            Self::Params(error) => error.code(),
            Self::InfraGuard(_) => "gate.infra_guard",
            Self::AllExcluded { .. } => "gate.all_excluded",
            Self::ArmFailed { .. } => "gate.arm_failed",
            Self::Cancelled => "gate.cancelled",
            Self::MissingAnswers { .. } => "gate.missing_answers",
            Self::Protocol(_) => "gate.protocol",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnitTooLarge { questions, .. } => {
                Some(format!("a pair runs both its questions at once: set the concurrency to at least {questions}"))
            }
            Self::NoSlots => Some("set the concurrency to at least 1, or 2 with pairs".into()),
            Self::InfraGuard(report) if report.blames_candidate_format() => Some(
                "every failure is an unreadable answer of the candidate: it seems to break the output format".into(),
            ),
            Self::InfraGuard(_) | Self::AllExcluded { .. } => {
                Some("check the inference infrastructure: `trm doctor` tests each endpoint".into())
            }
            Self::Params(error) => error.hint(),
            Self::EmptyLadder { .. }
            | Self::LadderTooLong { .. }
            | Self::TypeTwice { .. }
            | Self::RunPrefix { .. }
            | Self::BadUnit { .. }
            | Self::ArmFailed { .. }
            | Self::Cancelled
            | Self::MissingAnswers { .. }
            | Self::Protocol(_) => None,
        }
    }
}

/// Technical failures of one arm, in questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FaultCounts {
    /// Questions that ended with `error`.
    pub error: u32,
    /// Questions that ended with `parse_error`.
    pub parse_error: u32,
    /// Questions finished in this arm, failed or not.
    pub inferences: u32,
}

impl FaultCounts {
    /// Questions that failed technically.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.error.saturating_add(self.parse_error)
    }

    pub(super) fn add(&mut self, stop_reason: StopReason) {
        self.inferences = self.inferences.saturating_add(1);
        match stop_reason {
            StopReason::Error => self.error = self.error.saturating_add(1),
            StopReason::ParseError => self.parse_error = self.parse_error.saturating_add(1),
            StopReason::Finished | StopReason::BudgetExceeded => {}
        }
    }
}

/// What the INFRA guard saw when it pulled the brake.
#[derive(Debug, Clone, PartialEq)]
pub struct GuardReport {
    /// The type.
    pub task_type: TaskType,
    /// Units with a technical failure in at least one arm.
    pub errors: u32,
    /// Questions finished in both arms, cached answers not counted.
    pub inferences: u32,
    /// The share that is tolerated, 0 to 1.
    pub limit: f64,
    /// Failures of the current skill's arm.
    pub base: FaultCounts,
    /// Failures of the candidate's arm.
    pub cand: FaultCounts,
}

impl GuardReport {
    /// Failed units over finished questions.
    #[must_use]
    pub fn rate(&self) -> f64 {
        f64::from(self.errors) / f64::from(self.inferences.max(1))
    }

    /// Whether only the candidate's arm fails, and only by unreadable output.
    #[must_use]
    pub fn blames_candidate_format(&self) -> bool {
        self.base.failed() == 0 && self.cand.error == 0 && self.cand.parse_error > 0
    }
}

impl fmt::Display for GuardReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} units with technical failures in {} inferences ({:.1} %) exceed the limit of {:.1} %",
            self.errors,
            self.inferences,
            self.rate() * 100.0,
            self.limit * 100.0
        )?;
        for (name, arm) in [("base", &self.base), ("cand", &self.cand)] {
            write!(f, "; {name} arm: {} error, {} parse_error of {}", arm.error, arm.parse_error, arm.inferences)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unreadable_candidate_answers_blame_the_candidate() {
        let broken = FaultCounts { error: 0, parse_error: 4, inferences: 6 };
        let report = |base, cand| {
            GateFailure::InfraGuard(Box::new(GuardReport {
                task_type: "Counting".parse().unwrap(),
                errors: 4,
                inferences: 12,
                limit: 0.1,
                base,
                cand,
            }))
        };
        let clean = FaultCounts { inferences: 6, ..FaultCounts::default() };
        let format = report(clean, broken);
        assert!(format.hint().unwrap().contains("output format"));
        assert_eq!(
            format.to_string(),
            "gate Counting: 4 units with technical failures in 12 inferences (33.3 %) exceed the limit of 10.0 %; \
             base arm: 0 error, 0 parse_error of 6; cand arm: 0 error, 4 parse_error of 6"
        );
        assert!(report(broken, broken).hint().unwrap().contains("infrastructure"));
        assert!(report(clean, FaultCounts { error: 1, ..broken }).hint().unwrap().contains("infrastructure"));
    }
}
