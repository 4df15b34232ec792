//! What is stored: one plain struct per record, apart from the types of the layers above.
//!
//! A field never changes its meaning; a change is a new version (see `codec::Record`).

mod answer;
mod diagnosis;
mod gate;
mod health;
mod run;
mod slow;
mod step_row;
mod training;
mod usage;
mod v1;
mod version;

pub use answer::{Call, Outcome, Prediction, SpanKind, Tokens, TraceSpan};
pub use diagnosis::{CasePack, ClipInfo, Evolution, EvolutionStatus, QuestionMetrics};
pub use gate::{FailedArm, GateEvidence, GateStop, Quadrant, QuadrantPair, StepAction, StepReport};
pub use health::{AnchorCheck, ObserveFrameHealth, ValidationFlags};
pub use run::{MadeBy, Run, RunEvent, RunMode, RunState};
pub use slow::{
    DualMetricEval, EpochReport, EvalCounts, EvalReport, ExpectedAnswers, HoldoutEval, Momentum, MomentumStatus,
    ProbationOutcome, ProbationSettlement, ScopeMark, ShadowGate, SystemToolAction, VersionPair,
};
pub use step_row::StepRow;
pub(crate) use step_row::{record, record_item, step_row};
pub use training::{
    BaselineEntry, BaselineKey, Checkpoint, GateThresholds, Ladder, LadderEntry, PoolUnit, Pools, Probation, Progress,
    RejectedEdit, StartState,
};
pub use usage::{Heartbeat, Usage, UsageKey};
pub use version::{Content, Pointer, PointerName, Seed, Version, VersionKind};

use super::names::stored_enum;
