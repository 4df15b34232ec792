//! The prompts every workspace starts from: `system.md` and the tools' pairs of extract and verify.

use crate::domain::FileName;

/// File name and text of every bundled prompt, sorted by file name.
///
/// Each has its frozen sections ("Output format"; `system.md` also "Capability boundaries" and "Video tree
/// structure") and an empty appendix (design 02).
#[must_use]
pub fn default_prompts() -> Vec<(FileName, &'static str)> {
    // A name that is no file name cannot get here: a test compares the list with the folder.
    PROMPTS.iter().filter_map(|(name, text)| FileName::new(*name).ok().map(|name| (name, *text))).collect()
}

/// Pairs a file of `config/prompts` with its text.
macro_rules! prompt {
    ($file:literal) => {
        ($file, include_str!(concat!("../../config/prompts/", $file)))
    };
}

const PROMPTS: [(&str, &str); 9] = [
    prompt!("observe_frame_extract.md"),
    prompt!("observe_frame_verify.md"),
    prompt!("search_similar_extract.md"),
    prompt!("search_similar_verify.md"),
    prompt!("system.md"),
    prompt!("view_node_children_extract.md"),
    prompt!("view_node_children_verify.md"),
    prompt!("view_node_extract.md"),
    prompt!("view_node_verify.md"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sim::world::{damages_in, strategies_in};

    #[test]
    fn every_file_of_the_folder_is_bundled() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/config/prompts");
        let files: BTreeSet<String> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let bundled: BTreeSet<String> = default_prompts().iter().map(|(name, _)| name.to_string()).collect();
        assert_eq!(bundled, files);
    }

    #[test]
    fn every_prompt_has_its_frozen_sections_and_an_appendix() {
        for (name, text) in default_prompts() {
            let mut headings = vec!["## Output format"];
            if name.as_str() == "system.md" {
                headings.extend(["## Capability boundaries", "## Video tree structure"]);
            }
            for heading in headings {
                assert_eq!(text.lines().filter(|line| *line == heading).count(), 1, "{name}: {heading}");
            }
            assert!(text.contains("<!-- APPENDIX_START -->\n<!-- APPENDIX_END -->"), "{name}");
        }
    }

    #[test]
    fn the_system_prompt_leaves_strategies_to_the_skills() {
        let (_, system) = default_prompts().into_iter().find(|(name, _)| name.as_str() == "system.md").unwrap();
        assert_eq!(strategies_in(system), BTreeSet::new());
        assert_eq!(damages_in(system), BTreeSet::new());
    }
}
