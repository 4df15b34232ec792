//! `trm skills …`: versions of skills, and with `--prompts` those of prompts.

use std::collections::BTreeSet;
use std::path::PathBuf;

use clap::Subcommand;
use serde::Serialize;
use serde_json::json;

use super::settings::{ConfigArgs, find_workspace};
use super::table::table;
use super::text::printable;
use super::{CliError, Context};
use crate::config::VersionChoice;
use crate::data::load_questions;
use crate::domain::{FileName, TaskType, VersionName};
use crate::harness::seeds::seeds;
use crate::harness::versions::{
    self, FileChange, FileSet, VersionsError, checkout, compare, import, read_file, read_folder, resolve, scaffold,
    unified_diff,
};
use crate::harness::workspace::Workspace;
use crate::store::rows::{PointerName, Version, VersionKind};
use crate::store::{OpenOptions, Snapshot, Store, StoreReader};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Work on prompts instead of skills.
    #[arg(long, global = true)]
    prompts: bool,

    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List all versions, by number.
    List,
    /// Print the files of a version, or the text of one file.
    Show(ShowArgs),
    /// Print what differs between two versions.
    Diff(DiffArgs),
    /// Write the files of a version into a folder.
    Checkout(CheckoutArgs),
    /// Make the next version from a folder of files, or from one file over the newest version.
    Import(ImportArgs),
    /// List the seeds: named starting points that 'trm promote' made.
    Seeds,
    /// Create the missing skills of task types as copies of the default strategy.
    Scaffold(ScaffoldArgs),
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// v3, or initial, current, best.
    // Not named `version`: that is the name of clap's own flag.
    #[arg(value_name = "VERSION")]
    choice: VersionChoice,
    /// One of its files.
    file: Option<FileName>,
}

#[derive(Debug, clap::Args)]
struct DiffArgs {
    /// The older version: v3, or initial, current, best.
    old: VersionChoice,
    /// The newer version.
    new: VersionChoice,
    /// Only this file.
    file: Option<FileName>,
    /// Only which files differ, and by how many lines.
    #[arg(long)]
    stat: bool,
}

#[derive(Debug, clap::Args)]
struct CheckoutArgs {
    /// v3, or initial, current, best.
    // Not named `version`: that is the name of clap's own flag.
    #[arg(value_name = "VERSION")]
    choice: VersionChoice,
    /// Where to; afterwards it holds exactly these files.
    folder: PathBuf,
    /// Replace the Markdown files that are there.
    #[arg(long)]
    force: bool,
}

#[derive(Debug, clap::Args)]
struct ImportArgs {
    /// A folder with all files of a version, or one file.
    path: PathBuf,
    /// In words, for the list of versions.
    #[arg(long, default_value = "")]
    note: String,
    /// Say what would happen, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

#[derive(Debug, clap::Args)]
struct ScaffoldArgs {
    /// A task type, such as "Action Reasoning". Repeatable. Without it: those of the workspace's questions.
    #[arg(long = "task-type", value_name = "TYPE")]
    task_types: Vec<TaskType>,

    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let kind = if args.prompts { VersionKind::Prompts } else { VersionKind::Skills };
    let workspace = find_workspace(context)?;
    match &args.command {
        Command::List => list(kind, &workspace, context),
        Command::Show(args) => show(args, kind, &workspace, context),
        Command::Diff(args) => diff(args, kind, &workspace, context),
        Command::Checkout(args) => check_out(args, kind, &workspace, context),
        Command::Import(args) => import_files(args, kind, &workspace, context),
        Command::Seeds => list_seeds(&workspace, context),
        Command::Scaffold(args) => scaffold_types(args, &workspace, context),
    }
}

fn snapshot(workspace: &Workspace) -> Result<Snapshot<'static>, CliError> {
    Ok(StoreReader::open(workspace.store())?.snapshot()?)
}

fn writer(workspace: &Workspace) -> Result<Store, CliError> {
    Ok(Store::open(workspace.store(), &OpenOptions::default())?)
}

/// A version that was chosen, with its files.
fn chosen(
    snapshot: &Snapshot<'_>,
    kind: VersionKind,
    choice: VersionChoice,
) -> Result<(VersionName, FileSet), VersionsError> {
    let name = resolve(snapshot, kind, choice)?;
    Ok((name, versions::texts(snapshot, kind, name)?))
}

