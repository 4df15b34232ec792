//! Video trees: reading, rules, and lazy access by video (design 02).

mod check;
mod file;
mod line_table;
mod raw;
mod record;
mod set;

pub use file::StoredTree;
pub(in crate::data) use file::{parse_tree, tree_bytes, tree_hash};
pub use record::TreeRecord;
pub use set::TreeSet;
