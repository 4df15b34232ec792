//! The simulated world: generated videos and questions, and a simulated model for every role.

pub mod model;
pub mod server;
pub mod world;