/// One version, as `--json` gives it.
#[derive(Debug, Serialize)]
struct ListedVersion {
    version: VersionName,
    files: usize,
    changed_files: usize,
    parent: Option<VersionName>,
    source: String,
    note: String,
    run: Option<String>,
    created: String,
    current: bool,
    best: bool,
}

fn list(kind: VersionKind, workspace: &Workspace, context: &mut Context) -> Result<(), CliError> {
    let listed = listed(&snapshot(workspace)?, kind)?;
    if context.json() {
        return context.write_json(&listed);
    }
    let rows = listed.into_iter().map(|row| {
        let marks: Vec<&str> = [(row.current, "current"), (row.best, "best")]
            .iter()
            .filter_map(|(is, word)| is.then_some(*word))
            .collect();
        let parent = row.parent.map_or_else(|| "-".to_owned(), |parent| parent.to_string());
        let made = row.run.unwrap_or_else(|| row.note.clone());
        let changed = format!("{}/{}", row.changed_files, row.files);
        [row.version.to_string(), marks.join(" "), parent, changed, row.source, made, row.created]
    });
    let text = table(["VERSION", "", "FROM", "CHANGED", "SOURCE", "NOTE", "MADE"], rows.collect(), context.width());
    context.line(text)
}

fn listed(snapshot: &Snapshot<'_>, kind: VersionKind) -> Result<Vec<ListedVersion>, CliError> {
    let versions = snapshot.versions(kind)?;
    let pointed = |name| -> Result<Option<VersionName>, CliError> {
        Ok(snapshot.pointer(name)?.map(|pointer| match kind {
            VersionKind::Skills => pointer.versions.skills,
            VersionKind::Prompts => pointer.versions.prompts,
        }))
    };
    let (current, best) = (pointed(PointerName::Current)?, pointed(PointerName::Best)?);
    let find = |name: VersionName| versions.iter().find(|(other, _)| *other == name).map(|(_, version)| version);
    let rows = versions.iter().map(|(name, version)| ListedVersion {
        version: *name,
        files: version.files.len(),
        changed_files: changed_files(version.parent.and_then(find), version),
        parent: version.parent,
        source: version.source.clone(),
        note: version.note.clone(),
        run: version.made_by.as_ref().map(|made| made.run.to_string()),
        created: timestamp(version.created_ms),
        current: current == Some(*name),
        best: best == Some(*name),
    });
    Ok(rows.collect())
}

fn list_seeds(workspace: &Workspace, context: &mut Context) -> Result<(), CliError> {
    let lines = seeds(&snapshot(workspace)?)?;
    if context.json() {
        return context.write_json(&lines);
    }
    if lines.is_empty() {
        return context.line("no seeds: 'trm promote' makes one of a version that was evaluated");
    }
    let rows = lines.into_iter().map(|seed| {
        let right = format!("{} of {}", seed.correct, seed.answers);
        [seed.name, seed.skills, seed.prompts, right, seed.eval_run, timestamp(seed.created_ms)]
    });
    let text = table(["SEED", "SKILLS", "PROMPTS", "RIGHT", "EVALUATION", "MADE"], rows.collect(), context.width());
    context.line(text)
}

fn changed_files(parent: Option<&Version>, version: &Version) -> usize {
    let Some(parent) = parent else { return version.files.len() };
    let differs = version.files.iter().filter(|(file, hash)| parent.files.get(*file) != Some(*hash)).count();
    let removed = parent.files.keys().filter(|file| !version.files.contains_key(*file)).count();
    differs + removed
}

