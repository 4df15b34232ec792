//! What calls cost and how they went: prices, totals, records, the live status.

mod ledger;
mod meter;
mod money;
mod record;
mod status;

pub use ledger::{Ledger, Totals, UsageRow};
pub use money::{Money, Price, PriceTable};
pub use record::{CallKind, CallOutcome, CallRecord, CallSink, RecordFuture};
pub use status::{BudgetStatus, CacheStatus, CircuitState, EndpointStatus, LlmStatus, RoleStatus, WaitReason, Waiting};

pub(super) use meter::RoleMeter;
