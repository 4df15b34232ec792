//! Evolving the system prompt.

use super::cases::{cases_text, patterns_text};
use super::loops::{LoopEnd, LoopResult, Part, Task, patch_loop};
use super::record::{Branch, EvolutionKind, EvolutionRecord, EvolutionStatus};
use super::validate::Rules;
use super::writer::{EvolveContext, Writer};
use crate::domain::{FileName, VersionName};
use crate::evolution::EvolutionError;
use crate::evolution::patch::{EditStatus, frozen_ranges};
use crate::evolution::ports::PromptStore;
use crate::evolution::templates::data_block;
use crate::evolution::types::SystemCasePack;

/// The file of the system prompt.
pub const SYSTEM_PROMPT_FILE: &str = "system.md";

/// Makes a candidate for the system prompt. Its frozen sections and managed regions stay.
///
/// # Errors
/// The writer could not be reached; the prompt could not be read or has broken regions.
pub async fn evolve_system_prompt(
    context: EvolveContext<'_>,
    pack: &SystemCasePack,
    prompts: &dyn PromptStore,
    source_version: VersionName,
    edit_budget: u32,
) -> Result<EvolutionRecord, EvolutionError> {
    let file =
        FileName::new(SYSTEM_PROMPT_FILE).map_err(|error| EvolutionError::Setting { what: error.to_string() })?;
    let current = prompts.read_prompt(&file)?;
    let spec = context.headings.system_spec();
    frozen_ranges(&current, &spec).map_err(|source| EvolutionError::Regions { file: file.to_string(), source })?;
    let part = Part { name: "system", file: file.clone(), current: current.clone(), rules: Rules::system(spec) };
    let mut writer = Writer::new(context, "system");
    let task = Task {
        purpose: "writer.system",
        described: "the system prompt",
        parts: std::slice::from_ref(&part),
        edit_budget,
    };
    let prompt = |feedback: &str| system_prompt(context, pack, &current, edit_budget, feedback);
    let result = patch_loop(context, &mut writer, &task, prompt).await?;
    let evolved = result.contents.first().cloned().unwrap_or_else(|| current.clone());
    let mut record = prompt_record(
        EvolutionKind::System,
        "system",
        vec![file],
        source_version,
        edit_budget,
        current,
        evolved,
        result,
    );
    record.cost = writer.cost;
    Ok(record)
}

fn system_prompt(
    context: EvolveContext<'_>,
    pack: &SystemCasePack,
    current: &str,
    edit_budget: u32,
    feedback: &str,
) -> Result<String, EvolutionError> {
    let max = context.limits.max_block_chars;
    let failures = cases_text(pack.failure_cases.iter().map(|case| (case.pattern.name(), &case.case)), max);
    let successes = cases_text(pack.success_cases.iter().map(|case| ("", case)), max);
    let values = [
        ("prompt", data_block(current)),
        ("patterns", data_block(&patterns_text(&pack.stats))),
        ("failures", data_block(&failures)),
        ("successes", data_block(&successes)),
        ("frozen", context.headings.system.join(", ")),
        ("budget", edit_budget.to_string()),
        ("feedback", feedback.to_owned()),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Ok(context.prompts.evolve_system.fill(&values)?)
}

/// The record of an evolution that has no appendix of its own: system prompt and tools.
#[expect(clippy::too_many_arguments, reason = "each is a field of the record")]
pub(super) fn prompt_record(
    kind: EvolutionKind,
    subject: &str,
    files: Vec<FileName>,
    source_version: VersionName,
    edit_budget: u32,
    original_content: String,
    evolved_content: String,
    mut result: LoopResult,
) -> EvolutionRecord {
    let (status, reason) = match result.end {
        LoopEnd::Changed if evolved_content != original_content => (EvolutionStatus::Evolved, String::new()),
        LoopEnd::Changed => (EvolutionStatus::Skipped, "the candidate equals the current text".into()),
        LoopEnd::NoEdits => (EvolutionStatus::Skipped, "the writer saw no need for an edit".into()),
        LoopEnd::Failed(problem) => {
            for row in result.report.iter_mut().filter(|row| row.status.is_applied()) {
                row.status = EditStatus::SkippedCandidateFailed;
            }
            (EvolutionStatus::Rejected, problem)
        }
    };
    let evolved_content = if status == EvolutionStatus::Evolved { evolved_content } else { original_content.clone() };
    EvolutionRecord {
        kind,
        subject: subject.to_owned(),
        files,
        source_version,
        branch: Branch::Patch,
        status,
        reason,
        original_content,
        evolved_content,
        edits: result.edits,
        report: result.report,
        clip_info: result.clip_info,
        edit_budget,
        failed_attempts: result.failed_attempts,
        notes_added: Vec::new(),
        notes_dropped: Vec::new(),
        consolidation: None,
        cost: super::WriterCost::default(),
    }
}
