//! The client of OpenAI-compatible endpoints: one request, one reply, nothing repeated.

mod classify;
mod client;
mod content_calls;
mod lossless;
mod reply;
mod retry_after;
mod schema_order;
mod wire;

pub(super) use client::{OpenAiEndpoint, connect, install_tls, public_name};
