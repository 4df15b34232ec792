//! `_manifest.json`: what an export holds.

use serde::{Deserialize, Serialize};

/// The name of the manifest's file.
pub(super) const MANIFEST_FILE: &str = "_manifest.json";

/// What an export holds. Equal for two exports of one state of the store.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of this manifest's form.
    pub manifest_version: u32,
    /// The program's version.
    pub program: String,
    /// The schema version of the store.
    pub store_schema: u32,
    /// `parquet` or `jsonl`.
    pub format: String,
    /// The only run, if one was asked for.
    pub run: Option<String>,
    /// The only epoch, if one was asked for.
    pub epoch: Option<u32>,
    /// The datasets, by name.
    pub datasets: Vec<DatasetEntry>,
}

/// One dataset of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatasetEntry {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its files, relative to the manifest, sorted.
    pub files: Vec<String>,
}
