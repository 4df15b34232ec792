//! What an evolution leaves behind.

use serde::{Deserialize, Serialize};

use crate::domain::{FileName, VersionName};
use crate::evolution::patch::{Edit, EditReport};

/// What was evolved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvolutionKind {
    /// The skill of a task type.
    Skill,
    /// The system prompt.
    System,
    /// A pair of a tool's prompts.
    Tool,
}

/// How the candidate came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Branch {
    /// A: only the appendix grew.
    LapseOnly,
    /// B: the body was written anew.
    Rewrite,
    /// C: edits of the text.
    Patch,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvolutionStatus {
    /// There is a candidate that differs from the current text.
    Evolved,
    /// The writer gave nothing that passed the checks.
    Rejected,
    /// There was nothing to do.
    Skipped,
}

/// Whether edits were left out for lack of budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ClipInfo {
    /// Whether there were more edits than the budget, and the ranking model was asked.
    pub triggered: bool,
    /// Edits that were proposed.
    pub before: usize,
    /// Edits that were kept.
    pub after: usize,
}

/// An edit and the file it is for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProposedEdit {
    /// The file.
    pub file: FileName,
    /// The edit.
    pub edit: Edit,
}

/// A note that did not make it into the appendix, or was dropped from it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DroppedNote {
    /// The note.
    pub note: String,
    /// Why.
    pub reason: String,
}

/// What consolidating the appendix did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consolidation {
    /// Notes before.
    pub before: usize,
    /// Notes after; as many as before if the result was not used.
    pub after: usize,
    /// Why the result was not used; empty if it was.
    pub refused: String,
}

/// What the writer has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WriterCost {
    /// Calls that were answered.
    pub calls: u64,
    /// Tokens read.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub completion_tokens: u64,
}

/// One evolution, from the current text to a candidate or to the reason why there is none.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvolutionRecord {
    /// What was evolved.
    pub kind: EvolutionKind,
    /// The task type; `system`; or the tool and its pair of prompts, such as `view_node_children`.
    pub subject: String,
    /// The files: one, or for a tool `extract` and `verify`.
    pub files: Vec<FileName>,
    /// The version that was read.
    pub source_version: VersionName,
    /// How the candidate came about.
    pub branch: Branch,
    /// What became of it.
    pub status: EvolutionStatus,
    /// Why it was rejected or skipped; empty if it was not.
    pub reason: String,
    /// The current text; for a tool the JSON object of [`ToolContent`](super::ToolContent).
    pub original_content: String,
    /// The candidate, in the same form; the current text if there is none.
    pub evolved_content: String,
    /// The edits that were tried on the candidate, in order.
    pub edits: Vec<ProposedEdit>,
    /// What became of each of them, by position.
    pub report: Vec<EditReport>,
    /// Whether edits were left out.
    pub clip_info: ClipInfo,
    /// How many edits were allowed.
    pub edit_budget: u32,
    /// What was wrong with each attempt that failed, in order.
    pub failed_attempts: Vec<String>,
    /// Notes that were added to the appendix.
    pub notes_added: Vec<String>,
    /// Notes that were not, or were dropped to make room.
    pub notes_dropped: Vec<DroppedNote>,
    /// Whether the appendix was consolidated.
    pub consolidation: Option<Consolidation>,
    /// What the writer has cost.
    pub cost: WriterCost,
}

impl EvolutionRecord {
    /// Whether there is a candidate to test: status `evolved`, and a text that differs.
    #[must_use]
    pub fn is_real_change(&self) -> bool {
        self.status == EvolutionStatus::Evolved && self.evolved_content != self.original_content
    }
}
