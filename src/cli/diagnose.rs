//! `trm diagnose`: why answers of a run are wrong, and what a writer would learn from them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::progress::Bars;
use super::runtime::{runtime, with_interrupt};
use super::settings::ConfigArgs;
use super::table::table;
use super::task_types::task_type;
use super::text::printable;
use super::{CliError, Context};
use crate::config::Override;
use crate::domain::{QuestionId, RunId};
use crate::evolution::types::ErrorType;
use crate::harness::diagnosis_report::KernelCost;
use crate::harness::diagnosis_run::{DiagnosisFilters, DiagnosisReport, DiagnosisRunRequest, diagnose_run};
use crate::harness::session::Session;
use crate::store::Scope;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,

    /// The run that has the answers.
    #[arg(long, value_name = "RUN")]
    run: RunId,

    /// The part of the run, such as 'e1 s0' or baseline; of a training the latest step if absent.
    #[arg(long, value_name = "PART")]
    scope: Option<Scope>,

    /// Only these questions, separated by commas.
    #[arg(long = "question", value_delimiter = ',', value_name = "IDS")]
    questions: Vec<QuestionId>,

    /// Only this task type. Repeatable.
    #[arg(long = "task-type", value_name = "TYPE")]
    task_types: Vec<String>,

    /// Only wrong answers; nothing is learned from right ones then.
    #[arg(long)]
    only_incorrect: bool,

    /// Questions at once.
    #[arg(long, value_name = "N")]
    concurrency: Option<usize>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let concurrency = args.concurrency.map(|n| Override {
        key: "agent.concurrency".into(),
        value: n.to_string(),
        flag: "--concurrency".into(),
    });
    let opened = args.config.load(context, concurrency.into_iter().collect())?;
    let report: DiagnosisReport = runtime()?.block_on(async {
        let session = Session::open(opened.workspace, opened.loaded, Default::default()).await?;
        let bars = Arc::new(Bars::new());
        let request = request(args, &session, &bars)?;
        let result = with_interrupt(&session.bench.stop, diagnose_run(&session, &request)).await;
        bars.finish();
        session.bench.hub.stop();
        Ok::<_, CliError>(result?)
    })?;
    if context.json() { context.write_json(&report) } else { show(&report, context) }
}

fn request(args: &Args, session: &Session, bars: &Arc<Bars>) -> Result<DiagnosisRunRequest, CliError> {
    let task_types: Result<Vec<_>, CliError> = args.task_types.iter().map(|name| task_type(session, name)).collect();
    Ok(DiagnosisRunRequest {
        source: args.run.clone(),
        scope: args.scope,
        filters: DiagnosisFilters {
            questions: args.questions.clone(),
            task_types: task_types?,
            only_incorrect: args.only_incorrect,
        },
        progress: Some(Arc::clone(bars) as _),
    })
}

fn show(report: &DiagnosisReport, context: &mut Context) -> Result<(), CliError> {
    let source = &report.source;
    context.line(format_args!(
        "answers of run {} ({}, skills {}): {} diagnosed, {} of them wrong; {} technical failures left out",
        source.run, source.scope, report.skills_version, report.diagnosed, report.wrong, report.infra
    ))?;
    if report.degraded > 0 {
        context.line(format_args!(
            "{} answers are diagnosed in part only: the judge's replies could not be read",
            report.degraded
        ))?;
    }
    show_types(report, context)?;
    show_reasoning(report, context)?;
    show_tools(report, context)?;
    show_behaviour(report, context)?;
    show_packs(report, context)?;
    context.line("")?;
    show_cost("judge", &report.cost, context)?;
    let run = &report.run_id;
    context.line(format_args!(
        "diagnosis {run}; 'trm evolve --run {run} --task-type TYPE' shows what a writer makes of it"
    ))
}

fn show_types(report: &DiagnosisReport, context: &mut Context) -> Result<(), CliError> {
    let rows = report.task_types.iter().map(|(task_type, of_type)| {
        let kind = |kind: ErrorType| of_type.error_types.get(&kind).copied().unwrap_or(0).to_string();
        [
            task_type.to_string(),
            format!("{}/{}", of_type.wrong, of_type.diagnosed),
            kind(ErrorType::Search),
            kind(ErrorType::Extraction),
            kind(ErrorType::Reasoning),
            kind(ErrorType::Mixed),
            of_type.defects.to_string(),
            of_type.lapses.to_string(),
        ]
    });
    let header = ["TASK TYPE", "WRONG", "SEARCH", "EXTRACTION", "REASONING", "MIXED", "DEFECTS", "LAPSES"];
    let text = table(header, rows.collect(), context.width());
    context.line(format_args!(
        "\nwhat went wrong, and whether the skill is at fault (defect) or was not followed (lapse)"
    ))?;
    context.line(text)
}

fn show_reasoning(report: &DiagnosisReport, context: &mut Context) -> Result<(), CliError> {
    if report.reasoning.is_empty() {
        return Ok(());
    }
    context.line(format_args!("reasoning failures: {}", counts(&report.reasoning)))
}

/// `misread_evidence 3, option_confusion 1`
fn counts(of: &BTreeMap<String, u64>) -> String {
    let words: Vec<String> = of.iter().map(|(name, count)| format!("{} {count}", printable(name))).collect();
    words.join(", ")
}

fn show_tools(report: &DiagnosisReport, context: &mut Context) -> Result<(), CliError> {
    let share = |value: Option<f64>| value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"));
    let rows = report.tools.iter().map(|tool| {
        let tags = tool.tags.iter().map(|(tag, count)| (tag.name().to_owned(), *count)).collect();
        [
            tool.tool.clone(),
            tool.calls.to_string(),
            tool.judged.to_string(),
            share(tool.mean_completeness),
            share(tool.mean_hallucination),
            counts(&tags),
        ]
    });
    let header = ["TOOL", "CALLS", "JUDGED", "COMPLETENESS", "HALLUCINATION", "FAULTS"];
    let text = table(header, rows.collect(), context.width());
    context.line(format_args!("\ntools"))?;
    context.line(text)
}

fn show_behaviour(report: &DiagnosisReport, context: &mut Context) -> Result<(), CliError> {
    let patterns = report.behaviour.patterns.iter();
    let patterns: BTreeMap<String, u64> =
        patterns.map(|pattern| (pattern.pattern.name().to_owned(), pattern.count as u64)).collect();
    context.line(format_args!("\nbehaviour across task types: {}", counts(&patterns)))
}

fn show_packs(report: &DiagnosisReport, context: &mut Context) -> Result<(), CliError> {
    if report.packs.is_empty() {
        return context.line("nothing to learn from: no case pack");
    }
    let rows = report.packs.iter().map(|pack| {
        [pack.target.clone(), pack.failures.to_string(), pack.successes.to_string(), pack.notes.to_string()]
    });
    let text = table(["CASE PACK", "FAILURES", "SUCCESSES", "NOTES"], rows.collect(), context.width());
    context.line(format_args!("\nwhat a writer would be shown"))?;
    context.line(text)
}

/// One line about what judge or writer have cost in a run.
pub(super) fn show_cost(who: &str, cost: &KernelCost, context: &mut Context) -> Result<(), CliError> {
    context.line(format_args!(
        "{who} calls: {} ({} from the cache), {} tokens read, {} written, ${:.4}",
        cost.calls, cost.cached_calls, cost.prompt_tokens, cost.completion_tokens, cost.cost_usd
    ))
}
