//! New versions from files.

use super::compare::{FileChange, compare};
use super::resolve::texts;
use super::{FileSet, VersionsError};
use crate::domain::VersionName;
use crate::store::rows::{Pointer, PointerName, Version, VersionKind, VersionPair};
use crate::store::{Batch, Snapshot, Store};

/// What an import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The version that holds the files.
    pub version: VersionName,
    /// Whether it was made now; false: an equal one existed.
    pub is_new: bool,
    /// What it was compared with.
    pub parent: Option<VersionName>,
    /// What differs from the parent.
    pub changes: Vec<FileChange>,
}

/// Stores a checked set of files as the next version, unless an equal one exists.
///
/// # Errors
/// The store cannot be read or written.
pub fn import(
    store: &Store,
    kind: VersionKind,
    files: FileSet,
    source: &str,
    note: &str,
) -> Result<Imported, VersionsError> {
    let (source, note) = (source.to_owned(), note.to_owned());
    store.transact_blocking(move |snapshot| plan(snapshot, kind, &files, &source, &note))
}

fn plan(
    snapshot: &Snapshot<'_>,
    kind: VersionKind,
    files: &FileSet,
    source: &str,
    note: &str,
) -> Result<(Batch, Imported), VersionsError> {
    let mut batch = Batch::new();
    let hashes = files.iter().map(|(file, text)| (file.clone(), batch.put_content(text))).collect();
    let versions = snapshot.versions(kind)?;
    if let Some((version, _)) = versions.iter().rev().find(|(_, version)| version.files == hashes) {
        let unchanged = Imported { version: *version, is_new: false, parent: Some(*version), changes: Vec::new() };
        return Ok((Batch::new(), unchanged));
    }
    let parent = versions.last().map(|(name, _)| *name);
    let before = match parent {
        Some(parent) => texts(snapshot, kind, parent)?,
        None => FileSet::new(),
    };
    let version = snapshot.next_version(kind)?;
    let row = Version {
        files: hashes,
        parent,
        source: source.to_owned(),
        note: note.to_owned(),
        made_by: None,
        created_ms: now_ms(),
    };
    batch.label("import version").put_version(kind, version, &row);
    Ok((batch, Imported { version, is_new: true, parent, changes: compare(&before, files) }))
}

/// The batch that makes `v1` of skills and prompts in a new store, and lets `current` point at them.
#[must_use]
pub fn initial_batch(skills: &FileSet, prompts: &FileSet, source: &str) -> Batch {
    let mut batch = Batch::new();
    batch.label("first versions");
    for (kind, files) in [(VersionKind::Skills, skills), (VersionKind::Prompts, prompts)] {
        let files = files.iter().map(|(file, text)| (file.clone(), batch.put_content(text))).collect();
        let (source, note) = (source.to_owned(), String::new());
        let row = Version { files, parent: None, source, note, made_by: None, created_ms: now_ms() };
        batch.put_version(kind, VersionName::FIRST, &row);
    }
    let versions = VersionPair { skills: VersionName::FIRST, prompts: VersionName::FIRST };
    batch.put_pointer(PointerName::Current, &Pointer { versions, val_acc: None, moved_by: None });
    batch
}

fn now_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}
