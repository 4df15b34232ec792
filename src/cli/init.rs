//! `trm init`: makes a workspace.

use std::path::{Path, PathBuf};

use super::settings::{ConfigArgs, find_workspace};
use super::{CliError, Context};
use crate::assets::{default_prompts, default_skills};
use crate::domain::FileName;
use crate::harness::seeds::{open_seed, start_from};
use crate::harness::workspace::{InitReport, InitRequest, Workspace, init};
use crate::sim::world::{WorldSpec, generate};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder to make a workspace of; created if absent. The default is the current folder, or that of -C.
    folder: Option<PathBuf>,

    /// With the bundled example: generated videos and questions, and the simulated model. Needs no key, no network.
    #[arg(long)]
    example: bool,

    /// Start from this seed: its skills, its prompts, its evaluation. DIR then lies below the current folder.
    #[arg(long, value_name = "SEEDNAME", conflicts_with = "example")]
    from: Option<String>,

    /// The workspace that has the seed; without it that of -C, or the nearest one upward.
    #[arg(long, value_name = "SRC", requires = "from")]
    workspace: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    if let Some(name) = &args.from {
        return from_seed(name, args, context);
    }
    let folder = match &args.folder {
        Some(folder) if context.has_directory() => context.directory().join(folder),
        Some(folder) => folder.clone(),
        None => context.directory().to_owned(),
    };
    let report = make_workspace(&folder, args.example)?;
    if context.json() {
        return context.write_json(&report);
    }
    print(&report, args.example, context)
}

fn from_seed(name: &str, args: &Args, context: &mut Context) -> Result<(), CliError> {
    let settings = ConfigArgs::default().settings(Vec::new())?;
    let workspace = match &args.workspace {
        Some(folder) => Workspace::at(folder)?,
        None => find_workspace(context)?,
    };
    let (workspace, loaded) = workspace.load(&settings)?;
    let source = open_seed(workspace, loaded.config, name)?;
    let folder = args.folder.clone().unwrap_or_else(|| PathBuf::from("."));
    let existing = match Workspace::at(&folder) {
        Ok(there) => {
            let (there, loaded) = there.load(&settings)?;
            Some((there, loaded.config))
        }
        Err(_) => None,
    };
    let started = start_from(&source, &folder, existing.as_ref())?;
    if context.json() {
        return context.write_json(&started);
    }
    let folder = started.folder.display();
    context.line(format_args!("started {folder} from seed {}: {}", started.seed, started.created.join(", ")))?;
    context.line(format_args!("{} answers of run {} came along", started.answers, started.eval_run))?;
    context.line(format_args!("next: keys in .env as before, then 'trm -C {folder} doctor'"))
}

/// Makes a workspace with the built-in skills and prompts, with the bundled example if wanted.
pub(super) fn make_workspace(folder: &Path, example: bool) -> Result<InitReport, CliError> {
    let example = if example { Some(generate(&WorldSpec::default())?) } else { None };
    let owned = |texts: Vec<(FileName, &str)>| texts.into_iter().map(|(name, text)| (name, text.to_owned())).collect();
    let request = InitRequest { skills: owned(default_skills()), prompts: owned(default_prompts()), example };
    Ok(init(folder, &request)?)
}

fn print(report: &InitReport, example: bool, context: &mut Context) -> Result<(), CliError> {
    let folder = report.folder.display();
    if report.was_workspace && report.created.is_empty() {
        return context.line(format_args!("{folder} is a workspace already; nothing was changed"));
    }
    let verb = if report.was_workspace { "completed" } else { "made" };
    context.line(format_args!("{verb} the workspace {folder}: {}", report.created.join(", ")))?;
    if !report.kept.is_empty() {
        context.line(format_args!("left as they are: {}", report.kept.join(", ")))?;
    }
    if example {
        return context.line(format_args!("next: 'trm -C {folder} doctor' (simulated model)"));
    }
    context.line("next: copy .env.example to .env, name your model in trm.yaml, then 'trm import questions PATH'")
}
