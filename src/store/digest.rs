//! The state digest: equal for trainings that learned the same.

use serde::Serialize;

use super::codec::{self, Record};
use super::error::StoreError;
use super::keys::{RowKey, Scope};
use super::rows::{
    Checkpoint, EpochReport, GateEvidence, Pointer, PointerName, QuadrantPair, StepReport, StepRow, Version,
    VersionKind,
};
use super::snapshot::Snapshot;
use crate::domain::{ContentHash, Hasher, RunId};

/// The digest of a store, with those of its parts, so that a difference can be located.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StateDigest {
    /// All parts together.
    pub digest: ContentHash,
    /// Skill and prompt versions with their texts.
    pub versions: ContentHash,
    /// Current and best.
    pub manifest: ContentHash,
    /// Training states.
    pub checkpoints: ContentHash,
    /// Evidence, quadrants, step and epoch reports, per run and scope.
    pub steps: ContentHash,
}

/// The digest over versions, manifest, checkpoints, evidence, quadrants, step and epoch reports.
///
/// It ignores run ids (runs count in order of creation), times, latency, physical layout, and what
/// timing decides: predictions of work that was launched and not consumed, the baseline cache, usage,
/// calls (design 12, 13).
///
/// # Errors
/// The file or a row cannot be read.
pub fn state_digest(snapshot: &Snapshot<'_>) -> Result<StateDigest, StoreError> {
    let mut checkpoints = Hasher::new("checkpoints");
    let mut steps = Hasher::new("steps");
    for (run, _) in snapshot.runs()? {
        if let Some(checkpoint) = snapshot.checkpoint(&run)? {
            add(&mut checkpoints, &without_run_ids(checkpoint))?;
        }
        for scope in snapshot.scopes(&run)? {
            scope_rows(snapshot, &run, scope, &mut steps)?;
        }
    }
    let parts = [versions(snapshot)?, manifest(snapshot)?, checkpoints.finish(), steps.finish()];
    let mut all = Hasher::new("trm.state");
    parts.iter().for_each(|part| {
        all.part(part.as_bytes());
    });
    let [versions, manifest, checkpoints, steps] = parts;
    Ok(StateDigest { digest: all.finish(), versions, manifest, checkpoints, steps })
}

fn versions(snapshot: &Snapshot<'_>) -> Result<ContentHash, StoreError> {
    let mut hasher = Hasher::new("versions");
    for kind in [VersionKind::Skills, VersionKind::Prompts] {
        for (name, version) in snapshot.versions(kind)? {
            hasher.part(kind.name()).part(name.to_string());
            add(&mut hasher, &without_origin(version))?;
        }
    }
    Ok(hasher.finish())
}

/// Files and ancestry; not who made it, when, and in which words.
fn without_origin(version: Version) -> Version {
    Version { note: String::new(), made_by: None, created_ms: 0, ..version }
}

fn manifest(snapshot: &Snapshot<'_>) -> Result<ContentHash, StoreError> {
    let mut hasher = Hasher::new("manifest");
    for name in PointerName::ALL {
        if let Some(pointer) = snapshot.pointer(*name)? {
            hasher.part(name.name());
            add(&mut hasher, &Pointer { moved_by: None, ..pointer })?;
        }
    }
    Ok(hasher.finish())
}

fn without_run_ids(checkpoint: Checkpoint) -> Checkpoint {
    Checkpoint { eval_prev_run_id: None, ..checkpoint }
}

fn scope_rows(snapshot: &Snapshot<'_>, run: &RunId, scope: Scope, steps: &mut Hasher) -> Result<(), StoreError> {
    let place = scope.to_string();
    // Whether a base arm was cached depends on which arms returned before their type froze.
    rows(snapshot, run, scope, &place, steps, |row| GateEvidence { base_cached: false, ..row })?;
    rows(snapshot, run, scope, &place, steps, |row: QuadrantPair| row)?;
    // Work in flight at a verdict counts in these, and how much there is depends on timing.
    rows(snapshot, run, scope, &place, steps, without_cost)?;
    rows(snapshot, run, scope, &place, steps, |row: EpochReport| row)
}

fn without_cost(report: StepReport) -> StepReport {
    StepReport { errors: None, inferences: None, wasted_runs: None, wall_ms: None, ..report }
}

fn rows<R: StepRow>(
    snapshot: &Snapshot<'_>,
    run: &RunId,
    scope: Scope,
    place: &str,
    hasher: &mut Hasher,
    lasting: impl Fn(R) -> R,
) -> Result<(), StoreError> {
    for (key, row) in snapshot.rows::<R>(run, scope)? {
        let columns = key.columns();
        hasher.part(place).part(R::KIND.name()).part(columns.sub).part(columns.item).part(columns.index.to_le_bytes());
        add(hasher, &lasting(row))?;
    }
    Ok(())
}

fn add<R: Record>(hasher: &mut Hasher, record: &R) -> Result<(), StoreError> {
    let hash = codec::content_hash(record).map_err(|source| StoreError::Unwritable { table: R::NAME, source })?;
    hasher.part(hash.as_bytes());
    Ok(())
}
