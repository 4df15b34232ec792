//! The embedded backend: one thread reads, one writes with grouped commits, no async worker ever waits for a disk.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tokio::sync::{mpsc, oneshot};

use super::database::{CacheDatabase, ENTRIES, LIVES, live_entry, set_aside, unix_seconds};
use super::handle::{EntryStore, StoreFuture};
use crate::domain::ContentHash;
use crate::llm::LlmError;
use crate::store::{caught, panic_text};

/// Requests waiting for a thread; as many calls can wait behind them, each holds one entry.
const QUEUE: usize = 256;

/// A commit takes at most this many entries …
const GROUP: usize = 64;

/// … of at most this many bytes in all …
const GROUP_BYTES: usize = 8 << 20;

/// … and is not put off longer than this for others to join.
const GROUP_WAIT: Duration = Duration::from_millis(2);

/// Seconds since 1970.
type Clock = Arc<dyn Fn() -> u64 + Send + Sync>;

/// The response cache in a file. Dropping it finishes what was accepted.
pub struct FileCache {
    fetches: Option<mpsc::Sender<Fetch>>,
    /// `None` when the file may only be read.
    stores: Option<mpsc::Sender<Store>>,
    threads: Vec<JoinHandle<()>>,
}

impl std::fmt::Debug for FileCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FileCache").field("writes", &self.stores.is_some()).finish_non_exhaustive()
    }
}

struct Fetch {
    key: ContentHash,
    reply: oneshot::Sender<Result<Option<Vec<u8>>, String>>,
}

struct Store {
    key: ContentHash,
    entry: Vec<u8>,
    reply: oneshot::Sender<Result<(), String>>,
}

impl FileCache {
    /// Opens the file. To write it: creates it when absent, sets a damaged one aside, and reads only if another process
    /// writes it. `ttl` is the life of new entries.
    ///
    /// # Errors
    /// The file cannot even be read.
    pub fn open(path: &Path, ttl: Duration, to_write: bool) -> Result<Self, LlmError> {
        let database = if to_write { CacheDatabase::open(path)? } else { CacheDatabase::open_to_read(path)? };
        // A reader repairs a file that a killed process left, and is its writer from then on; it need not write.
        Self::start(database, path, ttl, Arc::new(unix_seconds))
    }

    fn start(database: CacheDatabase, path: &Path, ttl: Duration, clock: Clock) -> Result<Self, LlmError> {
        let database = Arc::new(database);
        let mut threads = Vec::new();
        let stores = if matches!(*database, CacheDatabase::Writer(_)) {
            let (sender, receiver) = mpsc::channel(QUEUE);
            let worker = Worker { database: Arc::clone(&database), path: path.to_owned(), clock: Arc::clone(&clock) };
            threads.push(start("cache-writer", path, move || worker.write(receiver, ttl.as_secs()))?);
            Some(sender)
        } else {
            None
        };
        let (fetches, receiver) = mpsc::channel(QUEUE);
        let worker = Worker { database, path: path.to_owned(), clock };
        threads.push(start("cache-reader", path, move || worker.read(receiver))?);
        Ok(Self { fetches: Some(fetches), stores, threads })
    }
}

impl EntryStore for FileCache {
    fn fetch(&self, key: ContentHash) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            let Some(fetches) = &self.fetches else { return Ok(None) };
            fetches.send(Fetch { key, reply }).await.map_err(|_| ended())?;
            answer.await.map_err(|_| ended())?
        })
    }

    fn store(&self, key: ContentHash, entry: Vec<u8>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let (reply, answer) = oneshot::channel();
            // Read only: told when the file was opened.
            let Some(stores) = &self.stores else { return Ok(()) };
            stores.send(Store { key, entry, reply }).await.map_err(|_| ended())?;
            answer.await.map_err(|_| ended())?
        })
    }
}

impl Drop for FileCache {
    fn drop(&mut self) {
        self.fetches = None;
        self.stores = None;
        for thread in self.threads.drain(..) {
            // The threads catch their panics; one that escaped has been told by the panic hook.
            let _panicked = thread.join();
        }
    }
}

