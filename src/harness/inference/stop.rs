//! The wish to stop, made by a signal or by the program itself.

use std::sync::Arc;

use tokio::sync::watch;

/// Shared by everything that can be asked to stop. Cheap to clone.
#[derive(Debug, Clone)]
pub struct StopSignal(Arc<watch::Sender<bool>>);

impl Default for StopSignal {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }
}

impl StopSignal {
    /// Asks everyone to stop: nothing new begins, and what runs is given up.
    pub fn stop(&self) {
        self.0.send_replace(true);
    }

    /// Whether someone asked.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        *self.0.borrow()
    }

    /// Completes when someone asks.
    pub async fn stopped(&self) {
        let mut receiver = self.0.subscribe();
        // The sender lives as long as this value: waiting cannot fail.
        let _stopped = receiver.wait_for(|stopped| *stopped).await;
    }
}
