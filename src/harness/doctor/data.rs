//! The data that the configuration names.

use std::fs;

use super::check::{Finding, Subject};
use crate::domain::ExitClass;

pub(super) fn questions(subject: &Subject<'_>) -> Vec<Finding> {
    let path = subject.workspace.questions(&subject.loaded.config);
    let shown = path.display();
    vec![match fs::metadata(&path) {
        Ok(metadata) if metadata.is_dir() || metadata.len() > 0 => Finding::ok("questions", shown.to_string()),
        Ok(_) => Finding::fail(
            "questions",
            ExitClass::Data,
            format!("{shown} is empty"),
            "import questions with 'trm import questions PATH'",
        ),
        Err(error) => Finding::fail(
            "questions",
            ExitClass::Data,
            format!("{shown}: {error}"),
            "import questions with 'trm import questions PATH', or mend data.questions",
        ),
    }]
}

pub(super) fn videos(subject: &Subject<'_>) -> Vec<Finding> {
    let path = subject.workspace.videos(&subject.loaded.config);
    let shown = path.display();
    let remedy = "import trees with 'trm import trees PATH', or mend data.videos_dir";
    let entries = match fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) => {
            return vec![Finding::fail("videos", ExitClass::Data, format!("{shown}: {error}"), remedy)];
        }
    };
    let trees = entries.flatten().filter(|entry| entry.path().join("tree.json").is_file()).count();
    vec![if trees == 0 {
        Finding::fail("videos", ExitClass::Data, format!("{shown} holds no video tree"), remedy)
    } else {
        Finding::ok("videos", format!("{shown}: {trees} trees"))
    }]
}
