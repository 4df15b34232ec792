//! The handle that writes.

use std::path::Path;
use std::pin::pin;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, JoinHandle, Thread};

use redb::Database;
use tokio::sync::{Semaphore, oneshot};

use super::batch::Batch;
use super::error::StoreError;
use super::open::{OpenOptions, open_writable};
use super::reader::StoreReader;
use super::snapshot::Snapshot;
use super::writer::{Counters, Grouping, Planned, Request, Writer};

/// The store of a workspace, open for writing by this process. Cheap to clone; the file is closed
/// when the last clone is dropped, after everything in the queue is durable.
///
/// One thread writes. Requests that arrive while a commit is made durable go together into the next
/// one; each is still atomic, and its future resolves when its data is durable. A future that is
/// dropped after its request entered the queue does not undo it.
#[derive(Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

struct Inner {
    path: Arc<Path>,
    database: Option<Arc<Database>>,
    sender: Option<Sender<Request>>,
    places: Arc<Semaphore>,
    thread: Option<JoinHandle<()>>,
    counters: Arc<Counters>,
    failure: Arc<OnceLock<StoreError>>,
}

/// What the writer has done since the store was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WriterStats {
    /// Durable commits.
    pub commits: u64,
    /// Requests made durable.
    pub requests: u64,
    /// Most requests in one commit.
    pub largest_group: u64,
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store").field("path", &self.inner.path).finish_non_exhaustive()
    }
}

impl Store {
    /// Opens a store for writing: repairs it after a crash, migrates an older schema.
    ///
    /// # Errors
    /// It is missing, open in another process, damaged, no store, of a newer schema, or not writable.
    pub fn open(path: impl AsRef<Path>, options: &OpenOptions) -> Result<Self, StoreError> {
        let path: Arc<Path> = path.as_ref().into();
        let database = Arc::new(open_writable(&path, options)?);
        let (sender, receiver) = channel();
        let counters = Arc::new(Counters::default());
        let failure = Arc::new(OnceLock::new());
        let writer = Writer {
            database: Arc::clone(&database),
            path: Arc::clone(&path),
            receiver,
            grouping: Grouping { requests: options.group_requests.max(1), bytes: options.group_bytes },
            counters: Arc::clone(&counters),
            failure: Arc::clone(&failure),
        };
        let thread = thread::Builder::new().name("store-writer".to_owned()).spawn(move || writer.run());
        let thread = thread.map_err(|error| StoreError::from_io(&path, error))?;
        let inner = Inner {
            path,
            database: Some(database),
            sender: Some(sender),
            places: Arc::new(Semaphore::new(options.queue.clamp(1, Semaphore::MAX_PERMITS))),
            thread: Some(thread),
            counters,
            failure,
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// Creates a store where nothing is.
    ///
    /// # Errors
    /// Something is there, or it cannot be written.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if path.exists() {
            return Err(StoreError::AlreadyExists { path: path.to_owned() });
        }
        Self::open(path, &OpenOptions::creating())
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.inner.path
    }

    /// Gives snapshots of what is durable, without passing through the writer.
    ///
    /// # Errors
    /// The store is closing.
    pub fn reader(&self) -> Result<StoreReader, StoreError> {
        let database = self.inner.database.as_ref().ok_or_else(|| self.closed())?;
        Ok(StoreReader::of_writer(Arc::clone(database), Arc::clone(&self.inner.path)))
    }

    /// The state of the last durable commit.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn snapshot(&self) -> Result<Snapshot<'static>, StoreError> {
        self.reader()?.snapshot()
    }

    /// Writes a batch: all of it or nothing; returns when it is durable.
    ///
    /// # Errors
    /// It presupposes what is not so, or the file cannot be written; after the latter no write succeeds any more.
    pub async fn write(&self, batch: Batch) -> Result<(), StoreError> {
        self.transact(move |_| Ok::<_, StoreError>((batch, ()))).await
    }

    /// The same for a thread that may block.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn write_blocking(&self, batch: Batch) -> Result<(), StoreError> {
        block_on(self.write(batch))
    }

    /// Reads and writes in one step: `plan` runs on the writer's thread, sees exactly the state that its
    /// batch will be applied to, and returns the batch and a value, which the caller gets once all is durable.
    ///
    /// If `plan` fails, nothing is written and only its caller hears of it. Keep it short: all writers wait for it.
    ///
    /// # Errors
    /// Those of `plan`, and those of [`Store::write`].
    pub async fn transact<T, E, F>(&self, plan: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Snapshot<'_>) -> Result<(Batch, T), E> + Send + 'static,
    {
        let (planned, outcome) = oneshot::channel();
        let (refused, refusal) = oneshot::channel();
        let plan = Box::new(move |snapshot: &Snapshot<'_>| match plan(snapshot) {
            Ok((batch, value)) => Planned::Write(
                batch,
                Box::new(move |result| {
                    let _caller_gone = planned.send(result.map(|()| value).map_err(E::from));
                }),
            ),
            Err(error) => {
                let _caller_gone = planned.send(Err(error));
                Planned::Nothing
            }
        });
        let refuse = Box::new(move |result| {
            let _caller_gone = refused.send(result);
        });
        let places = Arc::clone(&self.inner.places);
        // The semaphore is never closed, so this waits for a place and does not fail.
        let permit = places.acquire_owned().await.map_err(|_| self.closed())?;
        let sender = self.inner.sender.as_ref().ok_or_else(|| self.closed())?;
        sender.send(Request { plan, refuse, permit }).map_err(|_| self.closed())?;
        match outcome.await {
            Ok(outcome) => outcome,
            // The plan was dropped without an answer: the refusal says why.
            Err(_) => match refusal.await {
                Ok(Err(error)) => Err(error.into()),
                Ok(Ok(())) | Err(_) => Err(self.stopped().into()),
            },
        }
    }

    /// The same for a thread that may block.
    ///
    /// # Errors
    /// As [`Store::transact`].
    pub fn transact_blocking<T, E, F>(&self, plan: F) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
        F: FnOnce(&Snapshot<'_>) -> Result<(Batch, T), E> + Send + 'static,
    {
        block_on(self.transact(plan))
    }

    /// What the writer has done so far.
    #[must_use]
    pub fn writer_stats(&self) -> WriterStats {
        let counters = &self.inner.counters;
        WriterStats {
            commits: counters.commits.load(Ordering::Relaxed),
            requests: counters.requests.load(Ordering::Relaxed),
            largest_group: counters.largest_group.load(Ordering::Relaxed),
        }
    }

    fn closed(&self) -> StoreError {
        StoreError::Closed { path: self.inner.path.to_path_buf() }
    }

    fn stopped(&self) -> StoreError {
        match self.inner.failure.get() {
            Some(failure) => StoreError::WriterStopped { source: Arc::new(failure.clone()) },
            None => self.closed(),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // Without a sender the writer ends once its queue is empty; then the file is closed.
        self.sender = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that writes the store panicked");
        }
        self.database = None;
    }
}

/// Waits for a future on this thread. Works inside and outside of a runtime, as the store's futures
/// are woken by the writer's thread.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);

    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }

    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
