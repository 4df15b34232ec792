//! The response cache: replies by the hash of the whole request and of the place that asked (design 06, 12, 13).

mod database;
mod entry;
mod file;
mod handle;
mod key;
mod maintenance;
mod redis;

pub use file::FileCache;
pub use maintenance::{
    FileCacheStats, PruneOptions, PruneReport, RenewReport, file_cache_stats, prune_file_cache, renew_file_cache,
};
pub use redis::{RedisCache, RedisCacheStats};

pub(super) use handle::Cache;
pub(super) use key::call_key;

/// How long an entry lives by default: 7 days.
pub const DEFAULT_TTL_SECONDS: u64 = 604_800;
