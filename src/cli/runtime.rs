//! The asynchronous runtime of a command.

use std::io;

use super::CliError;
use crate::domain::{ExitClass, Fault};

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
