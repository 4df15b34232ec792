//! `trm evolve`: a candidate for one skill, to look at. It changes no version.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::diagnose::show_cost;
use super::progress::Bars;
use super::runtime::{runtime, with_interrupt};
use super::settings::ConfigArgs;
use super::task_types::task_type;
use super::text::printable;
use super::{CliError, Context};
use crate::domain::{ExitClass, Fault, RunId};
use crate::harness::evolution_run::{EvolveReport, EvolveRunRequest, evolve_run};
use crate::harness::session::Session;
use crate::store::Scope;

/// The most characters of an edit that are shown on its line.
const SHOWN_CHARS: usize = 100;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,

    /// The run whose answers are learned from, or a diagnosis of them.
    #[arg(long, value_name = "RUN")]
    run: RunId,

    /// The part of the run, such as 'e1 s0' or baseline; of a training the latest step if absent.
    #[arg(long, value_name = "PART")]
    scope: Option<Scope>,

    /// The task type whose skill is evolved.
    #[arg(long = "task-type", value_name = "TYPE")]
    task_type: String,

    /// Write the candidate to FILE as well.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// The candidate could not be written.
#[derive(Debug, thiserror::Error)]
#[error("write the candidate to {}", path.display())]
struct OutFileError {
    path: PathBuf,
    source: io::Error,
}

impl Fault for OutFileError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "evolve.out"
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let opened = args.config.load(context, Vec::new())?;
    let report: EvolveReport = runtime()?.block_on(async {
        let session = Session::open(opened.workspace, opened.loaded, Default::default()).await?;
        let bars = Arc::new(Bars::new());
        let request = EvolveRunRequest {
            source: args.run.clone(),
            scope: args.scope,
            task_type: task_type(&session, &args.task_type)?,
            progress: Some(Arc::clone(&bars) as _),
        };
        let result = with_interrupt(&session.bench.stop, evolve_run(&session, &request)).await;
        bars.finish();
        session.bench.hub.stop();
        Ok::<_, CliError>(result?)
    })?;
    if let (Some(path), Some(candidate)) = (&args.out, &report.candidate) {
        std::fs::write(path, candidate).map_err(|source| OutFileError { path: path.clone(), source })?;
    }
    if context.json() { context.write_json(&report) } else { show(&report, args, context) }
}

fn show(report: &EvolveReport, args: &Args, context: &mut Context) -> Result<(), CliError> {
    let (failures, successes, notes) = report.shown;
    context.line(format_args!(
        "skill for {} ({}, skills {}): {}",
        printable(report.task_type.as_str()),
        report.file,
        report.source_version,
        report.status
    ))?;
    context.line(format_args!(
        "shown to the writer: {failures} failures, {successes} successes, {notes} reminders of run {} ({})",
        report.source.run, report.source.scope
    ))?;
    if !report.reason.is_empty() {
        context.line(format_args!("reason: {}", printable(&report.reason)))?;
    }
    for (place, problem) in report.failed_attempts.iter().enumerate() {
        context.line(format_args!("attempt {} failed: {}", place + 1, printable(problem)))?;
    }
    if !report.edits.is_empty() {
        context.line(format_args!("edits proposed: {}, allowed: {}", report.proposed, report.edit_budget))?;
    }
    for edit in &report.edits {
        let text = if edit.content.is_empty() { &edit.target } else { &edit.content };
        let text: String = text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(SHOWN_CHARS).collect();
        context.line(format_args!("  {} {}: {}", edit.status, printable(&edit.op), printable(&text)))?;
    }
    for note in &report.notes_added {
        context.line(format_args!("reminder added: {}", printable(note)))?;
    }
    for dropped in &report.notes_dropped {
        let (note, reason) = (printable(&dropped.note), printable(&dropped.reason));
        context.line(format_args!("reminder left out: {note} ({reason})"))?;
    }
    if !report.diff.is_empty() {
        context.line("")?;
        context.write_text(&report.diff)?;
        context.line("")?;
    }
    show_cost("writer", &report.cost, context)?;
    match (&args.out, &report.candidate) {
        (Some(path), Some(_)) => context.line(format_args!("the candidate is in {}", path.display())),
        (Some(_), None) => context.line("there is no candidate: no file was written"),
        (None, _) => context.line("no version was changed; a candidate counts only once a gate has accepted it"),
    }
}
