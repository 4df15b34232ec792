//! The memory of edits that the gate refused: what a writer shall not propose again.

use serde::{Deserialize, Serialize};

use super::EvolutionRecord;
use crate::evolution::patch::Edit;

/// The most entries a writer is shown, latest first to be kept.
const SHOWN: usize = 12;
/// The most characters shown of a target or content.
const SHOWN_CHARS: usize = 240;

/// What the gate found. A probation rollback has none of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GateFacts {
    /// Why the candidate was refused, such as `futility`.
    pub stop_reason: String,
    /// The e-value.
    pub e_value: f64,
    /// Pairs won.
    pub w: u32,
    /// Pairs lost.
    pub l: u32,
    /// Pairs used.
    pub n_used: u32,
}

/// One entry: an edit that was applied to a candidate which was then refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RejectedEdit {
    /// Where it was tried, such as `e1 s0`.
    pub place: String,
    /// The edit; none if none was applied, which `note` then says.
    pub edit: Option<Edit>,
    /// A sentence in the place of an edit; empty otherwise.
    pub note: String,
    /// What the gate found.
    pub gate: Option<GateFacts>,
}

/// The entries that a refused candidate leaves: exactly the edits that were applied, matched with their statuses by
/// position. An edit that was never applied was never tested and is not remembered; with none applied, one neutral
/// sentence is.
#[must_use]
pub fn rejected_edits(record: &EvolutionRecord, place: &str, gate: Option<&GateFacts>) -> Vec<RejectedEdit> {
    let entry = |edit: Option<Edit>, note: &str| RejectedEdit {
        place: place.to_owned(),
        edit,
        note: note.to_owned(),
        gate: gate.cloned(),
    };
    let rows = record.edits.iter().zip(&record.report);
    let applied: Vec<RejectedEdit> = rows
        .filter(|(_, row)| row.status.is_applied())
        .map(|(proposed, _)| entry(Some(proposed.edit.clone()), ""))
        .collect();
    if applied.is_empty() { vec![entry(None, "no edit was applied")] } else { applied }
}

/// The memory as the writer sees it: the latest entries, one a line.
pub(super) fn rejected_text(rejected: &[RejectedEdit]) -> String {
    let short = |text: &str| -> String {
        text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN_CHARS).collect()
    };
    let mut text = String::new();
    for entry in rejected.iter().skip(rejected.len().saturating_sub(SHOWN)) {
        let what = match &entry.edit {
            Some(Edit { op, target, content }) if target.is_empty() => format!("{} {:?}", op.name(), short(content)),
            Some(Edit { op, target, content }) => {
                format!("{} {:?} with {:?}", op.name(), short(target), short(content))
            }
            None => entry.note.clone(),
        };
        let why = match &entry.gate {
            Some(gate) => format!("{}: {} questions gained, {} lost", gate.stop_reason, gate.w, gate.l),
            None => "rolled back".to_owned(),
        };
        text.push_str(&format!("- {what} ({why})\n"));
    }
    text
}
