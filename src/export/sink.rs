//! Files of one dataset: one, or one for each partition.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::column::{Cell, ColumnDoc};
use super::dataset::{Partition, RowSink};
use super::error::ExportError;
use super::job::{Format, PartitionBy};
use super::json_lines::JsonLinesFile;
use super::parquet_file::ParquetFile;

/// A file that takes rows.
pub(super) trait RowFile {
    fn push(&mut self, cells: &[Cell<'_>]) -> Result<(), ExportError>;
    /// Ends the file and makes it durable.
    fn finish(self: Box<Self>) -> Result<(), ExportError>;
}

/// Distributes the rows of one dataset to its files.
pub(super) struct DatasetSink<'a> {
    pub(super) dataset: &'static str,
    pub(super) columns: &'a [ColumnDoc],
    pub(super) folder: &'a Path,
    pub(super) format: Format,
    pub(super) partition_by: PartitionBy,
    pub(super) rows: u64,
    pub(super) files: Vec<PathBuf>,
    open: BTreeMap<Partition, Box<dyn RowFile>>,
}

impl<'a> DatasetSink<'a> {
    pub(super) fn new(
        dataset: &'static str,
        columns: &'a [ColumnDoc],
        folder: &'a Path,
        format: Format,
        partition_by: PartitionBy,
    ) -> Self {
        Self { dataset, columns, folder, format, partition_by, rows: 0, files: Vec::new(), open: BTreeMap::new() }
    }

    /// Ends all files. A dataset without rows still has its (empty, typed) file.
    pub(super) fn finish(&mut self) -> Result<(), ExportError> {
        if self.files.is_empty() && self.partition_by == PartitionBy::default() {
            self.file_for(&Partition::default())?;
        }
        self.close_all()
    }

    fn close_all(&mut self) -> Result<(), ExportError> {
        std::mem::take(&mut self.open).into_values().try_for_each(RowFile::finish)
    }

    fn file_for(&mut self, partition: &Partition) -> Result<&mut Box<dyn RowFile>, ExportError> {
        let key = Partition {
            run: partition.run.clone().filter(|_| self.partition_by.run),
            epoch: partition.epoch.filter(|_| self.partition_by.epoch),
        };
        // Rows come run by run: the files of an earlier run are complete.
        if self.open.keys().any(|open| open.run != key.run) {
            self.close_all()?;
        }
        match self.open.entry(key) {
            std::collections::btree_map::Entry::Occupied(entry) => Ok(entry.into_mut()),
            std::collections::btree_map::Entry::Vacant(entry) => {
                let relative = relative_path(self.dataset, entry.key(), self.format, self.partition_by);
                let path = self.folder.join(&relative);
                if let Some(parent) = path.parent() {
                    std::fs::create_dir_all(parent).map_err(ExportError::write(parent))?;
                }
                let file: Box<dyn RowFile> = match self.format {
                    Format::Parquet => Box::new(ParquetFile::create(&path, self.dataset, self.columns)?),
                    Format::JsonLines => Box::new(JsonLinesFile::create(&path, self.columns)?),
                };
                self.files.push(relative);
                Ok(entry.insert(file))
            }
        }
    }
}

impl RowSink for DatasetSink<'_> {
    fn row(&mut self, partition: &Partition, cells: &[Cell<'_>]) -> Result<(), ExportError> {
        self.rows += 1;
        self.file_for(partition)?.push(cells)
    }
}

/// `predictions.parquet`, or `predictions/run=r1/epoch=2/part-0.parquet` (Hive's form, read by Polars and DuckDB).
fn relative_path(dataset: &str, key: &Partition, format: Format, by: PartitionBy) -> PathBuf {
    let extension = format.extension();
    if by == PartitionBy::default() {
        return PathBuf::from(format!("{dataset}.{extension}"));
    }
    let none = || "__HIVE_DEFAULT_PARTITION__".to_owned();
    let mut path = PathBuf::from(dataset);
    if by.run {
        path.push(format!("run={}", key.run.as_ref().map_or_else(none, ToString::to_string)));
    }
    if by.epoch {
        path.push(format!("epoch={}", key.epoch.map_or_else(none, |epoch| epoch.to_string())));
    }
    path.push(format!("part-0.{extension}"));
    path
}
