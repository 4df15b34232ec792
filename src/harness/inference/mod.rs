//! Questions answered concurrently, each answer durable with its trace before it counts.

mod answers;
mod convert;
mod guard;
mod plan;
mod sink;
mod stop;
mod tally;

pub(crate) use answers::now_ms;
pub use answers::{InferenceError, answer_all};
pub(super) use convert::{add_calls, read_by};
pub use guard::{GuardBreach, check_guard};
pub use plan::{AnswerPlan, Answered, Bench};
pub use sink::StoreSink;
pub use stop::StopSignal;
pub use tally::{NoReport, Report, Tally};
