//! A list of writes that happens as a whole or not at all.

use std::collections::BTreeSet;

use super::codec::{self, CodecError, Record};
use super::error::StoreError;
use super::keys::{RowColumns, RowKey, Scope, ScopeColumns};
use super::rows::{
    BaselineEntry, BaselineKey, Checkpoint, Content, Heartbeat, Ladder, Pointer, PointerName, Pools, Run, Seed,
    StepRow, Usage, UsageKey, Version, VersionKind,
};
use super::schema::TEXT_PREFIX;
use super::snapshot::RawStepKey;
use super::text::Text;
use crate::domain::{ContentHash, RunId, TaskType, VersionName};

/// Writes that are made durable together, in the order in which they were added.
///
/// Values are encoded here, on the caller's thread. A value that cannot be encoded makes the whole
/// batch fail when it is written. What a batch refers to (a run, a version, a text) must be in the
/// store or in the batch, else nothing of it is written.
#[derive(Debug, Default)]
pub struct Batch {
    pub(crate) label: Option<&'static str>,
    pub(crate) checks: BTreeSet<Check>,
    pub(crate) step_rows: Vec<StepWrite>,
    pub(crate) records: Vec<RecordWrite>,
    pub(crate) bytes: usize,
    pub(crate) error: Option<StoreError>,
}

/// What must hold before anything of a batch is applied.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Check {
    RunExists(String),
    ContentExists(ContentHash),
    VersionExists(VersionKind, VersionName),
    CheckpointIs(String, Option<ContentHash>),
}

/// One write to the table of step rows.
#[derive(Debug)]
pub(crate) enum StepWrite {
    Put(OwnedStepKey, Vec<u8>),
    Remove(OwnedStepKey),
    Delete { from: OwnedStepKey, to: OwnedStepKey },
}

/// One write to another table.
#[derive(Debug)]
pub(crate) enum RecordWrite {
    PutText(String, Vec<u8>),
    CreateRun(String, Box<Run>),
    PutRun(String, Vec<u8>),
    PutContent(ContentHash, Vec<u8>),
    PutVersion(VersionKind, VersionName, Vec<u8>),
    PutPointer(PointerName, Vec<u8>),
    PutSeed(String, Vec<u8>),
    PutPools(String, Vec<u8>),
    PutLadder(String, String, Vec<u8>),
    PutBaseline(BaselineKey, Vec<u8>),
    PutCheckpoint(String, Vec<u8>),
    AddUsage(UsageKey, Box<Usage>),
    PutHeartbeat(String, Vec<u8>),
}

/// A step row's key on its way to the writer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnedStepKey {
    run: String,
    scope: ScopeColumns,
    kind: u8,
    sub: String,
    item: String,
    index: u32,
}

