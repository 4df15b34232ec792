//! A dataset: named, typed, streamed from the store step by step.

use super::column::{Cell, ColumnDoc};
use super::error::ExportError;
use crate::domain::RunId;
use crate::store::StoreReader;

/// Which rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only this run.
    pub run: Option<RunId>,
    /// Only this epoch: its steps and its slow update.
    pub epoch: Option<u32>,
}

/// What a row can be filed under.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Partition {
    /// The run, if the row belongs to one.
    pub run: Option<RunId>,
    /// The epoch, if the row belongs to one.
    pub epoch: Option<u32>,
}

/// Takes rows one by one; `cells` has one cell for each column.
pub(super) trait RowSink {
    fn row(&mut self, partition: &Partition, cells: &[Cell<'_>]) -> Result<(), ExportError>;
}

/// One dataset. Rows come in the order of the store's keys, so that two exports of one state are equal.
pub trait Dataset: Send + Sync {
    /// The name: of the file, the folder, `--tables`.
    fn name(&self) -> &'static str;

    /// What a row is.
    fn doc(&self) -> &'static str;

    /// The columns, in order.
    fn columns(&self) -> Vec<ColumnDoc>;

    /// Hands every wanted row to `sink`, in short read transactions.
    ///
    /// # Errors
    /// The store cannot be read, or the sink failed.
    #[expect(private_interfaces, reason = "only this module makes sinks")]
    fn stream(&self, reader: &StoreReader, filter: &Filter, sink: &mut dyn RowSink) -> Result<(), ExportError>;
}
