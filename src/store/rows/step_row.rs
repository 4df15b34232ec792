//! What makes a stored struct a row of a step.

use crate::store::codec::Record;
use crate::store::keys::{Kind, RowKey};

/// A record that lives in the table of step rows: its kind and the type of its key below the kind.
pub trait StepRow: Record {
    /// The kind, which is part of the key.
    const KIND: Kind;
    /// What identifies a row within run, scope and kind.
    type Key: RowKey;
}

/// `step_row!(Struct, Kind, Key, FORM = …, VERSION = …; 1 => StructV1)`: a row, and the older versions of it.
macro_rules! step_row {
    ($row:ty, $kind:ident, $key:ty $(, $item:ident = $value:expr)* $(; $version:literal => $old:ty)* $(;)?) => {
        $crate::store::rows::record!($row, stringify!($kind) $(, $item = $value)* $(; $version => $old)*);

        impl $crate::store::rows::StepRow for $row {
            const KIND: $crate::store::keys::Kind = $crate::store::keys::Kind::$kind;
            type Key = $key;
        }
    };
}

/// The type of an optional item of `Record`, by its name.
macro_rules! record_item {
    (FORM) => {
        $crate::store::codec::Form
    };
    (VERSION) => {
        u8
    };
}

/// `record!(Struct, "name", FORM = …, VERSION = …; 1 => StructV1)`: a record, and the older versions of it.
macro_rules! record {
    ($row:ty, $name:expr $(, $item:ident = $value:expr)* $(; $version:literal => $old:ty)* $(;)?) => {
        impl $crate::store::codec::Record for $row {
            const NAME: &'static str = $name;
            $(const $item: $crate::store::rows::record_item!($item) = $value;)*

            fn upgrade(version: u8, body: &[u8]) -> Result<Option<Self>, $crate::store::codec::CodecError> {
                match (version, body) {
                    $(($version, body) => {
                        $crate::store::codec::from_body::<$old>(body).map(|old| Some(old.into()))
                    })*
                    _ => Ok(None),
                }
            }
        }
    };
}

pub(crate) use {record, record_item, step_row};
