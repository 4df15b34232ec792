//! What a training came to, for a person.

use super::table::table;
use super::{CliError, Context};
use crate::harness::intervals::Interval;
use crate::harness::training::{DryRun, TrainSummary};
use crate::store::rows::VersionPair;

pub(super) fn show_summary(summary: &TrainSummary, context: &mut Context) -> Result<(), CliError> {
    let run = &summary.run_id;
    let state = if summary.finished { "finished".to_owned() } else { summary.progress.clone() };
    context.line(format_args!(
        "training {run}: {state}; {} steps, {} confirmed, {} on probation, {} refused, {} without a gate",
        summary.steps, summary.confirmed, summary.provisional, summary.rejected, summary.skipped
    ))?;
    context.line(format_args!(
        "validation: {} → {} (best: {})",
        percent(summary.baseline_val_acc),
        percent(summary.best_val_acc),
        pair(summary.best)
    ))?;
    if let Some(test) = &summary.test {
        context.line(format_args!("test, untouched: {} → {}", interval(test.baseline), interval(test.accuracy)))?;
        if let Some(gain) = test.gain {
            context.line(format_args!(
                "gain per unit: {:+.1} points (95 % interval {:+.1} to {:+.1}; {} won, {} lost of {})",
                gain.estimate * 100.0,
                gain.low * 100.0,
                gain.high * 100.0,
                test.wins,
                test.losses,
                test.pairs
            ))?;
        }
    }
    let account = &summary.error_account;
    if account.gates > 0 {
        context.line(format_args!(
            "if no edit helped at all, {:.2} confirmed and {:.2} provisional accepts of {} gates would be expected at the usual noise",
            account.false_confirmed, account.false_provisional, account.gates
        ))?;
    }
    if !summary.unconfirmed.is_empty() {
        let types: Vec<&str> = summary.unconfirmed.iter().map(|name| name.as_str()).collect();
        context.line(format_args!("on probation still, so unconfirmed: {}", types.join(", ")))?;
    }
    let failed: u64 = summary.errors.values().sum();
    let answers: u64 = summary.answers.values().sum();
    let where_failed: Vec<String> = summary.errors.iter().map(|(phase, count)| format!("{phase} {count}")).collect();
    let detail = if where_failed.is_empty() { String::new() } else { format!(" ({})", where_failed.join(", ")) };
    context.line(format_args!(
        "{answers} answers, {failed} technical failures{detail}; {} calls ({} from the cache), {} tokens read, {} \
         written, ${:.4}, {:.1} s",
        summary.calls,
        summary.cached_calls,
        summary.prompt_tokens,
        summary.completion_tokens,
        summary.cost_usd,
        summary.seconds
    ))?;
    match &summary.delivered {
        Some(folder) => context.line(format_args!("the best skills and prompts are in {folder}"))?,
        None => context.line("'trm train' goes on from here")?,
    }
    let newest = if summary.finished { summary.best.skills } else { summary.current.skills };
    context.line(format_args!(
        "look: 'trm inspect run {run}', 'trm inspect step e1 s0', 'trm skills diff {} {newest}'",
        summary.start.skills
    ))
}

pub(super) fn show_dry_run(plan: &DryRun, context: &mut Context) -> Result<(), CliError> {
    let rows = plan.types.iter().map(|one| {
        let reach = match (one.trained, one.can_confirm) {
            (false, _) => "not trained: too few units",
            (true, false) => "on probation at best",
            (true, true) => "can be confirmed",
        };
        [one.task_type.to_string(), one.units.to_string(), reach.to_owned()]
    });
    let text = table(["TASK TYPE", "GATE UNITS", "REACH"], rows.collect(), context.width());
    context.line(text)?;
    let (test, validation, diagnosis) = plan.pools;
    context.line(format_args!(
        "{} questions ({} left out without a tree); pools: {test} test, {validation} validation, {diagnosis} \
         diagnosis units (cut without a baseline, so their mix is a guess)",
        plan.questions, plan.without_tree
    ))?;
    context.line(format_args!(
        "answers: {} for the baseline; per epoch at most {} outside of gates and {} in gates; {} epochs of up to {} \
         steps",
        plan.baseline_answers, plan.answers_per_epoch, plan.gate_answers_per_epoch, plan.epochs, plan.steps_per_epoch
    ))?;
    context.line("nothing was asked and nothing was written")
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{:.1} %", value * 100.0))
}

fn interval(value: Option<Interval>) -> String {
    value.map_or_else(
        || "-".to_owned(),
        |a| format!("{:.1} % ({:.1} to {:.1})", a.estimate * 100.0, a.low * 100.0, a.high * 100.0),
    )
}

fn pair(versions: VersionPair) -> String {
    format!("skills {}, prompts {}", versions.skills, versions.prompts)
}
