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

macro_rules! step_row {
    ($row:ty, $kind:ident, $key:ty $(, $item:ident = $value:expr)* $(,)?) => {
        impl $crate::store::codec::Record for $row {
            const NAME: &'static str = stringify!($kind);
            $(const $item: $crate::store::rows::record_item!($item) = $value;)*
        }

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

macro_rules! record {
    ($row:ty, $name:literal $(, $item:ident = $value:expr)* $(,)?) => {
        impl $crate::store::codec::Record for $row {
            const NAME: &'static str = $name;
            $(const $item: $crate::store::rows::record_item!($item) = $value;)*
        }
    };
}

pub(crate) use {record, record_item, step_row};
