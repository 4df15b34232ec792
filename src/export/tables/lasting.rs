//! What outlives a step: runs, versions, usage.

use crate::domain::{ContentHash, FileName, RunId, VersionName};
use crate::export::column::ColumnType::{Bool, Float64, Label, Text, Timestamp, UInt64};
use crate::export::column::{Cell, Column, ColumnDoc, column, nullable};
use crate::export::dataset::{Dataset, Filter, Partition, RowSink};
use crate::export::error::ExportError;
use crate::store::rows::{Run, Usage, UsageKey, Version, VersionKind};
use crate::store::{Snapshot, StoreError, StoreReader};

pub(super) fn datasets() -> Vec<Box<dyn Dataset>> {
    vec![runs(), versions(), usage()]
}

/// A dataset that is small enough to be read at once.
pub(super) struct SmallDataset<T> {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) columns: Vec<Column<T>>,
    pub(super) read: fn(&Snapshot<'_>, &Filter) -> Result<Vec<T>, StoreError>,
    pub(super) run: fn(&T) -> Option<&RunId>,
}

impl<T: Send + Sync> Dataset for SmallDataset<T> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn columns(&self) -> Vec<ColumnDoc> {
        self.columns.iter().map(|column| column.doc.clone()).collect()
    }

    fn stream(&self, reader: &StoreReader, filter: &Filter, sink: &mut dyn RowSink) -> Result<(), ExportError> {
        for item in (self.read)(&reader.snapshot()?, filter)? {
            let cells: Vec<Cell<'_>> = self.columns.iter().map(|column| (column.get)(&item)).collect();
            sink.row(&Partition { run: (self.run)(&item).cloned(), epoch: None }, &cells)?;
        }
        Ok(())
    }
}

