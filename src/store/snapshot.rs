//! One consistent state of the store, and all typed reads of it.

use std::ops::{Bound, ControlFlow};
use std::panic::resume_unwind;
use std::path::Path;
use std::sync::Arc;

use redb::{ReadTransaction, ReadableTable, WriteTransaction};

use super::codec::{self, Record};
use super::error::StoreError;
use super::guard::outside;
use super::keys::{AnswerKey, Kind, RowColumns, RowKey, Scope, ScopeColumns, SpanKey};
use super::rows::{StepRow, TraceSpan};
use super::schema::{Definition, STEP_ROWS, StepKey};
use crate::domain::RunId;

/// One consistent state of the store.
///
/// Keep it for milliseconds: a pinned state makes the file grow. A long export takes a new one for
/// every step (design 03). Inside [`Store::transact`](super::Store::transact) it is the state that
/// the write will be applied to.
pub struct Snapshot<'a> {
    source: Source<'a>,
    path: Arc<Path>,
}

pub(crate) enum Source<'a> {
    Read(Box<ReadTransaction>),
    Write(&'a WriteTransaction),
}

/// Runs an expression that is a result, with a table of either transaction open.
macro_rules! with_table {
    ($snapshot:expr, $definition:expr, |$table:ident| $body:expr) => {
        $crate::store::guard::guarded($snapshot.path(), || match $snapshot.source() {
            $crate::store::snapshot::Source::Read(transaction) => {
                let $table = transaction.open_table($definition).map_err(|error| $snapshot.redb_error(error))?;
                $body
            }
            $crate::store::snapshot::Source::Write(transaction) => {
                let $table = transaction.open_table($definition).map_err(|error| $snapshot.redb_error(error))?;
                $body
            }
        })
    };
}

pub(crate) use with_table;

/// A step row's key as it lies in the table.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawStepKey<'a> {
    pub(crate) run: &'a str,
    pub(crate) scope: ScopeColumns,
    pub(crate) kind: u8,
    pub(crate) sub: &'a str,
    pub(crate) item: &'a str,
    pub(crate) index: u32,
}

impl<'a> RawStepKey<'a> {
    pub(crate) fn of(key: StepKey<'a>) -> Self {
        let (run, stage, epoch, part, number, kind, sub, item, index) = key;
        Self { run, scope: (stage, epoch, part, number), kind, sub, item, index }
    }

    pub(crate) fn columns(self) -> StepKey<'a> {
        let (stage, epoch, part, number) = self.scope;
        (self.run, stage, epoch, part, number, self.kind, self.sub, self.item, self.index)
    }

    /// The first possible key of a scope.
    pub(crate) fn start(run: &'a str, scope: ScopeColumns) -> Self {
        Self { run, scope, kind: 0, sub: "", item: "", index: 0 }
    }

    /// Above every key of a scope: no kind has this code.
    pub(crate) fn end(run: &'a str, scope: ScopeColumns) -> Self {
        Self { run, scope, kind: u8::MAX, sub: "", item: "", index: 0 }
    }

    /// The key as text, for messages.
    pub(crate) fn describe(&self) -> String {
        let scope = Scope::from_columns(self.scope).map_or_else(|| format!("{:?}", self.scope), |s| s.to_string());
        let kind = Kind::from_code(self.kind).map_or_else(|| format!("kind {}", self.kind), |k| k.to_string());
        format!("{:?} {scope} {kind} {:?} {:?} {}", self.run, self.sub, self.item, self.index)
    }
}

/// Which rows of a kind in a scope are wanted.
#[derive(Debug, Clone, Copy, Default)]
struct Part<'p> {
    sub: Option<&'p str>,
    item: Option<&'p str>,
}

impl std::fmt::Debug for Snapshot<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("path", &self.path).finish_non_exhaustive()
    }
}

impl<'a> Snapshot<'a> {
    pub(crate) fn new(source: Source<'a>, path: Arc<Path>) -> Self {
        Self { source, path }
    }

