//! The patch engine: edits of Markdown that never touch what is frozen (design 05).
//!
//! Total: any bytes that are text give a result or a typed error, and every edit gets its report
//! row. Invariants, fuzzed in `fuzz/` and property-tested in `tests/it/patch.rs`:
//!
//! 1. A byte of a frozen range is never changed, moved out of its range or separated from it.
//! 2. Region markers are neither made nor removed.
//! 3. The report has one row per edit, in order.

mod apply;
mod edit;
mod error;
mod frozen;
mod markdown;
mod notes;
mod regions;

pub use apply::{PatchOutcome, apply_patch_with_report};
pub use edit::{Edit, EditOp, EditReport, EditStatus};
pub use error::PatchError;
pub use frozen::{FrozenHeadings, FrozenKind, FrozenRange, FrozenSpec, frozen_ranges};
pub use markdown::{FrontMatter, fences_closed, front_matter};
pub use notes::{append_notes, appendix_notes, replace_notes};
pub(in crate::evolution) use regions::newline_of;
pub use regions::{
    APPENDIX_MAX_CHARS, MOMENTUM_HEADING, MOMENTUM_MAX_CHARS, Region, RegionBounds, momentum_inner, region_bounds,
    region_inner, replace_momentum, without_regions,
};
