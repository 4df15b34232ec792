//! Skill and prompt versions: immutable named sets of files in the store (design 02, "Skills and prompts").

mod check;
mod checkout;
mod compare;
mod error;
mod files;
mod import;
mod ports;
mod resolve;
mod scaffold;

pub use check::{DEFAULT_SKILL, PROMPT_FILES, check_set, skill_fields};
pub use checkout::checkout;
pub use compare::{ChangeKind, FileChange, compare, unified_diff};
pub use error::VersionsError;
pub use files::{FileSet, read_file, read_folder};
pub use import::{Imported, import, initial_batch};
pub use ports::{VersionedPrompts, VersionedSkills};
pub use resolve::{resolve, texts};
pub use scaffold::{Scaffolded, missing_types, scaffold, skill_for};
