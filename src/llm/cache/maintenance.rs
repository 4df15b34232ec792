//! Looking at a cache file and tidying it up: `trm cache stats|prune|renew`.

use std::path::Path;

use redb::{Database, ReadableTable};
use serde::Serialize;

use super::DEFAULT_TTL_SECONDS;
use super::database::{CacheDatabase, ENTRIES, LIVES, unix_seconds};
use crate::llm::LlmError;

/// What is in a cache file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FileCacheStats {
    /// Entries that can be replayed.
    pub entries: u64,
    /// Entries that have expired and wait to be pruned.
    pub expired: u64,
    /// Bytes of all entries, compressed.
    pub entry_bytes: u64,
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Age of the oldest entry in seconds.
    pub oldest_seconds: Option<u64>,
    /// Until the first live entry expires, in seconds.
    pub next_expiry_seconds: Option<u64>,
}

/// What pruning removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PruneReport {
    /// Entries removed.
    pub removed: u64,
    /// Entries left.
    pub kept: u64,
    /// Bytes of the file before.
    pub bytes_before: u64,
    /// Bytes of the file after.
    pub bytes_after: u64,
}

/// What renewing did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct RenewReport {
    /// Live entries that now live 7 more days.
    pub renewed: u64,
    /// Entries left as they were: without an end, with a later one, or expired.
    pub unchanged: u64,
}

/// Which entries pruning removes beside the expired ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PruneOptions {
    /// Those stored more than this many seconds ago.
    pub older_than_seconds: Option<u64>,
    /// All of them.
    pub everything: bool,
}

/// Reads a cache file; a run may be writing it.
///
/// # Errors
/// The file is absent, forbidden or damaged.
pub fn file_cache_stats(path: &Path) -> Result<FileCacheStats, LlmError> {
    let now = unix_seconds();
    let file_bytes = file_bytes(path)?;
    let database = CacheDatabase::open_to_read(path)?;
    let collect = || -> Result<FileCacheStats, redb::Error> {
        let mut stats = FileCacheStats { file_bytes, ..FileCacheStats::default() };
        for life in database.begin_read()?.open_table(LIVES)?.iter()? {
            let (stored, expires, bytes) = life?.1.value();
            stats.entry_bytes += bytes;
            stats.oldest_seconds = stats.oldest_seconds.max(Some(now.saturating_sub(stored)));
            if expires <= now {
                stats.expired += 1;
                continue;
            }
            stats.entries += 1;
            let left = expires - now;
            stats.next_expiry_seconds = Some(stats.next_expiry_seconds.map_or(left, |least| least.min(left)));
        }
        Ok(stats)
    };
    collect().map_err(|error| problem(path, &error))
}

/// Removes expired and chosen entries, and gives the space back.
///
/// # Errors
/// The file is absent, damaged, or a run is writing it.
pub fn prune_file_cache(path: &Path, options: PruneOptions) -> Result<PruneReport, LlmError> {
    let now = unix_seconds();
    let bytes_before = file_bytes(path)?;
    let mut database = CacheDatabase::open_to_write(path)?;
    let goes = |stored: u64, expires: u64| {
        let old = options.older_than_seconds.is_some_and(|age| now.saturating_sub(stored) > age);
        options.everything || old || expires <= now
    };
    let (removed, kept) = remove(&database, goes).map_err(|error| problem(path, &error))?;
    // Twice at most: one pass moves what lies at the end, a second what that made movable.
    for _ in 0..2 {
        if !database.compact().map_err(|error| problem(path, &error.into()))? {
            break;
        }
    }
    drop(database);
    Ok(PruneReport { removed, kept, bytes_before, bytes_after: file_bytes(path)? })
}

/// Lets every live entry that would expire within 7 days live 7 days from now.
///
/// # Errors
/// The file is absent, damaged, or a run is writing it.
pub fn renew_file_cache(path: &Path) -> Result<RenewReport, LlmError> {
    let now = unix_seconds();
    file_bytes(path)?;
    let database = CacheDatabase::open_to_write(path)?;
    renew(&database, now).map_err(|error| problem(path, &error))
}

