//! The small records of the `meta` table.

use serde::{Deserialize, Serialize};

use super::codec::Record;

/// The layout of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SchemaNumber(pub(crate) u32);

impl Record for SchemaNumber {
    const NAME: &'static str = "schema version";
}

/// A named text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Text(pub(crate) String);

impl Record for Text {
    const NAME: &'static str = "text";
}