impl OwnedStepKey {
    pub(crate) fn raw(&self) -> RawStepKey<'_> {
        RawStepKey {
            run: &self.run,
            scope: self.scope,
            kind: self.kind,
            sub: &self.sub,
            item: &self.item,
            index: self.index,
        }
    }

    pub(crate) fn of(raw: RawStepKey<'_>) -> Self {
        Self {
            run: raw.run.to_owned(),
            scope: raw.scope,
            kind: raw.kind,
            sub: raw.sub.to_owned(),
            item: raw.item.to_owned(),
            index: raw.index,
        }
    }
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Names the batch for fail points and logs, such as `settlement`.
    pub fn label(&mut self, label: &'static str) -> &mut Self {
        self.label = Some(label);
        self
    }

    /// Whether it writes nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.step_rows.is_empty() && self.records.is_empty()
    }

    /// Adds everything of another batch behind what this one has.
    pub fn append(&mut self, other: Self) -> &mut Self {
        self.checks.extend(other.checks);
        self.step_rows.extend(other.step_rows);
        self.records.extend(other.records);
        self.bytes += other.bytes;
        self.label = self.label.or(other.label);
        self.error = self.error.take().or(other.error);
        self
    }

    /// Writes a row of a step, over an older one of the same key.
    pub fn put<R: StepRow>(&mut self, run: &RunId, scope: Scope, key: &R::Key, row: &R) -> &mut Self {
        let Some(key) = self.step_key::<R>(run, scope, key) else { return self };
        if let Some(value) = self.encode(R::KIND.name(), row) {
            self.checks.insert(Check::RunExists(run.to_string()));
            self.step_rows.push(StepWrite::Put(key, value));
        }
        self
    }

    /// Removes a row of a step, if it exists.
    pub fn remove<R: StepRow>(&mut self, run: &RunId, scope: Scope, key: &R::Key) -> &mut Self {
        if let Some(key) = self.step_key::<R>(run, scope, key) {
            self.step_rows.push(StepWrite::Remove(key));
        }
        self
    }

    /// Removes all rows of a scope: one range delete, whose cost depends on these rows only.
    pub fn delete_scope(&mut self, run: &RunId, scope: Scope) -> &mut Self {
        let columns = scope.columns();
        self.delete_rows(RawStepKey::start(run.as_str(), columns), RawStepKey::end(run.as_str(), columns))
    }

    /// Removes all rows of a training from a scope on, the final evaluation included.
    pub fn delete_from(&mut self, run: &RunId, scope: Scope) -> &mut Self {
        let end = Scope::Final.columns();
        self.delete_rows(RawStepKey::start(run.as_str(), scope.columns()), RawStepKey::end(run.as_str(), end))
    }

    /// Stores a named text, such as the summary of an import.
    pub fn put_text(&mut self, name: &str, text: &str) -> &mut Self {
        if let Some(value) = self.encode("text", &Text(text.to_owned())) {
            self.records.push(RecordWrite::PutText(format!("{TEXT_PREFIX}{name}"), value));
        }
        self
    }

    /// Records a run; a no-op if the run is recorded already. Its `sequence` is set by the store.
    pub fn create_run(&mut self, run: &RunId, row: Run) -> &mut Self {
        self.check_versions(&row);
        self.records.push(RecordWrite::CreateRun(run.to_string(), Box::new(row)));
        self
    }

    /// Writes a recorded run anew. Read it in the same [`transact`](super::Store::transact) to change it.
    pub fn put_run(&mut self, run: &RunId, row: &Run) -> &mut Self {
        self.check_versions(row);
        if let Some(value) = self.encode("run", row) {
            self.checks.insert(Check::RunExists(run.to_string()));
            self.records.push(RecordWrite::PutRun(run.to_string(), value));
        }
        self
    }

    /// Stores a text under its hash, which is returned; a no-op if it is there already.
    pub fn put_content(&mut self, text: &str) -> ContentHash {
        let hash = ContentHash::of(text);
        if let Some(value) = self.encode("content", &Content { text: text.to_owned() }) {
            self.records.push(RecordWrite::PutContent(hash, value));
        }
        hash
    }

    /// Stores a version: it must be the next number of its kind, or be there already with the same files.
    pub fn put_version(&mut self, kind: VersionKind, name: VersionName, version: &Version) -> &mut Self {
        self.checks.extend(version.files.values().copied().map(Check::ContentExists));
        self.checks.extend(version.parent.map(|parent| Check::VersionExists(kind, parent)));
        if let Some(value) = self.encode("version", version) {
            self.records.push(RecordWrite::PutVersion(kind, name, value));
        }
        self
    }

    /// Moves a pointer of the manifest.
    pub fn put_pointer(&mut self, name: PointerName, pointer: &Pointer) -> &mut Self {
        self.checks.insert(Check::VersionExists(VersionKind::Skills, pointer.versions.skills));
        self.checks.insert(Check::VersionExists(VersionKind::Prompts, pointer.versions.prompts));
        if let Some(value) = self.encode("pointer", pointer) {
            self.records.push(RecordWrite::PutPointer(name, value));
        }
        self
    }

    /// Stores a seed, over an older one of the same name.
    pub fn put_seed(&mut self, name: &str, seed: &Seed) -> &mut Self {
        self.checks.extend(seed.skills.values().chain(seed.prompts.values()).copied().map(Check::ContentExists));
        if let Some(value) = self.encode("seed", seed) {
            self.records.push(RecordWrite::PutSeed(name.to_owned(), value));
        }
        self
    }

    /// Stores the pools of a run.
    pub fn put_pools(&mut self, run: &RunId, pools: &Pools) -> &mut Self {
        if let Some(value) = self.encode("pools", pools) {
            self.checks.insert(Check::RunExists(run.to_string()));
            self.records.push(RecordWrite::PutPools(run.to_string(), value));
        }
        self
    }

    /// Stores the ladder of a task type.
    pub fn put_ladder(&mut self, run: &RunId, task_type: &TaskType, ladder: &Ladder) -> &mut Self {
        if let Some(value) = self.encode("ladder", ladder) {
            self.checks.insert(Check::RunExists(run.to_string()));
            self.records.push(RecordWrite::PutLadder(run.to_string(), task_type.to_string(), value));
        }
        self
    }

    /// Caches a base arm's answer.
    pub fn put_baseline(&mut self, key: &BaselineKey, entry: &BaselineEntry) -> &mut Self {
        if let Some(value) = self.encode("baseline cache entry", entry) {
            self.records.push(RecordWrite::PutBaseline(key.clone(), value));
        }
        self
    }

    /// Makes this the training state of a run; the one before is kept as the previous one.
    pub fn put_checkpoint(&mut self, run: &RunId, checkpoint: &Checkpoint) -> &mut Self {
        if let Some(value) = self.encode("checkpoint", checkpoint) {
            self.checks.insert(Check::RunExists(run.to_string()));
            self.records.push(RecordWrite::PutCheckpoint(run.to_string(), value));
        }
        self
    }

    /// Requires that the training state of a run is still this one (none: that there is none).
    pub fn require_checkpoint(&mut self, run: &RunId, expected: Option<&Checkpoint>) -> &mut Self {
        let hash = expected.map(codec::content_hash).transpose();
        match hash {
            Ok(hash) => {
                self.checks.insert(Check::CheckpointIs(run.to_string(), hash));
            }
            Err(source) => self.fail("checkpoint", source),
        }
        self
    }

    /// Adds to the totals of model usage.
    pub fn add_usage(&mut self, key: &UsageKey, usage: &Usage) -> &mut Self {
        self.checks.insert(Check::RunExists(key.run.to_string()));
        self.records.push(RecordWrite::AddUsage(key.clone(), Box::new(*usage)));
        self
    }

    /// Writes a run's sign of life.
    pub fn put_heartbeat(&mut self, run: &RunId, heartbeat: &Heartbeat) -> &mut Self {
        if let Some(value) = self.encode("heartbeat", heartbeat) {
            self.checks.insert(Check::RunExists(run.to_string()));
            self.records.push(RecordWrite::PutHeartbeat(run.to_string(), value));
        }
        self
    }

    fn delete_rows(&mut self, from: RawStepKey<'_>, to: RawStepKey<'_>) -> &mut Self {
        let (from, to) = (OwnedStepKey::of(from), OwnedStepKey::of(to));
        self.step_rows.push(StepWrite::Delete { from, to });
        self
    }

    fn check_versions(&mut self, run: &Run) {
        self.checks.insert(Check::VersionExists(VersionKind::Skills, run.versions.skills));
        self.checks.insert(Check::VersionExists(VersionKind::Prompts, run.versions.prompts));
    }

    /// The key's columns; refuses a scope or a key that could not be read again.
    fn step_key<R: StepRow>(&mut self, run: &RunId, scope: Scope, key: &R::Key) -> Option<OwnedStepKey> {
        let RowColumns { sub, item, index } = key.columns();
        let readable = R::Key::from_columns(&sub, &item, index).is_some();
        if !readable || Scope::from_columns(scope.columns()) != Some(scope) {
            let what = format!("use {key:?} in {scope} as the key of a {}", R::KIND);
            self.error.get_or_insert(StoreError::Conflict { what });
            return None;
        }
        let (run, scope) = (run.to_string(), scope.columns());
        Some(OwnedStepKey { run, scope, kind: R::KIND.code(), sub, item, index })
    }

    fn encode<R: Record>(&mut self, table: &'static str, record: &R) -> Option<Vec<u8>> {
        match codec::encode(record) {
            Ok(value) => {
                self.bytes += value.len();
                Some(value)
            }
            Err(source) => {
                self.fail(table, source);
                None
            }
        }
    }

    fn fail(&mut self, table: &'static str, source: CodecError) {
        self.error.get_or_insert(StoreError::Unwritable { table, source });
    }
}
