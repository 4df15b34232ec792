//! `trm status`: where the run is, rate, spend, time left, retries and waits.

use super::settings::find_workspace;
use super::text::printable;
use super::{CliError, Context};
use crate::domain::RunId;
use crate::inspect::{StatusView, TrainingStatus, status};
use crate::store::StoreReader;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run; the newest one if absent.
    run: Option<RunId>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let reader = StoreReader::open(find_workspace(context)?.store())?;
    let view = status(&reader.snapshot()?, args.run.as_ref(), jiff::Timestamp::now().as_millisecond())?;
    if context.json() {
        return context.write_json(&view);
    }
    match view {
        Some(view) => show(&view, context),
        None => context.line("no run yet: 'trm eval' or 'trm infer' begins one"),
    }
}

fn show(view: &StatusView, context: &mut Context) -> Result<(), CliError> {
    let work = match (view.working, view.run.state) {
        (true, _) => "working",
        (false, "unfinished") => "stopped; the same command goes on where it was",
        (false, _) => "not working",
    };
    context.line(format_args!("run {} ({}, {}): {work}", view.run.run_id, view.run.mode, view.run.state))?;
    if let Some(training) = &view.training {
        show_training(training, context)?;
    }
    if let (Some(activity), Some((done, total))) = (&view.activity, view.progress) {
        let scope = view.scope.as_deref().unwrap_or("-");
        context.line(format_args!("{scope} {activity}: {done} of {total}"))?;
    }
    if let Some(rate) = view.per_minute.filter(|_| view.working) {
        let eta = view.eta_s.map_or_else(|| "-".to_owned(), |s| format!("{:.0} min", (s / 60.0).ceil()));
        context.line(format_args!("{rate:.0} a minute, {eta} left, {} in flight", view.in_flight.unwrap_or(0)))?;
    }
    if let (Some(retries), Some(waiting), Some(cost)) = (view.retries, view.waiting, view.cost_usd) {
        context.line(format_args!("{retries} retries, {waiting} calls waiting, ${cost:.4} spent"))?;
    }
    for role in view.llm.iter().flat_map(|llm| llm.get("roles").and_then(|roles| roles.as_array())).flatten() {
        let text = |key: &str| {
            role.get(key)
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .unwrap_or_default()
        };
        context.line(printable(&format!(
            "{} {}: {} in flight, failed tries {}, errors {}",
            text("role"),
            text("model"),
            text("in_flight"),
            text("failed_tries"),
            text("errors")
        )))?;
    }
    Ok(())
}

fn show_training(training: &TrainingStatus, context: &mut Context) -> Result<(), CliError> {
    let planned = match training.planned {
        (Some(epochs), Some(steps)) => format!(" (of {epochs} epochs; steps of this epoch: {steps})"),
        (Some(epochs), None) => format!(" (of {epochs} epochs)"),
        (None, _) => String::new(),
    };
    context.line(format_args!("training: {}{planned}", training.progress))?;
    if let Some((skills, prompts)) = &training.best {
        let accuracy = training.best_val_acc.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0));
        context.line(format_args!("best so far: skills {skills}, prompts {prompts}, {accuracy} on validation"))?;
    }
    if !training.probations.is_empty() {
        let names: Vec<&str> = training.probations.iter().map(AsRef::as_ref).collect();
        context.line(printable(&format!("on probation: {}", names.join(", "))))?;
    }
    for (task_type, left) in &training.cooldowns {
        context.line(printable(&format!("resting: {task_type} for {left} more steps")))?;
    }
    Ok(())
}
