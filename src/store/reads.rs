//! Typed reads of what outlives a step.

use std::collections::BTreeMap;
use std::fmt::Display;

use redb::{ReadableTable, ReadableTableMetadata};

use super::codec::Record;
use super::error::StoreError;
use super::keys::Scope;
use super::rows::{
    BaselineEntry, BaselineKey, Checkpoint, Content, Heartbeat, Ladder, Pointer, PointerName, Pools, Run, Seed, Usage,
    UsageKey, Version, VersionKind,
};
use super::schema::{
    BASELINE_CACHE, CHECKPOINTS, CONTENTS, Definition, HEARTBEATS, LADDERS, MANIFEST, META, POOLS, RUNS, SCHEMA_KEY,
    SEEDS, TEXT_PREFIX, USAGE, VERSIONS,
};
use super::snapshot::{Snapshot, with_table};
use super::text::{SchemaNumber, Text};
use crate::domain::{ContentHash, FileName, RunId, TaskType, VersionName};
use crate::store::names::Named;

impl Snapshot<'_> {
    /// The schema version of the file; none if it was never initialised.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub(crate) fn schema(&self) -> Result<Option<u32>, StoreError> {
        Ok(self.record::<&str, SchemaNumber>(META, SCHEMA_KEY, || SCHEMA_KEY.to_owned())?.map(|row| row.0))
    }

    /// A named text, such as the summary of the last import.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn text(&self, name: &str) -> Result<Option<String>, StoreError> {
        let key = format!("{TEXT_PREFIX}{name}");
        Ok(self.record::<&str, Text>(META, key.as_str(), || format!("{name:?}"))?.map(|row| row.0))
    }

    /// A run.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn run(&self, run: &RunId) -> Result<Option<Run>, StoreError> {
        self.record(RUNS, run.as_str(), || run.to_string())
    }

    /// All runs in order of creation.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn runs(&self) -> Result<Vec<(RunId, Run)>, StoreError> {
        let mut runs = self.by_text::<RunId, Run>(RUNS)?;
        runs.sort_by_key(|(_, run)| run.sequence);
        Ok(runs)
    }

    /// A text by its hash.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn content(&self, hash: &ContentHash) -> Result<Option<String>, StoreError> {
        let content: Option<Content> = self.record(CONTENTS, hash.as_bytes(), || hash.to_string())?;
        Ok(content.map(|content| content.text))
    }

    /// A version.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn version(&self, kind: VersionKind, name: VersionName) -> Result<Option<Version>, StoreError> {
        self.record(VERSIONS, (kind.code(), name.number()), || format!("{kind} {name}"))
    }

    /// All versions of a kind, by number.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn versions(&self, kind: VersionKind) -> Result<Vec<(VersionName, Version)>, StoreError> {
        let mut versions = Vec::new();
        with_table!(self, VERSIONS, |table| {
            let range = (kind.code(), 0)..=(kind.code(), u32::MAX);
            for entry in table.range(range).map_err(|error| self.redb_error(error))? {
                let (key, value) = entry.map_err(|error| self.redb_error(error))?;
                let (_, number) = key.value();
                let describe = || format!("{kind} v{number}");
                let name = VersionName::from_number(number).ok_or_else(|| self.foreign_key("versions", describe()))?;
                versions.push((name, self.decode("version", describe, value.value())?));
            }
            Ok(())
        })?;
        Ok(versions)
    }

    /// The version of a kind with the highest number.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn latest_version(&self, kind: VersionKind) -> Result<Option<VersionName>, StoreError> {
        with_table!(self, VERSIONS, |table| {
            let range = (kind.code(), 0)..=(kind.code(), u32::MAX);
            let mut range = table.range(range).map_err(|error| self.redb_error(error))?;
            let Some(entry) = range.next_back() else { return Ok(None) };
            let (key, _) = entry.map_err(|error| self.redb_error(error))?;
            Ok(VersionName::from_number(key.value().1))
        })
    }

    /// The name that the next version of a kind must have: the highest number + 1.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_version(&self, kind: VersionKind) -> Result<VersionName, StoreError> {
        Ok(self.latest_version(kind)?.map_or(VersionName::FIRST, VersionName::next))
    }

    /// The texts of a version, by file name.
    ///
    /// # Errors
    /// There is no such version, one of its texts is missing, or the file cannot be read.
    pub fn version_texts(
        &self,
        kind: VersionKind,
        name: VersionName,
    ) -> Result<BTreeMap<FileName, String>, StoreError> {
        let version = self.version(kind, name)?.ok_or_else(|| self.missing(format!("version {name} of {kind}")))?;
        self.texts(&version.files)
    }

    /// The texts of hashes.
    ///
    /// # Errors
    /// One of them is missing, or the file cannot be read.
    pub fn texts(&self, files: &BTreeMap<FileName, ContentHash>) -> Result<BTreeMap<FileName, String>, StoreError> {
        files
            .iter()
            .map(|(file, hash)| {
                let text = self.content(hash)?;
                Ok((file.clone(), text.ok_or_else(|| self.missing(format!("the text {hash} of {file}")))?))
            })
            .collect()
    }

    /// Where a pointer points; none before the first version.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn pointer(&self, name: PointerName) -> Result<Option<Pointer>, StoreError> {
        self.record(MANIFEST, name.name(), || name.to_string())
    }

    /// A seed.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn seed(&self, name: &str) -> Result<Option<Seed>, StoreError> {
        self.record(SEEDS, name, || format!("{name:?}"))
    }

    /// The names of all seeds, sorted.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn seeds(&self) -> Result<Vec<String>, StoreError> {
        Ok(self.by_text::<String, Seed>(SEEDS)?.into_iter().map(|(name, _)| name).collect())
    }

    /// The pools of a run.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn pools(&self, run: &RunId) -> Result<Option<Pools>, StoreError> {
        self.record(POOLS, run.as_str(), || run.to_string())
    }

    /// The ladder of a task type.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn ladder(&self, run: &RunId, task_type: &TaskType) -> Result<Option<Ladder>, StoreError> {
        self.record(LADDERS, (run.as_str(), task_type.as_str()), || format!("{run} {task_type:?}"))
    }

    /// All ladders of a run, by task type.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn ladders(&self, run: &RunId) -> Result<BTreeMap<TaskType, Ladder>, StoreError> {
        let mut ladders = BTreeMap::new();
        with_table!(self, LADDERS, |table| {
            for entry in table.range((run.as_str(), "")..).map_err(|error| self.redb_error(error))? {
                let (key, value) = entry.map_err(|error| self.redb_error(error))?;
                let (of, task_type) = key.value();
                if of != run.as_str() {
                    break;
                }
                let describe = || format!("{run} {task_type:?}");
                let name = task_type.parse().map_err(|_| self.foreign_key("ladders", describe()))?;
                ladders.insert(name, self.decode("ladder", describe, value.value())?);
            }
            Ok(())
        })?;
        Ok(ladders)
    }

    /// A base arm's cached answer.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn baseline(&self, key: &BaselineKey) -> Result<Option<BaselineEntry>, StoreError> {
        let columns = (
            key.environment.as_bytes(),
            key.task_type.as_str(),
            key.skill_hash.as_bytes(),
            key.prompts_version.number(),
            key.unit_id.as_str(),
        );
        self.record(BASELINE_CACHE, columns, || format!("{key:?}"))
    }

    /// The training state of a run.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
        self.record(CHECKPOINTS, (run.as_str(), 0), || format!("{run} current"))
    }

    /// The training state before the current one.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn previous_checkpoint(&self, run: &RunId) -> Result<Option<Checkpoint>, StoreError> {
        self.record(CHECKPOINTS, (run.as_str(), 1), || format!("{run} previous"))
    }

    /// The usage totals of a run, by key.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn usage(&self, run: &RunId) -> Result<Vec<(UsageKey, Usage)>, StoreError> {
        let mut totals = Vec::new();
        with_table!(self, USAGE, |table| {
            let first = (run.as_str(), 0, 0, 0, 0, "", "");
            for entry in table.range(first..).map_err(|error| self.redb_error(error))? {
                let (key, value) = entry.map_err(|error| self.redb_error(error))?;
                let (of, stage, epoch, part, number, phase, role) = key.value();
                if of != run.as_str() {
                    break;
                }
                let describe = || format!("{run} {:?} {phase:?} {role:?}", (stage, epoch, part, number));
                let scope = Scope::from_columns((stage, epoch, part, number));
                let (Some(scope), Some(role)) = (scope, Named::from_stable_name(role)) else {
                    return Err(self.foreign_key("usage", describe()));
                };
                let key = UsageKey { run: run.clone(), scope, phase: phase.to_owned(), role };
                totals.push((key, self.decode("usage", describe, value.value())?));
            }
            Ok(())
        })?;
        Ok(totals)
    }

    /// The last sign of life of a run.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn heartbeat(&self, run: &RunId) -> Result<Option<Heartbeat>, StoreError> {
        self.record(HEARTBEATS, run.as_str(), || run.to_string())
    }

    /// Number of rows in a table.
    pub(crate) fn table_len<K: redb::Key + 'static>(&self, definition: Definition<K>) -> Result<u64, StoreError> {
        with_table!(self, definition, |table| table.len().map_err(|error| self.redb_error(error)))
    }

    /// All records of a table whose key is one text.
    pub(crate) fn by_text<I: std::str::FromStr, R: Record>(
        &self,
        definition: Definition<&'static str>,
    ) -> Result<Vec<(I, R)>, StoreError> {
        let mut rows = Vec::new();
        with_table!(self, definition, |table| {
            for entry in table.iter().map_err(|error| self.redb_error(error))? {
                let (key, value) = entry.map_err(|error| self.redb_error(error))?;
                let text = key.value();
                let id = text.parse().map_err(|_| self.foreign_key(R::NAME, format!("{text:?}")))?;
                rows.push((id, self.decode(R::NAME, || format!("{text:?}"), value.value())?));
            }
            Ok(())
        })?;
        Ok(rows)
    }

    pub(crate) fn foreign_key(&self, table: &'static str, key: impl Display) -> StoreError {
        StoreError::ForeignKey { path: self.path().to_owned(), table, key: key.to_string() }
    }

    pub(crate) fn missing(&self, what: String) -> StoreError {
        StoreError::Missing { path: self.path().to_owned(), what }
    }
}