fn ended() -> String {
    "it is no longer served".to_owned()
}

fn start(name: &str, path: &Path, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, LlmError> {
    let failed = |error: std::io::Error| LlmError::CacheFile { path: path.to_owned(), problem: error.to_string() };
    std::thread::Builder::new().name(name.to_owned()).spawn(work).map_err(failed)
}

/// What each thread holds.
struct Worker {
    database: Arc<CacheDatabase>,
    path: PathBuf,
    clock: Clock,
}

impl Worker {
    fn read(self, mut fetches: mpsc::Receiver<Fetch>) {
        let mut group = Vec::new();
        while fetches.blocking_recv_many(&mut group, GROUP) > 0 {
            let keys: Vec<_> = group.iter().map(|fetch| fetch.key).collect();
            let found = self.survive(|| {
                let read = self.database.begin_read()?;
                let now = (self.clock)();
                keys.iter().map(|key| live_entry(&read, *key, now)).collect::<Result<Vec<_>, _>>()
            });
            let broken = found.is_err();
            match found {
                Ok(entries) => group.drain(..).zip(entries).for_each(|(fetch, entry)| answer(fetch.reply, Ok(entry))),
                Err(problem) => group.drain(..).for_each(|fetch| answer(fetch.reply, Err(problem.clone()))),
            }
            if broken {
                return;
            }
        }
    }

    fn write(self, mut stores: mpsc::Receiver<Store>, ttl: u64) {
        while let Some(first) = stores.blocking_recv() {
            let group = gather(first, &mut stores);
            let written = self.survive(|| self.commit(&group, ttl));
            let broken = written.is_err();
            group.into_iter().for_each(|store| answer(store.reply, written.clone()));
            if broken {
                return;
            }
        }
    }

    fn commit(&self, group: &[Store], ttl: u64) -> Result<(), redb::Error> {
        let CacheDatabase::Writer(database) = &*self.database else { return Ok(()) };
        let now = (self.clock)();
        let mut write = database.begin_write()?;
        write.set_quick_repair(true);
        {
            let mut entries = write.open_table(ENTRIES)?;
            let mut lives = write.open_table(LIVES)?;
            for Store { key, entry, .. } in group {
                entries.insert(key.as_bytes(), entry.as_slice())?;
                let length = u64::try_from(entry.len()).unwrap_or(u64::MAX);
                lives.insert(key.as_bytes(), (now, now.saturating_add(ttl), length))?;
            }
        }
        write.commit()?;
        Ok(())
    }

    /// Does work on the file; an error ends its thread. A file found damaged is set aside, so that the next run
    /// begins a new one instead of stumbling again.
    fn survive<T>(&self, work: impl FnOnce() -> Result<T, redb::Error>) -> Result<T, String> {
        let damaged = |problem: String| {
            let _stays = set_aside(&self.path);
            format!("{} is damaged: {problem}", self.path.display())
        };
        match caught(work) {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(redb::Error::Corrupted(problem))) => Err(damaged(problem)),
            Ok(Err(error)) => Err(format!("{}: {error}", self.path.display())),
            Err(panic) => Err(damaged(panic_text(&*panic))),
        }
    }
}

/// The group that is committed together with `first`.
fn gather(first: Store, stores: &mut mpsc::Receiver<Store>) -> Vec<Store> {
    let deadline = Instant::now() + GROUP_WAIT;
    let mut bytes = first.entry.len();
    let mut group = vec![first];
    while group.len() < GROUP && bytes < GROUP_BYTES {
        match stores.try_recv() {
            Ok(store) => {
                bytes += store.entry.len();
                group.push(store);
            }
            Err(mpsc::error::TryRecvError::Empty) if Instant::now() < deadline => {
                std::thread::sleep(Duration::from_micros(200));
            }
            Err(_) => break,
        }
    }
    group
}

