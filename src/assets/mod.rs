//! Texts that ship inside the binary, so that a new workspace needs no network and no second file.

mod skills;

pub use skills::default_skills;
