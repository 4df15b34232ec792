//! `trm gate …`: the decision kernel from the command line.

mod calibrate;
mod eval;
mod params;
mod replay;
mod scenario;
mod simulate;

use std::path::{Path, PathBuf};

use clap::Subcommand;

use super::{CliError, Context};
use crate::domain::{ExitClass, Fault};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Decide from counts: JSON lines in and out, or one case with --w, --l and --n-used.
    Eval(eval::Args),
    /// Play a scenario file through the real scheduler in virtual time.
    Scenario(scenario::Args),
    /// What the configured gate accepts, finds and costs, before anything is spent.
    Simulate(simulate::Args),
    /// The noise of answering twice, from stored answers, and what it means for the gate.
    Calibrate(calibrate::Args),
    /// Recompute every verdict from its evidence; exit 8 on any difference.
    Replay(replay::Args),
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    match &args.command {
        Command::Eval(args) => eval::run(args, context),
        Command::Scenario(args) => scenario::run(args, context),
        Command::Simulate(args) => simulate::run(args, context),
        Command::Calibrate(args) => calibrate::run(args, context),
        Command::Replay(args) => replay::run(args, context),
    }
}

/// What can go wrong between the arguments and the library.
#[derive(Debug, thiserror::Error)]
enum GateCliError {
    #[error("read {}", .path.display())]
    Read {
        path: PathBuf,
        #[source]
        source: std::io::Error,
    },
    #[error("read {}: it is not UTF-8 text", .0.display())]
    NotText(PathBuf),
    #[error("answer {bad} of {lines} lines; each has its reason in the output")]
    BadLines { bad: usize, lines: usize },
    #[error("{0}")]
    Usage(&'static str),
}

impl Fault for GateCliError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Read { .. } | Self::NotText(_) | Self::BadLines { .. } => ExitClass::Data,
            Self::Usage(_) => ExitClass::Usage,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "gate.read",
            Self::NotText(_) => "gate.not_text",
            Self::BadLines { .. } => "gate.bad_lines",
            Self::Usage(_) => "gate.usage",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Usage(_) => Some("see `trm gate eval --help`".into()),
            Self::Read { .. } | Self::NotText(_) | Self::BadLines { .. } => None,
        }
    }
}

/// A whole file as text; `-` is standard input.
fn read_text(path: &Path) -> Result<String, GateCliError> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut std::io::stdin().lock(), &mut bytes).map(|_| bytes)
    } else {
        std::fs::read(path)
    };
    let bytes = bytes.map_err(|source| GateCliError::Read { path: path.to_owned(), source })?;
    String::from_utf8(bytes).map_err(|_| GateCliError::NotText(path.to_owned()))
}
