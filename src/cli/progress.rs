//! Progress on stderr: a bar on a terminal, a line at intervals elsewhere.

use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::text::printable;
use crate::domain::EpochStep;
use crate::evolution::scheduler::Board;
use crate::harness::diagnosing::DiagnoseProgress;
use crate::harness::inference::{Report, Tally};
use crate::harness::training::{TrainEvent, TrainReport};

/// How often a line is written where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(15);

/// The progress of a phase.
#[derive(Debug)]
pub(super) struct Bars {
    bar: ProgressBar,
    terminal: bool,
    last_line: Mutex<Option<Instant>>,
}

impl Bars {
    pub(super) fn new() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(4));
        if let Ok(style) = ProgressStyle::with_template("{prefix} {wide_bar} {pos}/{len} {msg}") {
            bar.set_style(style);
        }
        Self { bar, terminal, last_line: Mutex::default() }
    }

    /// Takes the bar away.
    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }

    fn is_due(&self, done: bool) -> bool {
        let mut last = self.last_line.lock().unwrap_or_else(PoisonError::into_inner);
        let due = last.is_none_or(|last| last.elapsed() >= LINE_EVERY);
        if due || done {
            *last = Some(Instant::now());
        }
        due
    }
}

impl Report for Bars {
    fn update(&self, phase: &str, tally: &Tally, waiting: Option<&str>) {
        let message = message(tally, waiting);
        if self.terminal {
            self.bar.set_prefix(phase.to_owned());
            self.bar.set_length(tally.total as u64);
            self.bar.set_position(tally.done as u64);
            self.bar.set_message(message);
        } else if self.is_due(false) {
            tracing::info!("{phase} {}/{} {message}", tally.done, tally.total);
        }
    }
}

impl DiagnoseProgress for Bars {
    fn update(&self, activity: &str, done: usize, total: usize, waiting: Option<&str>) {
        let message = waiting.unwrap_or_default();
        if self.terminal {
            self.bar.set_prefix(activity.to_owned());
            self.bar.set_length(total as u64);
            self.bar.set_position(done as u64);
            self.bar.set_message(message.to_owned());
        } else if total > 0 && self.is_due(false) {
            // A reader that closed stderr has chosen not to see it.
            let _closed_stream =
                writeln!(std::io::stderr(), "{}", format!("{activity} {done}/{total} {message}").trim_end());
        }
    }
}

impl TrainReport for Bars {
    fn event(&self, event: &TrainEvent) {
        let line = printable(&event.to_string());
        if self.terminal {
            self.bar.println(line);
        } else {
            // A reader that closed stderr has chosen not to see it.
            let _closed_stream = writeln!(std::io::stderr(), "{line}");
        }
    }

    fn gates(&self, step: EpochStep, board: &Board) {
        if !self.terminal {
            return;
        }
        let open = board.types().iter().filter(|run| !run.is_frozen()).count();
        let units: usize = board.types().iter().map(|run| run.spec().units.len()).sum();
        let consumed: usize = board.types().iter().map(|run| run.pointer()).sum();
        self.bar.set_prefix(format!("{step} gate"));
        self.bar.set_length(units as u64);
        self.bar.set_position(consumed as u64);
        self.bar.set_message(format!(
            "{open} of {} types open, {} arms in flight",
            board.types().len(),
            board.in_flight()
        ));
    }
}

fn message(tally: &Tally, waiting: Option<&str>) -> String {
    let mut parts = vec![format!("{} in flight", tally.in_flight)];
    parts.extend(tally.accuracy().map(|accuracy| format!("{:.1} % right", accuracy * 100.0)));
    if tally.infra > 0 {
        parts.push(format!("{} failed", tally.infra));
    }
    parts.extend(tally.per_minute().map(|rate| format!("{rate:.0}/min")));
    parts.extend(tally.eta().map(|eta| format!("ETA {}:{:02}", eta.as_secs() / 60, eta.as_secs() % 60)));
    parts.extend(waiting.map(str::to_owned));
    parts.join(", ")
}
