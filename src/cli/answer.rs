//! `trm infer` and `trm eval`: answer questions with a version pair, resumable.

use std::collections::BTreeSet;

use super::progress::Bars;
use super::runtime::{runtime, with_interrupt};
use super::settings::ConfigArgs;
use super::table::table;
use super::{CliError, Context};
use crate::config::{Override, VersionChoice};
use crate::domain::{ExitClass, Fault, Question, QuestionId, RunId};
use crate::harness::evaluation::{EvaluationRequest, EvaluationSummary, evaluate};
use crate::harness::intervals::Interval;
use crate::harness::session::Session;
use crate::harness::versions::resolve;
use crate::store::rows::{RunMode, VersionKind, VersionPair};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,

    /// Skills to answer with: v3, current, best or initial.
    #[arg(long, value_name = "VERSION")]
    skills: Option<VersionChoice>,

    /// Prompts to answer with: v3, current, best or initial.
    #[arg(long, value_name = "VERSION")]
    prompts: Option<VersionChoice>,

    /// Only these questions, separated by commas.
    #[arg(long = "question", value_delimiter = ',', value_name = "IDS")]
    questions: Vec<QuestionId>,

    /// Only this task type. Repeatable.
    #[arg(long = "task-type", value_name = "TYPE")]
    task_types: Vec<String>,

    /// At most so many questions, evenly spread over the set.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Questions at once.
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,

    /// How the agent gets at the video: tree or direct.
    #[arg(long, value_name = "MODE")]
    mode: Option<String>,

    /// Name the run yourself.
    #[arg(long, value_name = "RUN")]
    run_id: Option<RunId>,

    /// Begin a new run instead of going on with the one of the same command.
    #[arg(long)]
    fresh: bool,
}

/// A selection names what is not there.
#[derive(Debug, thiserror::Error)]
#[error("select questions: {what}")]
struct SelectionError {
    what: String,
}

impl Fault for SelectionError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "run.selection"
    }

    fn hint(&self) -> Option<String> {
        Some("'trm inspect questions' lists task types and counts".to_owned())
    }
}

pub(super) fn run(args: &Args, mode: RunMode, context: &mut Context) -> Result<(), CliError> {
    let mut flags = Vec::new();
    let mut flag = |key: &str, value: Option<String>, flag: &str| {
        flags.extend(value.map(|value| Override { key: key.into(), value, flag: flag.into() }));
    };
    flag("agent.concurrency", args.concurrency.map(|n| n.to_string()), "--concurrency");
    flag("agent.mode", args.mode.clone(), "--mode");
    let opened = args.config.load(context, flags)?;
    let summary: EvaluationSummary = runtime()?.block_on(async {
        let session = Session::open(opened.workspace, opened.loaded, Default::default()).await?;
        let request = request(args, mode, &session)?;
        let bars = Bars::new();
        let result = with_interrupt(&session.bench.stop, evaluate(&session.bench, &request, &bars)).await;
        bars.finish();
        session.bench.hub.stop();
        Ok::<_, CliError>(result?)
    })?;
    if context.json() { context.write_json(&summary) } else { show(&summary, context) }
}

fn request(args: &Args, mode: RunMode, session: &Session) -> Result<EvaluationRequest, CliError> {
    let snapshot = session.bench.store.snapshot().map_err(CliError::from)?;
    let skills = args.skills.unwrap_or(session.config.data.skills_version);
    let prompts = args.prompts.unwrap_or(session.config.data.prompts_version);
    let versions = VersionPair {
        skills: resolve(&snapshot, VersionKind::Skills, skills)?,
        prompts: resolve(&snapshot, VersionKind::Prompts, prompts)?,
    };
    drop(snapshot);
    Ok(EvaluationRequest {
        mode,
        run_id: args.run_id.clone(),
        fresh: args.fresh,
        versions,
        texts: session.texts(versions)?,
        questions: select(args, session)?,
        frozen: session.frozen(),
    })
}

/// The questions that the flags select, in order of id.
fn select(args: &Args, session: &Session) -> Result<Vec<Question>, SelectionError> {
    let all = &session.questions.questions;
    let wanted: BTreeSet<&QuestionId> = args.questions.iter().collect();
    if let Some(unknown) = wanted.iter().find(|id| session.questions.get(id).is_none()) {
        return Err(SelectionError { what: format!("there is no question {unknown}") });
    }
    let types = session.questions.task_types();
    let is_type = |name: &String| types.keys().any(|known| known.as_str() == name || known.slug() == *name);
    if let Some(unknown) = args.task_types.iter().find(|name| !is_type(name)) {
        return Err(SelectionError { what: format!("there is no task type {unknown:?}") });
    }
    let of_type = |question: &&Question| {
        args.task_types.is_empty()
            || args
                .task_types
                .iter()
                .any(|name| question.task_type.as_str() == name || question.task_type.slug() == *name)
    };
    let chosen: Vec<&Question> = all
        .iter()
        .filter(|question| wanted.is_empty() || wanted.contains(&question.question_id))
        .filter(of_type)
        .filter(|question| session.bench.trees.contains(&question.video_id))
        .collect();
    Ok(spread(&chosen, args.limit))
}

/// `limit` of the questions, at even distances, so that every part of the set is met.
fn spread(questions: &[&Question], limit: Option<usize>) -> Vec<Question> {
    let limit = limit.unwrap_or(questions.len()).min(questions.len());
    (0..limit).filter_map(|place| questions.get(place * questions.len() / limit)).map(|q| (*q).clone()).collect()
}

fn show(summary: &EvaluationSummary, context: &mut Context) -> Result<(), CliError> {
    let percent = |value: f64| format!("{:.1} %", value * 100.0);
    let rows = summary.by_task_type.iter().map(|(task_type, of_type)| {
        let interval = |a: Interval| format!("{} to {}", percent(a.low), percent(a.high));
        [
            task_type.to_string(),
            of_type.correct.to_string(),
            of_type.wrong.to_string(),
            of_type.infra.to_string(),
            of_type.accuracy.map_or_else(|| "-".to_owned(), |a| percent(a.estimate)),
            of_type.accuracy.map_or_else(|| "-".to_owned(), interval),
        ]
    });
    let header = ["TASK TYPE", "RIGHT", "WRONG", "FAILED", "ACCURACY", "95 % INTERVAL"];
    let text = table(header, rows.collect(), context.width());
    context.line(text)?;
    let accuracy = summary.accuracy.map_or_else(
        || "no answer counts".to_owned(),
        |a| format!("{} right (95 % interval {} to {})", percent(a.estimate), percent(a.low), percent(a.high)),
    );
    context.line(format_args!(
        "{accuracy}: {} right, {} wrong ({} unreadable), {} technical failures of {} questions",
        summary.correct, summary.wrong, summary.unparsed, summary.infra, summary.questions
    ))?;
    if summary.resumed > 0 {
        context.line(format_args!("{} of them were answered before and not asked again", summary.resumed))?;
    }
    context.line(format_args!(
        "{} calls ({} from the cache), {} tokens read, {} written, ${:.4}, {:.1} s",
        summary.calls,
        summary.cached_calls,
        summary.prompt_tokens,
        summary.completion_tokens,
        summary.cost_usd,
        summary.seconds
    ))?;
    context.line(format_args!(
        "run {} (skills {}, prompts {}); 'trm inspect run {}' shows it",
        summary.run_id, summary.skills_version, summary.prompts_version, summary.run_id
    ))
}
