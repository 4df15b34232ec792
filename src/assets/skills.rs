//! The skills every workspace starts from: one for each Video-MME task type, and the fallback.

use crate::domain::FileName;

/// File name and text of every bundled skill, `default-strategy.md` included, sorted by file name.
///
/// Each text has front matter (`name`, `description`, `task_type`) and the two empty managed
/// regions of design 02. The task type of the fallback is `default`.
#[must_use]
pub fn default_skills() -> Vec<(FileName, &'static str)> {
    // A name that is no file name cannot get here: a test compares the list with the folder.
    SKILLS.iter().filter_map(|(name, text)| FileName::new(*name).ok().map(|name| (name, *text))).collect()
}

/// Pairs a file of `config/skills` with its text.
macro_rules! skill {
    ($file:literal) => {
        ($file, include_str!(concat!("../../config/skills/", $file)))
    };
}

const SKILLS: [(&str, &str); 13] = [
    skill!("action-reasoning.md"),
    skill!("action-recognition.md"),
    skill!("attribute-perception.md"),
    skill!("counting-problem.md"),
    skill!("default-strategy.md"),
    skill!("information-synopsis.md"),
    skill!("object-reasoning.md"),
    skill!("object-recognition.md"),
    skill!("ocr-problems.md"),
    skill!("spatial-perception.md"),
    skill!("spatial-reasoning.md"),
    skill!("temporal-perception.md"),
    skill!("temporal-reasoning.md"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;
    use crate::domain::TaskType;

    #[test]
    fn every_skill_of_the_folder_is_bundled() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/skills");
        let on_disk: BTreeSet<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|name| name.ends_with(".md"))
            .collect();
        let bundled: BTreeSet<String> = default_skills().iter().map(|(name, _)| name.as_str().to_owned()).collect();
        assert_eq!(bundled, on_disk);
        assert_eq!(default_skills().len(), SKILLS.len(), "a name was dropped");
    }

    #[test]
    fn the_file_name_follows_the_task_type_of_the_front_matter() {
        for (name, text) in default_skills() {
            let task_type = text.lines().find_map(|line| line.strip_prefix("task_type: ")).unwrap();
            if name.as_str() == "default-strategy.md" {
                assert_eq!(task_type, "default");
            } else {
                assert_eq!(TaskType::new(task_type).unwrap().skill_file(), name);
            }
        }
    }

    #[test]
    fn every_skill_has_its_form() {
        for (name, text) in default_skills() {
            let parts: Vec<_> = text.splitn(3, "---\n").collect();
            assert!(parts[0].is_empty() && parts.len() == 3, "{name}: no front matter");
            for key in ["name: ", "description: ", "task_type: "] {
                assert_eq!(parts[1].lines().filter(|line| line.starts_with(key)).count(), 1, "{name}: {key}");
            }
            for marker in ["APPENDIX_START", "APPENDIX_END", "MOMENTUM_START", "MOMENTUM_END"] {
                assert_eq!(text.matches(&format!("<!-- {marker} -->")).count(), 1, "{name}: {marker}");
            }
            let body = parts[2].split("<!-- APPENDIX_START -->").next().unwrap();
            let words = body.split_whitespace().count();
            assert!((150..=400).contains(&words), "{name}: {words} words");
            assert!(body.matches("\n## ").count() >= 2, "{name}: too few headings");
        }
    }
}
