//! Judge and writer work under watch: it is shown, it gives signs of life, its calls are kept, and it can be stopped.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::inference::{PULSE, SignOfLife, add_calls};
use super::kernel_error::KernelError;
use super::session::Session;
use crate::domain::{ChatErrorKind, Phase, RunId};
use crate::evolution::{CallScope, EvolutionError};
use crate::store::{Batch, PhaseKey, Scope, StoreError};

/// The part of a run that judge or writer work belongs to: it salts its calls and takes their accounts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkPlace {
    /// The run.
    pub run: RunId,
    /// The part of it.
    pub scope: Scope,
}

impl WorkPlace {
    /// Where calls of an activity belong: `{run}_e1_s0_diagnosis`, and the same without the run (design 12, 13).
    pub(super) fn calls(&self, activity: &str) -> CallScope {
        let path = format!("{}_{activity}", PhaseKey::plain(Phase::Adhoc).path(self.scope));
        CallScope { phase_run: format!("{}_{path}", self.run), phase_path: path }
    }
}

/// Sees how judge or writer work gets on; called often, must not block.
pub trait WorkProgress: std::fmt::Debug + Send + Sync {
    /// So many questions or texts of `total` are done; `waiting` says for what, if calls wait.
    fn update(&self, activity: &str, done: usize, total: usize, waiting: Option<&str>);
}

/// How far some work is. Shared between the work and those who watch it.
#[derive(Debug, Default)]
pub(super) struct Counter {
    done: AtomicUsize,
    total: AtomicUsize,
}

impl Counter {
    pub(super) fn set(&self, done: usize, total: usize) {
        self.done.store(done, Ordering::Relaxed);
        self.total.store(total, Ordering::Relaxed);
    }

    pub(super) fn add_done(&self) {
        self.done.fetch_add(1, Ordering::Relaxed);
    }

    fn get(&self) -> (usize, usize) {
        (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed))
    }
}

/// Some judge or writer work.
pub(super) struct Attended<'a> {
    pub(super) session: &'a Session,
    pub(super) place: &'a WorkPlace,
    /// The last part of the phase's textual id: `diagnosis`, `evolve`, `momentum`.
    pub(super) activity: &'static str,
    /// Under which calls are kept: `judge`, `writer`.
    pub(super) group: &'static str,
    /// The item whose calls are this work's; none if all of the phase are.
    pub(super) item: Option<&'a str>,
    /// For errors, such as `diagnose the answers of run r1 (eval)`.
    pub(super) what: String,
    pub(super) progress: Option<&'a Arc<dyn WorkProgress>>,
    pub(super) counter: &'a Counter,
}

impl Attended<'_> {
    /// Runs the work to its end. Its calls are in the store when this returns, however it ended.
    ///
    /// # Errors
    /// The work failed, was stopped, or its calls could not be kept.
    pub(super) async fn run<T>(&self, work: impl Future<Output = Result<T, EvolutionError>>) -> Result<T, KernelError> {
        let mut kept = Kept::default();
        let result = self.watch(work, &mut kept).await;
        // Whoever works beside this one on the same phase is about to be given up as well: its calls were paid for.
        let whole_phase = result.is_err();
        let flushed = self.flush(&mut kept, whole_phase).await;
        let value = result?;
        flushed?;
        self.show();
        Ok(value)
    }

    async fn watch<T>(
        &self,
        work: impl Future<Output = Result<T, EvolutionError>>,
        kept: &mut Kept,
    ) -> Result<T, KernelError> {
        let stop = &self.session.bench.stop;
        let mut work = std::pin::pin!(work);
        let mut pulse = tokio::time::interval(PULSE);
        self.show();
        loop {
            tokio::select! {
                // A wish to stop comes first: work from the cache never waits for anything.
                biased;
                () = stop.stopped() => return Err(self.interrupted()),
                _ = pulse.tick() => {
                    self.show();
                    self.beat().await?;
                    self.flush(kept, false).await?;
                }
                result = &mut work => return result.map_err(|error| self.failed(error)),
            }
        }
    }

    fn interrupted(&self) -> KernelError {
        let (done, total) = self.counter.get();
        KernelError::Interrupted { what: self.what.clone(), done, total }
    }

    fn failed(&self, error: EvolutionError) -> KernelError {
        let cancelled = matches!(&error, EvolutionError::Model(error) if error.kind == ChatErrorKind::Cancelled);
        if cancelled { self.interrupted() } else { KernelError::of(&self.what, error, self.counter.get()) }
    }

    fn show(&self) {
        if let Some(progress) = self.progress {
            let (done, total) = self.counter.get();
            let waiting = self.session.bench.hub.status().waiting_line();
            progress.update(self.activity, done, total, waiting.as_deref());
        }
    }

    /// Keeps the calls that ended since the last time, numbered on within each item.
    async fn flush(&self, kept: &mut Kept, whole_phase: bool) -> Result<(), StoreError> {
        let phase_run = self.place.calls(self.activity).phase_run;
        let sink = &self.session.bench.sink;
        let taken = match self.item {
            Some(item) if !whole_phase => vec![(item.to_owned(), sink.take(&phase_run, item))],
            Some(_) | None => sink.take_phase(&phase_run),
        };
        let mut batch = Batch::new();
        batch.label("kernel calls");
        for (item, calls) in taken {
            let first = kept.0.entry(item.clone()).or_default();
            add_calls(&mut batch, &self.place.run, self.place.scope, self.group, (&item, *first), &calls);
            *first = first.saturating_add(u32::try_from(calls.len()).unwrap_or(u32::MAX));
        }
        if batch.is_empty() { Ok(()) } else { self.session.bench.store.write(batch).await }
    }

    async fn beat(&self) -> Result<(), StoreError> {
        let (done, total) = self.counter.get();
        let scope = self.place.scope;
        let sign = SignOfLife { scope, activity: self.activity, done, total, in_flight: None, per_minute: None };
        sign.write(&self.session.bench, &self.place.run).await
    }
}

/// How many calls of each item are in the store already.
#[derive(Debug, Default)]
struct Kept(BTreeMap<String, u32>);
