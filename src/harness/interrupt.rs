//! SIGINT and SIGTERM: the first asks to stop, the second ends the process.

/// Completes at the next SIGINT or SIGTERM.
pub async fn requested() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                tokio::select! {
                    _ = tokio::signal::ctrl_c() => {}
                    _ = terminate.recv() => {}
                }
            }
            Err(error) => {
                tracing::warn!(%error, "SIGTERM cannot be caught");
                let _interrupted = tokio::signal::ctrl_c().await;
            }
        }
    }
    #[cfg(not(unix))]
    {
        let _interrupted = tokio::signal::ctrl_c().await;
    }
}

/// Ends the process at once with the exit code of an interruption; durable rows stay.
pub fn end_now() -> ! {
    std::process::exit(i32::from(crate::domain::ExitClass::Interrupted.exit_code()))
}
