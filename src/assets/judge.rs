//! The templates of the judge and the writer that ship with the program, and how a workspace overrides them.

use std::collections::BTreeMap;

use crate::evolution::templates::{DiagnosePrompts, EvolvePrompts, MomentumPrompts, TemplateError};

/// Pairs a template's name with its text.
macro_rules! template {
    ($folder:literal, $name:literal) => {
        ($name, include_str!(concat!("../../config/", $folder, "/", $name, ".md")))
    };
}

/// Name (without `.md`) and text of every bundled judge template, sorted by name.
#[must_use]
pub fn default_judge_templates() -> Vec<(&'static str, &'static str)> {
    vec![
        template!("judge", "confirmation_bias"),
        template!("judge", "defect_vs_lapse"),
        template!("judge", "evidence_sufficiency"),
        template!("judge", "missed_nodes"),
        template!("judge", "reasoning_sub"),
        template!("judge", "skill_adherence"),
        template!("judge", "span_eval_system"),
        template!("judge", "span_eval_user"),
    ]
}

/// Name (without `.md`) and text of every bundled writer template, sorted by name.
#[must_use]
pub fn default_writer_templates() -> Vec<(&'static str, &'static str)> {
    vec![
        template!("writer", "consolidate_system"),
        template!("writer", "evolve_rank"),
        template!("writer", "evolve_skill"),
        template!("writer", "evolve_system"),
        template!("writer", "evolve_tool"),
        template!("writer", "rewrite_skill"),
    ]
}

/// Name (without `.md`) and text of the bundled momentum template.
#[must_use]
pub fn default_momentum_templates() -> Vec<(&'static str, &'static str)> {
    vec![template!("writer", "momentum")]
}

/// The judge's bundle: the defaults, with the texts of `overrides` (by name without `.md`) in their place.
///
/// # Errors
/// An override with an unknown name, or with a missing or unknown placeholder.
pub fn judge_templates(overrides: &BTreeMap<String, String>) -> Result<DiagnosePrompts, TemplateError> {
    DiagnosePrompts::from_texts(&merged(default_judge_templates(), overrides))
}

/// The writer's bundle: the defaults, with the texts of `overrides` (by name without `.md`) in their place.
///
/// # Errors
/// An override with an unknown name, or with a missing or unknown placeholder.
pub fn writer_templates(overrides: &BTreeMap<String, String>) -> Result<EvolvePrompts, TemplateError> {
    EvolvePrompts::from_texts(&merged(default_writer_templates(), overrides))
}

/// The momentum bundle: the default, or the text of `overrides` (by name without `.md`) in its place.
///
/// # Errors
/// An override with an unknown name, or with a missing or unknown placeholder.
pub fn momentum_templates(overrides: &BTreeMap<String, String>) -> Result<MomentumPrompts, TemplateError> {
    MomentumPrompts::from_texts(&merged(default_momentum_templates(), overrides))
}

fn merged(
    defaults: Vec<(&'static str, &'static str)>,
    overrides: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> =
        defaults.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
    texts.extend(overrides.iter().map(|(name, text)| (name.clone(), text.clone())));
    texts
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::evolution::templates::{JUDGE_TEMPLATE_NAMES, WRITER_TEMPLATE_NAMES};

    fn folder(name: &str) -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("config").join(name);
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .collect();
        names.sort();
        names
    }

    #[test]
    fn every_template_of_the_folders_is_bundled_and_valid() {
        let names =
            |list: Vec<(&'static str, &'static str)>| list.into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(names(default_judge_templates()), folder("judge"));
        let mut writer = names(default_writer_templates());
        writer.extend(names(default_momentum_templates()));
        writer.sort_unstable();
        assert_eq!(writer, folder("writer"));
        assert_eq!(JUDGE_TEMPLATE_NAMES.len(), 8);
        assert_eq!(WRITER_TEMPLATE_NAMES.len(), 6);
        judge_templates(&BTreeMap::new()).unwrap();
        writer_templates(&BTreeMap::new()).unwrap();
        momentum_templates(&BTreeMap::new()).unwrap();
    }

    #[test]
    fn templates_are_short_and_fence_in_what_they_are_given() {
        for (name, text) in
            default_judge_templates().into_iter().chain(default_writer_templates()).chain(default_momentum_templates())
        {
            let words = text.split_whitespace().count();
            assert!(words <= 320, "{name}: {words} words leave a small model no room");
            let fenced = text.contains("<data>` block");
            assert!(fenced || name == "span_eval_user", "{name} does not say what the blocks are");
        }
    }

    #[test]
    fn an_override_replaces_its_template_and_is_checked() {
        let own = |text: &str| BTreeMap::from([("span_eval_system".to_owned(), text.to_owned())]);
        let bundle = judge_templates(&own("Urteile.")).unwrap();
        assert_eq!(bundle.span_eval_system.fill(&[]).unwrap(), "Urteile.");
        let error = judge_templates(&own("Judge {{trace}}.")).unwrap_err();
        assert!(matches!(error, TemplateError::PlaceholderUnknown { .. }));
        let error = writer_templates(&BTreeMap::from([("evolve_rank".to_owned(), "Rank {{edits}}.".to_owned())]));
        assert_eq!(
            error.unwrap_err(),
            TemplateError::PlaceholderMissing { name: "evolve_rank", placeholder: "budget" }
        );
    }
}
