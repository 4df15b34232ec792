//! `trm init`: makes a workspace.

use std::path::PathBuf;

use super::{CliError, Context};
use crate::assets::{default_prompts, default_skills};
use crate::domain::FileName;
use crate::harness::workspace::{FirstTexts, InitReport, init};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder to make a workspace of; created if absent. The default is the current folder, or that of -C.
    folder: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let folder = match &args.folder {
        Some(folder) if context.has_directory() => context.directory().join(folder),
        Some(folder) => folder.clone(),
        None => context.directory().to_owned(),
    };
    let report = init(&folder, &built_in())?;
    if context.json() {
        return context.write_json(&report);
    }
    print(&report, context)
}

fn built_in() -> FirstTexts {
    let owned = |texts: Vec<(FileName, &str)>| texts.into_iter().map(|(name, text)| (name, text.to_owned())).collect();
    FirstTexts { skills: owned(default_skills()), prompts: owned(default_prompts()) }
}

fn print(report: &InitReport, context: &mut Context) -> Result<(), CliError> {
    let folder = report.folder.display();
    if report.was_workspace && report.created.is_empty() {
        return context.line(format_args!("{folder} is a workspace already; nothing was changed"));
    }
    let verb = if report.was_workspace { "completed" } else { "made" };
    context.line(format_args!("{verb} the workspace {folder}: {}", report.created.join(", ")))?;
    if !report.kept.is_empty() {
        context.line(format_args!("left as they are: {}", report.kept.join(", ")))?;
    }
    context.line("next: copy .env.example to .env, name your model in trm.yaml, then 'trm import questions PATH'")
}
