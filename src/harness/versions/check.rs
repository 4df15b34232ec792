//! What makes a set of files a version of skills or prompts.

use std::collections::BTreeMap;

use super::FileSet;
use crate::domain::{FileName, Problem, TaskType};
use crate::evolution::patch::{APPENDIX_MAX_CHARS, MOMENTUM_MAX_CHARS, Region, front_matter, region_bounds};
use crate::store::rows::VersionKind;

/// The skill that is read where a task type has no file of its own; never a target of evolution (design 02).
pub const DEFAULT_SKILL: &str = "default-strategy.md";

/// The task type that [`DEFAULT_SKILL`] names.
const DEFAULT_TASK_TYPE: &str = "default";

/// The files of a prompt version: the system prompt, and a pair of extract and verify for each kind of tool output.
pub const PROMPT_FILES: [&str; 9] = [
    "observe_frame_extract.md",
    "observe_frame_verify.md",
    "search_similar_extract.md",
    "search_similar_verify.md",
    "system.md",
    "view_node_children_extract.md",
    "view_node_children_verify.md",
    "view_node_extract.md",
    "view_node_verify.md",
];

/// Everything that is wrong with a set of files.
#[must_use]
pub fn check_set(kind: VersionKind, files: &FileSet) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (name, text) in files {
        let found = match kind {
            VersionKind::Skills => skill_problems(name, text),
            VersionKind::Prompts => prompt_problems(name, text),
        };
        problems.extend(found.into_iter().map(|(message, hint)| problem(name.as_str(), message, hint)));
    }
    let needed: &[&str] = match kind {
        VersionKind::Skills => &[DEFAULT_SKILL],
        VersionKind::Prompts => &PROMPT_FILES,
    };
    for name in needed.iter().filter(|name| !files.keys().any(|file| file.as_str() == **name)) {
        problems.push(problem(name, "is missing", "a version is complete: every file that is read must be in it"));
    }
    problems
}

fn problem(place: &str, message: impl Into<String>, hint: impl Into<String>) -> Problem {
    Problem { place: Some(place.to_owned()), message: message.into(), hint: Some(hint.into()) }
}

type Found = Vec<(String, String)>;

fn skill_problems(name: &FileName, text: &str) -> Found {
    let mut found = region_problems(text);
    let Some(fields) = skill_fields(text) else {
        found.push((
            "has no front matter".to_owned(),
            "begin with a line '---', then name, description and task_type, then a line '---'".to_owned(),
        ));
        return found;
    };
    for key in ["name", "description", "task_type"] {
        if fields.get(key).is_none_or(String::is_empty) {
            found.push((format!("has no {key} in its front matter"), format!("add a line '{key}: …' to it")));
        }
    }
    if fields.get("always").is_some_and(|always| !matches!(always.as_str(), "true" | "false")) {
        found.push(("has an 'always' that is neither true nor false".to_owned(), "write 'always: true'".to_owned()));
    }
    found.extend(fields.get("task_type").filter(|task_type| !task_type.is_empty()).and_then(|t| name_problem(name, t)));
    found
}

/// The file is named after its task type.
fn name_problem(name: &FileName, task_type: &str) -> Option<(String, String)> {
    let expected = if task_type == DEFAULT_TASK_TYPE {
        FileName::new(DEFAULT_SKILL)
    } else {
        TaskType::new(task_type).map(|task_type| task_type.skill_file())
    };
    match expected {
        Ok(expected) if expected == *name => None,
        Ok(expected) => Some((
            format!("is the skill of the task type {task_type:?}, which must be named {expected}"),
            "rename the file, or mend task_type".to_owned(),
        )),
        Err(error) => Some((format!("has a task_type that is none: {error}"), "mend task_type".to_owned())),
    }
}

/// The fields of a skill's front matter, without quotes; none if it has no front matter.
#[must_use]
pub fn skill_fields(text: &str) -> Option<BTreeMap<String, String>> {
    let fields = front_matter(text)?.fields;
    let unquoted = |value: String| {
        let inner = |quote: char| value.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
        inner('"').or_else(|| inner('\'')).map(str::to_owned).unwrap_or(value)
    };
    Some(fields.into_iter().map(|(key, value)| (key, unquoted(value))).collect())
}

