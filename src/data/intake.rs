//! Between the readers of file formats and whoever takes the records.

use serde_json::Value;

use super::json::Fields;
use super::problem::{Problem, Spot};

/// Takes what a reader of some format finds, one record at a time.
pub(super) trait Intake {
    /// One record, not yet checked.
    fn record(&mut self, spot: &Spot, fields: Fields<Value>);

    /// What is wrong with the file itself.
    fn problem(&mut self, problem: Problem);

    /// So many bytes of the file were read since the last call.
    fn advance(&mut self, bytes: u64);
}

/// Told how far a long job is; called often, so it must be cheap.
pub trait Progress {
    /// So much more work is known: bytes of a file, or trees.
    fn expect(&self, work: u64);

    /// So much was done.
    fn advance(&self, work: u64);
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProgress;

impl Progress for NoProgress {
    fn expect(&self, _: u64) {}

    fn advance(&self, _: u64) {}
}
