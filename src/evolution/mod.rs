//! The decision kernel: gate mathematics, scheduling, patching, diagnosis and evolving.
//!
//! Pure: events and values in, decisions out. It depends on [`crate::domain`],
//! `std`, serde types and `futures`; never on the store,
//! the network, a runtime, the file system or the command line. Anyone can lift
//! it out and run it on fakes; `tests/it/architecture.rs` enforces this.

mod asking;
pub mod diagnosis;
mod error;
pub mod evolve;
pub mod gate;
pub mod json;
pub mod momentum;
pub mod patch;
pub mod ports;
pub mod scheduler;
mod skill_text;
pub mod templates;
pub mod types;

pub use asking::CallScope;
pub use error::EvolutionError;
pub use skill_text::{resolve_skill_file, skill_body, skill_steps};
