//! The simulated model: answers for every role, deterministic by the request's seed, with known truth.
//!
//! It reads the real messages: a strategy helps only if the skill text that was really sent describes it
//! (design 06, "The simulated world"; design 13). All it writes says "simulated model" where a person could
//! take it for a real one.

mod agent;
mod asked;
mod chat;
mod embed;
mod faults;
mod judge;
mod noise;
mod reading;
mod settings;
mod tool;
mod truth;
mod writer;

pub use chat::SimModel;
pub use embed::embed_text;
pub use settings::{FaultRates, SimSettings, WriterRates};
pub use truth::{SimTruth, TruthQuestion};
