//! What can go wrong with the store: each failure with a code of its own, its path and its remedy.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::codec::CodecError;
use crate::domain::{ExitClass, Fault};

/// A failure of the store. Cheap to clone, because one failed commit reaches many callers.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is no file.
    #[error("open the store {}: there is no such file", path.display())]
    NotFound {
        /// The file.
        path: PathBuf,
    },
    /// A store is to be created where something is.
    #[error("create the store {}: the file exists already", path.display())]
    AlreadyExists {
        /// The file.
        path: PathBuf,
    },
    /// The file is something else.
    #[error("open the store {}: {detail}", path.display())]
    NotAStore {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// Another process writes.
    #[error("open the store {} for writing: another process has it open", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The device or the quota is full.
    #[error("write the store {}: no space left on its device", path.display())]
    DiskFull {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// The file or its folder may not be used.
    #[error("open the store {}: permission denied", path.display())]
    PermissionDenied {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// The file system is mounted read-only.
    #[error("write the store {}: its file system is read-only", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// Any other failure of the operating system.
    #[error("read or write the store {}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: Arc<io::Error>,
    },
    /// The structure of the file is damaged.
    #[error("read the store {}: the file is damaged ({detail})", path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        detail: String,
    },
    /// A crash left the file to be repaired, and it cannot be opened for that.
    #[error("repair the store {} after a crash: {detail}", path.display())]
    NeedsRepair {
        /// The file.
        path: PathBuf,
        /// Why not.
        detail: String,
    },
    /// One value is damaged or foreign.
    #[error("read {key} of table {table} in the store {}", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The table, or the kind of step row.
        table: &'static str,
        /// The key as text.
        key: String,
        /// What is wrong with the value.
        source: CodecError,
    },
    /// A key that this program never writes.
    #[error("read the key {key} of table {table} in the store {}: nothing writes such a key", path.display())]
    ForeignKey {
        /// The file.
        path: PathBuf,
        /// The table.
        table: &'static str,
        /// The key as text.
        key: String,
    },
    /// A newer program wrote the file.
    #[error("open the store {}: its schema is version {found}, this program knows up to {known}", path.display())]
    NewerSchema {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The newest known version.
        known: u32,
    },
    /// An older program wrote the file, and it cannot be migrated now.
    #[error("open the store {}: its schema is version {found}, this program needs {known}: {detail}", path.display())]
    OlderSchema {
        /// The file.
        path: PathBuf,
        /// The version of the file.
        found: u32,
        /// The version needed.
        known: u32,
        /// Why it cannot be migrated.
        detail: String,
    },
    /// A write that presupposes something which is not so; nothing of it was written.
    #[error("write to the store: {what}")]
    Conflict {
        /// What was presupposed and what is.
        what: String,
    },
    /// A record that cannot be written.
    #[error("write a {table} to the store")]
    Unwritable {
        /// The table, or the kind of step row.
        table: &'static str,
        /// What is wrong with it.
        source: CodecError,
    },
    /// A referenced thing is missing.
    #[error("find {what} in the store {}", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
        /// What is missing.
        what: String,
    },
    /// Readers or a writer are in the way.
    #[error("{action} the store {}: other processes are using it", path.display())]
    Busy {
        /// The file.
        path: PathBuf,
        /// What was to be done.
        action: &'static str,
    },
    /// An earlier write failed, so that nothing is written any more.
    #[error("write to the store: an earlier write failed")]
    WriterStopped {
        /// The earlier failure.
        source: Arc<StoreError>,
    },
    /// The store was closed.
    #[error("write to the store {}: it was closed", path.display())]
    Closed {
        /// The file.
        path: PathBuf,
    },
    /// A bug.
    #[error("use the store {}: {detail}", path.display())]
    Internal {
        /// The file.
        path: PathBuf,
        /// What happened.
        detail: String,
    },
}

