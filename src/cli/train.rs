//! `trm train`: the whole loop, resumable.

use super::progress::Bars;
use super::runtime::{runtime, with_interrupt};
use super::settings::ConfigArgs;
use super::train_view::{show_dry_run, show_summary};
use super::{CliError, Context};
use crate::config::Override;
use crate::domain::{EpochStep, ExitClass, Fault, RunId};
use crate::harness::session::{Session, spent_of};
use crate::harness::training::{RunChoice, StopAt, TrainRequest, TrainSummary, chosen_run, dry_run, train};
use crate::store::StoreReader;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,

    /// Stop after this step (e1 s0) or after this epoch (e1).
    #[arg(long, value_name = "STEP", num_args = 1..=2)]
    until: Vec<String>,

    /// Begin a new training; an unfinished one is given up.
    #[arg(long, conflicts_with = "resume")]
    fresh: bool,

    /// Go on with an unfinished training; an error if there is none.
    #[arg(long)]
    resume: bool,

    /// Run this step (e1 s0) again from the state that it began with, and stop behind it.
    #[arg(long, value_name = "STEP", num_args = 1..=2, conflicts_with_all = ["fresh", "until"])]
    rerun: Vec<String>,

    /// Say what would be trained and how many answers it takes, without asking a model.
    #[arg(long, conflicts_with_all = ["rerun", "until"])]
    dry_run: bool,

    /// Name the run yourself.
    #[arg(long, value_name = "RUN")]
    run_id: Option<RunId>,

    /// Questions at once.
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,

    /// Passes over the diagnosis pool.
    #[arg(long, value_name = "N")]
    epochs: Option<u32>,
}

/// An argument that names no place in a training.
#[derive(Debug, thiserror::Error)]
#[error("read {text:?} of {flag}: {expected} expected")]
struct PlaceError {
    flag: &'static str,
    text: String,
    expected: &'static str,
}

impl Fault for PlaceError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "train.place"
    }

    fn hint(&self) -> Option<String> {
        Some("epochs count from 1, steps from 0: e1 s0 is the first step".to_owned())
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let request = request(args)?;
    let mut flags = Vec::new();
    let mut flag = |key: &str, value: Option<String>, flag: &str| {
        flags.extend(value.map(|value| Override { key: key.into(), value, flag: flag.into() }));
    };
    flag("agent.concurrency", args.concurrency.map(|n| n.to_string()), "--concurrency");
    flag("epochs.epochs", args.epochs.map(|n| n.to_string()), "--epochs");
    if args.dry_run {
        let opened = args.config.load(context, flags)?;
        let plan = runtime()?.block_on(async {
            let session = Session::open(opened.workspace, opened.loaded, Default::default()).await?;
            Ok::<_, CliError>(dry_run(&session)?)
        })?;
        return if context.json() { context.write_json(&plan) } else { show_dry_run(&plan, context) };
    }
    let summary = train_workspace(&args.config, flags, &request, context)?;
    if context.json() { context.write_json(&summary) } else { show_summary(&summary, context) }
}

/// Trains the workspace of the context.
pub(super) fn train_workspace(
    config: &ConfigArgs,
    flags: Vec<Override>,
    request: &TrainRequest,
    context: &Context,
) -> Result<TrainSummary, CliError> {
    let opened = config.load(context, flags)?;
    // What the run spent before counts against the budget, which the models are opened with.
    let spent = {
        let snapshot = StoreReader::open(opened.workspace.store())?.snapshot()?;
        let (run, exists) = chosen_run(&snapshot, &opened.loaded.config, &request.choice)?;
        if exists { spent_of(&snapshot, &run)? } else { Default::default() }
    };
    runtime()?.block_on(async {
        let session = Session::open(opened.workspace, opened.loaded, spent).await?;
        let bars = Bars::new();
        let result = with_interrupt(&session.bench.stop, train(&session, request, &bars)).await;
        bars.finish();
        session.bench.hub.stop();
        Ok(result?)
    })
}

fn request(args: &Args) -> Result<TrainRequest, PlaceError> {
    let choice = RunChoice { run_id: args.run_id.clone(), resume: args.resume, fresh: args.fresh };
    let until = match args.until.join(" ") {
        none if none.is_empty() => None,
        text => Some(stop_at(&text)?),
    };
    let rerun = match args.rerun.join(" ") {
        none if none.is_empty() => None,
        text => {
            let step = text.parse::<EpochStep>();
            Some(step.map_err(|_| PlaceError { flag: "--rerun", text, expected: "a step such as e1 s0" })?)
        }
    };
    Ok(TrainRequest { choice, until, rerun })
}

fn stop_at(text: &str) -> Result<StopAt, PlaceError> {
    if let Ok(step) = text.parse::<EpochStep>() {
        return Ok(StopAt::Step(step));
    }
    let epoch = text.strip_prefix('e').and_then(|number| number.parse().ok()).filter(|epoch| *epoch > 0);
    epoch.map(StopAt::Epoch).ok_or_else(|| PlaceError {
        flag: "--until",
        text: text.to_owned(),
        expected: "a step such as e1 s0 or an epoch such as e1",
    })
}
