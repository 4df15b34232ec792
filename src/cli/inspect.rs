//! `trm inspect`: what the store knows, for people and as JSON.

mod epoch;
mod gate;
mod ladder;
mod pools;
mod step;
mod training;

use jiff::Timestamp;

use super::settings::{ConfigArgs, find_workspace};
use super::table::table;
use super::text::{printable, wrapped};
use super::{CliError, Context};
use crate::data::load_questions;
use crate::domain::{ExitClass, Fault, QuestionId, RunId};
use crate::inspect::{AnswerView, RunDetail, answers_of, run_detail, runs};
use crate::store::StoreReader;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    view: View,
}

#[derive(Debug, clap::Subcommand)]
enum View {
    /// All runs, newest first.
    Runs,
    /// One run: phases, accuracy, model use, history.
    Run {
        /// The run; the newest one if absent.
        run: Option<RunId>,
    },
    /// Every answer to a question, with its trace.
    Question {
        /// The question.
        id: QuestionId,
        /// Only this run.
        #[arg(long)]
        run: Option<RunId>,
        /// Show every turn whole.
        #[arg(long)]
        full: bool,
    },
    /// The question set: task types, videos, units.
    Questions(ConfigArgs),
    /// A step of a training, explained: what was answered, written, decided, and why.
    Step(step::Args),
    /// The evidence of a step's gates, unit by unit.
    Gate(gate::Args),
    /// In which order the next gates would test units, and what they could reach.
    Ladder(ladder::Args),
    /// What a training tests, gates and trains on.
    Pools(pools::Args),
    /// The slow update at the end of an epoch.
    Epoch(epoch::Args),
    /// Model use of a run by role.
    Llm {
        /// The run; the newest one if absent.
        run: Option<RunId>,
    },
}

/// What was asked for is not there.
#[derive(Debug, thiserror::Error)]
#[error("inspect {what}: there is none")]
struct NothingThere {
    what: String,
}

impl Fault for NothingThere {
    fn class(&self) -> ExitClass {
        ExitClass::Data
    }

    fn code(&self) -> &'static str {
        "inspect.none"
    }

    fn hint(&self) -> Option<String> {
        Some("'trm inspect runs' lists what there is".to_owned())
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    match &args.view {
        View::Runs => show_runs(context),
        View::Run { run } => {
            let detail = detail(run.as_ref(), context)?;
            if context.json() { context.write_json(&detail) } else { show_run(&detail, context) }
        }
        View::Llm { run } => {
            let detail = detail(run.as_ref(), context)?;
            if context.json() { context.write_json(&detail.usage) } else { show_usage(&detail, context) }
        }
        View::Question { id, run, full } => show_question(id, run.as_ref(), *full, context),
        View::Step(args) => step::run(args, context),
        View::Gate(args) => gate::run(args, context),
        View::Ladder(args) => ladder::run(args, context),
        View::Pools(args) => pools::run(args, context),
        View::Epoch(args) => epoch::run(args, context),
        View::Questions(config) => show_questions(config, context),
    }
}

fn reader(context: &Context) -> Result<StoreReader, CliError> {
    Ok(StoreReader::open(find_workspace(context)?.store())?)
}

fn show_runs(context: &mut Context) -> Result<(), CliError> {
    let all = runs(&reader(context)?.snapshot()?)?;
    if context.json() {
        return context.write_json(&all);
    }
    if all.is_empty() {
        return context.line("no runs yet");
    }
    let rows = all.into_iter().map(|run| {
        [
            run.run_id,
            run.mode.to_owned(),
            run.state.to_owned(),
            run.skills_version,
            run.prompts_version,
            time(run.created_ms),
        ]
    });
    let text = table(["RUN", "MODE", "STATE", "SKILLS", "PROMPTS", "BEGAN"], rows.collect(), context.width());
    context.line(text)
}

fn detail(run: Option<&RunId>, context: &Context) -> Result<RunDetail, CliError> {
    let snapshot = reader(context)?.snapshot()?;
    let newest = || Ok::<_, CliError>(snapshot.runs()?.pop().map(|(id, _)| id));
    let id = match run {
        Some(run) => Some(run.clone()),
        None => newest()?,
    };
    let Some(id) = id else { return Err(NothingThere { what: "a run".into() }.into()) };
    run_detail(&snapshot, &id)?.ok_or_else(|| NothingThere { what: format!("run {id}") }.into())
}

fn show_run(detail: &RunDetail, context: &mut Context) -> Result<(), CliError> {
    let run = &detail.run;
    context.line(format_args!("run {} ({}, {})", run.run_id, run.mode, run.state))?;
    context.line(format_args!(
        "skills {}, prompts {}, seed {}, began {}",
        run.skills_version,
        run.prompts_version,
        detail.seed,
        time(run.created_ms)
    ))?;
    if let Some(view) = &detail.training {
        training::show(view, context)?;
    }
    let rows = detail.phases.iter().map(|phase| {
        let counted = phase.correct + phase.wrong;
        let accuracy = crate::harness::intervals::share(phase.correct, counted);
        [
            phase.scope.clone(),
            phase.phase.clone(),
            phase.correct.to_string(),
            phase.wrong.to_string(),
            phase.unparsed.to_string(),
            phase.infra.to_string(),
            accuracy.map_or_else(
                || "-".to_owned(),
                |a| format!("{:.1} % ({:.1} to {:.1})", a.estimate * 100.0, a.low * 100.0, a.high * 100.0),
            ),
        ]
    });
    let header = ["SCOPE", "PHASE", "RIGHT", "WRONG", "UNREADABLE", "FAILED", "ACCURACY"];
    let text = table(header, rows.collect(), context.width());
    context.line(text)?;
    show_usage(detail, context)?;
    for event in &detail.history {
        context.line(format_args!("{}  {} {}", time(event.at_ms), event.what, printable(&event.note)))?;
    }
    Ok(())
}

