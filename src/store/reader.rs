//! Reads the store: beside the writer of this process, or from another process while one writes.

use std::path::Path;
use std::sync::Arc;

use redb::{Database, ReadOnlyDatabase, ReadableDatabase};

use super::error::StoreError;
use super::guard::guarded;
use super::open::{OpenListener, open_readable, snapshot_of};
use super::snapshot::Snapshot;

/// Gives snapshots of a store. Cheap to clone; shared by threads.
#[derive(Clone)]
pub struct StoreReader {
    source: Source,
    path: Arc<Path>,
}

#[derive(Clone)]
enum Source {
    /// Another process writes, or none.
    File(Arc<ReadOnlyDatabase>),
    /// This process writes.
    Writer(Arc<Database>),
}

impl std::fmt::Debug for StoreReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoreReader").field("path", &self.path).finish_non_exhaustive()
    }
}

/// Memory for pages of a reader: enough for the upper levels of a large store.
const READER_CACHE: usize = 64 << 20;

impl StoreReader {
    /// Opens the file for reading only. A process that writes meanwhile is no hindrance, and its
    /// commits show in later snapshots. After a crash of the writer the file is repaired once.
    ///
    /// # Errors
    /// It is missing, damaged, no store, of a newer schema, or needs a repair that is not possible.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path, None)
    }

    /// The same, told what opening does.
    ///
    /// # Errors
    /// As [`StoreReader::open`].
    pub fn open_with(path: impl AsRef<Path>, listener: Option<&OpenListener>) -> Result<Self, StoreError> {
        let path: Arc<Path> = path.as_ref().into();
        let database = open_readable(&path, READER_CACHE, listener)?;
        Ok(Self { source: Source::File(Arc::new(database)), path })
    }

    pub(crate) fn of_writer(database: Arc<Database>, path: Arc<Path>) -> Self {
        Self { source: Source::Writer(database), path }
    }

    /// The state of the last durable commit.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot<'static>, StoreError> {
        let transaction = guarded(&self.path, || {
            let transaction = match &self.source {
                Source::File(database) => database.begin_read(),
                Source::Writer(database) => database.begin_read(),
            };
            transaction.map_err(|error| StoreError::from_redb(&self.path, error))
        })?;
        Ok(snapshot_of(transaction, Arc::clone(&self.path)))
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Runs a read on a thread that may block, away from the asynchronous workers.
    ///
    /// # Errors
    /// Those of `read`, and that the file cannot be read.
    pub async fn read<T, E, F>(&self, read: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Snapshot<'_>) -> Result<T, E> + Send + 'static,
    {
        let reader = self.clone();
        let task = tokio::task::spawn_blocking(move || read(&reader.snapshot()?));
        task.await.unwrap_or_else(|error| {
            let detail = format!("a read panicked or was cancelled: {error}");
            Err(StoreError::Internal { path: self.path.to_path_buf(), detail }.into())
        })
    }
}
