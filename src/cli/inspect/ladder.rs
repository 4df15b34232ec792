//! `trm inspect ladder [TYPE]`: in which order the next gates would test units, and what they could reach.

use super::super::table::table;
use super::super::text::printable;
use super::super::{CliError, Context};
use super::{reader, say};
use crate::domain::RunId;
use crate::harness::ladder_report::{LadderReport, LadderUnit, ladder_reports};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A task type by name or slug; a line for each type without one.
    #[arg(value_name = "TYPE", num_args = 0..)]
    task_type: Vec<String>,
    /// The run; the newest training if absent.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let name = args.task_type.join(" ");
    let wanted = (!name.is_empty()).then_some(name.as_str());
    let reports = ladder_reports(&reader(context)?.snapshot()?, args.run.as_ref(), wanted)?;
    if context.json() {
        return context.write_json(&reports);
    }
    if let (Some(_), Some(report)) = (wanted, reports.first()) {
        return show(report, context);
    }
    let rows = reports.iter().map(|report| {
        [
            report.task_type.to_string(),
            report.known.to_string(),
            report.planned.to_string(),
            report.order.to_owned(),
            e_text(report.best_e),
            at_best(report),
        ]
    });
    let header = ["TASK TYPE", "UNITS", "IN A GATE", "ORDER", "E AT BEST", "CAN END"];
    let text = table(header, rows.collect(), context.width());
    context.line(text)
}

fn at_best(report: &LadderReport) -> String {
    match report.at_best {
        "confirmed" => "confirmed",
        "provisional" => "on probation at best",
        _ => "in no accept",
    }
    .to_owned()
}

fn show(report: &LadderReport, context: &mut Context) -> Result<(), CliError> {
    say(
        context,
        printable(&format!("ladder of {} in run {} ({} order)", report.task_type, report.run_id, report.order)),
    )?;
    say(
        context,
        format_args!(
            "{} units known, {} in a gate; E at best {}: {}",
            report.known,
            report.planned,
            e_text(report.best_e),
            at_best(report)
        ),
    )?;
    context.line("the case-pack units of the coming step leave it before the cut")?;
    let cells = |(rank, unit): (String, &LadderUnit)| {
        [rank, unit.unit_id.to_string(), format!("{:.3}", unit.p_hat), unit.observations.to_string()]
    };
    let planned = report.units.iter().enumerate().map(|(rank, unit)| (rank.to_string(), unit));
    let left_out = report.left_out.iter().map(|unit| ("left out".to_owned(), unit));
    let rows = planned.chain(left_out).map(cells).collect();
    let text = table(["RANK", "UNIT", "P(RIGHT)", "OBSERVATIONS"], rows, context.width());
    context.line(text)
}

/// Beyond a thousand only the magnitude matters.
fn e_text(value: f64) -> String {
    if value < 1_000.0 { format!("{value:.2}") } else { "over 1000".to_owned() }
}
