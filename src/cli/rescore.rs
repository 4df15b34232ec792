//! `trm rescore`: read stored answers again, without any call.

use super::runtime::runtime;
use super::settings::ConfigArgs;
use super::table::table;
use super::{CliError, Context};
use crate::data::load_questions;
use crate::domain::RunId;
use crate::harness::rescore::rescore;
use crate::store::{OpenOptions, Store};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,

    /// The run whose answers are read again.
    run: RunId,

    /// Store what changed; without it nothing is written.
    #[arg(long)]
    apply: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let opened = args.config.load(context, Vec::new())?;
    let questions = load_questions(&opened.workspace.questions(&opened.loaded.config))?;
    let store = Store::open(opened.workspace.store(), &OpenOptions::default())?;
    let report = runtime()?.block_on(rescore(&store, &args.run, &questions, args.apply))?;
    if context.json() {
        return context.write_json(&report);
    }
    let rows = report.changed.iter().map(|change| {
        let letter = |letter: &Option<String>| letter.clone().unwrap_or_else(|| "-".to_owned());
        [
            change.question_id.to_string(),
            format!("{} {}", change.scope, change.phase),
            format!("{} ({})", letter(&change.before), change.outcome_before),
            format!("{} ({})", letter(&change.after), change.outcome_after),
        ]
    });
    if !report.changed.is_empty() {
        let text = table(["QUESTION", "WHERE", "BEFORE", "NOW"], rows.collect(), context.width());
        context.line(text)?;
    }
    let stored = match (report.applied, report.changed.is_empty()) {
        (_, true) => "nothing to change",
        (true, false) => "stored",
        (false, false) => "not stored: add --apply",
    };
    context.line(format_args!("{} answers read again, {} change: {stored}", report.answers, report.changed.len()))
}