impl Fault for StoreError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Internal { .. } | Self::Unwritable { .. } => ExitClass::Internal,
            Self::WriterStopped { source } => source.class(),
            Self::NotFound { .. }
            | Self::AlreadyExists { .. }
            | Self::NotAStore { .. }
            | Self::Locked { .. }
            | Self::DiskFull { .. }
            | Self::PermissionDenied { .. }
            | Self::ReadOnly { .. }
            | Self::Io { .. }
            | Self::Corrupt { .. }
            | Self::NeedsRepair { .. }
            | Self::Row { .. }
            | Self::ForeignKey { .. }
            | Self::NewerSchema { .. }
            | Self::OlderSchema { .. }
            | Self::Conflict { .. }
            | Self::Missing { .. }
            | Self::Busy { .. }
            | Self::Closed { .. } => ExitClass::Store,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "store.not_found",
            Self::AlreadyExists { .. } => "store.already_exists",
            Self::NotAStore { .. } => "store.not_a_store",
            Self::Locked { .. } => "store.locked",
            Self::DiskFull { .. } => "store.disk_full",
            Self::PermissionDenied { .. } => "store.permission_denied",
            Self::ReadOnly { .. } => "store.read_only",
            Self::Io { .. } => "store.io",
            Self::Corrupt { .. } => "store.corrupt",
            Self::NeedsRepair { .. } => "store.needs_repair",
            Self::Row { source, .. } => match source {
                CodecError::Checksum => "store.row_checksum",
                CodecError::BadLength => "store.row_length",
                CodecError::UnknownVersion { .. } | CodecError::UnknownForm(_) => "store.row_version",
                CodecError::TooShort(_)
                | CodecError::Malformed(_)
                | CodecError::Trailing(_)
                | CodecError::TooLarge(_) => "store.row_malformed",
            },
            Self::ForeignKey { .. } => "store.foreign_key",
            Self::NewerSchema { .. } => "store.newer_schema",
            Self::OlderSchema { .. } => "store.older_schema",
            Self::Conflict { .. } => "store.conflict",
            Self::Unwritable { .. } => "store.unwritable",
            Self::Missing { .. } => "store.missing",
            Self::Busy { .. } => "store.busy",
            Self::WriterStopped { source } => source.code(),
            Self::Closed { .. } => "store.closed",
            Self::Internal { .. } => "store.internal",
        }
    }

    fn hint(&self) -> Option<String> {
        let text = match self {
            Self::NotFound { .. } => "run `trm init` to make a workspace, or name one with -C DIR",
            Self::AlreadyExists { .. } => "open the existing store, or move it away first",
            Self::NotAStore { .. } => "the workspace's store is `trm.redb`; move the foreign file away",
            Self::Locked { .. } => {
                "one process writes at a time: wait for it or stop it; `trm status`, `inspect` and `export` read meanwhile"
            }
            Self::DiskFull { .. } => {
                "free some space and run the command again: everything acknowledged so far is safe; `trm store compact` gives space back"
            }
            Self::PermissionDenied { .. } => "give yourself read and write permission on the file and its folder",
            Self::ReadOnly { .. } => "remount the file system writable, or copy the workspace elsewhere",
            Self::Io { .. } => "check the device and the file system, then run the command again",
            Self::Corrupt { .. } => {
                "restore the file from a backup; `trm store check` lists what is damaged, `trm export` saves what can be read"
            }
            Self::NeedsRepair { .. } => {
                "run `trm store check` where the file can be written, while nothing else uses it"
            }
            Self::Row { source: CodecError::UnknownVersion { .. } | CodecError::UnknownForm(_), .. }
            | Self::NewerSchema { .. } => "use the newer trm that wrote it",
            Self::Row { .. } | Self::ForeignKey { .. } => {
                "run `trm store check` to see all damage; a damaged step is cured by `trm train --rerun`, else restore a backup"
            }
            Self::OlderSchema { .. } => "run `trm store check` once while nothing else uses the store: it migrates it",
            Self::Missing { .. } => "run `trm store check`: something that the store refers to is not there",
            Self::Busy { .. } => "try again when no other trm uses this workspace",
            Self::WriterStopped { source } => return source.hint(),
            Self::Conflict { .. } | Self::Unwritable { .. } | Self::Closed { .. } | Self::Internal { .. } => {
                return None;
            }
        };
        Some(text.to_owned())
    }
}

