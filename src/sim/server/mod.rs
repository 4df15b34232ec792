//! The simulated model as an OpenAI-compatible server on loopback: the client is tested against it.

mod routes;
mod wire;

pub use routes::{ServerError, router, serve};
