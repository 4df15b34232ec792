//! The fixed texts with which the kernel asks its judge and its writer (design 12, "Diagnosis and evolving").
//!
//! Immutable bundles (judge, writer, momentum), loaded by the caller and passed in. They are never versioned or evolved.
//! A template is plain text with `{{name}}` places; the values are never expanded again, and every
//! value that comes from outside stands in a `<data>` block that it cannot close (see [`data_block`]).

mod bundles;
mod data;
mod error;
mod template;

pub use bundles::{
    DiagnosePrompts, EvolvePrompts, JUDGE_TEMPLATE_NAMES, MOMENTUM_TEMPLATE_NAMES, MomentumPrompts,
    WRITER_TEMPLATE_NAMES,
};
pub use data::{data_block, limited};
pub use error::TemplateError;
pub use template::Template;
