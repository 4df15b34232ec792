//! JSON objects from the text of a model, in time linear in the text (design 05, seed §12.1).
//!
//! | caller | function | strategies, first that gives an object wins | if none does |
//! |---|---|---|---|
//! | judge calls of diagnosis | [`extract_object`] | fenced block → outermost braces → repair | [`JsonError`]; asked again, twice at most |
//! | writer calls: edits, rewrite, rank, consolidation | [`writer_object`] | whole text → fenced block, both strict | `None`; the caller falls back or asks again with what was wrong |
//! | tool arguments and metric fields that were stored as text | [`stored_object`] | strict → repair | `None` |
//!
//! Text that is one valid object as a whole is that object: fences inside its strings are none of ours.
//!
//! A judge's figure may be guessed from a broken reply, since a judge is asked about many
//! questions; a writer's text may not: a repaired half of an edit would be trained on. No caller
//! accepts anything but an object: a list, text or number counts as failure.

mod error;
mod extract;
mod reader;
mod repair;

pub use error::JsonError;
pub use extract::{extract_object, stored_object, writer_object};
pub use repair::repair_object;

/// A JSON object as it comes out of this module.
pub type Object = serde_json::Map<String, serde_json::Value>;
