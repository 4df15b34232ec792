//! Where an import goes, and its report for people and programs.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::settings::{ConfigArgs, Session};
use super::table::table;
use super::text::printable;
use super::{CliError, Context};
use crate::data::{DataError, ImportReport, Problems, QuestionsOutcome, QuestionsReport, Target, TreesReport};
use crate::domain::TaskType;
use crate::harness::versions::{Scaffolded, scaffold};
use crate::store::{OpenOptions, Store};

/// How many warnings a person is shown.
const WARNINGS_SHOWN: usize = 20;

/// The workspace that an import goes into.
#[derive(Debug)]
pub(super) struct Surroundings {
    session: Session,
    /// None if the workspace has no store yet.
    store: Option<Store>,
}

impl Surroundings {
    /// Opens the store for writing first: while a run works here, its questions and trees must not change.
    pub(super) fn open(config: &ConfigArgs, context: &Context) -> Result<Self, CliError> {
        let session = config.load(context, Vec::new())?;
        let file = session.workspace.store();
        let store = if file.exists() { Some(Store::open(file, &OpenOptions::default())?) } else { None };
        Ok(Self { session, store })
    }

    pub(super) fn target(&self) -> Target {
        let config = &self.session.loaded.config;
        Target {
            questions: self.session.workspace.questions(config),
            videos_dir: self.session.workspace.videos(config),
        }
    }

    /// Training needs a skill file per task type (design 12).
    fn scaffold(&self, questions: &QuestionsReport) -> Result<Option<Scaffolded>, CliError> {
        let Some(store) = &self.store else {
            return Ok(None);
        };
        let types: BTreeSet<TaskType> = questions.task_types.keys().cloned().collect();
        Ok(Some(scaffold(store, &types)?).filter(|done| !done.created.is_empty()))
    }
}

/// Completes an import and prints what it did, or what is wrong with its source.
pub(super) fn show(
    result: Result<ImportReport, DataError>,
    surroundings: &Surroundings,
    context: &mut Context,
) -> Result<(), CliError> {
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            if let Some(problems) = error.report().filter(|_| context.json()) {
                context.write_json(&json!({ "imported": false, "problems": problems }))?;
            }
            return Err(error.into());
        }
    };
    let scaffolded = match &report.questions {
        Some(questions) => surroundings.scaffold(questions)?,
        None => None,
    };
    if context.json() {
        return context.write_json(&as_json(&report, scaffolded.as_ref()));
    }
    if let Some(questions) = &report.questions {
        print_questions(questions, context)?;
    }
    if let Some(trees) = &report.trees {
        print_trees(trees, &surroundings.target(), context)?;
    }
    if let Some(done) = &scaffolded {
        let files: Vec<&str> = done.created.values().map(|file| file.as_str()).collect();
        let files = printable(&files.join(", "));
        context.line(format_args!("made skills {} with copies of the default strategy: {files}", done.version))?;
    }
    if !report.changed {
        context.line("nothing was changed: all of it was in place already")?;
    }
    print_warnings(&report.problems, context)
}

/// Prints the first warnings and how many there are.
pub(super) fn print_warnings(problems: &Problems, context: &mut Context) -> Result<(), CliError> {
    if problems.warnings() == 0 {
        return Ok(());
    }
    context.line(format_args!("{}:", counted(problems.warnings(), "warning")))?;
    for problem in problems.list().iter().take(WARNINGS_SHOWN) {
        context.line(format_args!("  {}: {} ({})", problem.whole_place(), problem.what, problem.hint))?;
    }
    match problems.warnings().saturating_sub(WARNINGS_SHOWN as u64) {
        0 => Ok(()),
        more => context.line(format_args!("  … and {more} more; --json lists all")),
    }
}

fn as_json(report: &ImportReport, scaffolded: Option<&Scaffolded>) -> Value {
    let mut value = json!(report);
    if let Some(fields) = value.as_object_mut() {
        fields.insert("imported".to_owned(), Value::Bool(true));
        if let Some(done) = scaffolded {
            let skills = json!({ "version": done.version, "created": done.created });
            fields.insert("skills".to_owned(), skills);
        }
    }
    value
}

fn print_questions(questions: &QuestionsReport, context: &mut Context) -> Result<(), CliError> {
    let file = printable(&questions.file.to_string_lossy());
    context.line(format_args!(
        "{} on {} in {file}",
        counted(questions.questions, "question"),
        counted(questions.videos, "video")
    ))?;
    context.line(format_args!(
        "{} ({}), fingerprint {}",
        counted(questions.units, "unit"),
        counted(questions.pairs, "pair"),
        questions.fingerprint.short()
    ))?;
    let rows = questions.task_types.iter().map(|(name, count)| [name.to_string(), count.to_string()]).collect();
    let width = context.width();
    context.line(table(["TASK TYPE", "QUESTIONS"], rows, width))?;
    if let QuestionsOutcome::Replaced { kept_as, previous_fingerprint, added, removed, changed } = &questions.outcome {
        let kept_as = printable(&kept_as.to_string_lossy());
        let before = match previous_fingerprint {
            Some(fingerprint) => {
                format!("the set {}: {added} added, {removed} removed, {changed} changed", fingerprint.short())
            }
            None => "a file that was no valid set".to_owned(),
        };
        context.line(format_args!("replaced {before}; kept as {kept_as}"))?;
    }
    Ok(())
}

fn print_trees(trees: &TreesReport, target: &Target, context: &mut Context) -> Result<(), CliError> {
    let folder = printable(&target.videos_dir.to_string_lossy());
    context.line(format_args!(
        "{} with {} in {folder}: {} new, {} changed, {} in place already",
        counted(trees.trees(), "tree"),
        counted(trees.nodes, "node"),
        trees.new,
        trees.changed,
        trees.unchanged
    ))?;
    if trees.frames_copied + trees.frames_unchanged > 0 {
        context
            .line(format_args!("{} frames copied, {} in place already", trees.frames_copied, trees.frames_unchanged))?;
    }
    Ok(())
}

fn counted(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
