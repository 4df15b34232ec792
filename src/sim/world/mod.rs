//! Generated long videos and questions with known truth (design 06, "The simulated world").

mod captions;
mod content;
mod damage;
mod draft;
mod drafts;
mod error;
mod extras;
mod font;
mod generate;
mod grammar;
mod instruction;
mod people;
mod picture;
mod props;
mod recognise;
mod select;
mod sentence;
mod spec;
mod stage;
mod staging;
mod strategy;
mod tree;
mod write;

pub use damage::{Damage, damages_in};
pub use error::WorldError;
pub use generate::generate;
pub use picture::describe_picture;
pub use spec::{Channel, Evidence, QuestionTruth, Truth, World, WorldSpec, question_fingerprint};
pub use strategy::{Strategy, strategies_in};
pub use write::{QUESTIONS_FILE, TRUTH_FILE, VIDEOS_FOLDER, Written};
