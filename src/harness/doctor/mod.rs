//! `trm doctor`: what is in order, what is not, and what to do about it. One function per check.

mod check;
mod data;
mod endpoints;
mod machine;
mod models;
mod store;

pub use check::{CHECKS, CheckFn, Finding, Status, Subject, examine, worst};
