//! Input formats and import: questions, video trees, captions, subtitles, benchmarks.

mod build;
mod error;
mod import;
mod intake;
mod json;
mod lines;
mod printable;
mod problem;
mod questions;
mod schema;
mod timed_text;
mod trees;

pub use build::{BuildError, LevelSize, LevelSizeError, LevelSizes, TreeSource, build_tree};
pub use error::DataError;
pub use import::{
    BuildOptions, ImportReport, NEXT_QA_TYPES, NextQaOptions, QuestionsOutcome, QuestionsReport, Target, TreesReport,
    WithoutTree, build_tree_file, build_trees, import_next_qa, import_questions, import_trees, next_qa_type,
};
pub use intake::{NoProgress, Progress};
pub use printable::printable;
pub use problem::{Place, Problem, Problems, Severity, Spot};
pub use questions::{QuestionRecord, QuestionSet, VideoIdField, load_questions};
pub use schema::{question_schema, tree_schema};
pub use timed_text::{TimedText, read_timed_text};
pub use trees::{StoredTree, TreeRecord, TreeSet};
