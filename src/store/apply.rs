//! Applies a checked batch inside a write transaction.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use redb::{ReadableTable, Table, WriteTransaction};

use super::batch::{Batch, Check, OwnedStepKey, RecordWrite, StepWrite};
use super::codec::{self, Record};
use super::error::StoreError;
use super::rows::{Usage, UsageKey, Version, VersionKind};
use super::schema::{
    BASELINE_CACHE, CHECKPOINTS, CONTENTS, Definition, HEARTBEATS, LADDERS, MANIFEST, META, POOLS, RUNS, SEEDS,
    STEP_ROWS, StepKey, USAGE, VERSIONS,
};
use super::snapshot::{Snapshot, Source};
use crate::domain::{ContentHash, VersionName};

/// The outcome of a batch inside a transaction.
pub(crate) enum Applied {
    /// All of it is in the transaction.
    Done,
    /// It presupposed what is not so; nothing of it is in the transaction.
    Refused(StoreError),
}

/// Checks a batch and applies it.
///
/// # Errors
/// The transaction can no longer be used.
pub(crate) fn apply(transaction: &WriteTransaction, path: &Arc<Path>, batch: Batch) -> Result<Applied, StoreError> {
    if let Some(error) = batch.error {
        return Ok(Applied::Refused(error));
    }
    let snapshot = Snapshot::new(Source::Write(transaction), Arc::clone(path));
    let applier = Applier { transaction, path, snapshot };
    if let Some(refusal) = applier.refusal(&batch)? {
        return Ok(Applied::Refused(refusal));
    }
    for record in batch.records {
        applier.write(record)?;
    }
    applier.write_step_rows(batch.step_rows)?;
    Ok(Applied::Done)
}

struct Applier<'t> {
    transaction: &'t WriteTransaction,
    path: &'t Arc<Path>,
    snapshot: Snapshot<'t>,
}

/// What a batch itself brings, so that it may refer to it.
#[derive(Default)]
struct Brings<'b> {
    runs: BTreeSet<&'b str>,
    contents: BTreeSet<ContentHash>,
    versions: BTreeSet<(VersionKind, VersionName)>,
}

impl<'b> Brings<'b> {
    fn of(batch: &'b Batch) -> Self {
        let mut brings = Self::default();
        for record in &batch.records {
            if let RecordWrite::CreateRun(run, _) = record {
                brings.runs.insert(run);
            } else if let RecordWrite::PutContent(hash, _) = record {
                brings.contents.insert(*hash);
            } else if let RecordWrite::PutVersion(kind, name, _) = record {
                brings.versions.insert((*kind, *name));
            }
        }
        brings
    }
}

