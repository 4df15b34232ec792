//! From a choice to a version and its texts.

use super::{FileSet, VersionsError};
use crate::config::VersionChoice;
use crate::domain::VersionName;
use crate::store::Snapshot;
use crate::store::rows::{PointerName, VersionKind};

/// The version that a choice names.
///
/// # Errors
/// There is no such version, or the store cannot be read.
pub fn resolve(
    snapshot: &Snapshot<'_>,
    kind: VersionKind,
    choice: VersionChoice,
) -> Result<VersionName, VersionsError> {
    let none = || VersionsError::None { kind, choice: choice.to_string() };
    let pointed = |name| -> Result<VersionName, VersionsError> {
        let pointer = snapshot.pointer(name)?.ok_or_else(none)?;
        Ok(match kind {
            VersionKind::Skills => pointer.versions.skills,
            VersionKind::Prompts => pointer.versions.prompts,
        })
    };
    match choice {
        VersionChoice::Named(name) if snapshot.version(kind, name)?.is_some() => Ok(name),
        VersionChoice::Named(name) => {
            Err(VersionsError::Unknown { kind, name, latest: snapshot.latest_version(kind)? })
        }
        VersionChoice::Current => pointed(PointerName::Current),
        VersionChoice::Best => pointed(PointerName::Best),
        VersionChoice::Initial => {
            let versions = snapshot.versions(kind)?;
            let untrained = versions.into_iter().rev().find(|(_, version)| version.made_by.is_none());
            untrained.map(|(name, _)| name).ok_or_else(none)
        }
    }
}

/// The texts of a version that exists.
///
/// # Errors
/// It does not exist, or the store cannot be read.
pub fn texts(snapshot: &Snapshot<'_>, kind: VersionKind, name: VersionName) -> Result<FileSet, VersionsError> {
    let name = resolve(snapshot, kind, VersionChoice::Named(name))?;
    Ok(snapshot.version_texts(kind, name)?)
}
