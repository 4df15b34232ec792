//! Opens the file: creates, repairs, checks and migrates its schema.

use std::cell::Cell;
use std::fs::File;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use redb::{Builder, ConcurrencyMode, Database, ReadOnlyDatabase, ReadTransaction, ReadableDatabase};

use super::codec;
use super::error::StoreError;
use super::failpoint;
use super::guard::guarded;
use super::migrate;
use super::schema::{META, SCHEMA_KEY, SCHEMA_VERSION, for_each_table};
use super::snapshot::{Snapshot, Source};
use super::text::SchemaNumber;

/// Something that opening a store does beyond opening it; it is said before it is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenEvent {
    /// A crash left the file to be repaired.
    Repairing,
    /// An older schema is brought up to date, in one transaction.
    Migrating {
        /// The schema of the file.
        from: u32,
        /// The schema of this program.
        to: u32,
    },
}

/// Called with what opening is about to do.
pub type OpenListener = Arc<dyn Fn(OpenEvent) + Send + Sync>;

/// How a store is opened for writing.
#[derive(Clone)]
pub struct OpenOptions {
    /// Whether a missing file is created.
    pub create: bool,
    /// Most memory for pages, in bytes; what a file does not need is not taken. A cache that holds the upper levels of a
    /// large file keeps the deletion of a step as fast as in a small one.
    pub cache_bytes: usize,
    /// Requests that may wait; more make their callers wait (back-pressure). Four full groups: the
    /// writer always finds the next group ready, and a caller never waits for more than a few commits.
    pub queue: usize,
    /// Most requests in one commit.
    pub group_requests: usize,
    /// A commit takes no further request beyond this many bytes.
    pub group_bytes: usize,
    /// Told what opening does, beside the log.
    pub listener: Option<OpenListener>,
}

impl Default for OpenOptions {
    fn default() -> Self {
        Self {
            create: false,
            cache_bytes: 1 << 30,
            queue: 1024,
            group_requests: 256,
            group_bytes: 16 << 20,
            listener: None,
        }
    }
}

impl std::fmt::Debug for OpenOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpenOptions").field("create", &self.create).field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl OpenOptions {
    /// Options that create a missing file.
    #[must_use]
    pub fn creating() -> Self {
        Self { create: true, ..Self::default() }
    }
}

/// How long a reader waits for a writer that is opening or repairing the file right now.
const BUSY_WAIT: Duration = Duration::from_secs(5);
/// How long a writer waits for a reader that is repairing the file right now.
const WRITER_WAIT: Duration = Duration::from_millis(500);
const BUSY_PAUSE: Duration = Duration::from_millis(10);

fn builder(cache_bytes: usize, listener: Option<&OpenListener>, said: &Rc<Cell<bool>>) -> Builder {
    let mut builder = Database::builder();
    builder.set_concurrency_mode(ConcurrencyMode::SingleWriter).set_cache_size(cache_bytes);
    let (said, told) = (Rc::clone(said), listener.cloned());
    builder.set_repair_callback(move |_| {
        // Called for every part of a long repair; one word is enough.
        if !said.replace(true) {
            tell(told.as_ref(), OpenEvent::Repairing);
        }
    });
    builder
}

fn tell(listener: Option<&OpenListener>, event: OpenEvent) {
    match event {
        OpenEvent::Repairing => tracing::info!("the store was not closed: recovered, nothing acknowledged is lost"),
        OpenEvent::Migrating { from, to } => tracing::warn!("migrating the store from schema {from} to {to}"),
    }
    if let Some(listener) = listener {
        listener(event);
    }
}

/// Opens the file for writing, with all tables and the current schema.
///
/// # Errors
/// It is missing, locked, damaged, no store, of a newer schema, or not writable.
pub(crate) fn open_writable(path: &Path, options: &OpenOptions) -> Result<Database, StoreError> {
    let builder = builder(options.cache_bytes, options.listener.as_ref(), &Rc::default());
    let existed = path.exists();
    let deadline = Instant::now() + WRITER_WAIT;
    let database = loop {
        match guarded(path, || Ok(if options.create { builder.create(path) } else { builder.open(path) }))? {
            Ok(database) => break database,
            // A reader that repairs the file after a crash holds it for milliseconds.
            Err(redb::DatabaseError::DatabaseAlreadyOpen) if Instant::now() < deadline => thread::sleep(BUSY_PAUSE),
            Err(error) => return Err(StoreError::from_redb(path, error)),
        }
    };
    if !existed {
        sync_folder(path);
    }
    bring_up_to_date(path, &database, options)?;
    Ok(database)
}

