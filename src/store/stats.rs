//! How much lies where.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use redb::{ReadableTable, ReadableTableMetadata, TableHandle};
use serde::Serialize;

use super::error::StoreError;
use super::keys::Kind;
use super::schema::for_each_table;
use super::snapshot::{Snapshot, with_table};

/// Rows and bytes of a table or of a kind of step row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Size {
    /// Rows.
    pub rows: u64,
    /// Bytes of values, as stored (compressed where they are).
    pub value_bytes: u64,
}

/// How much lies where in a store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoreStats {
    /// The layout of the file.
    pub schema: u32,
    /// Size of the file in bytes.
    pub file_bytes: u64,
    /// Bytes of pages that hold rows.
    pub used_bytes: u64,
    /// The rest of the file: free pages, and the database's own records. `trm store compact` gives most of it back.
    pub free_bytes: u64,
    /// By table.
    pub tables: BTreeMap<String, Size>,
    /// The table of step rows by kind.
    pub step_rows: BTreeMap<String, Size>,
    /// Rows of each run in the table of step rows, by run id.
    pub runs: BTreeMap<String, Size>,
}

/// Counts rows and bytes; reads every step row's key and length.
///
/// # Errors
/// The file cannot be read.
pub fn stats(snapshot: &Snapshot<'_>) -> Result<StoreStats, StoreError> {
    let mut tables = BTreeMap::new();
    let mut used_bytes = 0;
    macro_rules! measure {
        ($table:expr) => {
            with_table!(snapshot, $table, |table| {
                let pages = table.stats().map_err(|error| snapshot.redb_error(error))?;
                // Pages are 4 KiB and multiples of it for large values, so the sum is that of their contents.
                used_bytes += pages.stored_bytes() + pages.metadata_bytes() + pages.fragmented_bytes();
                let mut size = Size::default();
                for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
                    let (_, value) = entry.map_err(|error| snapshot.redb_error(error))?;
                    size.add(value.value().len());
                }
                tables.insert($table.name().to_owned(), size);
                Ok(())
            })?;
        };
    }
    for_each_table!(measure);
    let (step_rows, runs) = by_kind_and_run(snapshot)?;
    let path = snapshot.path();
    let file_bytes = std::fs::metadata(path).map_err(|error| StoreError::from_io(path, error))?.len();
    let schema = snapshot.schema()?.unwrap_or_default();
    let free_bytes = file_bytes.saturating_sub(used_bytes);
    Ok(StoreStats { schema, file_bytes, used_bytes, free_bytes, tables, step_rows, runs })
}

type ByName = BTreeMap<String, Size>;

fn by_kind_and_run(snapshot: &Snapshot<'_>) -> Result<(ByName, ByName), StoreError> {
    let mut kinds: BTreeMap<u8, Size> = BTreeMap::new();
    let mut runs = ByName::new();
    snapshot.visit_every(|key, value| {
        kinds.entry(key.kind).or_default().add(value.len());
        match runs.get_mut(key.run) {
            Some(size) => size.add(value.len()),
            None => runs.entry(key.run.to_owned()).or_default().add(value.len()),
        }
        Ok(ControlFlow::Continue(()))
    })?;
    let name = |code| Kind::from_code(code).map_or_else(|| format!("unknown ({code})"), |kind| kind.to_string());
    Ok((kinds.into_iter().map(|(code, size)| (name(code), size)).collect(), runs))
}

impl Size {
    fn add(&mut self, bytes: usize) {
        self.rows += 1;
        self.value_bytes += bytes as u64;
    }
}
