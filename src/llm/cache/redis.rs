//! The Redis backend: shared between machines; a lost server costs misses, never the run.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::aio::{ConnectionManager, ConnectionManagerConfig};
use redis::{Client, Pipeline, RedisError, Value, cmd};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;
use tokio::time::Instant;

use super::DEFAULT_TTL_SECONDS;
use super::handle::{EntryStore, StoreFuture};
use super::maintenance::RenewReport;
use crate::domain::ContentHash;
use crate::llm::LlmError;
use crate::llm::openai::install_tls;

/// Every key begins so.
const PREFIX: &str = "llm_cache:";

/// The server has this long to answer; its client's own default of 500 ms is short for entries of megabytes.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(3);

/// The server has this long to accept a connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(2);

/// After a failure the server is left alone this long, so that not every call of a run waits for it in vain.
const LEAVE_ALONE: Duration = Duration::from_secs(5);

/// Keys looked at in one round trip.
const BATCH: usize = 500;

/// The response cache in a Redis server.
pub struct RedisCache {
    connection: ConnectionManager,
    address: String,
    ttl: u64,
    left_alone: Mutex<Option<Lost>>,
}

#[derive(Debug, Clone)]
struct Lost {
    until: Instant,
    problem: String,
}

/// What is in a server.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct RedisCacheStats {
    /// Host and port.
    pub address: String,
    /// Entries of this program.
    pub entries: u64,
    /// Their bytes, compressed.
    pub entry_bytes: u64,
    /// Entries that never expire.
    pub without_expiry: u64,
    /// Until the first expires, in seconds.
    pub next_expiry_seconds: Option<u64>,
}

impl std::fmt::Debug for RedisCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RedisCache").field("address", &self.address).finish_non_exhaustive()
    }
}

impl RedisCache {
    /// A cache at `url`; connects when first used. `ttl` is the life of new entries, at least a second.
    ///
    /// # Errors
    /// The URL cannot be read. Must be called inside a tokio runtime.
    pub fn open(url: &SecretString, ttl: Duration) -> Result<Self, LlmError> {
        // The URL may hold a password: no error repeats it.
        let unreadable = |_| LlmError::setting("REDIS_URL", "must be like redis://[user:password@]host:port/db");
        install_tls();
        let client = Client::open(url.expose_secret()).map_err(unreadable)?;
        let address = client.get_connection_info().addr().to_string();
        let config = ConnectionManagerConfig::new()
            .set_response_timeout(Some(RESPONSE_TIMEOUT))
            .set_connection_timeout(Some(CONNECTION_TIMEOUT))
            .set_number_of_retries(1)
            .set_max_delay(Duration::from_millis(200));
        let connection = ConnectionManager::new_lazy_with_config(client, config)
            .map_err(|error| LlmError::Redis { address: address.clone(), problem: error.to_string() })?;
        Ok(Self { connection, address, ttl: ttl.as_secs().max(1), left_alone: Mutex::default() })
    }

    /// Host and port.
    #[must_use]
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Asks the server for a sign of life.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn ping(&self) -> Result<(), LlmError> {
        let mut connection = self.connection.clone();
        let answer = cmd("PING").query_async::<String>(&mut connection).await;
        answer.map(drop).map_err(|error| self.error(&error))
    }

