//! The one place that starts asynchronous tasks: none is detached, no panic is lost.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

/// A running task whose owner awaits it; dropping it aborts it.
#[derive(Debug)]
pub struct Task<T>(JoinHandle<T>);

/// Starts a task on the current runtime.
#[expect(clippy::disallowed_methods, reason = "this is the helper that the ban points to")]
pub fn spawn<F>(future: F) -> Task<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Task(tokio::spawn(future))
}

impl<T> Task<T> {
    /// Asks the task to stop at its next await.
    pub fn abort(&self) {
        self.0.abort();
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl<T> Future for Task<T> {
    /// An error is a panic of the task or its abort.
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_reaches_the_owner() {
        let task = spawn(async { panic!("lost?") });
        assert!(task.await.unwrap_err().is_panic());
    }
}