    pub(crate) fn source(&self) -> &Source<'a> {
        &self.source
    }

    /// The file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn redb_error(&self, error: impl Into<redb::Error>) -> StoreError {
        StoreError::from_redb(&self.path, error)
    }

    /// One row of a step.
    ///
    /// # Errors
    /// The file or the row cannot be read.
    pub fn row<R: StepRow>(&self, run: &RunId, scope: Scope, key: &R::Key) -> Result<Option<R>, StoreError> {
        let RowColumns { sub, item, index } = key.columns();
        let raw = RawStepKey {
            run: run.as_str(),
            scope: scope.columns(),
            kind: R::KIND.code(),
            sub: &sub,
            item: &item,
            index,
        };
        with_table!(self, STEP_ROWS, |table| {
            let value = table.get(raw.columns()).map_err(|error| self.redb_error(error))?;
            value.map(|value| self.decode_step::<R>(&raw, value.value())).transpose()
        })
    }

    /// All rows of one kind in a scope, by key.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn rows<R: StepRow>(&self, run: &RunId, scope: Scope) -> Result<Vec<(R::Key, R)>, StoreError> {
        self.collect(run, scope, Part::default())
    }

    /// All rows of one kind in a scope whose sub-key is that of a phase, a task type, a target …
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn rows_of<R: StepRow>(
        &self,
        run: &RunId,
        scope: Scope,
        sub: &impl std::fmt::Display,
    ) -> Result<Vec<(R::Key, R)>, StoreError> {
        let sub = sub.to_string();
        self.collect(run, scope, Part { sub: Some(&sub), item: None })
    }

    /// The trace of one answer, in order.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn trace(
        &self,
        run: &RunId,
        scope: Scope,
        answer: &AnswerKey,
    ) -> Result<Vec<(SpanKey, TraceSpan)>, StoreError> {
        let RowColumns { sub, item, .. } = answer.columns();
        self.collect(run, scope, Part { sub: Some(&sub), item: Some(&item) })
    }

    /// Hands every row of one kind in a scope to `visit`, by key, until it breaks.
    ///
    /// Inside a write, `visit` must not read the store again.
    ///
    /// # Errors
    /// The file or a row cannot be read.
    pub fn visit<R: StepRow>(
        &self,
        run: &RunId,
        scope: Scope,
        mut visit: impl FnMut(R::Key, R) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let mut panicked = None;
        self.visit_part(run, scope, Part::default(), |key, row| {
            outside(|| visit(key, row)).unwrap_or_else(|panic| {
                panicked = Some(panic);
                ControlFlow::Break(())
            })
        })?;
        panicked.map_or(Ok(()), |panic| resume_unwind(panic))
    }

    /// Number of rows of one kind in a scope.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn count(&self, run: &RunId, scope: Scope, kind: Kind) -> Result<u64, StoreError> {
        let from = RawStepKey { kind: kind.code(), ..RawStepKey::start(run.as_str(), scope.columns()) };
        let to = RawStepKey { kind: kind.code().saturating_add(1), ..from };
        let mut count = 0;
        self.visit_raw(from, to, |_, _| {
            count += 1;
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(count)
    }

    /// The scopes of a run that have rows, in order. Costs one seek per scope.
    ///
    /// # Errors
    /// The file cannot be read, or holds a key that nothing writes.
    pub fn scopes(&self, run: &RunId) -> Result<Vec<Scope>, StoreError> {
        let mut scopes = Vec::new();
        with_table!(self, STEP_ROWS, |table| {
            let first = RawStepKey::start(run.as_str(), (0, 0, 0, 0)).columns();
            let mut next = self.seek(&table, Bound::Included(first), run)?;
            while let Some(columns) = next {
                let scope = Scope::from_columns(columns).ok_or_else(|| StoreError::ForeignKey {
                    path: self.path.to_path_buf(),
                    table: "step_rows",
                    key: RawStepKey::start(run.as_str(), columns).describe(),
                })?;
                scopes.push(scope);
                let end = RawStepKey::end(run.as_str(), columns).columns();
                next = self.seek(&table, Bound::Excluded(end), run)?;
            }
            Ok(())
        })?;
        Ok(scopes)
    }

    fn seek(
        &self,
        table: &impl ReadableTable<StepKey<'static>, &'static [u8]>,
        from: Bound<StepKey<'_>>,
        run: &RunId,
    ) -> Result<Option<ScopeColumns>, StoreError> {
        let mut range = table.range((from, Bound::Unbounded)).map_err(|error| self.redb_error(error))?;
        let Some(entry) = range.next() else { return Ok(None) };
        let (key, _) = entry.map_err(|error| self.redb_error(error))?;
        let key = RawStepKey::of(key.value());
        Ok((key.run == run.as_str()).then_some(key.scope))
    }

    fn collect<R: StepRow>(&self, run: &RunId, scope: Scope, part: Part<'_>) -> Result<Vec<(R::Key, R)>, StoreError> {
        let mut rows = Vec::new();
        self.visit_part::<R>(run, scope, part, |key, row| {
            rows.push((key, row));
            ControlFlow::Continue(())
        })?;
        Ok(rows)
    }

    fn visit_part<R: StepRow>(
        &self,
        run: &RunId,
        scope: Scope,
        part: Part<'_>,
        mut visit: impl FnMut(R::Key, R) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        // The successor of a text in byte order is the text and a NUL.
        let after_sub = format!("{}\0", part.sub.unwrap_or_default());
        let after_item = format!("{}\0", part.item.unwrap_or_default());
        let start = RawStepKey { kind: R::KIND.code(), ..RawStepKey::start(run.as_str(), scope.columns()) };
        let (from, to) = match (part.sub, part.item) {
            (Some(sub), Some(item)) => {
                (RawStepKey { sub, item, ..start }, RawStepKey { sub, item: &after_item, ..start })
            }
            (Some(sub), None) => (RawStepKey { sub, ..start }, RawStepKey { sub: &after_sub, ..start }),
            (None, _) => (start, RawStepKey { kind: R::KIND.code().saturating_add(1), ..start }),
        };
        self.visit_raw(from, to, |key, value| {
            let row = self.decode_step::<R>(&key, value)?;
            let typed = R::Key::from_columns(key.sub, key.item, key.index).ok_or_else(|| self.foreign(&key))?;
            Ok(visit(typed, row))
        })
    }

    /// Hands every row from `from` to before `to` to `visit`, undecoded.
    pub(crate) fn visit_raw(
        &self,
        from: RawStepKey<'_>,
        to: RawStepKey<'_>,
        mut visit: impl FnMut(RawStepKey<'_>, &[u8]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        with_table!(self, STEP_ROWS, |table| {
            let range = table.range(from.columns()..to.columns()).map_err(|error| self.redb_error(error))?;
            for entry in range {
                let (key, value) = entry.map_err(|error| self.redb_error(error))?;
                if visit(RawStepKey::of(key.value()), value.value())?.is_break() {
                    break;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Hands every step row of every run to `visit`, by key, undecoded.
    pub(crate) fn visit_every(
        &self,
        mut visit: impl FnMut(RawStepKey<'_>, &[u8]) -> Result<ControlFlow<()>, StoreError>,
    ) -> Result<(), StoreError> {
        with_table!(self, STEP_ROWS, |table| {
            for entry in table.iter().map_err(|error| self.redb_error(error))? {
                let (key, value) = entry.map_err(|error| self.redb_error(error))?;
                if visit(RawStepKey::of(key.value()), value.value())?.is_break() {
                    break;
                }
            }
            Ok(())
        })?;
        Ok(())
    }

    pub(crate) fn foreign(&self, key: &RawStepKey<'_>) -> StoreError {
        StoreError::ForeignKey { path: self.path.to_path_buf(), table: "step_rows", key: key.describe() }
    }

    pub(crate) fn decode_step<R: StepRow>(&self, key: &RawStepKey<'_>, value: &[u8]) -> Result<R, StoreError> {
        self.decode(R::KIND.name(), || key.describe(), value)
    }

    pub(crate) fn decode<R: Record>(
        &self,
        table: &'static str,
        key: impl FnOnce() -> String,
        value: &[u8],
    ) -> Result<R, StoreError> {
        codec::decode(value).map_err(|source| StoreError::Row {
            path: self.path.to_path_buf(),
            table,
            key: key(),
            source,
        })
    }

    /// One record of a table other than that of the step rows.
    pub(crate) fn record<K, R>(
        &self,
        definition: Definition<K>,
        key: K::SelfType<'_>,
        describe: impl FnOnce() -> String,
    ) -> Result<Option<R>, StoreError>
    where
        K: redb::Key + 'static,
        R: Record,
    {
        with_table!(self, definition, |table| {
            let value = table.get(key).map_err(|error| self.redb_error(error))?;
            value.map(|value| self.decode(R::NAME, describe, value.value())).transpose()
        })
    }

    /// Whether a table has a key.
    pub(crate) fn has<K: redb::Key + 'static>(
        &self,
        definition: Definition<K>,
        key: K::SelfType<'_>,
    ) -> Result<bool, StoreError> {
        with_table!(self, definition, |table| Ok(table.get(key).map_err(|error| self.redb_error(error))?.is_some()))
    }
}
