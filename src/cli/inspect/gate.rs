//! `trm inspect gate e1 s0`: the evidence of a step's gates, unit by unit.

use super::super::place::step_and_name;
use super::super::plot::plot;
use super::super::table::table;
use super::super::text::{printable, wrapped};
use super::super::{CliError, Context};
use super::{reader, say};
use crate::domain::RunId;
use crate::inspect::{GateView, gates};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The step (e1 s0 or e1s0), and behind it a task type by name or slug; all types without one.
    #[arg(required = true, num_args = 1.., value_name = "STEP [TYPE]")]
    place: Vec<String>,
    /// The run; the newest training if absent.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let (place, task_type) = step_and_name(&args.place)?;
    let views = gates(&reader(context)?.snapshot()?, args.run.as_ref(), place, task_type.as_deref())?;
    if context.json() {
        return context.write_json(&views);
    }
    for (place, view) in views.iter().enumerate() {
        if place > 0 {
            context.line("")?;
        }
        show(view, context)?;
    }
    Ok(())
}

fn show(view: &GateView, context: &mut Context) -> Result<(), CliError> {
    let width = context.width();
    let action = view.action.unwrap_or("not settled");
    say(context, printable(&format!("{} of run {}, {}: {action}", view.step, view.run_id, view.task_type)))?;
    context.line(wrapped(&printable(&view.reason), width, 0))?;
    let thresholds: Vec<(f64, &str)> = view
        .thresholds
        .iter()
        .flat_map(|params| [(params.e_confirm, "confirmed"), (params.e_provisional, "on probation")])
        .collect();
    let path: Vec<Option<f64>> =
        view.evidence.iter().map(|row| row.excluded_arm.is_none().then_some(row.e_value)).collect();
    for line in plot(&path, &thresholds, width.map(|width| width.saturating_sub(13))) {
        context.line(line)?;
    }
    let header = ["RANK", "UNIT", "NOW", "CAND", "W", "L", "E", "LAMBDA", "LEFT", ""];
    let rows = view.evidence.iter().map(|row| {
        let mark = |correct: Option<bool>| match correct {
            Some(true) => "right".to_owned(),
            Some(false) => "wrong".to_owned(),
            None => "-".to_owned(),
        };
        let mut notes = Vec::new();
        notes.extend(row.excluded_arm.map(|arm| format!("excluded: {arm} failed")));
        notes.extend(row.base_cached.then(|| "cached".to_owned()));
        notes.extend(row.stop_reason.map(|stop| format!("stop: {stop}")));
        [
            row.ladder_rank.to_string(),
            row.unit_id.clone(),
            mark(row.base_correct),
            mark(row.cand_correct),
            row.w.to_string(),
            row.l.to_string(),
            format!("{:.3}", row.e_value),
            format!("{:+.3}", row.lambda),
            row.n_remaining.to_string(),
            notes.join(", "),
        ]
    });
    let text = table(header, rows.collect(), width);
    context.line(text)?;
    if view.curtailed > 0 {
        say(context, format_args!("{} more units were settled by curtailment", view.curtailed))?;
    }
    Ok(())
}
