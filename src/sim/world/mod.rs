//! Generated long videos and questions with known truth (design 06, "The simulated world").

mod damage;
mod instruction;
mod recognise;
mod sentence;
mod strategy;

pub use damage::{Damage, damages_in};
pub use strategy::{Strategy, strategies_in};
