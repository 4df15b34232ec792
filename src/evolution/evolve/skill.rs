//! Evolving a skill: three branches (design 05).

use super::appendix::add_notes;
use super::cases::cases_text;
use super::forms::{read_rewrite, rewrite_form};
use super::loops::{LoopEnd, LoopResult, Part, Problem, Task, patch_loop, propose};
use super::record::{Branch, EvolutionKind, EvolutionRecord, EvolutionStatus, ProposedEdit};
use super::rejected::{RejectedEdit, rejected_text};
use super::validate::{Rules, unfrozen, unfrozen_chars, validate};
use super::writer::{EvolveContext, Writer, WriterReply};
use crate::domain::{FileName, Message, VersionName};
use crate::evolution::EvolutionError;
use crate::evolution::patch::{
    Edit, EditOp, EditReport, EditStatus, FrozenKind, FrozenSpec, front_matter, frozen_ranges, newline_of,
};
use crate::evolution::ports::{PortError, SkillStore};
use crate::evolution::templates::data_block;
use crate::evolution::types::SkillCasePack;

/// How the body of a skill is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SkillUpdateMode {
    /// By edits.
    #[default]
    Patch,
    /// As a whole, from proposed edits; never longer than before.
    Rewrite,
}

/// The settings of one skill's evolution.
#[derive(Debug, Clone, Copy)]
pub struct SkillEvolution<'a> {
    /// The version that `SkillStore` reads from.
    pub source_version: VersionName,
    /// How many edits may be made; see [`edit_budget_at`](super::edit_budget_at).
    pub edit_budget: u32,
    /// From how many notes on the appendix is consolidated.
    pub consolidate_threshold: usize,
    /// How the body is changed.
    pub mode: SkillUpdateMode,
    /// What the gate refused before, for this task type.
    pub rejected: &'a [RejectedEdit],
}

/// Makes a candidate for the skill of a task type.
///
/// A (lapse-only): nothing in the body needs to change, or nothing that was proposed passed: only the appendix grows.
/// B (rewrite): the body is written anew from the proposed edits. C (patch, the default): edits, at most two attempts.
///
/// # Errors
/// The writer could not be reached; the skill has no file of its own or broken regions. What the writer writes never
/// leads to an error.
pub async fn evolve_single_skill(
    context: EvolveContext<'_>,
    pack: &SkillCasePack,
    skills: &dyn SkillStore,
    settings: SkillEvolution<'_>,
) -> Result<EvolutionRecord, EvolutionError> {
    let file = pack.task_type.skill_file();
    if !skills.list_skill_files()?.contains(&file) {
        // Training needs a file of its own: the fallback is shared and never a target.
        return Err(PortError::NoFile { file }.into());
    }
    let current = skills.read_skill(&file)?;
    frozen_ranges(&current, &FrozenSpec::skill())
        .map_err(|source| EvolutionError::Regions { file: file.to_string(), source })?;
    let mut record = new_record(pack, &file, &current, settings);
    if is_always(&current) {
        record.reason = "a skill with `always` is never evolved".into();
        return Ok(record);
    }
    let mut writer = Writer::new(context, pack.task_type.as_str());
    let part =
        Part { name: "skill", file, current: current.clone(), rules: Rules::skill(context.limits.skill_max_tokens) };
    let body = evolve_body(context, &mut writer, pack, &part, settings).await?;
    let (content, failure) = take_body(&mut record, &current, body, settings.mode);
    with_notes(context, &mut writer, pack, &part, settings, &mut record, content).await?;
    record.cost = writer.cost;
    finish(&mut record, failure);
    Ok(record)
}

fn new_record(pack: &SkillCasePack, file: &FileName, current: &str, settings: SkillEvolution<'_>) -> EvolutionRecord {
    EvolutionRecord {
        kind: EvolutionKind::Skill,
        subject: pack.task_type.to_string(),
        files: vec![file.clone()],
        source_version: settings.source_version,
        branch: Branch::LapseOnly,
        status: EvolutionStatus::Skipped,
        reason: String::new(),
        original_content: current.to_owned(),
        evolved_content: current.to_owned(),
        edits: Vec::new(),
        report: Vec::new(),
        clip_info: super::ClipInfo::default(),
        edit_budget: settings.edit_budget,
        failed_attempts: Vec::new(),
        notes_added: Vec::new(),
        notes_dropped: Vec::new(),
        consolidation: None,
        cost: super::WriterCost::default(),
    }
}

fn is_always(skill: &str) -> bool {
    front_matter(skill).is_some_and(|front| front.fields.get("always").is_some_and(|value| value == "true"))
}

