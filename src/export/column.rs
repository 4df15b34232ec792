//! Typed columns: what a dataset promises, and the values it delivers.

use std::borrow::Cow;

use serde::Serialize;

/// The type of a column, in Arrow's and in JSON's terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ColumnType {
    /// Boolean.
    Bool,
    /// Unsigned 32-bit integer.
    UInt32,
    /// Unsigned 64-bit integer.
    UInt64,
    /// 64-bit float.
    Float64,
    /// UTF-8 text.
    Text,
    /// UTF-8 text with few distinct values, dictionary-encoded.
    Label,
    /// Milliseconds since 1970 in UTC.
    Timestamp,
    /// A list of texts.
    TextList,
    /// Raw bytes; base64 in JSON Lines.
    Bytes,
}

/// One value. A null is a null, never 0 and never an empty text.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Null,
    /// For [`ColumnType::Bool`].
    Bool(bool),
    /// For [`ColumnType::UInt32`] and [`ColumnType::UInt64`].
    UInt(u64),
    /// For [`ColumnType::Float64`].
    Float(f64),
    /// For [`ColumnType::Text`] and [`ColumnType::Label`].
    Text(Cow<'a, str>),
    /// For [`ColumnType::Timestamp`].
    Timestamp(i64),
    /// For [`ColumnType::TextList`].
    Texts(Vec<Cow<'a, str>>),
    /// For [`ColumnType::Bytes`].
    Bytes(&'a [u8]),
}

/// What is told of a column: the documented schema is the list of these.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ColumnDoc {
    /// Its name, snake_case.
    pub name: &'static str,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: ColumnType,
    /// Whether null has a meaning there.
    pub nullable: bool,
    /// What it says: unit, range, when it is null.
    pub doc: &'static str,
}

/// A column of rows of type `T`.
pub(super) struct Column<T> {
    pub(super) doc: ColumnDoc,
    pub(super) get: for<'a> fn(&'a T) -> Cell<'a>,
}

/// A column without nulls.
pub(super) fn column<T>(
    name: &'static str,
    kind: ColumnType,
    doc: &'static str,
    get: for<'a> fn(&'a T) -> Cell<'a>,
) -> Column<T> {
    Column { doc: ColumnDoc { name, kind, nullable: false, doc }, get }
}

/// A column in which null has a meaning.
pub(super) fn nullable<T>(
    name: &'static str,
    kind: ColumnType,
    doc: &'static str,
    get: for<'a> fn(&'a T) -> Cell<'a>,
) -> Column<T> {
    Column { doc: ColumnDoc { name, kind, nullable: true, doc }, get }
}

impl<'a> Cell<'a> {
    /// Borrowed text.
    pub(super) fn text(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    /// Text made for this cell.
    pub(super) fn owned(text: impl Into<String>) -> Self {
        Self::Text(Cow::Owned(text.into()))
    }

    /// A list of texts.
    pub(super) fn texts<S: AsRef<str> + 'a>(items: &'a [S]) -> Self {
        Self::Texts(items.iter().map(|item| Cow::Borrowed(item.as_ref())).collect())
    }

    /// A value, or null.
    pub(super) fn or_null<T>(value: Option<T>, cell: impl FnOnce(T) -> Self) -> Self {
        value.map_or(Self::Null, cell)
    }

    /// A count, or null.
    pub(super) fn count(value: Option<u32>) -> Self {
        Self::or_null(value, |value| Self::UInt(u64::from(value)))
    }

    /// A float, or null.
    pub(super) fn float(value: Option<f64>) -> Self {
        Self::or_null(value, Self::Float)
    }

    /// Borrowed text, or null.
    pub(super) fn opt_text(value: Option<&'a str>) -> Self {
        Self::or_null(value, Self::text)
    }
}
