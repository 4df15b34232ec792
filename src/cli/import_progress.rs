//! Progress of an import on stderr, once it takes longer than a second.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::data::Progress;

/// Shorter imports show nothing.
const QUIET: Duration = Duration::from_secs(1);

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// A bar on a terminal, a log line at intervals elsewhere.
#[derive(Debug)]
pub(super) struct ImportProgress {
    what: &'static str,
    bar: ProgressBar,
    begun: Instant,
    /// Seconds since the begin when the bar was shown or the last line written; 0 for never.
    shown_at: AtomicU64,
}

impl ImportProgress {
    pub(super) fn new(what: &'static str) -> Self {
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
        if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {percent} % ETA {eta}") {
            bar.set_style(style);
        }
        bar.set_prefix(what);
        Self { what, bar, begun: Instant::now(), shown_at: AtomicU64::new(0) }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn show(&self) {
        let elapsed = self.begun.elapsed();
        let shown_at = self.shown_at.load(Ordering::Relaxed);
        if std::io::stderr().is_terminal() {
            if shown_at == 0 && elapsed >= QUIET {
                self.shown_at.store(1, Ordering::Relaxed);
                self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(4));
            }
        } else if elapsed >= Duration::from_secs(shown_at) + LINE_EVERY {
            self.shown_at.store(elapsed.as_secs(), Ordering::Relaxed);
            let share = self.bar.position() * 100 / self.bar.length().unwrap_or(0).max(1);
            tracing::info!("{} {share} %", self.what);
        }
    }
}

impl Progress for ImportProgress {
    fn expect(&self, work: u64) {
        self.bar.inc_length(work);
    }

    fn advance(&self, work: u64) {
        self.bar.inc(work);
        self.show();
    }
}
