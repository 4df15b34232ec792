//! From what a model wrote to a letter, or to the reason why there is none (design 06).
//!
//! An explicit answer field comes first ([`from_value`]), else the whole reply is read ([`from_reply`]):
//! reasoning is stripped, then a reply that is only a decorated letter, the exact text of one option,
//! the last explicit marker, and a decorated letter inside prose are tried in this order. A capital
//! letter that merely stands somewhere is never an answer, and nothing is ever drawn at random.

mod clean;
mod decorated;
mod head;
mod markers;
mod options;
mod read;

#[cfg(test)]
mod golden;

pub use clean::strip_reasoning;
pub use read::{AnswerRule, Extraction, UnparsedReason, from_reply, from_value};
