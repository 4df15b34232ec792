//! Seeds: named, self-contained starting points with the evaluation that vouches for them (design 12).

mod error;
mod promote;
mod start;

pub use error::SeedError;
pub use promote::{PromoteRequest, Promoted, SeedLine, promote, seeds};
pub use start::{SeedSource, Started, open_seed, start_from};
