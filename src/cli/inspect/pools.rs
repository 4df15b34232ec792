//! `trm inspect pools`: what is tested on, gated on, trained on.

use super::super::table::table;
use super::super::{CliError, Context};
use super::{percent, reader, say};
use crate::domain::RunId;
use crate::inspect::{PoolCounts, PoolsView, pools};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run; the newest training if absent.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let view = pools(&reader(context)?.snapshot()?, args.run.as_ref())?;
    if context.json() { context.write_json(&view) } else { show(&view, context) }
}

fn show(view: &PoolsView, context: &mut Context) -> Result<(), CliError> {
    let fingerprint: String = view.data_fingerprint.chars().take(12).collect();
    say(
        context,
        format_args!(
            "pools of run {}, question set {fingerprint}, cut by the answers of {}",
            view.run_id, view.baseline_run
        ),
    )?;
    let cells = |pool: &str, name: String, counts: &PoolCounts| {
        [
            pool.to_owned(),
            name,
            counts.units.to_string(),
            counts.questions.to_string(),
            percent(counts.right_share()),
            counts.unknown.to_string(),
        ]
    };
    let rows = view.pools.iter().flat_map(|pool| {
        let types = pool.by_type.iter().map(|(name, counts)| cells(pool.pool, name.to_string(), counts));
        let total = [cells(pool.pool, "all".to_owned(), &pool.total)];
        types.chain(total).collect::<Vec<_>>()
    });
    let header = ["POOL", "TASK TYPE", "UNITS", "QUESTIONS", "RIGHT AT BASELINE", "UNKNOWN"];
    let text = table(header, rows.collect(), context.width());
    context.line(text)?;
    match view.overlaps.len() {
        0 => context.line("no question is in two pools"),
        count => say(context, format_args!("{count} questions are in two pools: 'trm store check' says more")),
    }
}
