//! Access to language models: the client, the governor around it, the response cache, accounting.

mod account;
mod backend;
mod cache;
mod error;
mod from_config;
mod governor;
mod hub;
mod openai;
mod probe;
mod settings;
mod shape;
mod tokens;

pub use account::{
    BudgetStatus, CacheStatus, CallKind, CallOutcome, CallRecord, CallSink, CircuitState, EndpointStatus, Ledger,
    LlmStatus, Money, Price, PriceTable, RecordFuture, RoleStatus, Totals, UsageRow, WaitReason, Waiting,
};
pub use backend::{Answer, Ask, Backend, ModelBackend, NamedBackend, TryError, TryFuture};
pub use cache::{
    DEFAULT_TTL_SECONDS, FileCache, FileCacheStats, PruneOptions, PruneReport, RedisCache, RedisCacheStats,
    RenewReport, file_cache_stats, prune_file_cache, renew_file_cache,
};
pub use error::LlmError;
pub use from_config::cache_settings;
pub use hub::{HubParts, ModelHub};
pub use probe::{JsonFailure, Probe, probe};
pub use settings::{
    BudgetSettings, CacheBackend, CacheMode, CacheSettings, Limits, LlmSettings, Provider, RetrySettings, RoleSettings,
    Timeouts,
};
pub use tokens::{estimate_request, estimate_tokens};
