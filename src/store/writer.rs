//! The one thread that writes: it groups commits and answers when they are durable.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use redb::{Database, WriteTransaction};
use tokio::sync::OwnedSemaphorePermit;

use super::apply::{Applied, apply};
use super::batch::Batch;
use super::error::StoreError;
use super::failpoint;
use super::guard::{guarded, panic_text};
use super::snapshot::{Snapshot, Source};

/// What is to be written, decided on the writer's thread from the state it will be applied to.
pub(crate) type Plan = Box<dyn FnOnce(&Snapshot<'_>) -> Planned + Send>;
/// Told whether the batch is durable.
pub(crate) type Answer = Box<dyn FnOnce(Result<(), StoreError>) + Send>;

/// A plan's result.
pub(crate) enum Planned {
    /// A batch, and who is told.
    Write(Batch, Answer),
    /// The plan refused by itself and has told its caller.
    Nothing,
}

/// One request in the queue; its permit is its place there.
pub(crate) struct Request {
    pub(crate) plan: Plan,
    /// Told if the plan cannot even be tried.
    pub(crate) refuse: Answer,
    pub(crate) permit: OwnedSemaphorePermit,
}

/// How requests are grouped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grouping {
    /// Most requests in one commit.
    pub(crate) requests: usize,
    /// A commit takes no further request beyond this many bytes.
    pub(crate) bytes: usize,
}

/// What the writer has done so far.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) commits: AtomicU64,
    pub(crate) requests: AtomicU64,
    pub(crate) largest_group: AtomicU64,
}

pub(crate) struct Writer {
    pub(crate) database: Arc<Database>,
    pub(crate) path: Arc<Path>,
    pub(crate) receiver: Receiver<Request>,
    pub(crate) grouping: Grouping,
    pub(crate) counters: Arc<Counters>,
    /// The failure after which nothing is written.
    pub(crate) failure: Arc<OnceLock<StoreError>>,
}

/// Longest wait for the companions of a request.
const LINGER_MAX: Duration = Duration::from_millis(2);

impl Writer {
    /// Works until every sender is gone.
    pub(crate) fn run(self) {
        let mut last = Group { size: 0, took: Duration::ZERO };
        while let Ok(first) = self.receiver.recv() {
            if let Some(failure) = self.failure.get() {
                (first.refuse)(Err(StoreError::WriterStopped { source: Arc::new(failure.clone()) }));
                continue;
            }
            let started = Instant::now();
            let size = self.group(first, last);
            last = Group { size, took: started.elapsed() };
        }
    }

    /// Writes one group that begins with `first`; returns its size.
    fn group(&self, first: Request, last: Group) -> usize {
        let mut answers = Vec::new();
        let worked = catch_unwind(AssertUnwindSafe(|| self.commit_group(first, last, &mut answers)));
        let result = worked.unwrap_or_else(|panic| {
            let detail = format!("the writer panicked: {}", panic_text(panic.as_ref()));
            Err(StoreError::Internal { path: self.path.to_path_buf(), detail })
        });
        if let Err(error) = &result {
            tracing::error!(error = %error, "the store takes no more writes");
            let _first_failure_stays = self.failure.set(error.clone());
        }
        let size = answers.len();
        for answer in answers {
            answer(result.clone());
        }
        size
    }

    fn commit_group(&self, first: Request, last: Group, answers: &mut Vec<Answer>) -> Result<(), StoreError> {
        let mut transaction = match self.database.begin_write() {
            Ok(transaction) => transaction,
            Err(error) => {
                answers.push(first.refuse);
                return Err(self.failed(error));
            }
        };
        // Opening after a crash takes milliseconds instead of a walk over the whole file.
        transaction.set_quick_repair(true);
        let mut group = Filling { deadline: Instant::now() + last.linger(), bytes: 0, taken: 0, labels: Vec::new() };
        let mut next = Some(first);
        while let Some(request) = next {
            group.taken += 1;
            self.take(&transaction, request, &mut group, answers)?;
            next = self.companion(&group, last);
        }
        if answers.is_empty() {
            return transaction.abort().map_err(|error| self.failed(error));
        }
        failpoint::hit("store.before_commit");
        group.labels.iter().for_each(|label| failpoint::hit(&format!("store.before_commit/{label}")));
        guarded(&self.path, || transaction.commit().map_err(|error| self.failed(error)))?;
        failpoint::hit("store.after_commit");
        group.labels.iter().for_each(|label| failpoint::hit(&format!("store.after_commit/{label}")));
        let size = answers.len() as u64;
        self.counters.commits.fetch_add(1, Ordering::Relaxed);
        self.counters.requests.fetch_add(size, Ordering::Relaxed);
        self.counters.largest_group.fetch_max(size, Ordering::Relaxed);
        Ok(())
    }

    /// Plans and applies one request. A refusal is answered at once and leaves the transaction as it was.
    fn take(
        &self,
        transaction: &WriteTransaction,
        request: Request,
        group: &mut Filling,
        answers: &mut Vec<Answer>,
    ) -> Result<(), StoreError> {
        let Request { plan, refuse, permit } = request;
        // A place in the queue is free as soon as the request has left it.
        drop(permit);
        let planned = {
            let snapshot = Snapshot::new(Source::Write(transaction), Arc::clone(&self.path));
            catch_unwind(AssertUnwindSafe(|| plan(&snapshot)))
        };
        match planned {
            Err(panic) => {
                let detail = format!("planning a write panicked: {}", panic_text(panic.as_ref()));
                refuse(Err(StoreError::Internal { path: self.path.to_path_buf(), detail }));
            }
            Ok(Planned::Nothing) => {}
            Ok(Planned::Write(batch, answer)) => {
                let (bytes, label) = (batch.bytes, batch.label);
                match guarded(&self.path, || apply(transaction, &self.path, batch)) {
                    Ok(Applied::Done) => {
                        group.bytes += bytes;
                        group.labels.extend(label);
                        answers.push(answer);
                    }
                    Ok(Applied::Refused(error)) => answer(Err(error)),
                    Err(error) => {
                        // This request is part of the failed group like all before it.
                        answers.push(answer);
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    /// The next request of the group: what waits already, or what comes before the deadline.
    fn companion(&self, group: &Filling, last: Group) -> Option<Request> {
        if group.taken >= self.grouping.requests || group.bytes >= self.grouping.bytes {
            return None;
        }
        if let Ok(request) = self.receiver.try_recv() {
            return Some(request);
        }
        // As many as last time have come: those that wait for that answer are all here.
        if group.taken >= last.size {
            return None;
        }
        let left = group.deadline.saturating_duration_since(Instant::now());
        self.receiver.recv_timeout(left).ok()
    }

    fn failed(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError::from_redb(&self.path, error)
    }
}

/// A group that was written.
#[derive(Clone, Copy)]
struct Group {
    size: usize,
    took: Duration,
}

impl Group {
    /// Callers that were answered together tend to ask again together: without a short wait the first
    /// of them would be committed alone, and the others would wait for two commits instead of one.
    fn linger(self) -> Duration {
        if self.size < 2 { Duration::ZERO } else { (self.took / 4).min(LINGER_MAX) }
    }
}

/// A group that is being filled.
struct Filling {
    deadline: Instant,
    bytes: usize,
    taken: usize,
    labels: Vec<&'static str>,
}
