//! What an import did, for people and for programs.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Serialize;

use super::stage::Change;
use crate::data::problem::Problems;
use crate::domain::{ContentHash, TaskType, VideoId};

/// What an import found and changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportReport {
    /// Whether anything was written; importing the same again changes nothing.
    pub changed: bool,
    /// The questions, if the source had some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub questions: Option<QuestionsReport>,
    /// The trees, if the source had some.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trees: Option<TreesReport>,
    /// Questions whose video has no tree.
    pub without_tree: WithoutTree,
    /// Everything worth knowing.
    pub problems: Problems,
}

/// The question set that is in place now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QuestionsReport {
    /// The file.
    pub file: PathBuf,
    /// How many questions.
    pub questions: u64,
    /// How many units: pairs count once.
    pub units: u64,
    /// How many of the units are pairs.
    pub pairs: u64,
    /// How many videos they are about.
    pub videos: u64,
    /// Questions by task type.
    pub task_types: BTreeMap<TaskType, u64>,
    /// The hash of the set's content.
    pub fingerprint: ContentHash,
    /// What happened to the file.
    #[serde(flatten)]
    pub outcome: QuestionsOutcome,
}

/// What happened to the file of the questions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum QuestionsOutcome {
    /// There was none.
    New,
    /// The same set was in place.
    Unchanged,
    /// Another set was in place.
    Replaced {
        /// Under which name it is kept.
        kept_as: PathBuf,
        /// Its fingerprint; none if it was no valid set.
        previous_fingerprint: Option<ContentHash>,
        /// Questions that are new by their id.
        added: u64,
        /// Questions that are gone.
        removed: u64,
        /// Questions of other content.
        changed: u64,
    },
}

/// The trees of one import.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct TreesReport {
    /// Trees that were not there before.
    pub new: u64,
    /// Trees that replaced other content.
    pub changed: u64,
    /// Trees that were in place already.
    pub unchanged: u64,
    /// Nodes in all of them.
    pub nodes: u64,
    /// Frames that were copied.
    pub frames_copied: u64,
    /// Frames that were in place already.
    pub frames_unchanged: u64,
    /// The hash over the content of all trees of the import.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<ContentHash>,
}

impl TreesReport {
    /// How many trees.
    #[must_use]
    pub fn trees(&self) -> u64 {
        self.new + self.changed + self.unchanged
    }

    pub(super) fn count(&mut self, change: Change) {
        match change {
            Change::New => self.new += 1,
            Change::Changed => self.changed += 1,
            Change::Unchanged => self.unchanged += 1,
        }
    }
}

/// Questions that cannot be answered yet.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct WithoutTree {
    /// How many questions.
    pub questions: u64,
    /// Their videos.
    pub videos: Vec<VideoId>,
}
