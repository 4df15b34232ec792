//! The cache as the governor sees it: never an error, only hits and misses.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::entry::{pack, unpack};
use super::file::FileCache;
use super::redis::RedisCache;
use crate::domain::ContentHash;
use crate::llm::LlmError;
use crate::llm::account::CacheStatus;
use crate::llm::backend::Answer;
use crate::llm::settings::{CacheBackend, CacheMode, CacheSettings};

/// A fetch or a store; the error is a text for people.
pub(super) type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, String>> + Send + 'a>>;

/// A place for entries.
pub(super) trait EntryStore: Send + Sync {
    /// The entry, if there is one that has not expired.
    fn fetch(&self, key: ContentHash) -> StoreFuture<'_, Option<Vec<u8>>>;

    /// Keeps an entry; done when it is durable (as far as the place goes).
    fn store(&self, key: ContentHash, entry: Vec<u8>) -> StoreFuture<'_, ()>;
}

/// The response cache in one of its modes. Trouble with it is told once and costs repeated calls, never an answer.
pub(in crate::llm) struct Cache {
    store: Option<Box<dyn EntryStore>>,
    name: &'static str,
    mode: CacheMode,
    hits: AtomicU64,
    misses: AtomicU64,
    stored: AtomicU64,
    trouble: Mutex<Option<String>>,
}

impl Cache {
    /// Opens the configured cache. A file that is damaged is set aside and begun anew; one that another process
    /// writes is read only; whatever else goes wrong leaves the run without a cache, with one warning.
    pub(in crate::llm) async fn open(settings: &CacheSettings) -> Self {
        let none = |name| Self::new(None, name, CacheMode::Off);
        if settings.mode == CacheMode::Off {
            return none("off");
        }
        let (name, store) = match &settings.backend {
            CacheBackend::Off => return none("off"),
            CacheBackend::File(path) if settings.mode == CacheMode::ReadOnly && !path.exists() => return none("file"),
            CacheBackend::File(path) => {
                let (path, ttl, writes) = (path.clone(), settings.ttl, settings.mode.writes());
                // Opening may repair, which reads the whole file.
                let opened = tokio::task::spawn_blocking(move || FileCache::open(&path, ttl, writes)).await;
                let opened = opened.unwrap_or_else(|panic| {
                    Err(LlmError::CacheFile { path: Default::default(), problem: panic.to_string() })
                });
                ("file", opened.map(|store| Box::new(store) as Box<dyn EntryStore>))
            }
            CacheBackend::Redis(url) => {
                ("redis", RedisCache::open(url, settings.ttl).map(|store| Box::new(store) as Box<dyn EntryStore>))
            }
        };
        match store {
            Ok(store) => Self::new(Some(store), name, settings.mode),
            Err(error) => {
                let cache = none(name);
                cache.complain(&error.to_string());
                cache
            }
        }
    }

    fn new(store: Option<Box<dyn EntryStore>>, name: &'static str, mode: CacheMode) -> Self {
        let (hits, misses, stored) = Default::default();
        Self { store, name, mode, hits, misses, stored, trouble: Mutex::default() }
    }

    /// The answer to an equal call of the same place.
    pub(in crate::llm) async fn get(&self, key: ContentHash) -> Option<Answer> {
        let store = self.store.as_ref().filter(|_| self.mode.reads())?;
        let entry = store.fetch(key).await.unwrap_or_else(|problem| {
            self.complain(&problem);
            None
        });
        let answer = entry.as_deref().and_then(unpack);
        let counter = if answer.is_some() { &self.hits } else { &self.misses };
        counter.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// Keeps an answer.
    pub(in crate::llm) async fn put(&self, key: ContentHash, answer: &Answer) {
        let Some(store) = self.store.as_ref().filter(|_| self.mode.writes()) else { return };
        let Some(entry) = pack(answer) else { return };
        match store.store(key, entry).await {
            Ok(()) => {
                self.stored.fetch_add(1, Ordering::Relaxed);
            }
            Err(problem) => self.complain(&problem),
        }
    }

    /// The state for displays.
    pub(in crate::llm) fn status(&self) -> CacheStatus {
        CacheStatus {
            backend: self.name.to_owned(),
            hits: self.hits.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            stored: self.stored.load(Ordering::Relaxed),
            trouble: self.trouble.lock().unwrap_or_else(PoisonError::into_inner).clone(),
        }
    }

    /// One warning for all trouble of the run: a lost server would otherwise fill the log.
    fn complain(&self, problem: &str) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if trouble.is_none() {
            tracing::warn!(
                cache = self.name,
                "response cache: {problem}; the run goes on, at the cost of repeated calls"
            );
            *trouble = Some(problem.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::domain::{ChatReply, FinishReason, Usage};

    #[derive(Default)]
    struct InMemory {
        entries: Mutex<HashMap<ContentHash, Vec<u8>>>,
        broken: bool,
    }

    impl EntryStore for InMemory {
        fn fetch(&self, key: ContentHash) -> StoreFuture<'_, Option<Vec<u8>>> {
            let entry = self.entries.lock().unwrap().get(&key).cloned();
            Box::pin(async move { if self.broken { Err("gone".to_owned()) } else { Ok(entry) } })
        }

        fn store(&self, key: ContentHash, entry: Vec<u8>) -> StoreFuture<'_, ()> {
            self.entries.lock().unwrap().insert(key, entry);
            Box::pin(async move { if self.broken { Err("gone".to_owned()) } else { Ok(()) } })
        }
    }

    fn cache(mode: CacheMode, broken: bool) -> Cache {
        Cache::new(Some(Box::new(InMemory { broken, ..InMemory::default() })), "memory", mode)
    }

    fn answer() -> Answer {
        Answer::Chat(ChatReply {
            content: "C".into(),
            reasoning: None,
            tool_calls: Vec::new(),
            finish: FinishReason::Stop,
            usage: Usage::default(),
            cached: true,
            latency_ms: 0,
            raw: Vec::new(),
        })
    }

    async fn after_put(cache: &Cache) -> Option<Answer> {
        let key = ContentHash::of("call");
        cache.put(key, &answer()).await;
        cache.get(key).await
    }

    #[tokio::test]
    async fn each_mode_does_what_it_says() {
        assert_eq!(after_put(&cache(CacheMode::On, false)).await, Some(answer()));
        for (mode, stored) in [(CacheMode::Off, 0), (CacheMode::ReadOnly, 0), (CacheMode::WriteOnly, 1)] {
            let cache = cache(mode, false);
            assert_eq!(after_put(&cache).await, None, "{mode:?}");
            assert_eq!(cache.status().stored, stored, "{mode:?}");
        }
    }

    #[tokio::test]
    async fn trouble_is_a_miss() {
        let cache = cache(CacheMode::On, true);
        assert_eq!(after_put(&cache).await, None);
        let status = cache.status();
        assert_eq!((status.hits, status.misses, status.stored), (0, 1, 0));
        assert_eq!(status.trouble.as_deref(), Some("gone"));
    }
}
