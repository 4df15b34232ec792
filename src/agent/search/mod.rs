//! Finding nodes by text: an index per tree, built once and shared.

mod index;
mod lexical;
mod words;

pub use index::{Hit, TreeIndexes};

pub(super) use index::{is_searchable, search};
