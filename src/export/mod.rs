//! Analysis leaves the store here: Parquet and JSON Lines, one dataset per kind of row.
//!
//! A dataset is a list of typed columns over a stream of rows (`tables/`); writers know formats and
//! nothing of rows; the job stages everything and renames it into place at the end.

mod column;
mod dataset;
mod error;
mod job;
mod json_lines;
mod manifest;
mod parquet_file;
mod sink;
mod staging;
mod tables;

pub use column::{Cell, ColumnDoc, ColumnType};
pub use dataset::{Dataset, Filter, Partition};
pub use error::ExportError;
pub use job::{ExportReport, ExportRequest, Format, PartitionBy, export};
pub use manifest::{DatasetEntry, Manifest};
pub use tables::{all_datasets, documented_schema};