/// A new file survives a power failure only once its folder is durable too. Not every file system
/// can do this, and those that cannot need it least.
fn sync_folder(path: &Path) {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let _not_supported_everywhere = File::open(folder).and_then(|folder| folder.sync_all());
}

fn bring_up_to_date(path: &Path, database: &Database, options: &OpenOptions) -> Result<(), StoreError> {
    match schema_of(path, database)? {
        Some(found) if found == SCHEMA_VERSION => Ok(()),
        Some(found) if found > SCHEMA_VERSION => {
            Err(StoreError::NewerSchema { path: path.to_owned(), found, known: SCHEMA_VERSION })
        }
        Some(found) => {
            tell(options.listener.as_ref(), OpenEvent::Migrating { from: found, to: SCHEMA_VERSION });
            migrate::migrate(path, database, found)
        }
        None => initialise(path, database),
    }
}

/// The schema of an open file; none if it has no tables at all, as after a crash during its creation.
fn schema_of(path: &Path, database: &impl ReadableDatabase) -> Result<Option<u32>, StoreError> {
    let transaction = guarded(path, || database.begin_read().map_err(|error| StoreError::from_redb(path, error)))?;
    let empty = guarded(path, || {
        let mut tables = transaction.list_tables().map_err(|error| StoreError::from_redb(path, error))?;
        Ok(tables.next().is_none())
    })?;
    if empty {
        return Ok(None);
    }
    let snapshot = snapshot_of(transaction, path.into());
    match snapshot.schema() {
        Ok(Some(version)) => Ok(Some(version)),
        Ok(None) => {
            let detail = "it is a database, but no store of this program".to_owned();
            Err(StoreError::NotAStore { path: path.to_owned(), detail })
        }
        Err(error) => Err(error),
    }
}

/// Creates all tables, so that a range delete over nothing succeeds and every reader finds every table.
fn initialise(path: &Path, database: &Database) -> Result<(), StoreError> {
    let failed = |error: redb::Error| StoreError::from_redb(path, error);
    let mut transaction = database.begin_write().map_err(|error| failed(error.into()))?;
    transaction.set_quick_repair(true);
    macro_rules! create {
        ($table:expr) => {
            transaction.open_table($table).map_err(|error| failed(error.into()))?;
        };
    }
    for_each_table!(create);
    write_schema(path, &transaction, SCHEMA_VERSION)?;
    failpoint::hit("store.before_commit/initialise");
    transaction.commit().map_err(|error| failed(error.into()))?;
    failpoint::hit("store.after_commit/initialise");
    Ok(())
}

pub(crate) fn write_schema(path: &Path, transaction: &redb::WriteTransaction, version: u32) -> Result<(), StoreError> {
    let failed = |error: redb::Error| StoreError::from_redb(path, error);
    let value = codec::encode(&SchemaNumber(version))
        .map_err(|source| StoreError::Unwritable { table: "schema version", source })?;
    let mut table = transaction.open_table(META).map_err(|error| failed(error.into()))?;
    table.insert(SCHEMA_KEY, value.as_slice()).map_err(|error| failed(error.into()))?;
    Ok(())
}

pub(crate) fn snapshot_of(transaction: ReadTransaction, path: Arc<Path>) -> Snapshot<'static> {
    Snapshot::new(Source::Read(Box::new(transaction)), path)
}

