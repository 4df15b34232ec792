//! An evolution as a row of the store.

use crate::domain::{ContentHash, FileName, Hasher, RunId, TaskType};
use crate::evolution::evolve::{Branch, EvolutionKind, EvolutionRecord, EvolutionStatus, ToolContent};
use crate::store::rows::{ClipInfo, Evolution, EvolutionStatus as StoredStatus};
use crate::store::{Batch, Scope, Target};

/// Adds an evolution to a batch, with the full text of its candidate (design 12: the range delete of a step removes it).
pub fn put_evolution(batch: &mut Batch, run: &RunId, scope: Scope, record: &EvolutionRecord) {
    if let Some(target) = target_of(record) {
        batch.put(run, scope, &target, &row_of(record));
    }
}

/// What an evolution changes; none for a task type that is none, which no pack has.
#[must_use]
pub fn target_of(record: &EvolutionRecord) -> Option<Target> {
    Some(match record.kind {
        EvolutionKind::Skill => Target::Skill(TaskType::new(record.subject.clone()).ok()?),
        EvolutionKind::System => Target::System,
        EvolutionKind::Tool => Target::Tool(record.subject.clone()),
    })
}

/// The texts of a candidate by file; of the current texts, if `content` is the original one.
#[must_use]
pub fn texts_of(record: &EvolutionRecord, content: &str) -> Vec<(FileName, String)> {
    let texts = match (record.kind, ToolContent::from_json(content)) {
        (EvolutionKind::Tool, Some(pair)) => vec![pair.extract, pair.verify],
        (EvolutionKind::Skill | EvolutionKind::System | EvolutionKind::Tool, _) => vec![content.to_owned()],
    };
    record.files.iter().cloned().zip(texts).collect()
}

fn row_of(record: &EvolutionRecord) -> Evolution {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let evolved = record.status == EvolutionStatus::Evolved;
    // Of the attempts that failed, the last one was followed by another only if something came of it.
    let body_changed = evolved && record.branch != Branch::LapseOnly;
    let failed = record.failed_attempts.len();
    let retries = if body_changed { failed } else { failed.saturating_sub(1) };
    Evolution {
        status: match record.status {
            EvolutionStatus::Evolved if record.branch == Branch::LapseOnly => StoredStatus::AppliedAppend,
            EvolutionStatus::Evolved => StoredStatus::Applied,
            EvolutionStatus::Rejected => StoredStatus::Rejected,
            EvolutionStatus::Skipped => StoredStatus::Skipped,
        },
        reason: (!record.reason.is_empty()).then(|| record.reason.clone()),
        branch: branch_name(record.branch).to_owned(),
        source_version: record.source_version,
        base_hash: base_hash(record),
        candidate: if record.is_real_change() { texts_of(record, &record.evolved_content) } else { Vec::new() },
        edits: json(&record.edits),
        apply_report: json(&record.report),
        ranking: None,
        clip: Some(ClipInfo {
            triggered: record.clip_info.triggered,
            before: number(record.clip_info.before),
            after: number(record.clip_info.after),
        }),
        edit_budget: record.edit_budget,
        retries: number(retries),
        lapse_notes: record.notes_added.clone(),
    }
}

/// `lapse`, `rewrite` or `patch`.
#[must_use]
pub fn branch_name(branch: Branch) -> &'static str {
    match branch {
        Branch::LapseOnly => "lapse",
        Branch::Rewrite => "rewrite",
        Branch::Patch => "patch",
    }
}

/// The hash of the text of one file; of several, one over all in order.
fn base_hash(record: &EvolutionRecord) -> ContentHash {
    let texts = texts_of(record, &record.original_content);
    if let [(_, text)] = texts.as_slice() {
        return ContentHash::of(text);
    }
    let mut hasher = Hasher::new("trm.evolution.base");
    for (file, text) in &texts {
        hasher.part(file.as_str()).part(text);
    }
    hasher.finish()
}

/// JSON text; plain values always have one.
fn json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
