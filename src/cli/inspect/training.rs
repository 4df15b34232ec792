//! A training in `trm inspect run`: its steps and epochs as tables, and what failed.

use super::super::table::table;
use super::super::text::printable;
use super::super::{CliError, Context};
use super::{percent, say};
use crate::inspect::TrainingView;

pub(super) fn show(view: &TrainingView, context: &mut Context) -> Result<(), CliError> {
    if let Some(progress) = &view.progress {
        let best = view
            .best
            .as_ref()
            .map_or_else(|| "-".to_owned(), |best| format!("skills {}, prompts {}", best.skills, best.prompts));
        say(context, format_args!("{progress}; best {best} with {} on validation", percent(view.best_val_acc)))?;
    }
    let width = context.width();
    if !view.steps.is_empty() {
        let rows = view.steps.iter().map(|step| {
            let count = |name: &str| step.actions.iter().filter(|line| line.action == name).count().to_string();
            let made: Vec<String> = step
                .actions
                .iter()
                .filter_map(|line| Some(format!("{} {}", line.new_version.as_ref()?, line.task_type)))
                .collect();
            [
                step.step.clone(),
                if step.settled { percent(step.batch.accuracy()) } else { "not settled".to_owned() },
                count("accept_confirmed"),
                count("accept_provisional"),
                count("reject"),
                count("skipped"),
                count("cooldown"),
                made.join(", "),
            ]
        });
        let header = ["STEP", "BATCH", "CONFIRMED", "PROBATION", "REJECTED", "SKIPPED", "RESTING", "NEW VERSIONS"];
        let text = table(header, rows.collect(), width);
        context.line(text)?;
    }
    if !view.epochs.is_empty() {
        let rows = view.epochs.iter().map(|epoch| {
            let best =
                epoch.best.as_ref().map_or_else(|| "-".to_owned(), |best| format!("{}/{}", best.skills, best.prompts));
            [
                format!("e{}", epoch.epoch),
                percent(epoch.r_accuracy),
                percent(epoch.r2_accuracy),
                percent(epoch.best_val_acc),
                best,
                epoch.system_tool_action.unwrap_or("not done").to_owned(),
                percent(epoch.holdout_end),
            ]
        });
        let header = ["EPOCH", "RE-RUN R", "R2", "BEST SO FAR", "VERSIONS", "PROMPTS", "HELD OUT"];
        let text = table(header, rows.collect(), width);
        context.line(text)?;
    }
    for (task_type, anchor) in &view.probations {
        say(context, format_args!("on probation: {} (anchor {anchor})", printable(task_type.as_str())))?;
    }
    for (task_type, left) in &view.cooldowns {
        say(context, format_args!("resting: {} for {left} more steps", printable(task_type.as_str())))?;
    }
    if view.gates > 0 {
        let bound = view.false_accept_bound.map_or_else(String::new, |bound| {
            format!("; had no candidate helped, at most {bound:.2} would be confirmed on average, whatever the noise")
        });
        say(
            context,
            format_args!(
                "{} gates: {} confirmed, {} on probation{bound}",
                view.gates, view.confirmed, view.provisional
            ),
        )?;
    }
    show_failures(view, context)
}

fn show_failures(view: &TrainingView, context: &mut Context) -> Result<(), CliError> {
    if view.failures.is_empty() {
        return context.line("technical failures: none in any phase");
    }
    let rows = view.failures.iter().map(|line| {
        let reasons: Vec<String> = line.by_stop_reason.iter().map(|(name, count)| format!("{count} {name}")).collect();
        [line.phase.to_owned(), line.asked.to_string(), line.failed.to_string(), reasons.join(", ")]
    });
    let text = table(["TECHNICAL FAILURES", "ASKED", "FAILED", "HOW"], rows.collect(), context.width());
    context.line(text)
}
