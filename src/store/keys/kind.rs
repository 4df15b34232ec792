//! The kinds of rows in the table of step rows.

use std::fmt;

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $code:literal, $name:literal;)*) => {
        /// What a step row is; its code is part of the key and never changes its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind {
            $($(#[$doc])* $variant = $code,)*
        }

        impl Kind {
            /// All kinds, by code.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The stable name, snake_case: also the name of the exported data set.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }

            pub(crate) fn code(self) -> u8 {
                self as u8
            }

            pub(crate) fn from_code(code: u8) -> Option<Self> {
                match code {
                    $($code => Some(Self::$variant),)*
                    _ => None,
                }
            }
        }
    };
}

kinds! {
    /// That the scope has begun, what it is to answer, whether it is settled.
    ScopeMark = 1, "scope_mark";
    /// One answer.
    Prediction = 2, "prediction";
    /// One turn of the agent.
    Trace = 3, "trace";
    /// One model call; outside the state digest.
    Call = 4, "call";
    /// Malformed answer fields of one answer.
    ValidationFlags = 5, "validation_flags";
    /// Cited nodes of one answer that do not exist or were never visited.
    AnchorCheck = 6, "anchor_check";
    /// Frames asked for, found, read and failed in one answer.
    ObserveFrameHealth = 7, "observe_frame_health";
    /// Diagnosis of one answer.
    QuestionMetrics = 8, "question_metrics";
    /// What was shown to the writer model.
    CasePack = 9, "case_pack";
    /// What the writer model made of it.
    Evolution = 10, "evolution";
    /// One unit of a gate.
    GateEvidence = 11, "gate_evidence";
    /// One unit's quadrant after a gate.
    QuadrantPair = 12, "quadrant_pair";
    /// One task type's outcome of a step.
    StepReport = 13, "step_report";
    /// Hard, soft and mixed accuracy of a run over a pool.
    DualMetricEval = 14, "dual_metric_eval";
    /// Which version pair would be best by the mixed score.
    ShadowGate = 15, "shadow_gate";
    /// One version pair's accuracy on the test pool.
    HoldoutEval = 16, "holdout_eval";
    /// One skill file's momentum.
    Momentum = 17, "momentum";
    /// The outcome of an epoch.
    EpochReport = 18, "epoch_report";
    /// The summary of an evaluation over a question set.
    EvalReport = 19, "eval_report";
    /// The training state that a step or a slow update began with.
    StartState = 20, "start_state";
    /// What the epoch's re-run says about a skill on probation.
    ProbationSettlement = 21, "probation_settlement";
}

impl Kind {
    /// The kind of this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_names_round_trip() {
        for kind in Kind::ALL {
            assert_eq!(Kind::from_code(kind.code()), Some(*kind));
            assert_eq!(Kind::from_name(kind.name()), Some(*kind));
            assert!(kind.code() < u8::MAX, "the highest code marks the end of a scope's range");
        }
    }
}