/// The body, by the branch that applies.
async fn evolve_body(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    pack: &SkillCasePack,
    part: &Part,
    settings: SkillEvolution<'_>,
) -> Result<LoopResult, EvolutionError> {
    let parts = std::slice::from_ref(part);
    if pack.failure_cases.is_empty() {
        return Ok(LoopResult::new(parts));
    }
    let described = format!("the strategy for {}", pack.task_type);
    let task = Task { purpose: "writer.skill", described: &described, parts, edit_budget: settings.edit_budget };
    let prompt = |feedback: &str| skill_prompt(context, pack, &part.current, settings, feedback);
    match settings.mode {
        SkillUpdateMode::Patch => patch_loop(context, writer, &task, prompt).await,
        SkillUpdateMode::Rewrite => {
            let mut result = LoopResult::new(parts);
            match propose(context, writer, &task, prompt("")?, 0).await? {
                Ok(proposal) if proposal.edits.is_empty() => {}
                Ok(proposal) => {
                    result.clip_info = proposal.clip_info;
                    let edits: Vec<Edit> = proposal.edits.into_iter().map(|written| written.edit).collect();
                    let outcome = rewrite(context, writer, pack, part, &edits).await?;
                    let status = if outcome.is_ok() { EditStatus::Applied } else { EditStatus::SkippedCandidateFailed };
                    result.report = rewrite_report(&edits, status);
                    result.edits =
                        edits.into_iter().map(|edit| ProposedEdit { file: part.file.clone(), edit }).collect();
                    match outcome {
                        Ok(content) => {
                            result.contents = vec![content];
                            result.end = LoopEnd::Changed;
                        }
                        Err(problem) => fail(&mut result, problem),
                    }
                }
                Err(Problem { text, .. }) => fail(&mut result, text),
            }
            Ok(result)
        }
    }
}

fn fail(result: &mut LoopResult, problem: String) {
    result.failed_attempts.push(problem.clone());
    result.end = LoopEnd::Failed(problem);
}

/// Edits that were worked into a rewrite count as applied: they are in the candidate that the gate tests.
fn rewrite_report(edits: &[Edit], status: EditStatus) -> Vec<EditReport> {
    edits.iter().enumerate().map(|(index, edit)| EditReport::new(index, edit, status)).collect()
}

