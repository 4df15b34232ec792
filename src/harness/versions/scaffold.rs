//! Missing skill files, made as copies of the default strategy (design 02, 12).

use std::collections::{BTreeMap, BTreeSet};

use super::check::{DEFAULT_SKILL, skill_fields};
use super::import::{Imported, import};
use super::resolve::{resolve, texts};
use super::{FileSet, VersionsError};
use crate::config::VersionChoice;
use crate::domain::{FileName, TaskType};
use crate::evolution::patch::front_matter;
use crate::store::Store;
use crate::store::rows::VersionKind;

/// What scaffolding did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scaffolded {
    /// The task types that had no skill, with their new files.
    pub created: BTreeMap<TaskType, FileName>,
    /// The version that has them all.
    pub version: crate::domain::VersionName,
}

/// The task types that have no skill file of their own.
#[must_use]
pub fn missing_types<'a>(files: &FileSet, task_types: &'a BTreeSet<TaskType>) -> Vec<&'a TaskType> {
    task_types.iter().filter(|task_type| !files.contains_key(&task_type.skill_file())).collect()
}

/// The skill of a task type as a copy of the default strategy: its text, with a front matter of its own.
#[must_use]
pub fn skill_for(task_type: &TaskType, default_text: &str) -> String {
    let body = front_matter(default_text).and_then(|front| default_text.get(front.range.end..)).unwrap_or(default_text);
    let description = skill_fields(default_text).and_then(|mut fields| fields.remove("description"));
    let description = description.unwrap_or_else(|| "How to find the answer in a video tree.".to_owned());
    format!("---\nname: {task_type}\ndescription: {description}\ntask_type: {task_type}\n---\n{body}")
}

/// Makes a version in which each of these task types has a skill file, if one is missing in the initial version.
///
/// # Errors
/// There is no version yet, or the store cannot be read or written.
pub fn scaffold(store: &Store, task_types: &BTreeSet<TaskType>) -> Result<Scaffolded, VersionsError> {
    let kind = VersionKind::Skills;
    let snapshot = store.snapshot()?;
    let version = resolve(&snapshot, kind, VersionChoice::Initial)?;
    let mut files = texts(&snapshot, kind, version)?;
    let default_text = files
        .iter()
        .find(|(name, _)| name.as_str() == DEFAULT_SKILL)
        .map(|(_, text)| text.clone())
        .ok_or(VersionsError::None { kind, choice: "default strategy in the initial".to_owned() })?;
    let created: BTreeMap<TaskType, FileName> = missing_types(&files, task_types)
        .into_iter()
        .map(|task_type| (task_type.clone(), task_type.skill_file()))
        .collect();
    if created.is_empty() {
        return Ok(Scaffolded { created, version });
    }
    for (task_type, file) in &created {
        files.insert(file.clone(), skill_for(task_type, &default_text));
    }
    let note = format!("copies of {DEFAULT_SKILL} for {} task types", created.len());
    let Imported { version, .. } = import(store, kind, files, "scaffold", &note)?;
    Ok(Scaffolded { created, version })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::default_skills;
    use crate::harness::versions::check_set;

    #[test]
    fn a_scaffolded_skill_is_a_valid_copy_of_the_default() {
        let mut files: FileSet = default_skills().into_iter().map(|(name, text)| (name, text.to_owned())).collect();
        let types: BTreeSet<TaskType> =
            ["Causal Why", "Action Reasoning", "计数"].into_iter().map(|t| t.parse().unwrap()).collect();
        let missing = missing_types(&files, &types);
        assert_eq!(missing.iter().map(|t| t.as_str()).collect::<Vec<_>>(), ["Causal Why", "计数"]);
        let default_text = files[&DEFAULT_SKILL.parse().unwrap()].clone();
        for task_type in types.iter().filter(|t| !files.contains_key(&t.skill_file())).cloned().collect::<Vec<_>>() {
            files.insert(task_type.skill_file(), skill_for(&task_type, &default_text));
        }
        assert_eq!(check_set(VersionKind::Skills, &files), []);
        let body = |text: &str| text.splitn(3, "---\n").nth(2).unwrap().to_owned();
        assert_eq!(body(&files[&"causal-why.md".parse().unwrap()]), body(&default_text));
    }
}
