//! How much lies where.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use redb::{ReadableTable, ReadableTableMetadata, TableHandle};
use serde::Serialize;

use super::error::StoreError;
use super::keys::Kind;
use super::schema::{STEP_ROWS, for_each_table};
use super::snapshot::{Snapshot, with_table};

/// Rows and bytes of a table or of a kind of step row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Size {
    /// Rows.
    pub rows: u64,
    /// Bytes of values, as stored (compressed where they are); none where the rows were not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_bytes: Option<u64>,
}

/// How much lies where in a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// The layout of the file.
    pub schema: u32,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// By table.
    pub tables: BTreeMap<String, Size>,
    /// What only reading every row tells.
    #[serde(flatten)]
    pub contents: Option<Contents>,
}

/// What only reading every row tells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// Bytes of pages that hold rows.
    pub used_bytes: u64,
    /// The rest of the file: free pages, and the database's own records. `trm store compact` gives most of it back.
    pub free_bytes: u64,
    /// The table of step rows by kind.
    pub step_rows: BTreeMap<String, Size>,
    /// Rows of each run in the table of step rows, by run id.
    pub runs: BTreeMap<String, Size>,
}

/// How much of the store is read for its statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The counts that the file keeps of itself: milliseconds at any size.
    Counts,
    /// Every row: seconds for each gigabyte.
    Rows,
}

/// Counts rows, and with [`Depth::Rows`] bytes, kinds and runs.
///
/// # Errors
/// The file cannot be read.
pub fn stats(snapshot: &Snapshot<'_>, depth: Depth) -> Result<StoreStats, StoreError> {
    let mut tables = BTreeMap::new();
    let mut used_bytes = 0;
    let mut parts = Parts::default();
    macro_rules! measure {
        ($table:expr) => {
            with_table!(snapshot, $table, |table| {
                let rows = table.len().map_err(|error| snapshot.redb_error(error))?;
                let mut size = Size { rows, value_bytes: None };
                if depth == Depth::Rows {
                    let pages = table.stats().map_err(|error| snapshot.redb_error(error))?;
                    // Pages are 4 KiB and multiples of it for large values, so the sum is that of their contents.
                    used_bytes += pages.stored_bytes() + pages.metadata_bytes() + pages.fragmented_bytes();
                    // The step rows are measured by kind and run below.
                    if $table.name() != STEP_ROWS.name() {
                        size = Size { rows: 0, value_bytes: Some(0) };
                        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
                            let (_, value) = entry.map_err(|error| snapshot.redb_error(error))?;
                            size.add(value.value().len());
                        }
                    }
                }
                tables.insert($table.name().to_owned(), size);
                Ok(())
            })?;
        };
    }
    for_each_table!(measure);
    if depth == Depth::Rows {
        parts = Parts::read(snapshot)?;
        tables.insert(STEP_ROWS.name().to_owned(), parts.all);
    }
    let path = snapshot.path();
    let file_bytes = std::fs::metadata(path).map_err(|error| StoreError::from_io(path, error))?.len();
    let schema = snapshot.schema()?.unwrap_or_default();
    let contents = (depth == Depth::Rows).then(|| Contents {
        used_bytes,
        free_bytes: file_bytes.saturating_sub(used_bytes),
        step_rows: parts.named_kinds(),
        runs: parts.runs,
    });
    Ok(StoreStats { schema, file_bytes, tables, contents })
}

/// The step rows taken apart.
#[derive(Debug, Default)]
struct Parts {
    all: Size,
    kinds: BTreeMap<u8, Size>,
    runs: BTreeMap<String, Size>,
}

impl Parts {
    fn read(snapshot: &Snapshot<'_>) -> Result<Self, StoreError> {
        let mut parts = Self { all: Size { rows: 0, value_bytes: Some(0) }, ..Self::default() };
        snapshot.visit_every(|key, value| {
            parts.all.add(value.len());
            parts.kinds.entry(key.kind).or_default().add(value.len());
            match parts.runs.get_mut(key.run) {
                Some(size) => size.add(value.len()),
                None => parts.runs.entry(key.run.to_owned()).or_default().add(value.len()),
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(parts)
    }

    fn named_kinds(&self) -> BTreeMap<String, Size> {
        let name = |code| Kind::from_code(code).map_or_else(|| format!("unknown ({code})"), |kind| kind.to_string());
        self.kinds.iter().map(|(code, size)| (name(*code), *size)).collect()
    }
}

impl Size {
    fn add(&mut self, bytes: usize) {
        self.rows += 1;
        self.value_bytes = Some(self.value_bytes.unwrap_or(0) + bytes as u64);
    }
}
