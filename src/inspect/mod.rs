//! Reading views over the store, for people and as JSON.
//!
//! A view is a plain serialisable value made from one snapshot; how it looks is the command line's business.

mod answer;
mod run;
mod status;

pub use answer::{AnswerView, SpanView, answers_of};
pub use run::{PhaseView, RunDetail, RunView, UsageView, run_detail, runs};
pub use status::{StatusView, status};
