//! The command line: parses, prints, maps faults to exit codes. No logic of its own.
//!
//! One file per command: `Args` (clap) and `run(&Args, &mut Context)`. Data goes to
//! [`Context::out`], logs and progress to stderr.

mod answer;
mod cache;
mod completions;
mod config;
mod context;
mod demo;
mod diagnose;
mod doctor;
mod evolve;
mod export;
mod gate;
mod import;
mod import_progress;
mod import_view;
mod init;
mod inspect;
mod place;
mod plot;
mod progress;
mod promote;
mod report;
mod rescore;
mod runtime;
mod settings;
mod sim;
mod sim_serve;
mod skills;
mod status;
mod store;
mod table;
mod task_types;
mod text;
mod train;
mod train_view;
mod tree;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::store::rows::RunMode;

pub use context::Context;
pub use report::CliError;

/// Train the text of a video question-answering agent, with statistical proof.
#[derive(Debug, Parser)]
#[command(name = "trm", version, about, propagate_version = true, arg_required_else_help = true)]
pub struct Cli {
    /// Work in the workspace at DIR instead of the one found from the current folder upward.
    #[arg(short = 'C', long = "directory", global = true, value_name = "DIR")]
    directory: Option<PathBuf>,

    /// Write data and errors as JSON.
    #[arg(long, global = true)]
    json: bool,

    /// More log lines on stderr; twice for debugging.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// The cache of model replies: count, prune, renew.
    Cache(cache::Args),
    /// Print a completion script for a shell.
    Completions(completions::Args),
    /// A first result in a minute: make the example workspace and train it, without a key or a network.
    Demo(demo::Args),
    /// Train skills and prompts, or go on with an unfinished training.
    Train(train::Args),
    /// Make a workspace: configuration, store, first skills and prompts.
    Init(init::Args),
    /// Bring questions and video trees into the workspace, checked as a whole.
    Import(import::Args),
    /// Make video trees from captions and subtitles.
    Tree(tree::Args),
    /// Versions of skills and prompts: list, show, compare, check out, import.
    Skills(skills::Args),
    /// What is configured, where it is from, whether it is right.
    Config(config::Args),
    /// Check workspace, store, data, disk, models and cache; one line each, with remedies.
    Doctor(doctor::Args),
    /// The gate's decisions: evaluate, play, simulate, audit.
    Gate(gate::Args),
    /// The store of the workspace: its health, its size, its digest.
    Store(store::Args),
    /// Answer questions with the current skills and prompts.
    Infer(answer::Args),
    /// Evaluate a version pair on the questions.
    Eval(answer::Args),
    /// Why answers of a run are wrong: a judge looks at each, and cases are chosen to learn from.
    Diagnose(diagnose::Args),
    /// Let the writer propose a candidate for one skill, to look at; changes no version.
    Evolve(evolve::Args),
    /// Make a named seed of versions that a finished evaluation vouches for.
    Promote(promote::Args),
    /// Read stored answers again with the rules of this program, without any call.
    Rescore(rescore::Args),
    /// Where the run is: progress, rate, spend, waits.
    Status(status::Args),
    /// What the store knows: runs, questions, traces, model use.
    Inspect(inspect::Args),
    /// Write the tables as Parquet or JSON Lines.
    Export(export::Args),
    /// The simulated world: generate videos and questions with known answers.
    Sim(sim::Args),
}

/// Runs `trm` with these arguments (the program name first) and returns its exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let cli = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version arrive here too: clap knows the stream and the code (0 or 2).
            let code = if error.use_stderr() { 2 } else { 0 };
            let _closed_stream = error.print();
            return ExitCode::from(code);
        }
    };
    context::start_logging(cli.verbose);
    crate::store::silence_guarded_panics();
    let mut context = Context::new(cli.directory, cli.json);
    let result = dispatch(&cli.command, &mut context);
    context.finish(result)
}

fn dispatch(command: &Command, context: &mut Context) -> Result<(), CliError> {
    match command {
        Command::Cache(args) => cache::run(args, context),
        Command::Completions(args) => completions::run(args, context),
        Command::Demo(args) => demo::run(args, context),
        Command::Train(args) => train::run(args, context),
        Command::Init(args) => init::run(args, context),
        Command::Import(args) => import::run(args, context),
        Command::Tree(args) => tree::run(args, context),
        Command::Skills(args) => skills::run(args, context),
        Command::Config(args) => config::run(args, context),
        Command::Doctor(args) => doctor::run(args, context),
        Command::Gate(args) => gate::run(args, context),
        Command::Store(args) => store::run(args, context),
        Command::Infer(args) => answer::run(args, RunMode::Infer, context),
        Command::Eval(args) => answer::run(args, RunMode::Eval, context),
        Command::Diagnose(args) => diagnose::run(args, context),
        Command::Evolve(args) => evolve::run(args, context),
        Command::Promote(args) => promote::run(args, context),
        Command::Rescore(args) => rescore::run(args, context),
        Command::Status(args) => status::run(args, context),
        Command::Inspect(args) => inspect::run(args, context),
        Command::Export(args) => export::run(args, context),
        Command::Sim(args) => sim::run(args, context),
    }
}
