//! Training: epochs of steps and slow updates, one durable transaction after the other (design 07).
//!
//! [`train`] is the runner. What survives a crash is the checkpoint and the rows of settled scopes; everything between two
//! settlements is done again from the state that the last one left.

mod account;
mod begin;
mod candidates;
mod error;
mod evidence;
mod finish;
mod gating;
mod material;
mod memory;
mod plan;
mod prepare;
mod runner;
mod settlement;
mod slow;
mod state;
mod step;
mod story;
mod trainer;

pub use account::{ErrorAccount, error_account};
pub use begin::{RunChoice, chosen_run};
pub use error::TrainError;
pub use finish::{TestResult, TrainSummary};
pub use plan::{DryRun, TypePlan, dry_run};
pub use runner::{StopAt, TrainRequest, train};
pub use story::{NoStory, TrainEvent, TrainReport};
