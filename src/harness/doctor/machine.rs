//! The folder and the machine it is on.

use std::path::Path;

use super::check::{Finding, Subject};
use crate::domain::ExitClass;
use crate::store::StoreReader;
use crate::store::rows::VersionKind;

/// Below this a training will stop within hours.
const LITTLE_SPACE: u64 = 2 << 30;
/// Below this the store cannot even compact itself.
const NO_SPACE: u64 = 64 << 20;
/// The first release of this program was after this: a clock that shows less is wrong (2026-01-01).
const PLAUSIBLE_MS: i64 = 1_767_225_600_000;

pub(super) fn workspace(subject: &Subject<'_>) -> Vec<Finding> {
    let root = subject.workspace.root();
    if root.is_dir() {
        return vec![Finding::ok("workspace", root.display().to_string())];
    }
    let detail = format!("{} is no folder", root.display());
    vec![Finding::fail("workspace", ExitClass::Usage, detail, "make it with 'trm init', or mend run.workspace")]
}

pub(super) fn permissions(subject: &Subject<'_>) -> Vec<Finding> {
    let root = subject.workspace.root();
    vec![match tempfile::Builder::new().prefix(".trm-doctor-").tempfile_in(root) {
        Ok(_) => Finding::ok("permissions", "files can be written here"),
        Err(error) => Finding::fail(
            "permissions",
            ExitClass::Store,
            format!("{} cannot be written: {error}", root.display()),
            "own the folder, or mount its file system for writing",
        ),
    }]
}

/// Who may read the keys.
pub(super) fn secrets_file(subject: &Subject<'_>) -> Vec<Finding> {
    use std::os::unix::fs::PermissionsExt;
    let file = subject.workspace.env_file();
    let Ok(metadata) = file.metadata() else { return Vec::new() };
    if metadata.permissions().mode() & 0o077 == 0 {
        return vec![Finding::ok(".env", "readable by its owner only")];
    }
    vec![Finding::warn(".env", "other users of this machine may read the keys", "chmod 600 .env")]
}

pub(super) fn disk_space(subject: &Subject<'_>) -> Vec<Finding> {
    let root = subject.workspace.root();
    let Ok(space) = rustix::fs::statvfs(root) else { return Vec::new() };
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let detail = format!("{} free", bytes(free));
    vec![if free < NO_SPACE {
        Finding::fail("disk space", ExitClass::Store, detail, "free some space, or move the workspace")
    } else if free < LITTLE_SPACE {
        Finding::warn("disk space", detail, "a long training may need more: free some space")
    } else {
        Finding::ok("disk space", detail)
    }]
}

/// A clock that is behind what the store holds confuses every date that follows.
pub(super) fn clock(subject: &Subject<'_>) -> Vec<Finding> {
    let now = jiff::Timestamp::now();
    let newest = newest_date(&subject.workspace.store()).unwrap_or(PLAUSIBLE_MS).max(PLAUSIBLE_MS);
    let shown = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    if now.as_millisecond() >= newest {
        return vec![Finding::ok("clock", shown)];
    }
    vec![Finding::warn("clock", format!("{shown} is before what the store holds"), "set the clock of this machine")]
}

/// The newest date in the store, if it can be read.
fn newest_date(store: &Path) -> Option<i64> {
    let snapshot = StoreReader::open(store).ok()?.snapshot().ok()?;
    let runs = snapshot.runs().ok()?.into_iter().map(|(_, run)| run.created_ms);
    let versions = snapshot.versions(VersionKind::Skills).ok()?.into_iter().map(|(_, version)| version.created_ms);
    runs.chain(versions).max()
}

/// A size for people.
pub(super) fn bytes(count: u64) -> String {
    let units = [("GiB", 1_u64 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.into_iter().find(|(_, size)| count >= *size) {
        Some((unit, size)) => format!("{}.{} {unit}", count / size, count % size * 10 / size),
        None => format!("{count} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_for_people() {
        assert_eq!(bytes(1023), "1023 bytes");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(u64::MAX), "17179869183.9 GiB");
    }
}
