//! Call records wait here for the answer that they led to, and are stored with it in one transaction.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use crate::llm::{CallRecord, CallSink, RecordFuture};

/// Keeps the calls of questions in work, by phase run and item.
#[derive(Debug, Default)]
pub struct StoreSink(Mutex<BTreeMap<(String, String), Vec<CallRecord>>>);

impl StoreSink {
    /// Takes the calls of one item, in the order in which they ended.
    pub(crate) fn take(&self, phase_run: &str, item: &str) -> Vec<CallRecord> {
        self.lock().remove(&(phase_run.to_owned(), item.to_owned())).unwrap_or_default()
    }

    /// Takes the calls of all items of a phase whose work did not end.
    pub(crate) fn take_phase(&self, phase_run: &str) -> Vec<(String, Vec<CallRecord>)> {
        let mut waiting = self.lock();
        let keys: Vec<_> = waiting.keys().filter(|(phase, _)| phase == phase_run).cloned().collect();
        keys.into_iter().filter_map(|key| waiting.remove(&key).map(|calls| (key.1, calls))).collect()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<(String, String), Vec<CallRecord>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CallSink for StoreSink {
    fn record(&self, record: CallRecord) -> RecordFuture<'_> {
        Box::pin(async move {
            let key = (record.tag.phase_run.clone(), record.tag.item.clone());
            self.lock().entry(key).or_default().push(record);
        })
    }
}