/// Whoever does not wait any more has its answer, too.
fn answer<T>(reply: oneshot::Sender<T>, value: T) {
    let _gone = reply.send(value);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    const WEEK: Duration = Duration::from_secs(super::super::DEFAULT_TTL_SECONDS);

    fn key(name: &str) -> ContentHash {
        ContentHash::of(name)
    }

    #[tokio::test]
    async fn entries_survive_the_process_and_expire_by_the_clock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.redb");
        let now = Arc::new(AtomicU64::new(1_000));
        let clock: Clock = Arc::new({
            let now = Arc::clone(&now);
            move || now.load(Ordering::SeqCst)
        });
        let cache = FileCache::start(CacheDatabase::open(&path).unwrap(), &path, WEEK, Arc::clone(&clock)).unwrap();
        assert_eq!(cache.fetch(key("a")).await.unwrap(), None);
        cache.store(key("a"), vec![1, 2]).await.unwrap();
        drop(cache);
        let cache = FileCache::start(CacheDatabase::open(&path).unwrap(), &path, WEEK, clock).unwrap();
        assert_eq!(cache.fetch(key("a")).await.unwrap(), Some(vec![1, 2]));
        now.fetch_add(WEEK.as_secs(), Ordering::SeqCst);
        assert_eq!(cache.fetch(key("a")).await.unwrap(), None);
        cache.store(key("a"), vec![3]).await.unwrap();
        assert_eq!(cache.fetch(key("a")).await.unwrap(), Some(vec![3]));
    }

    #[tokio::test]
    async fn many_entries_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let cache = FileCache::open(&folder.path().join("cache.redb"), WEEK, true).unwrap();
        let names: Vec<String> = (0..500).map(|number| format!("{number}")).collect();
        futures::future::join_all(names.iter().map(|name| cache.store(key(name), name.as_bytes().to_vec()))).await;
        for name in &names {
            assert_eq!(cache.fetch(key(name)).await.unwrap().as_deref(), Some(name.as_bytes()));
        }
    }

    #[tokio::test]
    async fn a_second_user_reads_what_the_first_writes_and_writes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.redb");
        let first = FileCache::open(&path, WEEK, true).unwrap();
        let second = FileCache::open(&path, WEEK, true).unwrap();
        first.store(key("a"), vec![1]).await.unwrap();
        second.store(key("b"), vec![2]).await.unwrap();
        assert_eq!(second.fetch(key("a")).await.unwrap(), Some(vec![1]));
        assert_eq!(first.fetch(key("b")).await.unwrap(), None);
    }

    #[tokio::test]
    async fn a_file_that_is_no_cache_is_set_aside_and_a_new_one_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.redb");
        std::fs::write(&path, "no database at all, but long enough to be one".repeat(1000)).unwrap();
        let cache = FileCache::open(&path, WEEK, true).unwrap();
        cache.store(key("a"), vec![1]).await.unwrap();
        assert_eq!(cache.fetch(key("a")).await.unwrap(), Some(vec![1]));
        assert!(folder.path().join("cache.redb.damaged").exists());
    }

    #[tokio::test]
    async fn a_file_with_flipped_bytes_costs_entries_not_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cache.redb");
        let cache = FileCache::open(&path, WEEK, true).unwrap();
        for number in 0..200_u32 {
            cache.store(key(&number.to_string()), vec![7; 2_000]).await.unwrap();
        }
        drop(cache);
        let mut bytes = std::fs::read(&path).unwrap();
        for (index, byte) in bytes.iter_mut().enumerate().skip(4096) {
            if index % 97 == 0 {
                *byte ^= 0x55;
            }
        }
        std::fs::write(&path, bytes).unwrap();
        let mut works = false;
        // One run may meet the damage, the next one begins anew.
        for _ in 0..2 {
            let Ok(cache) = FileCache::open(&path, WEEK, true) else { continue };
            let _maybe = cache.fetch(key("1")).await;
            works = cache.store(key("new"), vec![1]).await.is_ok() && cache.fetch(key("new")).await.is_ok();
        }
        assert!(works);
    }
}
