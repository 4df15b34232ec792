//! The store: one transactional file that holds all state of a workspace.
//!
//! [`Store`] writes ([`Batch`], one thread, grouped durable commits), [`StoreReader`] reads from this
//! or from another process while one writes, [`Snapshot`] is one consistent state with all typed reads.
//! Rows that a step produces live in one table under (run, [`Scope`], [`Kind`], key), so that
//! re-running a step is one range delete. The store knows keys, tables and transactions, and nothing
//! about training.

mod apply;
mod batch;
mod codec;
mod error;
pub mod failpoint;
mod handle;
mod keys;
mod migrate;
mod names;
mod open;
mod reader;
mod reads;
pub mod rows;
mod schema;
mod snapshot;
mod text;
mod writer;

pub use batch::Batch;
pub use codec::{CodecError, Form, Record};
pub use error::StoreError;
pub use handle::{Store, WriterStats};
pub use keys::{
    AnswerKey, CallKey, GateUnitKey, Kind, PhaseKey, PhaseKeyParseError, RankKey, RowKey, Scope, ScopeParseError,
    SpanKey, Target, TargetParseError,
};
pub use open::{OpenEvent, OpenListener, OpenOptions};
pub use reader::StoreReader;
pub use schema::SCHEMA_VERSION;
pub use snapshot::Snapshot;
