//! The patch loop that skill, system prompt and tools share: propose, clip, apply, validate, at most twice.

use super::forms::{WrittenEdit, edits_form, read_edits};
use super::rank::rank_and_clip;
use super::record::{ClipInfo, ProposedEdit};
use super::validate::{Rules, validate};
use super::writer::{EvolveContext, Writer, WriterReply};
use crate::domain::{FileName, Message};
use crate::evolution::EvolutionError;
use crate::evolution::patch::{Edit, EditReport, apply_patch_with_report};

/// How often the writer is asked in all (design 12).
const ATTEMPTS: u32 = 2;

/// One text that is evolved.
#[derive(Debug)]
pub(super) struct Part {
    /// How edits name it, if there are several.
    pub(super) name: &'static str,
    pub(super) file: FileName,
    pub(super) current: String,
    pub(super) rules: Rules,
}

/// What the loop is about.
pub(super) struct Task<'a> {
    /// Such as `writer.skill`.
    pub(super) purpose: &'static str,
    /// For the ranking model: what the text is.
    pub(super) described: &'a str,
    pub(super) parts: &'a [Part],
    pub(super) edit_budget: u32,
}

/// Where the loop ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LoopEnd {
    /// With edits that were applied and passed.
    Changed,
    /// The writer saw no need for an edit.
    NoEdits,
    /// No attempt passed; the last problem.
    Failed(String),
}

/// What the loop found.
#[derive(Debug)]
pub(super) struct LoopResult {
    pub(super) end: LoopEnd,
    /// The texts of the parts after the edits; the current ones unless `Changed`.
    pub(super) contents: Vec<String>,
    /// The edits of the last attempt that had any.
    pub(super) edits: Vec<ProposedEdit>,
    pub(super) report: Vec<EditReport>,
    pub(super) clip_info: ClipInfo,
    pub(super) failed_attempts: Vec<String>,
}

impl LoopResult {
    pub(super) fn new(parts: &[Part]) -> Self {
        Self {
            end: LoopEnd::NoEdits,
            contents: parts.iter().map(|part| part.current.clone()).collect(),
            edits: Vec::new(),
            report: Vec::new(),
            clip_info: ClipInfo::default(),
            failed_attempts: Vec::new(),
        }
    }
}

/// Edits of one attempt that can be tried.
pub(super) struct Proposal {
    pub(super) edits: Vec<WrittenEdit>,
    pub(super) clip_info: ClipInfo,
}

/// Asks for edits once: `Ok(Err(problem))` is a reply that cannot be used; with `fatal`, no other one can either.
pub(super) async fn propose(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    task: &Task<'_>,
    prompt: String,
    attempt: u32,
) -> Result<Result<Proposal, Problem>, EvolutionError> {
    let names: Vec<&'static str> = task.parts.iter().map(|part| part.name).collect();
    let form = edits_form(task.purpose, &names);
    let object = match writer.ask(&form, vec![Message::user(prompt)], attempt).await? {
        WriterReply::Object(object) => object,
        WriterReply::Unreadable(problem) => return Ok(Err(Problem::retry(problem))),
        WriterReply::Impossible => {
            return Ok(Err(Problem { text: "the writer's model cannot take this prompt".into(), fatal: true }));
        }
    };
    let edits = match read_edits(&object, &names) {
        Ok(edits) => edits,
        Err(problem) => return Ok(Err(Problem::retry(&problem))),
    };
    let budget = usize::try_from(task.edit_budget).unwrap_or(usize::MAX);
    let text: Vec<&str> = task.parts.iter().map(|part| part.current.as_str()).collect();
    let (edits, clip_info) =
        rank_and_clip(context, writer, task.described, &text.join("\n\n"), edits, budget, attempt).await?;
    Ok(Ok(Proposal { edits, clip_info }))
}

/// Why an attempt failed.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) text: String,
    /// Whether asking again is pointless.
    pub(super) fatal: bool,
}

