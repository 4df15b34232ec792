//! Import: nothing is imported half, and importing the same again changes nothing.

mod build;
mod next_qa;
mod questions;
mod report;
mod stage;
mod trees;

pub use build::{BuildOptions, build_tree_file, build_trees};
pub use next_qa::{NEXT_QA_TYPES, NextQaOptions, import_next_qa, next_qa_type};
pub use questions::import_questions;
pub use report::{ImportReport, QuestionsOutcome, QuestionsReport, TreesReport, WithoutTree};
pub use stage::Target;
pub use trees::import_trees;