fn skill_prompt(
    context: EvolveContext<'_>,
    pack: &SkillCasePack,
    current: &str,
    settings: SkillEvolution<'_>,
    feedback: &str,
) -> Result<String, EvolutionError> {
    let max = context.limits.max_block_chars;
    let failures = cases_text(pack.failure_cases.iter().map(|case| ("", case)), max);
    let successes = cases_text(pack.success_cases.iter().map(|case| ("", case)), max);
    let values = [
        ("task_type", pack.task_type.to_string()),
        ("skill", data_block(current)),
        ("failures", data_block(&failures)),
        ("successes", data_block(&successes)),
        ("lapse_notes", data_block(&pack.lapse_notes.join("\n"))),
        ("rejected", data_block(&rejected_text(settings.rejected))),
        ("budget", settings.edit_budget.to_string()),
        ("feedback", feedback.to_owned()),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Ok(context.prompts.evolve_skill.fill(&values)?)
}

/// The whole body anew. The frozen parts are put around it by us, so that they cannot be lost.
async fn rewrite(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    pack: &SkillCasePack,
    part: &Part,
    edits: &[Edit],
) -> Result<Result<String, String>, EvolutionError> {
    let spec = FrozenSpec::skill();
    let max_chars = unfrozen_chars(&part.current, &spec);
    let mut list = String::new();
    for edit in edits {
        list.push_str(&format!("- {}\n  target: {}\n  content: {}\n", edit.op.name(), edit.target, edit.content));
    }
    let values = [
        ("task_type", pack.task_type.to_string()),
        ("skill", data_block(&part.current)),
        ("edits", data_block(&list)),
        ("max_chars", max_chars.to_string()),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let messages = vec![Message::user(context.prompts.rewrite_skill.fill(&values)?)];
    let body = match writer.ask(&rewrite_form(), messages, 0).await? {
        WriterReply::Object(reply) => match read_rewrite(&reply) {
            Ok(body) => body,
            Err(problem) => return Ok(Err(problem)),
        },
        WriterReply::Unreadable(problem) => return Ok(Err(problem.to_owned())),
        WriterReply::Impossible => return Ok(Err("the writer's model cannot take this prompt".into())),
    };
    Ok(assemble(&body, &part.current).and_then(|content| {
        let chars = unfrozen_chars(&content, &spec);
        if chars > max_chars {
            return Err(format!("the new text has {chars} characters, more than the {max_chars} of the old one"));
        }
        validate(&content, &part.current, &part.rules, context.leaks)?;
        Ok(content)
    }))
}

/// Front matter, the new body, and the managed regions, all frozen parts as they were.
fn assemble(body: &str, current: &str) -> Result<String, String> {
    let spec = FrozenSpec::skill();
    // A writer that returned the whole file is fine as long as its frozen parts can be told from the body.
    frozen_ranges(body, &spec).map_err(|error| format!("could not {error}"))?;
    if let Some(front) = front_matter(body)
        && front_matter(current).is_none_or(|own| own.fields != front.fields)
    {
        return Err("the front matter was changed".into());
    }
    let newline = newline_of(current);
    let body = unfrozen(body, &spec);
    let body = body.trim().replace("\r\n", "\n").replace('\n', newline);
    let mut text = String::new();
    let mut after = String::new();
    for frozen in frozen_ranges(current, &spec).map_err(|error| format!("could not {error}"))? {
        let part = current.get(frozen.range).unwrap_or_default();
        match frozen.kind {
            FrozenKind::FrontMatter => text.push_str(part),
            FrozenKind::Region | FrozenKind::Section => {
                after.push_str(&format!("{newline}{part}{newline}"));
            }
        }
    }
    if !text.is_empty() {
        text.push_str(newline);
    }
    Ok(format!("{text}{body}{newline}{after}"))
}

/// Puts the body's result into the record; gives the text so far, and why nothing changed if nothing did.
fn take_body(
    record: &mut EvolutionRecord,
    current: &str,
    body: LoopResult,
    mode: SkillUpdateMode,
) -> (String, Option<String>) {
    record.clip_info = body.clip_info;
    record.failed_attempts = body.failed_attempts;
    record.edits = body.edits;
    record.report = body.report;
    match body.end {
        LoopEnd::Changed => {
            record.branch = match mode {
                SkillUpdateMode::Patch => Branch::Patch,
                SkillUpdateMode::Rewrite => Branch::Rewrite,
            };
            (body.contents.into_iter().next().unwrap_or_else(|| current.to_owned()), None)
        }
        LoopEnd::NoEdits => (current.to_owned(), None),
        LoopEnd::Failed(problem) => {
            // What failed is not in the candidate: its edits must not read as applied.
            for row in record.report.iter_mut().filter(|row| row.status.is_applied()) {
                row.status = EditStatus::SkippedCandidateFailed;
            }
            (current.to_owned(), Some(problem))
        }
    }
}

/// All branches: lapse notes go into the appendix. If they make the text too long, it goes without them.
async fn with_notes(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    pack: &SkillCasePack,
    part: &Part,
    settings: SkillEvolution<'_>,
    record: &mut EvolutionRecord,
    content: String,
) -> Result<(), EvolutionError> {
    record.evolved_content.clone_from(&content);
    let (notes, threshold) = (&pack.lapse_notes, settings.consolidate_threshold);
    let added = add_notes(context, writer, &content, &part.current, notes, threshold).await?;
    let added = added.map_err(|source| EvolutionError::Regions { file: part.file.to_string(), source })?;
    record.notes_dropped = added.dropped;
    record.consolidation = added.consolidation;
    if added.content == content {
        return Ok(());
    }
    if let Err(problem) = validate(&added.content, &part.current, &part.rules, context.leaks) {
        record.consolidation = None;
        let dropped = added.added.into_iter().map(|note| super::DroppedNote { note, reason: problem.clone() });
        record.notes_dropped.extend(dropped);
        return Ok(());
    }
    if record.branch == Branch::LapseOnly {
        // Without a row it would be mistaken for no change.
        let edit = Edit { op: EditOp::Append, target: String::new(), content: added.added.join("\n") };
        let index = record.edits.len();
        record.report.push(EditReport::new(index, &edit, EditStatus::AppliedAppend));
        record.edits.push(ProposedEdit { file: part.file.clone(), edit });
    }
    record.notes_added = added.added;
    record.evolved_content = added.content;
    Ok(())
}

/// The status that follows from all that happened.
fn finish(record: &mut EvolutionRecord, failure: Option<String>) {
    if record.evolved_content != record.original_content {
        record.status = EvolutionStatus::Evolved;
        return;
    }
    match failure {
        Some(problem) => {
            record.status = EvolutionStatus::Rejected;
            record.branch = Branch::Patch;
            record.reason = problem;
        }
        None => {
            record.status = EvolutionStatus::Skipped;
            record.reason = match record.notes_dropped.is_empty() {
                true => "there was nothing to change".into(),
                false => "no note could be added, and nothing else was to change".into(),
            };
        }
    }
}
