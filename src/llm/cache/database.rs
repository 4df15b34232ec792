//! The embedded database file of the response cache: opening it whatever its state, and its two tables.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use redb::{
    Builder, ConcurrencyMode, Database, DatabaseError, ReadOnlyDatabase, ReadTransaction, ReadableDatabase,
    StorageError, TableDefinition,
};

use crate::domain::ContentHash;
use crate::llm::LlmError;
use crate::store::{caught, panic_text};

/// Key → entry (see `entry`). The version in the names: other versions are ignored.
pub(super) const ENTRIES: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("entries_v1");

/// Key → (stored at, expires at, in seconds since 1970; length of the entry in bytes). Apart from the entries, so that
/// maintenance reads and writes only this.
pub(super) const LIVES: TableDefinition<&[u8; 32], (u64, u64, u64)> = TableDefinition::new("lives_v1");

/// redb's own page cache; the operating system has one, too.
const PAGE_CACHE_BYTES: usize = 32 << 20;

/// An open cache file.
pub(super) enum CacheDatabase {
    /// This process writes.
    Writer(Database),
    /// Another process writes, or nobody may.
    Reader(ReadOnlyDatabase),
}

impl CacheDatabase {
    /// Opens the file, creating it when absent. A damaged file is set aside and a new one begun; one that another
    /// process writes is opened for reading. Both are told.
    pub(super) fn open(path: &Path) -> Result<Self, LlmError> {
        match create(path) {
            Ok(database) => Ok(Self::Writer(database)),
            Err(Unusable::Locked | Unusable::Forbidden(_)) => {
                tracing::warn!(
                    path = %path.display(),
                    "the response cache cannot be written (another run uses it, or permission is missing): replies are read from it, not kept"
                );
                Self::open_to_read(path)
            }
            Err(Unusable::Damaged(problem)) => {
                let aside = set_aside(path).map_err(|error| file_error(path, &error))?;
                tracing::warn!(
                    path = %path.display(), aside = %aside.display(),
                    "the response cache is damaged ({problem}): set aside, a new one is begun"
                );
                create(path).map(Self::Writer).map_err(|error| file_error(path, &error))
            }
            Err(Unusable::Failed(problem)) => Err(file_error(path, &problem)),
        }
    }

    /// Opens an existing file for writing; never sets it aside.
    pub(super) fn open_to_write(path: &Path) -> Result<Database, LlmError> {
        create(path).map_err(|error| file_error(path, &error))
    }

    /// Opens an existing file for reading, while another process may write it.
    pub(super) fn open_to_read(path: &Path) -> Result<Self, LlmError> {
        guarded(|| builder().open_read_only(path)).map(Self::Reader).or_else(|error| match error {
            // Left by a process that was killed: opening it for writing repairs it.
            Unusable::Damaged(_) => Self::open_to_write(path).map(Self::Writer),
            error @ (Unusable::Locked | Unusable::Forbidden(_) | Unusable::Failed(_)) => Err(file_error(path, &error)),
        })
    }

    /// A snapshot.
    pub(super) fn begin_read(&self) -> Result<ReadTransaction, redb::TransactionError> {
        match self {
            Self::Writer(database) => database.begin_read(),
            Self::Reader(database) => database.begin_read(),
        }
    }
}

/// The entry of a key that has not expired at `now`.
pub(super) fn live_entry(read: &ReadTransaction, key: ContentHash, now: u64) -> Result<Option<Vec<u8>>, redb::Error> {
    let lives = match read.open_table(LIVES) {
        Ok(lives) => lives,
        // A file that another process has just begun.
        Err(redb::TableError::TableDoesNotExist(_)) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let expires = lives.get(key.as_bytes())?.map(|life| life.value().1);
    if expires.is_none_or(|expires| expires <= now) {
        return Ok(None);
    }
    Ok(read.open_table(ENTRIES)?.get(key.as_bytes())?.map(|entry| entry.value().to_vec()))
}

/// Seconds since 1970.
pub(super) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Moves a damaged file out of the way, beside where it was; an older one set aside is replaced.
pub(super) fn set_aside(path: &Path) -> io::Result<PathBuf> {
    let mut name = path.file_name().map(OsString::from).unwrap_or_default();
    name.push(".damaged");
    let aside = path.with_file_name(name);
    std::fs::rename(path, &aside)?;
    Ok(aside)
}

/// Why a file could not be opened.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("another process is writing it")]
    Locked,
    #[error("{0}")]
    Forbidden(io::Error),
    #[error("{0}")]
    Damaged(String),
    #[error("{0}")]
    Failed(String),
}

fn builder() -> Builder {
    let mut builder = Builder::new();
    builder.set_concurrency_mode(ConcurrencyMode::SingleWriter).set_cache_size(PAGE_CACHE_BYTES);
    builder
}

fn create(path: &Path) -> Result<Database, Unusable> {
    let database = guarded(|| builder().create(path))?;
    let tables = caught(|| -> Result<(), redb::Error> {
        let mut write = database.begin_write()?;
        write.set_quick_repair(true);
        write.open_table(ENTRIES)?;
        write.open_table(LIVES)?;
        write.commit()?;
        Ok(())
    });
    match tables {
        Ok(Ok(())) => Ok(database),
        Ok(Err(redb::Error::Io(error))) => Err(Unusable::Failed(error.to_string())),
        Ok(Err(error)) => Err(Unusable::Damaged(error.to_string())),
        Err(panic) => Err(Unusable::Damaged(panic_text(&*panic))),
    }
}

/// redb may panic on a file that something else has altered.
fn guarded<T>(open: impl FnOnce() -> Result<T, DatabaseError>) -> Result<T, Unusable> {
    caught(open).unwrap_or_else(|panic| Err(StorageError::Corrupted(panic_text(&*panic)).into())).map_err(why)
}

fn why(error: DatabaseError) -> Unusable {
    if matches!(error, DatabaseError::DatabaseAlreadyOpen | DatabaseError::LockProtocolMismatch) {
        return Unusable::Locked;
    }
    let damaged = matches!(
        error,
        DatabaseError::Storage(StorageError::Corrupted(_))
            | DatabaseError::RepairAborted
            | DatabaseError::UpgradeRequired(_)
    );
    if let DatabaseError::Storage(StorageError::Io(error)) = error {
        return io_problem(error);
    }
    if damaged { Unusable::Damaged(error.to_string()) } else { Unusable::Failed(error.to_string()) }
}

fn io_problem(error: io::Error) -> Unusable {
    let is = |kinds: &[io::ErrorKind]| kinds.contains(&error.kind());
    if is(&[io::ErrorKind::PermissionDenied, io::ErrorKind::ReadOnlyFilesystem]) {
        Unusable::Forbidden(error)
    } else if is(&[io::ErrorKind::InvalidData, io::ErrorKind::UnexpectedEof]) {
        Unusable::Damaged(error.to_string())
    } else {
        Unusable::Failed(error.to_string())
    }
}

fn file_error(path: &Path, problem: &impl ToString) -> LlmError {
    LlmError::CacheFile { path: path.to_owned(), problem: problem.to_string() }
}
