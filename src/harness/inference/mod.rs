//! Questions answered concurrently, each answer durable with its trace before it counts.

mod answers;
mod convert;
mod guard;
mod plan;
mod pulse;
mod single;
mod sink;
mod stop;
mod tally;

pub(crate) use answers::now_ms;
pub use answers::{InferenceError, answer_all};
pub(super) use convert::read_by;
pub(in crate::harness) use convert::{AnswerPlace, add_calls};
pub use guard::{GuardBreach, check_guard};
pub use plan::{AnswerPlan, Answered, Bench};
pub(in crate::harness) use pulse::{PULSE, SignOfLife};
pub(in crate::harness) use single::{Cut, answer_on_task, majority, put_answer};
pub use sink::StoreSink;
pub use stop::StopSignal;
pub use tally::{NoReport, Report, Tally};