    /// Counts the entries.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn stats(&self) -> Result<RedisCacheStats, LlmError> {
        let mut stats = RedisCacheStats { address: self.address.clone(), ..RedisCacheStats::default() };
        let keys: Vec<_> = self.keys().await?.into_iter().collect();
        for batch in keys.chunks(BATCH) {
            let lives: Vec<i64> = self.each(batch, "TTL").await?;
            let lengths: Vec<u64> = self.each(batch, "STRLEN").await?;
            for (life, length) in lives.into_iter().zip(lengths) {
                match u64::try_from(life) {
                    Ok(seconds) => {
                        let next = stats.next_expiry_seconds.map_or(seconds, |least| least.min(seconds));
                        stats.next_expiry_seconds = Some(next);
                    }
                    Err(_) if life == -1 => stats.without_expiry += 1,
                    // Gone since it was listed.
                    Err(_) => continue,
                }
                stats.entries += 1;
                stats.entry_bytes += length;
            }
        }
        Ok(stats)
    }

    /// Lets every entry that would expire within 7 days live 7 days from now; entries without expiry stay so.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn renew(&self) -> Result<RenewReport, LlmError> {
        let mut report = RenewReport::default();
        let keys: Vec<_> = self.keys().await?.into_iter().collect();
        for batch in keys.chunks(BATCH) {
            let lives: Vec<i64> = self.each(batch, "TTL").await?;
            let mut pipeline = Pipeline::new();
            let mut asked = 0;
            for (key, life) in batch.iter().zip(lives) {
                if u64::try_from(life).is_ok_and(|life| (1..DEFAULT_TTL_SECONDS).contains(&life)) {
                    pipeline.cmd("EXPIRE").arg(key).arg(DEFAULT_TTL_SECONDS);
                    asked += 1;
                } else {
                    report.unchanged += 1;
                }
            }
            if asked > 0 {
                let done: Vec<u64> = self.query(&pipeline).await?;
                // An entry that expired meanwhile answers 0.
                report.renewed += done.iter().sum::<u64>();
            }
        }
        Ok(report)
    }

    /// Removes all entries of this program, and nothing else; returns how many.
    ///
    /// # Errors
    /// The server does not answer.
    pub async fn clear(&self) -> Result<u64, LlmError> {
        let keys: Vec<_> = self.keys().await?.into_iter().collect();
        let mut removed = 0;
        for batch in keys.chunks(BATCH) {
            removed += self.each::<u64>(batch, "DEL").await?.iter().sum::<u64>();
        }
        Ok(removed)
    }

    /// All keys of this program; a scan may repeat some, a set does not.
    async fn keys(&self) -> Result<BTreeSet<Vec<u8>>, LlmError> {
        let mut keys = BTreeSet::new();
        let mut cursor = 0_u64;
        loop {
            let mut scan = cmd("SCAN");
            scan.arg(cursor).arg("MATCH").arg(format!("{PREFIX}*")).arg("COUNT").arg(BATCH);
            let mut connection = self.connection.clone();
            let (next, found): (u64, Vec<Vec<u8>>) =
                scan.query_async(&mut connection).await.map_err(|error| self.error(&error))?;
            keys.extend(found);
            if next == 0 {
                return Ok(keys);
            }
            cursor = next;
        }
    }

    /// One command for each key, in one round trip.
    async fn each<T: redis::FromRedisValue>(&self, keys: &[Vec<u8>], command: &str) -> Result<Vec<T>, LlmError> {
        let mut pipeline = Pipeline::new();
        for key in keys {
            pipeline.cmd(command).arg(key);
        }
        self.query(&pipeline).await
    }

    async fn query<T: redis::FromRedisValue>(&self, pipeline: &Pipeline) -> Result<Vec<T>, LlmError> {
        let mut connection = self.connection.clone();
        pipeline.query_async(&mut connection).await.map_err(|error| self.error(&error))
    }

    fn error(&self, error: &RedisError) -> LlmError {
        LlmError::Redis { address: self.address.clone(), problem: error.to_string() }
    }

    /// Asks the server, unless it failed a moment ago.
    async fn ask<T: redis::FromRedisValue>(&self, command: &redis::Cmd) -> Result<T, String> {
        if let Some(problem) = self.lost() {
            return Err(problem);
        }
        let mut connection = self.connection.clone();
        let result = command.query_async(&mut connection).await;
        result.map_err(|error: RedisError| {
            let problem = format!("Redis at {} is lost ({error})", self.address);
            let lost = Lost { until: Instant::now() + LEAVE_ALONE, problem: problem.clone() };
            *self.left_alone.lock().unwrap_or_else(PoisonError::into_inner) = Some(lost);
            problem
        })
    }

    fn lost(&self) -> Option<String> {
        let lost = self.left_alone.lock().unwrap_or_else(PoisonError::into_inner);
        lost.as_ref().filter(|lost| Instant::now() < lost.until).map(|lost| lost.problem.clone())
    }
}

impl EntryStore for RedisCache {
    fn fetch(&self, key: ContentHash) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let mut get = cmd("GET");
            get.arg(format!("{PREFIX}{key}"));
            self.ask(&get).await
        })
    }

    fn store(&self, key: ContentHash, entry: Vec<u8>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let mut set = cmd("SET");
            set.arg(format!("{PREFIX}{key}")).arg(entry).arg("EX").arg(self.ttl);
            self.ask::<Value>(&set).await.map(|_ok| ())
        })
    }
}
