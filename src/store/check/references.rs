//! Versions, texts, pointers and seeds: everything that is named exists.

use std::collections::{BTreeMap, BTreeSet};

use redb::ReadableTable;

use super::report::{CheckReport, Invariant};
use super::scope_rows::describe;
use crate::domain::{ContentHash, FileName, RunId, VersionName};
use crate::store::codec;
use crate::store::error::StoreError;
use crate::store::rows::{Content, Pointer, Run, Seed, Version, VersionKind, VersionPair};
use crate::store::schema::{CONTENTS, MANIFEST, RUNS, SEEDS, VERSIONS};
use crate::store::snapshot::{Snapshot, with_table};

/// What rows may refer to.
#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) runs: BTreeMap<RunId, Run>,
    pub(super) versions: BTreeSet<(VersionKind, VersionName)>,
    pub(super) contents: BTreeSet<ContentHash>,
}

impl Known {
    pub(super) fn needs_run(&self, run: &RunId, place: &str, report: &mut CheckReport) {
        if !self.runs.contains_key(run) {
            report.add(Invariant::Run, place, format!("the run {run} is not recorded"));
        }
    }

    pub(super) fn needs_version(&self, kind: VersionKind, name: VersionName, place: &str, report: &mut CheckReport) {
        if !self.versions.contains(&(kind, name)) {
            report.add(Invariant::Version, place, format!("there is no version {name} of {kind}"));
        }
    }

    pub(super) fn needs_pair(&self, pair: VersionPair, place: &str, report: &mut CheckReport) {
        self.needs_version(VersionKind::Skills, pair.skills, place, report);
        self.needs_version(VersionKind::Prompts, pair.prompts, place, report);
    }

    pub(super) fn needs_texts(&self, files: &BTreeMap<FileName, ContentHash>, place: &str, report: &mut CheckReport) {
        for (file, hash) in files {
            if !self.contents.contains(hash) {
                report.add(Invariant::Content, place, format!("the text {} of {file} is not stored", hash.short()));
            }
        }
    }
}

/// Reads what can be referred to, and checks these tables among themselves.
///
/// # Errors
/// The file cannot be read at all.
pub(super) fn check(snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<Known, StoreError> {
    let mut known = Known { contents: contents(snapshot, report)?, ..Known::default() };
    let versions = versions(snapshot, report)?;
    known.versions = versions.iter().map(|(key, _)| *key).collect();
    known.runs = runs(snapshot, report)?;
    for ((kind, name), version) in &versions {
        version_is_sound(&known, (*kind, *name), version, report);
    }
    for (id, run) in &known.runs {
        known.needs_pair(run.versions, &format!("runs {id}"), report);
    }
    pointers(snapshot, &known, report)?;
    seeds(snapshot, &known, report)?;
    Ok(known)
}

fn contents(snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<BTreeSet<ContentHash>, StoreError> {
    let mut hashes = BTreeSet::new();
    with_table!(snapshot, CONTENTS, |table| {
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let hash = ContentHash::from_bytes(*key.value());
            hashes.insert(hash);
            match codec::decode::<Content>(value.value()) {
                Ok(content) if ContentHash::of(&content.text) == hash => {}
                Ok(_) => report.add(Invariant::ContentHash, format!("contents {hash}"), "the text has another hash"),
                Err(error) => report.add(Invariant::Value, format!("contents {hash}"), error.to_string()),
            }
        }
        Ok(())
    })?;
    Ok(hashes)
}

type VersionKey = (VersionKind, VersionName);

fn versions(snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<Vec<(VersionKey, Version)>, StoreError> {
    let mut versions = Vec::new();
    with_table!(snapshot, VERSIONS, |table| {
        let mut next: BTreeMap<VersionKind, u32> = BTreeMap::new();
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let (code, number) = key.value();
            let place = format!("versions {code} v{number}");
            let (Some(kind), Some(name)) = (VersionKind::from_code(code), VersionName::from_number(number)) else {
                report.add(Invariant::Key, place, "nothing writes such a key");
                continue;
            };
            let expected = next.insert(kind, number.saturating_add(1)).unwrap_or(1);
            if number != expected {
                let found = format!("v{expected} is missing before it");
                report.add(Invariant::VersionOrder, format!("versions {kind} {name}"), found);
            }
            match codec::decode::<Version>(value.value()) {
                Ok(version) => versions.push(((kind, name), version)),
                Err(error) => report.add(Invariant::Value, format!("versions {kind} {name}"), error.to_string()),
            }
        }
        Ok(())
    })?;
    Ok(versions)
}

fn version_is_sound(known: &Known, (kind, name): VersionKey, version: &Version, report: &mut CheckReport) {
    let place = format!("versions {kind} {name}");
    known.needs_texts(&version.files, &place, report);
    if let Some(parent) = version.parent {
        known.needs_version(kind, parent, &place, report);
        if parent >= name {
            report.add(Invariant::VersionOrder, &place, format!("it comes from {parent}, which is not earlier"));
        }
    }
    if let Some(made_by) = &version.made_by {
        known.needs_run(&made_by.run, &place, report);
    }
}

fn runs(snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<BTreeMap<RunId, Run>, StoreError> {
    Ok(texts::<RunId, Run>(snapshot, RUNS, "runs", report)?.into_iter().collect())
}

fn pointers(snapshot: &Snapshot<'_>, known: &Known, report: &mut CheckReport) -> Result<(), StoreError> {
    for (name, pointer) in texts::<String, Pointer>(snapshot, MANIFEST, "manifest", report)? {
        let place = format!("manifest {name}");
        if crate::store::rows::PointerName::from_name(&name).is_none() {
            report.add(Invariant::Key, &place, "nothing writes such a key");
        }
        known.needs_pair(pointer.versions, &place, report);
        if let Some(moved_by) = &pointer.moved_by {
            known.needs_run(&moved_by.run, &place, report);
        }
    }
    Ok(())
}

fn seeds(snapshot: &Snapshot<'_>, known: &Known, report: &mut CheckReport) -> Result<(), StoreError> {
    for (name, seed) in texts::<String, Seed>(snapshot, SEEDS, "seeds", report)? {
        // Self-contained: its evaluation's run is provenance, not a reference.
        known.needs_texts(&seed.skills, &format!("seeds {name:?}"), report);
        known.needs_texts(&seed.prompts, &format!("seeds {name:?}"), report);
    }
    Ok(())
}

/// All readable records of a table with text keys; what cannot be read is a problem.
pub(super) fn texts<I: std::str::FromStr, R: codec::Record>(
    snapshot: &Snapshot<'_>,
    definition: crate::store::schema::Definition<&'static str>,
    table_name: &str,
    report: &mut CheckReport,
) -> Result<Vec<(I, R)>, StoreError> {
    let mut rows = Vec::new();
    with_table!(snapshot, definition, |table| {
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let place = format!("{table_name} {:?}", key.value());
            match (key.value().parse(), snapshot.decode::<R>(R::NAME, || place.clone(), value.value())) {
                (Ok(id), Ok(row)) => rows.push((id, row)),
                (Err(_), _) => report.add(Invariant::Key, place, "nothing writes such a key"),
                (_, Err(error)) => report.add(Invariant::Value, place, describe(&error)),
            }
        }
        Ok(())
    })?;
    Ok(rows)
}