/// Opens the file for reading beside a writer in another process; repairs and migrates it first if
/// that is needed and no writer is alive.
///
/// # Errors
/// It is missing, damaged, no store, of another schema, or needs a repair that is not possible.
pub(crate) fn open_readable(
    path: &Path,
    cache_bytes: usize,
    listener: Option<&OpenListener>,
) -> Result<ReadOnlyDatabase, StoreError> {
    let deadline = Instant::now() + BUSY_WAIT;
    loop {
        match guarded(path, || Ok(builder(cache_bytes, None, &Rc::default()).open_read_only(path)))? {
            Ok(database) => match readable_schema(path, &database)? {
                Readable::Current => return Ok(database),
                Readable::Older(found) => {
                    drop(database);
                    migrate_once(path, found, listener)?;
                }
            },
            Err(redb::DatabaseError::RepairAborted) => repair_once(path, cache_bytes, listener)?,
            // A writer that is opening, repairing or compacting holds the file for a moment.
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => {}
            Err(error) => return Err(StoreError::from_redb(path, error)),
        }
        if Instant::now() > deadline {
            return Err(StoreError::Busy { path: path.to_owned(), action: "read" });
        }
        thread::sleep(BUSY_PAUSE);
    }
}

/// Verifies the checksum of every page and the structure of the file; false if it is in use or
/// cannot be opened for writing, which the check needs.
///
/// # Errors
/// It is missing, no store, or damaged.
pub(crate) fn verify_pages(path: &Path, listener: Option<&OpenListener>) -> Result<bool, StoreError> {
    let cache_bytes = OpenOptions::default().cache_bytes;
    // The check rebuilds what a repair rebuilds and calls back in any case: whether the file was closed shows before.
    let opened = guarded(path, || Ok(builder(cache_bytes, None, &Rc::default()).open_read_only(path)));
    if matches!(opened, Ok(Err(redb::DatabaseError::RepairAborted))) {
        let _shows_again_below = repair_once(path, cache_bytes, listener);
    }
    drop(opened);
    let mut verifying = Database::builder();
    verifying.set_concurrency_mode(ConcurrencyMode::SingleWriter).set_cache_size(cache_bytes);
    verifying.set_check_integrity_on_open(true);
    let verified = guarded(path, || {
        let database = verifying.open(path).map_err(|error| StoreError::from_redb(path, error))?;
        database.close().map_err(|error| StoreError::from_redb(path, error))
    });
    let Err(error) = verified else { return Ok(true) };
    let out_of_reach =
        matches!(error, StoreError::Locked { .. } | StoreError::PermissionDenied { .. } | StoreError::ReadOnly { .. });
    if out_of_reach { Ok(false) } else { Err(error) }
}

enum Readable {
    Current,
    /// An older schema; 0: not initialised.
    Older(u32),
}

fn readable_schema(path: &Path, database: &ReadOnlyDatabase) -> Result<Readable, StoreError> {
    match schema_of(path, database)? {
        Some(found) if found == SCHEMA_VERSION => Ok(Readable::Current),
        Some(found) if found > SCHEMA_VERSION => {
            Err(StoreError::NewerSchema { path: path.to_owned(), found, known: SCHEMA_VERSION })
        }
        Some(found) => Ok(Readable::Older(found)),
        None => Ok(Readable::Older(0)),
    }
}

/// Opens the file for writing, which repairs it, and closes it. A writer that is alive repairs by itself.
fn repair_once(path: &Path, cache_bytes: usize, listener: Option<&OpenListener>) -> Result<(), StoreError> {
    let said = Rc::default();
    let builder = builder(cache_bytes, listener, &said);
    match guarded(path, || Ok(builder.open(path)))? {
        Ok(database) => {
            // A quick repair takes milliseconds and does not call back.
            if !said.get() {
                tell(listener, OpenEvent::Repairing);
            }
            database.close().map_err(|error| StoreError::from_redb(path, error))
        }
        Err(redb::DatabaseError::DatabaseAlreadyOpen) => Ok(()),
        Err(error) => {
            let error = StoreError::from_redb(path, error);
            Err(StoreError::NeedsRepair { path: path.to_owned(), detail: error.to_string() })
        }
    }
}

fn migrate_once(path: &Path, found: u32, listener: Option<&OpenListener>) -> Result<(), StoreError> {
    let options = OpenOptions { listener: listener.cloned(), ..OpenOptions::default() };
    match open_writable(path, &options) {
        Ok(database) => database.close().map_err(|error| StoreError::from_redb(path, error)),
        // A new store is initialised by its writer within moments.
        Err(StoreError::Locked { .. }) if found == 0 => Ok(()),
        Err(error) => {
            let (path, known) = (path.to_owned(), SCHEMA_VERSION);
            Err(StoreError::OlderSchema { path, found, known, detail: error.to_string() })
        }
    }
}
