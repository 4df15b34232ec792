//! Input formats and import: questions, video trees, captions, subtitles, benchmarks.

mod error;
mod intake;
mod json;
mod lines;
mod printable;
mod problem;
mod questions;
mod trees;

pub use error::DataError;
pub use intake::{NoProgress, Progress};
pub use printable::printable;
pub use problem::{Place, Problem, Problems, Severity, Spot};
pub use questions::{QuestionRecord, QuestionSet, VideoIdField, load_questions};
pub use trees::{StoredTree, TreeRecord, TreeSet};
