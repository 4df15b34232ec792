//! Equal requests in flight at the same time are asked once.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::domain::ContentHash;

/// The results that are being worked on.
#[derive(Debug)]
pub(super) struct Flights<T>(Mutex<HashMap<ContentHash, Arc<OnceCell<T>>>>);

impl<T> Default for Flights<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T: Clone> Flights<T> {
    /// The result for `key`, and whether `work` of this very call made it.
    ///
    /// The first caller works; those who come meanwhile get a copy. When the working caller is dropped, the next
    /// one's `work` takes over. A result is not kept: that is the cache's business.
    pub(super) async fn run<F: Future<Output = T>>(&self, key: ContentHash, work: impl FnOnce() -> F) -> (T, bool) {
        let seat = self.join(key);
        let mut led = false;
        let result = match &seat.cell {
            Some(cell) => {
                let led = &mut led;
                cell.get_or_init(|| {
                    *led = true;
                    work()
                })
                .await
                .clone()
            }
            // A seat loses its cell only when it is dropped.
            None => work().await,
        };
        (result, led)
    }

    fn join(&self, key: ContentHash) -> Seat<'_, T> {
        let mut cells = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cell = Arc::clone(cells.entry(key).or_default());
        Seat { flights: self, key, cell: Some(cell) }
    }
}

/// One caller's part in a flight.
struct Seat<'a, T> {
    flights: &'a Flights<T>,
    key: ContentHash,
    cell: Option<Arc<OnceCell<T>>>,
}

impl<T> Drop for Seat<'_, T> {
    fn drop(&mut self) {
        let mut cells = self.flights.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(cell) = self.cell.take() else { return };
        let ours = cells.get(&self.key).is_some_and(|current| Arc::ptr_eq(current, &cell));
        // Seats take and give their part under the lock, so that the count is exact: the map's and this one.
        if ours && (cell.initialized() || Arc::strong_count(&cell) <= 2) {
            cells.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::time::Duration;

    use super::*;
    use crate::runtime::spawn;

    struct Worker {
        flights: Flights<u32>,
        works: AtomicU32,
    }

    impl Worker {
        fn new() -> Arc<Self> {
            Arc::new(Self { flights: Flights::default(), works: AtomicU32::new(0) })
        }

        async fn call(self: Arc<Self>, key: &'static str) -> (u32, bool) {
            let work = async || {
                tokio::time::sleep(Duration::from_secs(1)).await;
                self.works.fetch_add(1, Ordering::SeqCst) + 1
            };
            self.flights.run(ContentHash::of(key), work).await
        }

        fn is_empty(&self) -> bool {
            self.flights.0.lock().unwrap().is_empty()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn equal_calls_are_made_once_and_later_ones_again() {
        let worker = Worker::new();
        let calls = (0..10).map(|_| Arc::clone(&worker).call("a"));
        let results = futures::future::join_all(calls).await;
        assert_eq!(results.iter().filter(|(_, led)| *led).count(), 1);
        assert!(results.iter().all(|(value, _)| *value == 1));
        assert!(worker.is_empty());
        assert_eq!(Arc::clone(&worker).call("a").await, (2, true));
        assert_eq!(Arc::clone(&worker).call("b").await, (3, true));
    }

    #[tokio::test(start_paused = true)]
    async fn when_the_leader_is_dropped_a_follower_takes_over() {
        let worker = Worker::new();
        let leader = spawn(Arc::clone(&worker).call("a"));
        tokio::time::sleep(Duration::from_millis(500)).await;
        let follower = spawn(Arc::clone(&worker).call("a"));
        tokio::time::sleep(Duration::from_millis(100)).await;
        drop(leader);
        assert_eq!(follower.await.unwrap(), (1, true));
        assert!(worker.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_left_when_all_callers_are_dropped() {
        let worker = Worker::new();
        let tasks: Vec<_> = (0..3).map(|_| spawn(Arc::clone(&worker).call("a"))).collect();
        tokio::time::sleep(Duration::from_millis(500)).await;
        drop(tasks);
        tokio::time::sleep(Duration::from_millis(1)).await;
        assert!(worker.is_empty());
        assert_eq!(worker.works.load(Ordering::SeqCst), 0);
    }
}
