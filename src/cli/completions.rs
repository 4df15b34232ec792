//! `trm completions SHELL`.

use clap::CommandFactory;
use clap_complete::{Shell, generate};

use super::{Cli, CliError, Context};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The shell to write the script for.
    shell: Shell,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "trm", &mut script);
    context.write_bytes(&script)
}