pub(super) fn wanted_runs(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<(RunId, Run)>, StoreError> {
    let mut runs = snapshot.runs()?;
    runs.retain(|(run, _)| filter.run.as_ref().is_none_or(|wanted| wanted == run));
    Ok(runs)
}

fn runs() -> Box<dyn Dataset> {
    let columns: Vec<Column<(RunId, Run)>> = vec![
        column("run_id", Label, "the run", |(run, _)| Cell::text(run.as_str())),
        column("sequence", UInt64, "from 0, in order of creation", |(_, row)| Cell::UInt(row.sequence)),
        column("mode", Label, "train, infer, eval or diagnose", |(_, row)| Cell::text(row.mode.name())),
        column("state", Label, "unfinished, finished or abandoned", |(_, row)| Cell::text(row.state.name())),
        column("skills_version", Label, "skills it began with", |(_, row)| {
            Cell::owned(row.versions.skills.to_string())
        }),
        column("prompts_version", Label, "prompts it began with", |(_, row)| {
            Cell::owned(row.versions.prompts.to_string())
        }),
        column("seed", UInt64, "all randomness derives from it", |(_, row)| Cell::UInt(row.seed)),
        column("config", Text, "the frozen configuration, JSON text", |(_, row)| Cell::text(&row.config)),
        column("config_fingerprint", Text, "hash of its structural keys", |(_, row)| {
            Cell::owned(row.config_fingerprint.to_string())
        }),
        column("data_fingerprint", Text, "fingerprint of the question set", |(_, row)| {
            Cell::owned(row.data_fingerprint.to_string())
        }),
        column("program_version", Label, "the program that began it", |(_, row)| Cell::text(&row.program_version)),
        column("created_at", Timestamp, "when it began", |(_, row)| Cell::Timestamp(row.created_ms)),
        nullable("finished_at", Timestamp, "when it ended; null if it has not", |(_, row)| {
            Cell::or_null(row.finished_ms, Cell::Timestamp)
        }),
        nullable("summary", Text, "the result, JSON text; null if it is not finished", |(_, row)| {
            Cell::opt_text(row.summary.as_deref())
        }),
    ];
    Box::new(SmallDataset {
        name: "runs",
        doc: "One run: training, inference or evaluation.",
        columns,
        read: wanted_runs,
        run: |(run, _)| Some(run),
    })
}

/// One file of a version.
struct VersionFile {
    kind: VersionKind,
    name: VersionName,
    version: Version,
    file: FileName,
    hash: ContentHash,
    text: String,
}

fn version_files(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<VersionFile>, StoreError> {
    let mut files = Vec::new();
    for kind in VersionKind::ALL {
        for (name, version) in snapshot.versions(*kind)? {
            let made_by = version.made_by.as_ref().map(|made_by| &made_by.run);
            if filter.run.is_some() && filter.run.as_ref() != made_by {
                continue;
            }
            for (file, hash) in &version.files {
                let text = snapshot.content(hash)?.unwrap_or_default();
                let (file, hash) = (file.clone(), *hash);
                files.push(VersionFile { kind: *kind, name, version: version.clone(), file, hash, text });
            }
        }
    }
    Ok(files)
}

fn versions() -> Box<dyn Dataset> {
    let columns: Vec<Column<VersionFile>> = vec![
        column("kind", Label, "skills or prompts", |item| Cell::text(item.kind.name())),
        column("version", Label, "such as v3", |item| Cell::owned(item.name.to_string())),
        column("number", UInt64, "its number", |item| Cell::UInt(item.name.number().into())),
        nullable("parent", Label, "the version it was made from", |item| {
            Cell::or_null(item.version.parent, |parent| Cell::owned(parent.to_string()))
        }),
        column("source", Label, "where it comes from, such as built-in, import, accept", |item| {
            Cell::text(&item.version.source)
        }),
        nullable("made_by_run", Label, "the run that made it", |item| {
            Cell::opt_text(item.version.made_by.as_ref().map(|by| by.run.as_str()))
        }),
        nullable("made_by_scope", Label, "the part of that run", |item| {
            Cell::or_null(item.version.made_by.as_ref(), |by| Cell::owned(by.scope.to_string()))
        }),
        column("created_at", Timestamp, "when", |item| Cell::Timestamp(item.version.created_ms)),
        column("file", Label, "the file", |item| Cell::text(item.file.as_str())),
        column("content_hash", Text, "hash of its text", |item| Cell::owned(item.hash.to_string())),
        column("text", Text, "its text", |item| Cell::text(&item.text)),
    ];
    Box::new(SmallDataset {
        name: "versions",
        doc: "One file of a skill or prompt version.",
        columns,
        read: version_files,
        run: |item| item.version.made_by.as_ref().map(|by| &by.run),
    })
}

fn usage_rows(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<(UsageKey, Usage)>, StoreError> {
    let mut rows = Vec::new();
    for (run, _) in wanted_runs(snapshot, filter)? {
        rows.extend(snapshot.usage(&run)?);
    }
    rows.retain(|(key, _)| filter.epoch.is_none() || key.scope.epoch() == filter.epoch);
    Ok(rows)
}

fn usage() -> Box<dyn Dataset> {
    let columns: Vec<Column<(UsageKey, Usage)>> = vec![
        column("run_id", Label, "the run", |(key, _)| Cell::text(key.run.as_str())),
        column("scope", Label, "the part of the run", |(key, _)| Cell::owned(key.scope.to_string())),
        column("phase", Label, "the phase, judge or writer", |(key, _)| Cell::text(&key.phase)),
        column("role", Label, "what the model was used for", |(key, _)| Cell::text(key.role.name())),
        column("calls", UInt64, "calls, cached ones included", |(_, row)| Cell::UInt(row.calls)),
        column("cached_calls", UInt64, "of these, answered by the response cache", |(_, row)| {
            Cell::UInt(row.cached_calls)
        }),
        column("failed_calls", UInt64, "of these, failed", |(_, row)| Cell::UInt(row.failed_calls)),
        column("retries", UInt64, "tries beyond the first", |(_, row)| Cell::UInt(row.retries)),
        column("prompt_tokens", UInt64, "tokens read and paid for", |(_, row)| Cell::UInt(row.tokens.prompt)),
        column("completion_tokens", UInt64, "tokens written and paid for", |(_, row)| {
            Cell::UInt(row.tokens.completion)
        }),
        column("replayed_prompt_tokens", UInt64, "tokens read by replayed calls", |(_, row)| {
            Cell::UInt(row.cached_tokens.prompt)
        }),
        column("replayed_completion_tokens", UInt64, "tokens written by replayed calls", |(_, row)| {
            Cell::UInt(row.cached_tokens.completion)
        }),
        column("tokens_estimated", Bool, "whether any token figure is an estimate", |(_, row)| {
            Cell::Bool(row.tokens.estimated)
        }),
        column("cost_usd", Float64, "US dollars spent", |(_, row)| Cell::Float(row.cost_usd)),
        column("unpriced_calls", UInt64, "calls without a price", |(_, row)| Cell::UInt(row.unpriced_calls)),
    ];
    Box::new(SmallDataset {
        name: "usage",
        doc: "Totals of model calls per run, scope, phase and role.",
        columns,
        read: usage_rows,
        run: |(key, _)| Some(&key.run),
    })
}