fn prompt_problems(name: &FileName, text: &str) -> Found {
    let mut found = region_problems(text);
    if !PROMPT_FILES.contains(&name.as_str()) {
        let distance = |known: &&str| strsim::damerau_levenshtein(known, name.as_str());
        let nearest = PROMPT_FILES.iter().copied().min_by_key(distance).filter(|known| distance(known) <= 4);
        let hint =
            nearest.map_or_else(|| "take it out of the folder".to_owned(), |known| format!("did you mean {known}?"));
        found.push(("is no prompt that anything reads".to_owned(), hint));
    }
    if text.trim().is_empty() {
        found.push(("is empty".to_owned(), "write the prompt".to_owned()));
    }
    found
}

/// The managed regions are both there or not, once, in order, and not too long.
fn region_problems(text: &str) -> Found {
    let mut found = Vec::new();
    for (region, max) in [(Region::Appendix, APPENDIX_MAX_CHARS), (Region::Momentum, MOMENTUM_MAX_CHARS)] {
        match region_bounds(text, region) {
            Ok(None) => {}
            Ok(Some(bounds)) => {
                let chars = text.get(bounds.inner).unwrap_or_default().trim().chars().count();
                if chars > max {
                    let message = format!("has {chars} characters in its {region} region, more than {max}");
                    found.push((message, "shorten it".to_owned()));
                }
            }
            Err(error) => found.push((
                format!("has broken markers: {error}"),
                format!(
                    "write {} and {} once each, in this order, or neither",
                    region.start_marker(),
                    region.end_marker()
                ),
            )),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::default_skills;

    fn set(files: &[(&str, &str)]) -> FileSet {
        files.iter().map(|(name, text)| (name.parse().unwrap(), (*text).to_owned())).collect()
    }

    #[test]
    fn the_built_in_skills_are_a_version() {
        let files: FileSet = default_skills().into_iter().map(|(name, text)| (name, text.to_owned())).collect();
        assert_eq!(check_set(VersionKind::Skills, &files), []);
    }

    #[test]
    fn the_built_in_prompts_are_a_version() {
        let files: FileSet =
            crate::assets::default_prompts().into_iter().map(|(name, text)| (name, text.to_owned())).collect();
        assert_eq!(check_set(VersionKind::Prompts, &files), []);
    }

    #[test]
    fn everything_wrong_with_skills_is_told_at_once() {
        let long = format!(
            "---\nname: n\ndescription: d\ntask_type: C\n---\n<!-- MOMENTUM_START -->{}<!-- MOMENTUM_END -->",
            "x".repeat(2_001)
        );
        let files = set(&[
            ("a.md", "no front matter"),
            ("b.md", "---\nname: n\ndescription:\ntask_type: Other Type\nalways: yes\n---\n<!-- APPENDIX_START -->"),
            ("c.md", &long),
            ("d.md", "---\nname: n\ndescription: d\ntask_type: \"D\"\n---\nfine"),
        ]);
        let found: Vec<String> = check_set(VersionKind::Skills, &files).iter().map(ToString::to_string).collect();
        let about = |place: &str| found.iter().filter(|text| text.starts_with(place)).count();
        assert_eq!((about("a.md"), about("b.md"), about("c.md"), about("d.md")), (1, 4, 1, 0), "{found:#?}");
        assert!(found.iter().any(|text| text.starts_with("default-strategy.md: is missing")));
    }

    #[test]
    fn a_mistyped_prompt_is_missing_and_unknown() {
        let mut files: FileSet = PROMPT_FILES.iter().map(|name| (name.parse().unwrap(), "text".to_owned())).collect();
        assert_eq!(check_set(VersionKind::Prompts, &files), []);
        let text = files.remove(&"view_node_verify.md".parse().unwrap()).unwrap();
        files.insert("view_node_verfiy.md".parse().unwrap(), text);
        let found: Vec<String> = check_set(VersionKind::Prompts, &files).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2);
        assert!(found[0].contains("did you mean view_node_verify.md?"), "{found:?}");
    }
}
