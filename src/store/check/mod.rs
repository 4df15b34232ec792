//! `trm store check`: every row decodes, every reference resolves, nothing is lost or twice.

mod answers;
mod gates;
mod references;
mod report;
mod scope_rows;
mod state;
mod walk;

pub use report::{CheckReport, Invariant, PROBLEMS_KEPT, Problem};
pub use walk::check;