fn show_usage(detail: &RunDetail, context: &mut Context) -> Result<(), CliError> {
    let rows = detail.usage.iter().map(|usage| {
        [
            usage.role.to_owned(),
            usage.calls.to_string(),
            usage.cached_calls.to_string(),
            usage.failed_calls.to_string(),
            usage.retries.to_string(),
            usage.prompt_tokens.to_string(),
            usage.completion_tokens.to_string(),
            format!("{:.4}", usage.cost_usd),
        ]
    });
    let header = ["ROLE", "CALLS", "CACHED", "FAILED", "RETRIES", "TOKENS IN", "TOKENS OUT", "USD"];
    let text = table(header, rows.collect(), context.width());
    context.line(text)
}

fn show_question(id: &QuestionId, run: Option<&RunId>, full: bool, context: &mut Context) -> Result<(), CliError> {
    let answers = answers_of(&reader(context)?.snapshot()?, id, run)?;
    if context.json() {
        return context.write_json(&answers);
    }
    if answers.is_empty() {
        return Err(NothingThere { what: format!("an answer to question {id}") }.into());
    }
    for answer in &answers {
        show_answer(answer, full, context)?;
    }
    Ok(())
}

fn show_answer(answer: &AnswerView, full: bool, context: &mut Context) -> Result<(), CliError> {
    context.line(format_args!(
        "run {} {} {}: {} (answer {}, {} of {} steps, {} calls, {} from the cache, {} ms)",
        answer.run_id,
        answer.scope,
        answer.phase,
        answer.outcome,
        answer.answer.as_deref().unwrap_or("-"),
        answer.steps.0,
        answer.steps.1,
        answer.calls.0,
        answer.calls.1,
        answer.latency_ms
    ))?;
    for (label, text) in [("reasoning", &answer.reasoning), ("evidence", &answer.evidence)] {
        if !text.is_empty() {
            context.line(format_args!("  {label}: {}", cut(text, full)))?;
        }
    }
    if let Some(error) = &answer.error {
        context.line(format_args!("  failed: {}", cut(error, full)))?;
    }
    for span in &answer.trace {
        let tool = span.tool.as_deref().unwrap_or("-");
        let args = span.args.as_deref().unwrap_or("");
        context.line(format_args!("  {:>2} {:<12} {} {}", span.step, span.kind, printable(tool), cut(args, full)))?;
        if !span.output.is_empty() {
            context.line(format_args!("       {}", cut(&span.output, full)))?;
        }
    }
    Ok(())
}

/// Harmless on a terminal, and short unless all is wanted.
fn cut(text: &str, full: bool) -> String {
    let limit = if full { usize::MAX } else { 160 };
    let short: String = text.chars().take(limit).collect();
    let more = if short.len() < text.len() { " …" } else { "" };
    format!("{}{more}", printable(&short))
}

fn show_questions(config: &ConfigArgs, context: &mut Context) -> Result<(), CliError> {
    let opened = config.load(context, Vec::new())?;
    let set = load_questions(&opened.workspace.questions(&opened.loaded.config))?;
    if context.json() {
        return context.write_json(&serde_json::json!({
            "questions": set.questions.len(),
            "units": set.units.len(),
            "videos": set.videos().len(),
            "fingerprint": set.fingerprint.to_string(),
            "task_types": set.task_types(),
        }));
    }
    let rows = set.task_types().into_iter().map(|(name, count)| [name.to_string(), count.to_string()]);
    let text = table(["TASK TYPE", "QUESTIONS"], rows.collect(), context.width());
    context.line(text)?;
    context.line(format_args!(
        "{} questions in {} units on {} videos, fingerprint {}",
        set.questions.len(),
        set.units.len(),
        set.videos().len(),
        set.fingerprint.short()
    ))
}

fn time(milliseconds: i64) -> String {
    Timestamp::from_millisecond(milliseconds).map_or_else(|_| "-".to_owned(), |time| format!("{time:.0}"))
}

/// A share for a person; a dash for none.
fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "-".to_owned(), |share| format!("{:.1} %", share * 100.0))
}

/// Prose of any length in lines that fit the terminal, each as far from the edge as the first.
fn say(context: &mut Context, text: impl std::fmt::Display) -> Result<(), CliError> {
    let text = text.to_string();
    let words = text.trim_start_matches(' ');
    context.line(wrapped(words, context.width(), text.len().saturating_sub(words.len())))
}
