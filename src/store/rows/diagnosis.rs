//! Diagnosis and evolution: metrics of one question, case packs, what the writer made of them.

use serde::{Deserialize, Serialize};

use super::{step_row, stored_enum};
use crate::domain::{ContentHash, FileName, QuestionId, TaskType, VersionName};
use crate::store::codec::Form;
use crate::store::keys::Target;

/// Stage 1 of the diagnosis of one question (design 05): seven rule metrics, five judge metrics, the attribution.
///
/// Metrics that are structures are JSON text; a judge metric is null when its judge could not be read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionMetrics {
    /// The question's task type.
    pub task_type: TaskType,
    /// Whether the answer was right.
    pub correct: bool,
    /// Rule: whether the output kept its format.
    pub format_ok: bool,
    /// Rule: share of the step budget used, 0 to 1.
    pub budget_used: f64,
    /// Rule: `high_conf_wrong`, `low_conf_right` or nothing.
    pub calibration: Option<String>,
    /// Rule: share of node visits that repeat one, 0 to 1.
    pub repeat_visit_rate: f64,
    /// Rule: maximum trigram Jaccard similarity of consecutive queries, 0 to 1.
    pub query_repetition: f64,
    /// Rule: level-jump pattern, JSON text.
    pub level_jumps: String,
    /// Rule: calls per tool, JSON text.
    pub tool_usage: String,
    /// Judge: quality per span, JSON text.
    pub span_quality: Option<String>,
    /// Judge: missed nodes, JSON text.
    pub missed_nodes: Option<String>,
    /// Judge: adherence per skill step, JSON text.
    pub skill_adherence: Option<String>,
    /// Judge: confirmation bias, JSON text.
    pub confirmation_bias: Option<String>,
    /// Judge: evidence sufficiency, JSON text.
    pub evidence_sufficiency: Option<String>,
    /// Whether a judge metric is null because its answers could not be read.
    pub degraded: bool,
    /// Attribution: `search_failure`, `extraction_failure`, `reasoning_failure`, `mixed`; none for right answers.
    pub error_type: Option<String>,
    /// Attribution: sub-class of a reasoning failure.
    pub error_subtype: Option<String>,
    /// Attribution: `defect` or `lapse`.
    pub cause_category: Option<String>,
    /// Attribution: the note of a lapse.
    pub lapse_note: Option<String>,
}

step_row!(QuestionMetrics, QuestionMetrics, QuestionId);

/// What was shown to the writer model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CasePack {
    /// The pack, JSON text.
    pub pack: String,
    /// Questions whose cases it holds, sorted: their units are no gate units of this step (invariant 3).
    pub questions: Vec<QuestionId>,
    /// Of these, failures.
    pub failures: u32,
    /// Of these, successes.
    pub successes: u32,
}

step_row!(CasePack, CasePack, Target, FORM = Form::Zstd);

stored_enum!(
    /// How an evolution ended.
    EvolutionStatus, "status of an evolution" {
        /// A candidate with edits.
        Applied = "applied",
        /// A candidate whose only change is the appendix.
        AppliedAppend = "applied_append",
        /// A candidate was written and refused by validation.
        Rejected = "rejected",
        /// Nothing was written.
        Skipped = "skipped",
    }
);

/// How edits were clipped to the edit budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClipInfo {
    /// Whether there were more edits than the budget.
    pub triggered: bool,
    /// Edits before.
    pub before: u32,
    /// Edits after.
    pub after: u32,
}

/// What the writer model made of a case pack, with the full candidate text, so that a range delete removes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evolution {
    /// How it ended.
    pub status: EvolutionStatus,
    /// Why, when rejected or skipped.
    pub reason: Option<String>,
    /// `lapse`, `rewrite` or `patch`.
    pub branch: String,
    /// The version whose text it started from: of skills for a skill, of prompts else.
    pub source_version: VersionName,
    /// Hash of the text it started from, all files in order.
    pub base_hash: ContentHash,
    /// Full candidate text per file; empty if there is none.
    pub candidate: Vec<(FileName, String)>,
    /// The edits, JSON text.
    pub edits: String,
    /// The apply report, JSON text, edits and rows in the same order.
    pub apply_report: String,
    /// How the edits were ranked, JSON text.
    pub ranking: Option<String>,
    /// How they were clipped.
    pub clip: Option<ClipInfo>,
    /// Edits allowed in this step.
    pub edit_budget: u32,
    /// Attempts after the first.
    pub retries: u32,
    /// Notes added to the appendix.
    pub lapse_notes: Vec<String>,
}

step_row!(Evolution, Evolution, Target, FORM = Form::Zstd);
