//! Edits, and what became of them.

use serde::{Deserialize, Serialize};

/// What an edit does. Unknown operations are kept, so that the report can name them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum EditOp {
    /// Adds the content before the earliest frozen range that is not front matter, else at the end.
    Append,
    /// Adds the content after the line in which the target's first occurrence ends.
    InsertAfter,
    /// Puts the content in the place of the target's first occurrence.
    Replace,
    /// Removes the target's first occurrence.
    Delete,
    /// Anything else; never applied.
    Other(String),
}

impl EditOp {
    /// The name, as in the writer's reply.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Append => "append",
            Self::InsertAfter => "insert_after",
            Self::Replace => "replace",
            Self::Delete => "delete",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for EditOp {
    fn from(name: String) -> Self {
        match name.as_str() {
            "append" => Self::Append,
            "insert_after" => Self::InsertAfter,
            "replace" => Self::Replace,
            "delete" => Self::Delete,
            _ => Self::Other(name),
        }
    }
}

impl From<EditOp> for String {
    fn from(op: EditOp) -> Self {
        op.name().to_owned()
    }
}

/// One edit, as a writer proposes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// What to do.
    pub op: EditOp,
    /// The text to find, literally; not used by `append`.
    pub target: String,
    /// The text to add; trimmed before use, not used by `delete`.
    pub content: String,
}

/// What became of an edit. Every status that begins with `applied` changed the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EditStatus {
    /// Done as asked.
    Applied,
    /// Appended: the target of an `insert_after` was not found, or only the appendix grew.
    AppliedAppend,
    /// The target, or the place after it, lies in a frozen range.
    SkippedFrozen,
    /// The target does not occur.
    SkippedTargetNotFound,
    /// `replace` or `delete` without a target.
    SkippedEmptyTarget,
    /// `append` or `insert_after` without content.
    SkippedEmptyContent,
    /// It would have made a region marker.
    SkippedMarker,
    /// It would have changed nothing.
    SkippedNoChange,
    /// There is no such operation.
    SkippedUnknownOp,
    /// It was applied to a candidate that failed its checks and was dropped.
    SkippedCandidateFailed,
}

impl EditStatus {
    /// Whether the text was changed.
    #[must_use]
    pub fn is_applied(self) -> bool {
        match self {
            Self::Applied | Self::AppliedAppend => true,
            Self::SkippedFrozen
            | Self::SkippedTargetNotFound
            | Self::SkippedEmptyTarget
            | Self::SkippedEmptyContent
            | Self::SkippedMarker
            | Self::SkippedNoChange
            | Self::SkippedUnknownOp
            | Self::SkippedCandidateFailed => false,
        }
    }

    /// The stable name, snake_case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::AppliedAppend => "applied_append",
            Self::SkippedFrozen => "skipped_frozen",
            Self::SkippedTargetNotFound => "skipped_target_not_found",
            Self::SkippedEmptyTarget => "skipped_empty_target",
            Self::SkippedEmptyContent => "skipped_empty_content",
            Self::SkippedMarker => "skipped_marker",
            Self::SkippedNoChange => "skipped_no_change",
            Self::SkippedUnknownOp => "skipped_unknown_op",
            Self::SkippedCandidateFailed => "skipped_candidate_failed",
        }
    }
}

/// One row of the report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EditReport {
    /// Place of the edit in the list, from 0.
    pub index: usize,
    /// Its operation.
    pub op: EditOp,
    /// What became of it.
    pub status: EditStatus,
    /// Its target, at most 200 characters.
    pub target: String,
    /// The start of its content, at most 80 characters.
    pub content_preview: String,
}

impl EditReport {
    pub(in crate::evolution) fn new(index: usize, edit: &Edit, status: EditStatus) -> Self {
        Self {
            index,
            op: edit.op.clone(),
            status,
            target: edit.target.chars().take(200).collect(),
            content_preview: edit.content.trim().chars().take(80).collect(),
        }
    }
}
