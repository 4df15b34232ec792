//! The datasets: for each kind of row, its columns.

mod answers;
mod diagnosis;
mod gate;
mod lasting;
mod slow;
mod step;
mod training;

use serde::Serialize;

use super::column::ColumnDoc;
use super::dataset::Dataset;

/// All datasets, in the order of the documented schema.
#[must_use]
pub fn all_datasets() -> Vec<Box<dyn Dataset>> {
    let mut datasets = lasting::datasets();
    datasets.extend(answers::datasets());
    datasets.extend(diagnosis::datasets());
    datasets.extend(gate::datasets());
    datasets.extend(slow::datasets());
    datasets.extend(training::datasets());
    datasets
}

/// What `schema/export.json` documents.
#[derive(Debug, Serialize)]
pub struct DatasetDoc {
    name: &'static str,
    doc: &'static str,
    columns: Vec<ColumnDoc>,
}

/// The documented schema of every dataset.
#[must_use]
pub fn documented_schema() -> Vec<DatasetDoc> {
    let docs = all_datasets();
    docs.iter()
        .map(|dataset| DatasetDoc { name: dataset.name(), doc: dataset.doc(), columns: dataset.columns() })
        .collect()
}
