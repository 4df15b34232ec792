//! The rejected-edit memory between the kernel, which reads it, and the checkpoint, which keeps it.

use serde::{Deserialize, Serialize};

use crate::evolution::evolve::{EvolutionRecord, GateFacts, RejectedEdit, rejected_edits};
use crate::evolution::patch::Edit;
use crate::evolution::scheduler::SettledGate;
use crate::store::rows;

/// What is kept of one edit: the JSON text of `summary`.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    place: String,
    edit: Option<Edit>,
    #[serde(default)]
    note: String,
}

/// What the gate found, for the writer.
pub(super) fn gate_facts(gate: &SettledGate) -> GateFacts {
    let outcome = &gate.outcome;
    GateFacts {
        stop_reason: outcome.stop_reason.name().to_owned(),
        e_value: outcome.e_value,
        w: outcome.w,
        l: outcome.l,
        n_used: outcome.n_used,
    }
}

/// The applied edits of a candidate, as the checkpoint keeps them; `gate` is none for a candidate on probation.
pub(super) fn remembered(
    record: &EvolutionRecord,
    place: &str,
    global_step: u32,
    gate: Option<&GateFacts>,
) -> Vec<rows::RejectedEdit> {
    let stored = |edit: RejectedEdit| {
        let kept = Kept { place: edit.place, edit: edit.edit, note: edit.note };
        rows::RejectedEdit {
            summary: serde_json::to_string(&kept).unwrap_or(kept.note),
            source_version: record.source_version,
            global_step,
            reason: edit.gate.as_ref().map_or_else(|| "rollback".to_owned(), |gate| gate.stop_reason.clone()),
            wins: edit.gate.as_ref().map(|gate| gate.w),
            losses: edit.gate.as_ref().map(|gate| gate.l),
            e_value: edit.gate.as_ref().map(|gate| gate.e_value),
        }
    };
    rejected_edits(record, place, gate).into_iter().map(stored).collect()
}

/// What the writer is shown of the memory of a task type.
pub(super) fn shown(memory: &[rows::RejectedEdit]) -> Vec<RejectedEdit> {
    memory
        .iter()
        .map(|stored| {
            let kept: Option<Kept> = serde_json::from_str(&stored.summary).ok();
            let kept = kept.unwrap_or_else(|| Kept { place: String::new(), edit: None, note: stored.summary.clone() });
            let gate = match (stored.wins, stored.losses, stored.e_value) {
                (Some(w), Some(l), Some(e_value)) => {
                    Some(GateFacts { stop_reason: stored.reason.clone(), e_value, w, l, n_used: w.saturating_add(l) })
                }
                _ => None,
            };
            RejectedEdit { place: kept.place, edit: kept.edit, note: kept.note, gate }
        })
        .collect()
}
