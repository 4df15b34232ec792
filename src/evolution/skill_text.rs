//! What a skill file is called, and which steps it gives.

use super::patch::{front_matter, without_regions};
use super::ports::{PortError, SkillStore};
use crate::domain::{FileName, TaskType};

/// The most steps of a skill that are judged one by one.
const MAX_STEPS: usize = 24;
/// The most characters of a step that are shown.
const MAX_STEP_CHARS: usize = 300;
/// What is read for a task type without a file of its own.
const FALLBACK: &str = "default-strategy.md";

/// The skill file of a task type: its own, else `default-strategy.md`. One convention for diagnosis and evolving.
///
/// # Errors
/// Neither file exists, or the store failed.
pub fn resolve_skill_file(store: &dyn SkillStore, task_type: &TaskType) -> Result<FileName, PortError> {
    let own = task_type.skill_file();
    let files = store.list_skill_files()?;
    if files.contains(&own) {
        return Ok(own);
    }
    let fallback = files.into_iter().find(|file| file.as_str() == FALLBACK);
    fallback.ok_or(PortError::NoFile { file: own })
}

/// The steps of a skill, in order: its list items outside of front matter, managed regions and code; the
/// paragraphs of a skill without a list.
#[must_use]
pub fn skill_steps(content: &str) -> Vec<String> {
    let body = skill_body(content);
    let mut items: Vec<String> = Vec::new();
    let mut paragraphs: Vec<String> = Vec::new();
    let mut in_code = false;
    let mut in_item = false;
    let mut in_paragraph = false;
    for line in body.lines() {
        let text = line.trim();
        if text.starts_with("```") || text.starts_with("~~~") {
            in_code = !in_code;
            continue;
        }
        if in_code {
            continue;
        }
        if text.is_empty() || text.starts_with('#') {
            (in_item, in_paragraph) = (false, false);
        } else if let Some(item) = list_item(text) {
            items.push(item.to_owned());
            (in_item, in_paragraph) = (true, false);
        } else if in_item {
            extend(items.last_mut(), text);
        } else if in_paragraph {
            extend(paragraphs.last_mut(), text);
        } else {
            paragraphs.push(text.to_owned());
            in_paragraph = true;
        }
    }
    let steps = if items.is_empty() { paragraphs } else { items };
    steps.into_iter().take(MAX_STEPS).map(|step| step.chars().take(MAX_STEP_CHARS).collect()).collect()
}

/// A skill without front matter and managed regions.
#[must_use]
pub fn skill_body(content: &str) -> String {
    let start = front_matter(content).map_or(0, |front| front.range.end);
    without_regions(content.get(start..).unwrap_or_default()).trim().to_owned()
}

fn extend(step: Option<&mut String>, text: &str) {
    if let Some(step) = step {
        step.push(' ');
        step.push_str(text);
    }
}

fn list_item(text: &str) -> Option<&str> {
    let digits = text.trim_start_matches(|char: char| char.is_ascii_digit());
    let numbered = if digits.len() < text.len() { digits.strip_prefix(['.', ')', '、']) } else { None };
    let bullet = text.strip_prefix("- ").or_else(|| text.strip_prefix("* ")).or_else(|| text.strip_prefix("+ "));
    let item = bullet.or(numbered)?.trim();
    (!item.is_empty()).then_some(item)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_list_items_outside_of_frozen_parts() {
        let skill = "---\nname: a\n- no: b\n---\n# T\n\nIntro.\n\n1. First\n   goes on.\n2) Second\n\n- third\n\n```\n- code\n```\n<!-- APPENDIX_START -->\n- note\n<!-- APPENDIX_END -->\n";
        assert_eq!(skill_steps(skill), ["First goes on.", "Second", "third"]);
    }

    #[test]
    fn without_a_list_the_paragraphs_are_steps() {
        assert_eq!(skill_steps("# T\n\nOne\ntwo.\n\nThree."), ["One two.", "Three."]);
        assert!(skill_steps("---\nname: a\n---\n").is_empty());
    }

    #[test]
    fn chinese_numbering_counts() {
        assert_eq!(skill_steps("1、先看字幕\n2、再比较选项"), ["先看字幕", "再比较选项"]);
    }
}
