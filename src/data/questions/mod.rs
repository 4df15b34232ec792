//! Questions: formats, rules, and the set with its fingerprint (design 02).

mod array;
mod fields;
mod index;
mod jsonl;
mod nested;
mod normalise;
mod option_text;
mod parquet;
mod record;
mod set;
mod source;

pub(in crate::data) use index::{SetCheck, SetFacts};
pub(in crate::data) use normalise::{RawQuestion, id_problem, normalise};
pub use record::{QuestionRecord, VideoIdField};
pub use set::{QuestionSet, load_questions};
pub(in crate::data) use set::{Scan, each_question, scan_questions};