impl Applier<'_> {
    /// Why a batch may not be applied, if so.
    fn refusal(&self, batch: &Batch) -> Result<Option<StoreError>, StoreError> {
        let brings = Brings::of(batch);
        for check in &batch.checks {
            let what = match check {
                Check::RunExists(run) if !brings.runs.contains(run.as_str()) => {
                    (!self.snapshot.has(RUNS, run.as_str())?).then(|| format!("the run {run} is not recorded"))
                }
                Check::ContentExists(hash) if !brings.contents.contains(hash) => {
                    (!self.snapshot.has(CONTENTS, hash.as_bytes())?).then(|| format!("the text {hash} is not stored"))
                }
                Check::VersionExists(kind, name) if !brings.versions.contains(&(*kind, *name)) => {
                    let there = self.snapshot.has(VERSIONS, (kind.code(), name.number()))?;
                    (!there).then(|| format!("there is no version {name} of {kind}"))
                }
                Check::CheckpointIs(run, expected) => self.other_checkpoint(run, *expected)?,
                Check::RunExists(_) | Check::ContentExists(_) | Check::VersionExists(..) => None,
            };
            if let Some(what) = what {
                return Ok(Some(StoreError::Conflict { what }));
            }
        }
        self.version_refusal(batch)
    }

    fn other_checkpoint(&self, run: &str, expected: Option<ContentHash>) -> Result<Option<String>, StoreError> {
        let current: Option<super::rows::Checkpoint> =
            self.snapshot.record(CHECKPOINTS, (run, 0), || format!("{run} current"))?;
        let found = current.map(|checkpoint| codec::content_hash(&checkpoint)).transpose();
        let found = found.map_err(|source| StoreError::Unwritable { table: "checkpoint", source })?;
        let other = "the training state is not the one that the write was made for";
        Ok((found != expected).then(|| format!("{other} (run {run})")))
    }

    /// Versions are immutable and have no gaps.
    fn version_refusal(&self, batch: &Batch) -> Result<Option<StoreError>, StoreError> {
        let mut next: BTreeMap<VersionKind, VersionName> = BTreeMap::new();
        for record in &batch.records {
            let RecordWrite::PutVersion(kind, name, value) = record else { continue };
            if let Some(stored) = self.snapshot.version(*kind, *name)? {
                let new: Version = self.snapshot.decode("version", || format!("{kind} {name}"), value)?;
                if stored.files == new.files {
                    continue;
                }
                let what = format!("version {name} of {kind} exists with other files: versions never change");
                return Ok(Some(StoreError::Conflict { what }));
            }
            let expected = match next.get(kind) {
                Some(expected) => *expected,
                None => self.snapshot.next_version(*kind)?,
            };
            if expected != *name {
                let what = format!("the next version of {kind} is {expected}, not {name}");
                return Ok(Some(StoreError::Conflict { what }));
            }
            next.insert(*kind, name.next());
        }
        Ok(None)
    }

    fn write_step_rows(&self, writes: Vec<StepWrite>) -> Result<(), StoreError> {
        if writes.is_empty() {
            return Ok(());
        }
        let mut table = self.open(STEP_ROWS)?;
        let mut puts = Vec::new();
        for write in writes {
            match write {
                StepWrite::Put(key, value) => puts.push((key, value)),
                StepWrite::Remove(key) => {
                    self.put_sorted(&mut table, &mut puts)?;
                    table.remove(key.raw().columns()).map_err(|error| self.failed(error))?;
                }
                StepWrite::Delete { from, to } => {
                    self.put_sorted(&mut table, &mut puts)?;
                    let range = from.raw().columns()..to.raw().columns();
                    table.retain_in(range, |_, _| false).map_err(|error| self.failed(error))?;
                }
            }
        }
        self.put_sorted(&mut table, &mut puts)
    }

    /// Puts rows in key order, which packs the pages; of equal keys the later one stays.
    fn put_sorted(
        &self,
        table: &mut Table<'_, StepKey<'static>, &'static [u8]>,
        puts: &mut Vec<(OwnedStepKey, Vec<u8>)>,
    ) -> Result<(), StoreError> {
        puts.sort_by(|(a, _), (b, _)| a.cmp(b));
        for (key, value) in puts.drain(..) {
            table.insert(key.raw().columns(), value.as_slice()).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn write(&self, record: RecordWrite) -> Result<(), StoreError> {
        match record {
            RecordWrite::PutText(key, value) => self.put(META, key.as_str(), &value),
            RecordWrite::CreateRun(id, run) => self.create_run(&id, *run),
            RecordWrite::PutRun(id, value) => self.put(RUNS, id.as_str(), &value),
            RecordWrite::PutContent(hash, value) => self.put_new(CONTENTS, hash.as_bytes(), &value),
            RecordWrite::PutVersion(kind, name, value) => self.put_new(VERSIONS, (kind.code(), name.number()), &value),
            RecordWrite::PutPointer(name, value) => self.put(MANIFEST, name.name(), &value),
            RecordWrite::PutSeed(name, value) => self.put(SEEDS, name.as_str(), &value),
            RecordWrite::PutPools(run, value) => self.put(POOLS, run.as_str(), &value),
            RecordWrite::PutLadder(run, task_type, value) => {
                self.put(LADDERS, (run.as_str(), task_type.as_str()), &value)
            }
            RecordWrite::PutBaseline(key, value) => {
                let columns = (
                    key.environment.as_bytes(),
                    key.task_type.as_str(),
                    key.skill_hash.as_bytes(),
                    key.prompts_version.number(),
                    key.unit_id.as_str(),
                );
                self.put(BASELINE_CACHE, columns, &value)
            }
            RecordWrite::PutCheckpoint(run, value) => self.put_checkpoint(&run, &value),
            RecordWrite::AddUsage(key, usage) => self.add_usage(&key, &usage),
            RecordWrite::PutHeartbeat(run, value) => self.put(HEARTBEATS, run.as_str(), &value),
        }
    }

    fn create_run(&self, id: &str, mut run: super::rows::Run) -> Result<(), StoreError> {
        if self.snapshot.has(RUNS, id)? {
            return Ok(());
        }
        run.sequence = self.snapshot.table_len(RUNS)?;
        self.put(RUNS, id, &self.encode(&run)?)
    }

    fn put_checkpoint(&self, run: &str, value: &[u8]) -> Result<(), StoreError> {
        let mut table = self.open(CHECKPOINTS)?;
        let current = table.insert((run, 0), value).map_err(|error| self.failed(error))?;
        let previous = current.map(|current| current.value().to_vec());
        if let Some(previous) = previous {
            table.insert((run, 1), previous.as_slice()).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn add_usage(&self, key: &UsageKey, usage: &Usage) -> Result<(), StoreError> {
        let (stage, epoch, part, number) = key.scope.columns();
        let columns = (key.run.as_str(), stage, epoch, part, number, key.phase.as_str(), key.role.name());
        let mut total: Usage = self.snapshot.record(USAGE, columns, || format!("{key:?}"))?.unwrap_or_default();
        total.add(usage);
        self.put(USAGE, columns, &self.encode(&total)?)
    }

    fn encode<R: Record>(&self, record: &R) -> Result<Vec<u8>, StoreError> {
        codec::encode(record).map_err(|source| StoreError::Unwritable { table: R::NAME, source })
    }

    fn open<K: redb::Key + 'static>(
        &self,
        definition: Definition<K>,
    ) -> Result<Table<'_, K, &'static [u8]>, StoreError> {
        self.transaction.open_table(definition).map_err(|error| self.failed(error))
    }

    fn put<K: redb::Key + 'static>(
        &self,
        definition: Definition<K>,
        key: K::SelfType<'_>,
        value: &[u8],
    ) -> Result<(), StoreError> {
        self.open(definition)?.insert(key, value).map_err(|error| self.failed(error)).map(|_| ())
    }

    /// Puts what never changes; a value that is there stays.
    fn put_new<K: redb::Key + 'static>(
        &self,
        definition: Definition<K>,
        key: K::SelfType<'_>,
        value: &[u8],
    ) -> Result<(), StoreError> {
        let mut table = self.open(definition)?;
        let there = table.get(&key).map_err(|error| self.failed(error))?.is_some();
        if !there {
            table.insert(key, value).map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn failed(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError::from_redb(self.path, error)
    }
}
