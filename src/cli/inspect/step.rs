//! `trm inspect step e1 s0`: what happened in a step, and why.

use super::super::place::step_alone;
use super::super::plot::sparkline;
use super::super::table::table;
use super::super::text::{printable, wrapped};
use super::super::{CliError, Context};
use super::{cut, percent, reader, say, time};
use crate::domain::RunId;
use crate::inspect::{EvolutionView, StepView, TypeView, step};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The step: e1 s0 or e1s0.
    #[arg(required = true, num_args = 1..=2, value_name = "STEP")]
    place: Vec<String>,
    /// The run; the newest training if absent.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// Show the edits whole.
    #[arg(long)]
    full: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let place = step_alone(&args.place)?;
    let view = step(&reader(context)?.snapshot()?, args.run.as_ref(), place)?;
    if context.json() { context.write_json(&view) } else { show(&view, args.full, context) }
}

fn show(view: &StepView, full: bool, context: &mut Context) -> Result<(), CliError> {
    let state = if view.settled { "settled" } else { "not settled: 'trm train' goes on with it" };
    let began = view.begun_ms.map_or_else(|| "-".to_owned(), time);
    say(context, format_args!("{} of run {}, begun {began} ({state})", view.step, view.run_id))?;
    if let Some((skills, prompts)) = &view.versions {
        say(context, format_args!("began with skills {skills}, prompts {prompts}"))?;
    }
    let batch = &view.batch;
    say(
        context,
        format_args!(
            "mini-batch: {} right ({} right, {} wrong, {} failed)",
            percent(batch.accuracy()),
            batch.correct,
            batch.wrong,
            batch.infra
        ),
    )?;
    let header = ["TASK TYPE", "BATCH", "ACTION", "W", "L", "E", "USED", "SKILL NOW", "CANDIDATE", "VERSION"];
    let rows = view.task_types.iter().map(|of_type| {
        let count = |count: Option<u32>| count.map_or_else(|| "-".to_owned(), |count| count.to_string());
        let batch = view.batch_by_type.get(&of_type.task_type);
        let used = of_type.n_used.zip(of_type.n_plan).map(|(used, plan)| format!("{used} of {plan}"));
        [
            of_type.task_type.to_string(),
            batch.map_or_else(
                || "-".to_owned(),
                |counts| format!("{}/{}", counts.correct, counts.correct + counts.wrong),
            ),
            of_type.action.to_owned(),
            count(of_type.w),
            count(of_type.l),
            of_type.e_value.map_or_else(|| "-".to_owned(), |e| format!("{e:.2}")),
            used.unwrap_or_else(|| "-".to_owned()),
            percent(of_type.baseline_acc),
            percent(of_type.candidate_acc),
            of_type.new_version.clone().unwrap_or_else(|| "-".to_owned()),
        ]
    });
    let text = table(header, rows.collect(), context.width());
    context.line(text)?;
    for of_type in &view.task_types {
        show_type(of_type, full, context)?;
    }
    show_rest(view, context)
}

fn show_type(view: &TypeView, full: bool, context: &mut Context) -> Result<(), CliError> {
    let width = context.width();
    context.line("")?;
    say(context, format_args!("{}: {}", printable(view.task_type.as_str()), view.action))?;
    context.line(wrapped(&printable(&view.reason), width, 2))?;
    if !view.e_path.is_empty() {
        say(context, format_args!("  E along the ladder  {}", sparkline(&view.e_path, 20.0)))?;
        let quadrants: Vec<String> =
            view.quadrants.iter().map(|(name, count)| format!("{count} {}", name.replace('_', " "))).collect();
        context.line(wrapped(&format!("units: {}", quadrants.join(", ")), width, 2))?;
        let wall = view.wall_ms.map_or_else(|| "-".to_owned(), |ms| format!("{}.{} s", ms / 1000, ms % 1000 / 100));
        let (excluded, wasted) = (view.n_excluded.unwrap_or(0), view.wasted_runs.unwrap_or(0));
        context
            .line(format_args!("  excluded {excluded}, runs the verdict did not need {wasted}, wall time {wall}"))?;
    }
    if !view.error_types.is_empty() {
        let errors: Vec<String> = view.error_types.iter().map(|(name, count)| format!("{count} {name}")).collect();
        context.line(wrapped(&printable(&format!("diagnosed failures: {}", errors.join(", "))), width, 2))?;
    }
    if let Some(evolution) = &view.evolution {
        show_evolution(evolution, view.edit_budget, full, context)?;
    }
    if let Some(change) = &view.state_change {
        context.line(wrapped(change, width, 2))?;
    }
    Ok(())
}

/// A writer's proposal: how it ended, and each edit with what became of it.
pub(super) fn show_evolution(
    view: &EvolutionView,
    budget: Option<u32>,
    full: bool,
    context: &mut Context,
) -> Result<(), CliError> {
    let budget = budget.map(|budget| format!(", {budget} edits allowed")).unwrap_or_default();
    let clipped = view.clipped.map(|(before, after)| format!(", clipped from {before} to {after}")).unwrap_or_default();
    say(
        context,
        printable(&format!("  writer: {} ({}, {} retries{budget}{clipped})", view.status, view.branch, view.retries)),
    )?;
    if let Some(reason) = &view.reason {
        say(context, format_args!("    because: {}", cut(reason, full)))?;
    }
    for edit in &view.edits {
        let status = if edit.status.is_empty() { "not reported" } else { &edit.status };
        say(context, printable(&format!("    {} [{status}]", edit.op)))?;
        for (mark, text) in [("at", &edit.target), (" +", &edit.content)] {
            if !text.is_empty() {
                say(context, format_args!("      {mark} {}", cut(text, full)))?;
            }
        }
    }
    for note in &view.lapse_notes {
        say(context, format_args!("    note: {}", cut(note, full)))?;
    }
    Ok(())
}

fn show_rest(view: &StepView, context: &mut Context) -> Result<(), CliError> {
    context.line("")?;
    if !view.case_packs.is_empty() {
        let rows = view.case_packs.iter().map(|pack| {
            [pack.target.clone(), pack.questions.to_string(), pack.failures.to_string(), pack.successes.to_string()]
        });
        let text = table(["CASE PACK", "QUESTIONS", "FAILURES", "SUCCESSES"], rows.collect(), context.width());
        context.line(text)?;
    }
    let calls: u64 = view.usage.iter().map(|usage| usage.calls).sum();
    let cached: u64 = view.usage.iter().map(|usage| usage.cached_calls).sum();
    let failed: u64 = view.usage.iter().map(|usage| usage.failed_calls).sum();
    let tokens: u64 = view.usage.iter().map(|usage| usage.prompt_tokens + usage.completion_tokens).sum();
    let cost: f64 = view.usage.iter().map(|usage| usage.cost_usd).sum();
    let usage = format!("{calls} calls ({cached} from the cache, {failed} failed), {tokens} tokens, ${cost:.4}");
    context.line(wrapped(&usage, context.width(), 0))?;
    if view.task_types.iter().any(|of_type| !of_type.e_path.is_empty()) {
        let next = format!(
            "next: 'trm inspect gate {0}' shows the evidence, 'trm gate replay {1} {0}' audits it",
            view.step, view.run_id
        );
        context.line(wrapped(&next, context.width(), 0))?;
    }
    Ok(())
}