impl StoreError {
    /// Any failure of the operating system.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the kinds of the standard library are open-ended")]
    pub(crate) fn from_io(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        let kind = error.kind();
        let source = Arc::new(error);
        match kind {
            io::ErrorKind::NotFound => Self::NotFound { path },
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Self::DiskFull { path, source }
            }
            io::ErrorKind::PermissionDenied => Self::PermissionDenied { path, source },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly { path, source },
            io::ErrorKind::InvalidData => Self::NotAStore { path, detail: source.to_string() },
            io::ErrorKind::UnexpectedEof => Self::Corrupt { path, detail: "it ends too early".to_owned() },
            io::ErrorKind::IsADirectory => Self::NotAStore { path, detail: "it is a folder".to_owned() },
            _ => Self::Io { path, source },
        }
    }

    /// Any failure of the database.
    #[expect(clippy::wildcard_enum_match_arm, reason = "the errors of the database are open-ended")]
    pub(crate) fn from_redb(path: &Path, error: impl Into<redb::Error>) -> Self {
        let owned = path.to_owned();
        match error.into() {
            redb::Error::Io(error) => Self::from_io(path, error),
            redb::Error::DatabaseAlreadyOpen => Self::Locked { path: owned },
            redb::Error::Corrupted(detail) => Self::Corrupt { path: owned, detail },
            redb::Error::RepairAborted => {
                Self::NeedsRepair { path: owned, detail: "it is opened for reading only".into() }
            }
            redb::Error::UpgradeRequired(version) => {
                Self::NotAStore { path: owned, detail: format!("its file format is version {version}") }
            }
            redb::Error::LockProtocolMismatch => Self::NotAStore {
                path: owned,
                detail: "a process with an incompatible version of the database has it open".into(),
            },
            error @ (redb::Error::TableTypeMismatch { .. }
            | redb::Error::TableIsMultimap(_)
            | redb::Error::TableIsNotMultimap(_)
            | redb::Error::TypeDefinitionChanged { .. }
            | redb::Error::TableDoesNotExist(_)) => Self::NotAStore { path: owned, detail: error.to_string() },
            redb::Error::TransactionInProgress => Self::Busy { path: owned, action: "compact" },
            redb::Error::PreviousIo => {
                Self::Io { path: owned, source: Arc::new(io::Error::other("an earlier input or output failed")) }
            }
            redb::Error::DatabaseClosed => Self::Closed { path: owned },
            error => Self::Internal { path: owned, detail: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_a_forbidden_file() {
        let code = |kind| StoreError::from_io(Path::new("x"), io::Error::from(kind)).code();
        assert_eq!(code(io::ErrorKind::StorageFull), "store.disk_full");
        assert_eq!(code(io::ErrorKind::QuotaExceeded), "store.disk_full");
        assert_eq!(code(io::ErrorKind::PermissionDenied), "store.permission_denied");
        assert_eq!(code(io::ErrorKind::ReadOnlyFilesystem), "store.read_only");
        assert_eq!(code(io::ErrorKind::BrokenPipe), "store.io");
    }

    #[test]
    fn a_stopped_writer_keeps_the_code_of_its_cause() {
        let cause = StoreError::from_io(Path::new("x"), io::Error::from(io::ErrorKind::StorageFull));
        let stopped = StoreError::WriterStopped { source: Arc::new(cause) };
        assert_eq!((stopped.code(), stopped.class()), ("store.disk_full", ExitClass::Store));
        assert!(stopped.hint().is_some());
    }
}
