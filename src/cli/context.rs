//! What every command gets: where to work, how and where to print.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use serde::Serialize;
use tracing_subscriber::EnvFilter;

use super::CliError;
use super::text::printable_keeping_tabs;
use crate::domain::{ExitClass, Fault};

/// The surroundings of one command.
pub struct Context {
    directory: Option<PathBuf>,
    json: bool,
    out: Box<dyn Write>,
}

impl std::fmt::Debug for Context {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Context").field("directory", &self.directory).field("json", &self.json).finish_non_exhaustive()
    }
}

/// The output stream could not be written.
#[derive(Debug, thiserror::Error)]
#[error("write the output")]
pub(super) struct OutputError(#[from] io::Error);

impl Fault for OutputError {
    fn class(&self) -> ExitClass {
        ExitClass::Internal
    }

    fn code(&self) -> &'static str {
        if self.0.kind() == io::ErrorKind::BrokenPipe { "output.closed" } else { "output.failed" }
    }
}

impl Context {
    /// A context that prints to stdout.
    #[must_use]
    pub fn new(directory: Option<PathBuf>, json: bool) -> Self {
        Self { directory, json, out: Box::new(io::BufWriter::new(io::stdout())) }
    }

    /// `-C DIR`, else the current folder `.`: where the search for the workspace starts.
    #[must_use]
    pub fn directory(&self) -> &Path {
        self.directory.as_deref().unwrap_or_else(|| Path::new("."))
    }

    /// Whether `-C DIR` was given.
    #[must_use]
    pub fn has_directory(&self) -> bool {
        self.directory.is_some()
    }

    /// Whether data and errors are written as JSON.
    #[must_use]
    pub fn json(&self) -> bool {
        self.json
    }

    /// Columns of the terminal on stdout, or `COLUMNS`; none where lines may be of any length.
    #[must_use]
    pub fn width(&self) -> Option<u16> {
        let set = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        let measured =
            || io::stdout().is_terminal().then(|| rustix::termios::tcgetwinsize(io::stdout()).ok()).flatten();
        // Narrower than this nothing is readable, and a terminal that says 0 knows nothing.
        set.or_else(|| measured().map(|size| size.ws_col)).filter(|columns| *columns > 0).map(|columns| columns.max(40))
    }

    /// Writes one line of text.
    ///
    /// # Errors
    /// The stream is closed or full.
    pub fn line(&mut self, text: impl std::fmt::Display) -> Result<(), CliError> {
        writeln!(self.out, "{text}").map_err(|error| OutputError(error).into())
    }

    /// Writes text of any length: as it is into a file or pipe, without what could act on a terminal onto one.
    ///
    /// # Errors
    /// The stream is closed or full.
    pub fn write_text(&mut self, text: &str) -> Result<(), CliError> {
        if !io::stdout().is_terminal() {
            return self.write_bytes(text.as_bytes());
        }
        text.lines().try_for_each(|line| self.line(printable_keeping_tabs(line)))
    }

    /// Hands everything written so far to the reader: for commands that go on for long.
    ///
    /// # Errors
    /// The stream is closed or full.
    pub fn flush(&mut self) -> Result<(), CliError> {
        self.out.flush().map_err(|error| OutputError(error).into())
    }

    /// Writes raw bytes.
    ///
    /// # Errors
    /// The stream is closed or full.
    pub fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.out.write_all(bytes).map_err(|error| OutputError(error).into())
    }

    /// Writes one value as indented JSON.
    ///
    /// # Errors
    /// The stream is closed or full, or the value has no JSON form.
    pub fn write_json(&mut self, value: &impl Serialize) -> Result<(), CliError> {
        let text = serde_json::to_string_pretty(value).map_err(io::Error::from).map_err(OutputError)?;
        self.line(text)
    }

    /// Flushes, prints the failure if there is one, and gives the exit code.
    pub(super) fn finish(mut self, result: Result<(), CliError>) -> ExitCode {
        let result = result.and_then(|()| self.out.flush().map_err(|error| OutputError(error).into()));
        match result {
            Ok(()) => ExitCode::SUCCESS,
            // A reader such as `head` closed the pipe: it has what it wanted.
            Err(error) if error.code() == "output.closed" => ExitCode::SUCCESS,
            Err(error) => {
                let _closed_stream = self.out.flush();
                let _closed_stream = error.write(&mut io::stderr().lock(), self.json);
                error.exit_code()
            }
        }
    }
}

/// Logs go to stderr: warnings by default, more with `-v`, anything with `TRM_LOG`.
pub(super) fn start_logging(verbose: u8) {
    let default = match verbose {
        0 => "warn",
        1 => "info",
        _ => "debug",
    };
    let filter = EnvFilter::try_from_env("TRM_LOG").unwrap_or_else(|_| EnvFilter::new(default));
    let colored = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    // A second subscriber (a library user's own) wins; that is no failure of ours.
    let _already_set =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(io::stderr).with_ansi(colored).try_init();
}
