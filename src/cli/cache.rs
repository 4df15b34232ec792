//! `trm cache stats|prune|renew`: the cache of model replies.

use std::path::Path;

use super::settings::ConfigArgs;
use super::store::bytes;
use super::{CliError, Context};
use crate::domain::{ExitClass, Fault};
use crate::llm::{
    CacheBackend, CacheSettings, FileCacheStats, PruneOptions, PruneReport, RedisCache, RedisCacheStats, RenewReport,
    cache_settings, file_cache_stats, prune_file_cache, renew_file_cache,
};

/// The response cache: replies are replayed from it instead of paid for again.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, clap::Subcommand)]
enum Action {
    /// Count the entries.
    Stats(ConfigArgs),
    /// Remove entries that have expired, and give their space back.
    Prune(PruneArgs),
    /// Let live entries live 7 more days: before a run that paused for long goes on.
    Renew(ConfigArgs),
}

#[derive(Debug, clap::Args)]
struct PruneArgs {
    /// Also remove entries stored more than DAYS days ago.
    #[arg(long, value_name = "DAYS", conflicts_with = "all")]
    older_than: Option<u64>,

    /// Remove all entries.
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    config: ConfigArgs,
}

/// What the configured cache does not allow.
#[derive(Debug, thiserror::Error)]
enum CacheCliError {
    #[error("use the response cache: it is off in this workspace")]
    Off,
    #[error("prune the response cache in Redis")]
    RedisPrunes,
    #[error("start the asynchronous runtime")]
    Runtime(#[source] std::io::Error),
}

impl Fault for CacheCliError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Off | Self::RedisPrunes => ExitClass::Usage,
            Self::Runtime(_) => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Off => "cache.off",
            Self::RedisPrunes => "cache.redis_prunes",
            Self::Runtime(_) => "cache.runtime",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Off => Some("set llm.cache.backend to redb or redis".to_owned()),
            Self::RedisPrunes => Some("Redis removes expired entries itself; --all removes every entry".to_owned()),
            Self::Runtime(_) => None,
        }
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    match &args.action {
        Action::Stats(config) => match place(config, context)? {
            Place::File(path) => file_stats(&path, context),
            Place::Redis(settings) => redis_stats(&settings, context),
        },
        Action::Prune(prune) => match place(&prune.config, context)? {
            Place::File(path) => file_prune(&path, prune, context),
            Place::Redis(_) if !prune.all => Err(CacheCliError::RedisPrunes.into()),
            Place::Redis(settings) => redis_clear(&settings, context),
        },
        Action::Renew(config) => match place(config, context)? {
            Place::File(path) => file_renew(&path, context),
            Place::Redis(settings) => redis_renew(&settings, context),
        },
    }
}

/// Where the configured cache is.
enum Place {
    File(std::path::PathBuf),
    Redis(CacheSettings),
}

fn place(config: &ConfigArgs, context: &Context) -> Result<Place, CliError> {
    let session = config.load(context, Vec::new())?;
    let (group, secrets) = (&session.loaded.config.llm.cache, &session.loaded.secrets);
    let settings = cache_settings(group, secrets, &session.workspace.llm_cache())?;
    match &settings.backend {
        CacheBackend::Off => Err(CacheCliError::Off.into()),
        CacheBackend::File(path) => Ok(Place::File(path.clone())),
        CacheBackend::Redis(_) => Ok(Place::Redis(settings)),
    }
}

fn file_stats(path: &Path, context: &mut Context) -> Result<(), CliError> {
    // No run has begun one yet: that is an empty cache.
    let stats = if path.exists() { file_cache_stats(path)? } else { FileCacheStats::default() };
    if context.json() {
        return context.write_json(&serde_json::json!({ "backend": "redb", "path": path, "stats": stats }));
    }
    context.line(format_args!("file      {}", path.display()))?;
    context.line(format_args!("entries   {} live, {} expired", stats.entries, stats.expired))?;
    context.line(format_args!(
        "size      {} of entries, {} on disk",
        bytes(stats.entry_bytes),
        bytes(stats.file_bytes)
    ))?;
    print_ages(stats.oldest_seconds, stats.next_expiry_seconds, context)
}

fn file_prune(path: &Path, args: &PruneArgs, context: &mut Context) -> Result<(), CliError> {
    let older_than_seconds = args.older_than.map(|days| days.saturating_mul(86_400));
    let options = PruneOptions { older_than_seconds, everything: args.all };
    let report = if path.exists() { prune_file_cache(path, options)? } else { PruneReport::default() };
    if context.json() {
        return context.write_json(&report);
    }
    let PruneReport { removed, kept, bytes_before, bytes_after } = report;
    let (before, after) = (bytes(bytes_before), bytes(bytes_after));
    context.line(format_args!("{removed} entries removed, {kept} kept; {before} before, {after} now"))
}

fn file_renew(path: &Path, context: &mut Context) -> Result<(), CliError> {
    let report = if path.exists() { renew_file_cache(path)? } else { RenewReport::default() };
    print_renewal(report, context)
}

fn redis_stats(settings: &CacheSettings, context: &mut Context) -> Result<(), CliError> {
    let stats = with_redis(settings, async |cache| cache.stats().await)?;
    if context.json() {
        return context.write_json(&serde_json::json!({ "backend": "redis", "stats": stats }));
    }
    let RedisCacheStats { address, entries, entry_bytes, without_expiry, next_expiry_seconds } = stats;
    context.line(format_args!("server    {address}"))?;
    context.line(format_args!("entries   {entries} ({without_expiry} that never expire)"))?;
    context.line(format_args!("size      {} of entries", bytes(entry_bytes)))?;
    print_ages(None, next_expiry_seconds, context)
}

fn redis_renew(settings: &CacheSettings, context: &mut Context) -> Result<(), CliError> {
    let report = with_redis(settings, async |cache| cache.renew().await)?;
    print_renewal(report, context)
}

fn redis_clear(settings: &CacheSettings, context: &mut Context) -> Result<(), CliError> {
    let removed = with_redis(settings, async |cache| cache.clear().await)?;
    if context.json() {
        return context.write_json(&serde_json::json!({ "removed": removed }));
    }
    context.line(format_args!("{removed} entries removed"))
}

/// Connects and does one thing.
fn with_redis<T>(
    settings: &CacheSettings,
    act: impl AsyncFnOnce(&RedisCache) -> Result<T, crate::llm::LlmError>,
) -> Result<T, CliError> {
    let CacheBackend::Redis(url) = &settings.backend else { return Err(CacheCliError::Off.into()) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(CacheCliError::Runtime)?;
    let done = runtime.block_on(async { act(&RedisCache::open(url, settings.ttl)?).await });
    Ok(done?)
}

fn print_renewal(report: RenewReport, context: &mut Context) -> Result<(), CliError> {
    if context.json() {
        return context.write_json(&report);
    }
    context.line(format_args!("{} entries renewed for 7 days, {} left as they were", report.renewed, report.unchanged))
}

fn print_ages(oldest: Option<u64>, next_expiry: Option<u64>, context: &mut Context) -> Result<(), CliError> {
    if let Some(seconds) = oldest {
        context.line(format_args!("oldest    {} ago", span(seconds)))?;
    }
    if let Some(seconds) = next_expiry {
        context.line(format_args!("expiring  the next in {}", span(seconds)))?;
    }
    Ok(())
}

/// Seconds in the unit that fits.
fn span(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7_200 => format!("{} min", seconds / 60),
        7_200..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} days", seconds / 86_400),
    }
}
