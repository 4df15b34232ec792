//! The judge's and the writer's templates of a workspace: the built-in ones, and its own in their place.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use super::kernel_error::TemplatesError;
use crate::assets::{judge_templates, momentum_templates, writer_templates};
use crate::evolution::templates::{DiagnosePrompts, EvolvePrompts, MOMENTUM_TEMPLATE_NAMES, MomentumPrompts};

/// What judge and writer are asked, checked as a whole before anything is spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Templates {
    /// For diagnosing.
    pub judge: DiagnosePrompts,
    /// For evolving.
    pub writer: EvolvePrompts,
    /// For momentum.
    pub momentum: MomentumPrompts,
}

impl Templates {
    /// The templates with those of `folder`, if it is there, in their place: `judge/NAME.md` and `writer/NAME.md`.
    ///
    /// # Errors
    /// A file cannot be read, is called like no template, or has a missing or unknown place.
    pub fn load(folder: &Path) -> Result<Self, TemplatesError> {
        let (judge_folder, writer_folder) = (folder.join("judge"), folder.join("writer"));
        let judge = own_texts(&judge_folder)?;
        let (momentum, writer): (BTreeMap<_, _>, BTreeMap<_, _>) = own_texts(&writer_folder)?
            .into_iter()
            .partition(|(name, _)| MOMENTUM_TEMPLATE_NAMES.contains(&name.as_str()));
        let wrong = |folder: &Path| {
            let folder = folder.to_owned();
            move |source| TemplatesError::Template { folder, source }
        };
        Ok(Self {
            judge: judge_templates(&judge).map_err(wrong(&judge_folder))?,
            writer: writer_templates(&writer).map_err(wrong(&writer_folder))?,
            momentum: momentum_templates(&momentum).map_err(wrong(&writer_folder))?,
        })
    }
}

/// The Markdown files of a folder by name without `.md`; none if there is no such folder.
fn own_texts(folder: &Path) -> Result<BTreeMap<String, String>, TemplatesError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| TemplatesError::Read { path, source }
    };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(failed(folder)(error)),
    };
    let mut texts = BTreeMap::new();
    for entry in entries {
        let path = entry.map_err(failed(folder))?.path();
        if path.extension().is_some_and(|extension| extension == "md")
            && let Some(name) = path.file_stem().and_then(|name| name.to_str())
        {
            let text = std::fs::read_to_string(&path).map_err(failed(&path))?;
            texts.insert(name.to_owned(), text);
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::domain::Fault;

    #[test]
    fn a_template_of_the_workspace_takes_the_place_of_its_namesake_only() {
        let folder = tempfile::tempdir().unwrap();
        let built_in = Templates::load(folder.path()).unwrap();
        fs::create_dir_all(folder.path().join("writer")).unwrap();
        let text = "Note. {{skill}} {{comparison}} {{previous}}";
        fs::write(folder.path().join("writer/momentum.md"), text).unwrap();
        fs::write(folder.path().join("writer/notes.txt"), "no template").unwrap();
        let own = Templates::load(folder.path()).unwrap();
        assert_eq!((&own.judge, &own.writer), (&built_in.judge, &built_in.writer));
        let filled = own.momentum.momentum.fill(&[("skill", "a"), ("comparison", "b"), ("previous", "c")]).unwrap();
        assert_eq!(filled, "Note. a b c");
    }

    #[test]
    fn a_misspelt_name_and_a_lost_place_are_refused_with_the_folder() {
        for (file, text, code) in [
            ("judge/span.md", "x", "template.unknown"),
            ("judge/missed_nodes.md", "Which?", "template.placeholder_missing"),
            ("writer/momentum.md", "{{skill}}", "template.placeholder_missing"),
        ] {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir_all(folder.path().join(file).parent().unwrap()).unwrap();
            fs::write(folder.path().join(file), text).unwrap();
            let error = Templates::load(folder.path()).unwrap_err();
            assert_eq!(error.code(), code, "{file}: {error}");
        }
    }
}
