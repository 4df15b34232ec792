//! What the inference plug-ins report about one answer.

use serde::{Deserialize, Serialize};

use super::step_row;
use crate::store::keys::AnswerKey;

/// Malformed fields of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidationFlags {
    /// Stable names of the flags, sorted.
    pub flags: Vec<String>,
    /// Details as JSON text.
    pub details: String,
}

step_row!(ValidationFlags, ValidationFlags, AnswerKey);

/// Nodes that the evidence cites.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnchorCheck {
    /// Cited node ids, as written, in order.
    pub cited: Vec<String>,
    /// Of these, unknown in the tree.
    pub missing: Vec<String>,
    /// Of these, known but never visited.
    pub unvisited: Vec<String>,
}

step_row!(AnchorCheck, AnchorCheck, AnswerKey);

/// Frames of an answer's `observe_frame` calls.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ObserveFrameHealth {
    /// Frames asked for.
    pub asked: u32,
    /// Of these, files that exist.
    pub found: u32,
    /// Of these, read by the vision model.
    pub read: u32,
    /// Of those found, not read.
    pub failed: u32,
    /// What failed, one text per failure.
    pub failures: Vec<String>,
}

step_row!(ObserveFrameHealth, ObserveFrameHealth, AnswerKey);
