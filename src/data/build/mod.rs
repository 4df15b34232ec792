//! Trees from captions and subtitles.

mod builder;
mod extract;
mod levels;

pub use builder::{BuildError, TreeSource, build_tree};
pub use levels::{LevelSize, LevelSizeError, LevelSizes};