impl Problem {
    fn retry(text: &str) -> Self {
        Self { text: text.to_owned(), fatal: false }
    }
}

/// Runs the loop. `prompt` makes the writer's prompt from the feedback on the attempt before.
///
/// # Errors
/// The model could not be reached; broken regions in a current text.
pub(super) async fn patch_loop(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    task: &Task<'_>,
    prompt: impl Fn(&str) -> Result<String, EvolutionError>,
) -> Result<LoopResult, EvolutionError> {
    let mut result = LoopResult::new(task.parts);
    let mut feedback = String::new();
    for attempt in 0..ATTEMPTS {
        let problem = match propose(context, writer, task, prompt(&feedback)?, attempt).await? {
            Ok(proposal) if proposal.edits.is_empty() => return Ok(result),
            Ok(proposal) => match apply(context, task, &proposal, &mut result)? {
                Ok(contents) => {
                    result.contents = contents;
                    result.end = LoopEnd::Changed;
                    return Ok(result);
                }
                Err(text) => Problem { text, fatal: false },
            },
            Err(problem) => problem,
        };
        feedback = format!("Your last proposal could not be used: {}. Correct exactly that.", problem.text);
        result.failed_attempts.push(problem.text.clone());
        result.end = LoopEnd::Failed(problem.text);
        if problem.fatal {
            break;
        }
    }
    Ok(result)
}

/// Applies and validates; the inner error is what to tell the writer.
fn apply(
    context: EvolveContext<'_>,
    task: &Task<'_>,
    proposal: &Proposal,
    result: &mut LoopResult,
) -> Result<Result<Vec<String>, String>, EvolutionError> {
    let mut contents = Vec::with_capacity(task.parts.len());
    let mut rows: Vec<Option<EditReport>> = vec![None; proposal.edits.len()];
    for (place, part) in task.parts.iter().enumerate() {
        let own: Vec<(usize, Edit)> = proposal
            .edits
            .iter()
            .enumerate()
            .filter(|(_, written)| written.part == place)
            .map(|(index, written)| (index, written.edit.clone()))
            .collect();
        let edits: Vec<Edit> = own.iter().map(|(_, edit)| edit.clone()).collect();
        let outcome = apply_patch_with_report(&part.current, &edits, &part.rules.spec)
            .map_err(|source| EvolutionError::Regions { file: part.file.to_string(), source })?;
        for ((index, _), row) in own.iter().zip(outcome.report) {
            if let Some(slot) = rows.get_mut(*index) {
                *slot = Some(EditReport { index: *index, ..row });
            }
        }
        contents.push(outcome.content);
    }
    let file_of = |part: usize| task.parts.get(part).map(|part| part.file.clone());
    result.edits = proposal
        .edits
        .iter()
        .filter_map(|written| Some(ProposedEdit { file: file_of(written.part)?, edit: written.edit.clone() }))
        .collect();
    result.report = rows.into_iter().flatten().collect();
    result.clip_info = proposal.clip_info;
    if !result.report.iter().any(|row| row.status.is_applied()) {
        return Ok(Err(nothing_applied(&result.report)));
    }
    for (part, content) in task.parts.iter().zip(&contents) {
        if let Err(problem) = validate(content, &part.current, &part.rules, context.leaks) {
            let place = if task.parts.len() > 1 { format!("in `{}`, ", part.name) } else { String::new() };
            return Ok(Err(format!("{place}{problem}")));
        }
    }
    Ok(Ok(contents))
}

/// Names each edit that was skipped, with the reason.
fn nothing_applied(report: &[EditReport]) -> String {
    let rows: Vec<String> = report
        .iter()
        .map(|row| {
            let target: String = row.target.chars().take(80).collect();
            format!("edit {} ({} {target:?}): {}", row.index, row.op.name(), row.status.name())
        })
        .collect();
    format!(
        "no edit could be applied: {}. A target must be copied from the text character by character, outside of what \
         cannot be edited",
        rows.join("; ")
    )
}