fn renew(database: &Database, now: u64) -> Result<RenewReport, redb::Error> {
    let mut report = RenewReport::default();
    let write = database.begin_write()?;
    {
        let mut lives = write.open_table(LIVES)?;
        let mut renewed = Vec::new();
        for life in lives.iter()? {
            let (key, life) = life?;
            let (stored, expires, bytes) = life.value();
            if expires > now && expires - now < DEFAULT_TTL_SECONDS {
                renewed.push((*key.value(), (stored, now + DEFAULT_TTL_SECONDS, bytes)));
            } else {
                report.unchanged += 1;
            }
        }
        for (key, life) in renewed {
            lives.insert(&key, life)?;
            report.renewed += 1;
        }
    }
    write.commit()?;
    Ok(report)
}

fn remove(database: &Database, goes: impl Fn(u64, u64) -> bool) -> Result<(u64, u64), redb::Error> {
    let (mut removed, mut kept) = (0, 0);
    let write = database.begin_write()?;
    {
        let mut lives = write.open_table(LIVES)?;
        let mut entries = write.open_table(ENTRIES)?;
        let mut gone = Vec::new();
        for life in lives.iter()? {
            let (key, life) = life?;
            let (stored, expires, _) = life.value();
            if goes(stored, expires) {
                gone.push(*key.value());
            } else {
                kept += 1;
            }
        }
        for key in gone {
            lives.remove(&key)?;
            entries.remove(&key)?;
            removed += 1;
        }
    }
    write.commit()?;
    Ok((removed, kept))
}

fn file_bytes(path: &Path) -> Result<u64, LlmError> {
    let metadata = std::fs::metadata(path);
    metadata
        .map(|metadata| metadata.len())
        .map_err(|error| LlmError::CacheFile { path: path.to_owned(), problem: error.to_string() })
}

fn problem(path: &Path, error: &redb::Error) -> LlmError {
    LlmError::CacheFile { path: path.to_owned(), problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    /// A file with entries of these (age, time to live) in seconds.
    fn file(entries: &[(u64, i64)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let database = CacheDatabase::open_to_write(&folder.path().join("cache.redb")).unwrap();
        let write = database.begin_write().unwrap();
        for (number, (age, left)) in (0_u8..).zip(entries) {
            let now = unix_seconds();
            let life = (now - age, now.saturating_add_signed(*left), 3);
            write.open_table(LIVES).unwrap().insert(&[number; 32], life).unwrap();
            write.open_table(ENTRIES).unwrap().insert(&[number; 32], [1, 2, 3].as_slice()).unwrap();
        }
        write.commit().unwrap();
        folder
    }

    #[test]
    fn stats_tell_live_from_expired() {
        let folder = file(&[(10, 100), (20, -5), (DAY, 3 * 86_400)]);
        let stats = file_cache_stats(&folder.path().join("cache.redb")).unwrap();
        assert_eq!((stats.entries, stats.expired, stats.entry_bytes), (2, 1, 9));
        assert!((DAY..DAY + 60).contains(&stats.oldest_seconds.unwrap()));
        assert!((40..=100).contains(&stats.next_expiry_seconds.unwrap()));
    }

    #[test]
    fn pruning_takes_what_expired_and_what_was_asked_for() {
        let entries = [(10, 100), (20, -5), (3 * DAY, 3 * 86_400)];
        let pruned = |options| {
            let folder = file(&entries);
            let report = prune_file_cache(&folder.path().join("cache.redb"), options).unwrap();
            (report.removed, report.kept)
        };
        assert_eq!(pruned(PruneOptions::default()), (1, 2));
        assert_eq!(pruned(PruneOptions { older_than_seconds: Some(DAY), everything: false }), (2, 1));
        assert_eq!(pruned(PruneOptions { older_than_seconds: None, everything: true }), (3, 0));
    }

    #[test]
    fn renewing_extends_live_entries_that_end_within_a_week_and_no_others() {
        let folder = file(&[(10, 100), (20, -5), (30, 30 * 86_400)]);
        let path = folder.path().join("cache.redb");
        assert_eq!(renew_file_cache(&path).unwrap(), RenewReport { renewed: 1, unchanged: 2 });
        let stats = file_cache_stats(&path).unwrap();
        assert_eq!((stats.entries, stats.expired), (2, 1));
        assert!(stats.next_expiry_seconds.unwrap() > DEFAULT_TTL_SECONDS - 60);
    }

    #[test]
    fn a_missing_file_is_named_and_not_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.redb");
        for result in [file_cache_stats(&path).err(), renew_file_cache(&path).err()] {
            assert!(result.unwrap().to_string().contains("cache.redb"));
        }
        assert!(!path.exists());
    }
}
