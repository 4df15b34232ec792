//! What is asked of the generator, what it gives, and what it knows about its questions.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::strategy::Strategy;
use crate::domain::{ContentHash, Hasher, NodeId, Question, QuestionId, VideoId, VideoTree};

/// The world to generate.
#[derive(Debug, Clone, PartialEq)]
pub struct WorldSpec {
    /// How many videos, at least 1.
    pub videos: usize,
    /// All randomness derives from it: equal specs give equal bytes.
    pub seed: u64,
    /// How many questions of each of the twelve task types.
    pub questions_per_type: usize,
    /// The shortest video, in minutes.
    pub min_minutes: u32,
    /// The longest video, in minutes.
    pub max_minutes: u32,
    /// Which share of the questions should belong to a pair, 0 to 1; types that have no pairs stay without.
    pub pair_share: f64,
}

impl Default for WorldSpec {
    fn default() -> Self {
        Self { videos: 24, seed: 42, questions_per_type: 30, min_minutes: 10, max_minutes: 60, pair_share: 0.25 }
    }
}

/// A generated world.
#[derive(Debug, Clone, PartialEq)]
pub struct World {
    /// One tree for each video, by id.
    pub trees: Vec<VideoTree>,
    /// All questions, video by video.
    pub questions: Vec<Question>,
    /// What the questions need.
    pub truth: Truth,
    /// The PNG files of each video by file name, as the nodes' `frame` fields name them.
    pub frames: BTreeMap<VideoId, BTreeMap<String, Vec<u8>>>,
}

/// What the generator knows about its questions: for the simulated model and for tests, never for the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Truth {
    /// The version of this format, 1.
    pub version: u32,
    /// The seed of the world.
    pub seed: u64,
    /// Each question by id.
    #[schemars(with = "BTreeMap<String, QuestionTruth>")]
    pub questions: BTreeMap<QuestionId, QuestionTruth>,
}

impl Truth {
    /// The version that this program writes.
    pub const VERSION: u32 = 1;
}

/// The truth about one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct QuestionTruth {
    /// What kind of question it is within its task type, such as `sign_text`.
    pub kind: String,
    /// The strategies it takes to answer it.
    pub strategies: BTreeSet<Strategy>,
    /// The wrong option that an agent without these strategies is most likely to choose.
    pub lure: char,
    /// Where the answer is stated.
    pub evidence: Vec<Evidence>,
    /// A hash of video, question, options and answer: tells whether this truth is about that question.
    #[schemars(with = "String")]
    pub fingerprint: ContentHash,
}

/// One statement that the answer rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// The node that carries it.
    #[schemars(with = "String")]
    pub node: NodeId,
    /// Through which channel.
    pub channel: Channel,
    /// The words, as they stand there (for a time: start and end in seconds).
    pub text: String,
}

/// How a node tells something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// In the card.
    Card,
    /// In the subtitle.
    Subtitle,
    /// Only in the picture of the frame.
    Picture,
    /// By its time range.
    Time,
}

/// The hash by which a [`QuestionTruth`] knows its question.
#[must_use]
pub fn question_fingerprint(question: &Question) -> ContentHash {
    let mut hasher = Hasher::new("trm.sim.question");
    hasher.part(question.video_id.as_str()).part(question.task_type.as_str()).part(&question.question);
    for option in &question.options {
        hasher.part(&option.text);
    }
    hasher.part(question.answer.to_string());
    hasher.finish()
}
