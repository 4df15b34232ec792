//! `trm inspect epoch e1`: the slow update at the end of an epoch.

use super::super::place;
use super::super::table::table;
use super::super::text::printable;
use super::super::{CliError, Context};
use super::step::show_evolution;
use super::{cut, percent, reader, say};
use crate::domain::RunId;
use crate::inspect::{EpochView, VersionsView, epoch};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The epoch: e1 or 1.
    #[arg(value_parser = place::epoch)]
    epoch: u32,
    /// The run; the newest training if absent.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
    /// Show guidance and edits whole.
    #[arg(long)]
    full: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let view = epoch(&reader(context)?.snapshot()?, args.run.as_ref(), args.epoch)?;
    if context.json() { context.write_json(&view) } else { show(&view, args.full, context) }
}

fn pair(versions: &VersionsView) -> String {
    format!("{}/{}", versions.skills, versions.prompts)
}

fn show(view: &EpochView, full: bool, context: &mut Context) -> Result<(), CliError> {
    let state = if view.done { "done" } else { "not done: 'trm train' goes on with it" };
    say(
        context,
        format_args!(
            "slow update of epoch {} in run {} ({state}); versions are skills/prompts",
            view.epoch, view.run_id
        ),
    )?;
    if let (Some(start), Some(end), Some(best)) = (&view.start, &view.end, &view.best) {
        say(
            context,
            format_args!(
                "from {} to {}; best {} with {} on validation; prompts: {}",
                pair(start),
                pair(end),
                pair(best),
                percent(view.best_val_acc),
                view.system_tool_action.unwrap_or("-")
            ),
        )?;
    }
    show_scores(view, context)?;
    if !view.probations.is_empty() {
        let rows = view.probations.iter().map(|row| {
            [
                row.task_type.to_string(),
                row.outcome.to_owned(),
                format!("{}/{} of {}", row.w, row.l, row.n),
                format!("{:.2}", row.e_value),
                format!("{:.2}", row.e_swapped),
                row.new_version.clone().unwrap_or_else(|| format!("anchor {}", row.anchor)),
            ]
        });
        let header = ["PROBATION", "OUTCOME", "W/L", "E FOR", "E AGAINST", "VERSION"];
        let text = table(header, rows.collect(), context.width());
        context.line(format_args!("\n{text}"))?;
    }
    show_momentum(view, full, context)?;
    for evolution in &view.prompts {
        context.line("")?;
        say(context, printable(&evolution.target))?;
        show_evolution(evolution, None, full, context)?;
    }
    if let Some(shadow) = &view.shadow {
        let differs = if shadow.differs { "another than" } else { "the same as" };
        let mixed = shadow.mixed.map_or_else(|| "no graded credit".to_owned(), |mixed| percent(Some(mixed)));
        say(
            context,
            format_args!(
                "\nby the mixed score {} would be best ({mixed}): {differs} the best pointer; observation only",
                pair(&shadow.versions)
            ),
        )?;
    }
    Ok(())
}

fn show_scores(view: &EpochView, context: &mut Context) -> Result<(), CliError> {
    let scores = view.evaluations.iter().map(|row| {
        [
            row.phase.clone(),
            pair(&row.versions),
            percent(row.hard),
            percent(row.soft),
            percent(row.mixed),
            row.n.to_string(),
            row.n_infra.to_string(),
        ]
    });
    let held_out = view.holdout.iter().map(|row| {
        [
            format!("held out: {} skills, {} prompts", row.skills_from, row.prompts_from),
            pair(&row.versions),
            percent(row.accuracy),
            "-".to_owned(),
            "-".to_owned(),
            row.n.to_string(),
            row.n_infra.to_string(),
        ]
    });
    let header = ["EVALUATION", "VERSIONS", "RIGHT", "GRADED", "MIXED", "ANSWERS", "FAILED"];
    let text = table(header, scores.chain(held_out).collect(), context.width());
    context.line(text)
}

fn show_momentum(view: &EpochView, full: bool, context: &mut Context) -> Result<(), CliError> {
    if view.momentum.is_empty() {
        return Ok(());
    }
    let rows = view.momentum.iter().map(|row| {
        [
            row.file.clone(),
            row.status.to_owned(),
            row.improved.to_string(),
            row.regressed.to_string(),
            row.persistent_fail.to_string(),
            row.stable_success.to_string(),
        ]
    });
    let header = ["MOMENTUM", "STATUS", "IMPROVED", "REGRESSED", "WRONG TWICE", "RIGHT TWICE"];
    let text = table(header, rows.collect(), context.width());
    context.line(format_args!("\n{text}"))?;
    for row in &view.momentum {
        if let Some(reason) = &row.reason {
            say(context, format_args!("  {}: {}", printable(&row.file), cut(reason, full)))?;
        }
        if row.status == "updated" {
            say(context, format_args!("  {}: {}", printable(&row.file), cut(&row.guidance, full)))?;
        }
    }
    Ok(())
}
