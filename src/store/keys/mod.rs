//! Typed keys: they never leave the store as bytes.

mod kind;
mod row_key;
mod scope;

pub use kind::Kind;
pub(crate) use row_key::RowColumns;
pub use row_key::{
    AnswerKey, CallKey, GateUnitKey, PhaseKey, PhaseKeyParseError, RankKey, RowKey, SpanKey, Target, TargetParseError,
};
pub(crate) use scope::ScopeColumns;
pub use scope::{Scope, ScopeParseError};
