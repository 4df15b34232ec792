//! The asynchronous runtime of a command.

use std::io;

use super::CliError;
use crate::domain::{ExitClass, Fault};
use crate::harness::inference::StopSignal;
use crate::harness::interrupt;

/// The operating system gave no threads.
#[derive(Debug, thiserror::Error)]
#[error("start the asynchronous runtime")]
struct RuntimeError(#[source] io::Error);

impl Fault for RuntimeError {
    fn class(&self) -> ExitClass {
        ExitClass::Internal
    }

    fn code(&self) -> &'static str {
        "runtime.start"
    }

    fn hint(&self) -> Option<String> {
        Some("the machine may be out of threads or memory".to_owned())
    }
}

/// A runtime with a worker for each core.
pub(super) fn runtime() -> Result<tokio::runtime::Runtime, CliError> {
    let built = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    Ok(built.map_err(RuntimeError)?)
}

/// Runs the work; the first signal asks it to stop, the second ends the process.
pub(super) async fn with_interrupt<T>(stop: &StopSignal, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    tokio::select! {
        result = &mut work => result,
        () = interrupt::requested() => {
            tracing::warn!("stopping: what is durable stays; press Ctrl-C again to end at once");
            stop.stop();
            tokio::select! {
                result = &mut work => result,
                () = interrupt::requested() => interrupt::end_now(),
            }
        }
    }
}
