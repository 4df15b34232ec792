//! Reading views over the store, for people and as JSON.
//!
//! A view is a plain serialisable value made from one snapshot; how it looks is the command line's business.

mod answer;
mod epoch;
mod found;
mod gate;
mod pools;
mod run;
mod status;
mod step;
mod training;

pub use answer::{AnswerView, SpanView, answers_of};
pub use epoch::{EpochView, HoldoutView, MomentumView, ProbationView, ScoreView, ShadowView, epoch};
pub(crate) use found::pick_type;
pub use found::{InspectError, config_of, steps_of, training_run};
pub(crate) use gate::exit_of;
pub use gate::{GateRow, GateView, gates};
pub use pools::{PoolCounts, PoolView, PoolsView, pools};
pub use run::{PhaseView, RunDetail, RunView, UsageView, run_detail, runs};
pub use status::{StatusView, TrainingStatus, status};
pub use step::{AnswerCounts, EditView, EvolutionView, PackView, StepView, TypeView, step};
pub use training::{
    ActionLine, EpochLine, FailureLine, StepLine, TrainingView, VersionsView, progress_words, training,
};
