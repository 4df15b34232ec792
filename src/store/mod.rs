//! The store: one transactional file that holds all state of a workspace.
//!
//! [`Store`] writes ([`Batch`], one thread, grouped durable commits), [`StoreReader`] reads from this
//! or from another process while one writes, [`Snapshot`] is one consistent state with all typed reads.
//! Rows that a step produces live in one table under (run, [`Scope`], [`Kind`], key), so that
//! re-running a step is one range delete. The store knows keys, tables and transactions, and nothing
//! about training.

mod apply;
mod batch;
mod check;
mod codec;
mod digest;
mod error;
pub mod failpoint;
mod guard;
mod handle;
mod keys;
mod maintain;
mod migrate;
mod names;
mod open;
mod reader;
mod reads;
pub mod rows;
mod schema;
mod snapshot;
mod stats;
mod text;
mod writer;

pub use batch::Batch;
pub use check::{CheckReport, Invariant, PROBLEMS_KEPT, Problem, check};
pub use codec::{CodecError, Form, Record};
pub use digest::{StateDigest, state_digest};
pub use error::StoreError;
pub use guard::silence_guarded_panics;
pub(crate) use guard::{caught, panic_text};
pub use handle::{Store, WriterStats};
pub use keys::{
    AnswerKey, CallKey, GateUnitKey, Kind, PhaseKey, PhaseKeyParseError, RankKey, RowKey, Scope, ScopeParseError,
    SpanKey, Target, TargetParseError,
};
pub use maintain::{CompactReport, check_file, compact};
pub use open::{OpenEvent, OpenListener, OpenOptions};
pub use reader::StoreReader;
pub use schema::SCHEMA_VERSION;
pub use snapshot::Snapshot;
pub use stats::{Contents, Depth, Size, StoreStats, stats};