fn timestamp(milliseconds: i64) -> String {
    let time = jiff::Timestamp::from_millisecond(milliseconds).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn show(args: &ShowArgs, kind: VersionKind, workspace: &Workspace, context: &mut Context) -> Result<(), CliError> {
    let (name, files) = chosen(&snapshot(workspace)?, kind, args.choice)?;
    if let Some(file) = &args.file {
        let text = files.get(file).ok_or_else(|| VersionsError::NoFile { kind, name, file: file.clone() })?;
        if context.json() {
            return context.write_json(&json!({"version": name, "file": file, "text": text}));
        }
        return context.write_text(text);
    }
    if context.json() {
        return context.write_json(&json!({"version": name, "files": files}));
    }
    let rows = files.iter().map(|(file, text)| {
        let title = versions::skill_fields(text).and_then(|mut fields| fields.remove("name")).unwrap_or_default();
        [file.to_string(), text.lines().count().to_string(), title]
    });
    let text = table(["FILE", "LINES", "NAME"], rows.collect(), context.width());
    context.line(format_args!("{kind} {name}"))?;
    context.line(text)
}

fn diff(args: &DiffArgs, kind: VersionKind, workspace: &Workspace, context: &mut Context) -> Result<(), CliError> {
    let snapshot = snapshot(workspace)?;
    let (old_name, mut old) = chosen(&snapshot, kind, args.old)?;
    let (new_name, mut new) = chosen(&snapshot, kind, args.new)?;
    if let Some(file) = &args.file {
        if !old.contains_key(file) && !new.contains_key(file) {
            return Err(VersionsError::NoFile { kind, name: new_name, file: file.clone() }.into());
        }
        old.retain(|name, _| name == file);
        new.retain(|name, _| name == file);
    }
    let changes = compare(&old, &new);
    if context.json() {
        let diff = unified_diff(&old, &new, &old_name.to_string(), &new_name.to_string());
        return context.write_json(&json!({"old": old_name, "new": new_name, "changes": changes, "diff": diff}));
    }
    if args.stat {
        return print_changes(&changes, context);
    }
    context.write_text(&unified_diff(&old, &new, &old_name.to_string(), &new_name.to_string()))
}

fn check_out(
    args: &CheckoutArgs,
    kind: VersionKind,
    workspace: &Workspace,
    context: &mut Context,
) -> Result<(), CliError> {
    let (name, files) = chosen(&snapshot(workspace)?, kind, args.choice)?;
    checkout(&args.folder, &files, args.force)?;
    if context.json() {
        return context.write_json(&json!({"version": name, "folder": args.folder, "files": files.len()}));
    }
    context.line(format_args!("{} files of {kind} {name} in {}", files.len(), args.folder.display()))
}

fn import_files(
    args: &ImportArgs,
    kind: VersionKind,
    workspace: &Workspace,
    context: &mut Context,
) -> Result<(), CliError> {
    let snapshot = snapshot(workspace)?;
    let newest = match snapshot.latest_version(kind)? {
        Some(newest) => versions::texts(&snapshot, kind, newest)?,
        None => FileSet::new(),
    };
    let files =
        if args.path.is_file() { read_file(&args.path, kind, &newest)? } else { read_folder(&args.path, kind)? };
    if args.dry_run {
        let changes = compare(&newest, &files);
        if context.json() {
            return context.write_json(&json!({"dry_run": true, "changes": changes}));
        }
        return print_changes(&changes, context);
    }
    let imported = import(&writer(workspace)?, kind, files, "import", &args.note)?;
    if context.json() {
        return context.write_json(&json!({
            "version": imported.version, "new": imported.is_new, "parent": imported.parent, "changes": imported.changes,
        }));
    }
    if !imported.is_new {
        return context.line(format_args!("equal to {kind} {}: nothing was changed", imported.version));
    }
    context.line(format_args!("made {kind} {}", imported.version))?;
    print_changes(&imported.changes, context)
}

fn scaffold_types(args: &ScaffoldArgs, workspace: &Workspace, context: &mut Context) -> Result<(), CliError> {
    let task_types: BTreeSet<TaskType> = if args.task_types.is_empty() {
        let session = args.config.load(context, Vec::new())?;
        let questions = load_questions(&session.workspace.questions(&session.loaded.config))?.questions;
        questions.into_iter().map(|question| question.task_type).collect()
    } else {
        args.task_types.iter().cloned().collect()
    };
    let done = scaffold(&writer(workspace)?, &task_types)?;
    if context.json() {
        return context.write_json(&json!({"version": done.version, "created": done.created}));
    }
    if done.created.is_empty() {
        return context
            .line(format_args!("skills {} have a file for each task type: nothing was changed", done.version));
    }
    context.line(format_args!("made skills {}", done.version))?;
    for (task_type, file) in &done.created {
        context.line(format_args!("  added {file} for {}", printable(task_type.as_str())))?;
    }
    Ok(())
}

fn print_changes(changes: &[FileChange], context: &mut Context) -> Result<(), CliError> {
    if changes.is_empty() {
        return context.line("no difference");
    }
    for FileChange { file, change, added_lines, removed_lines } in changes {
        let name = printable(file.as_str());
        context.line(format_args!("  {} {name} (+{added_lines} −{removed_lines})", change.name()))?;
    }
    Ok(())
}
