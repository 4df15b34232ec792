//! The data that the configuration names, read as a run would read it.

use std::collections::BTreeSet;

use super::check::{Finding, Subject};
use crate::data::{DataError, QuestionSet, TreeSet, load_questions};
use crate::domain::{ExitClass, Fault, VideoId};

fn load(subject: &Subject<'_>) -> Result<QuestionSet, DataError> {
    load_questions(&subject.workspace.questions(&subject.loaded.config))
}

pub(super) fn questions(subject: &Subject<'_>) -> Vec<Finding> {
    let set = match load(subject) {
        Ok(set) => set,
        Err(error) => {
            let remedy = error.hint().unwrap_or_default();
            let remedy = format!("import questions with 'trm import questions PATH', or mend data.questions. {remedy}");
            return vec![Finding { remedy: Some(remedy.trim_end().to_owned()), ..Finding::fault("questions", &error) }];
        }
    };
    let types: BTreeSet<_> = set.questions.iter().map(|question| &question.task_type).collect();
    let detail =
        format!("{} questions of {} task types in {} units", set.questions.len(), types.len(), set.units.len());
    let mut findings = vec![Finding::ok("questions", detail)];
    let has_pairs = set.units.len() < set.questions.len();
    if has_pairs && subject.loaded.config.agent.concurrency < 2 {
        findings.push(Finding::fail(
            "questions",
            ExitClass::Usage,
            "a pair takes two slots, and agent.concurrency is 1",
            "set agent.concurrency to at least 2",
        ));
    }
    findings
}

/// Whether each video that a question is about has a tree.
pub(super) fn videos(subject: &Subject<'_>) -> Vec<Finding> {
    let folder = subject.workspace.videos(&subject.loaded.config);
    let remedy = "import trees with 'trm import trees PATH', or mend data.videos_dir";
    let videos = match TreeSet::new(&folder).videos() {
        Ok(videos) => videos,
        Err(error) => return vec![Finding::fault("videos", &error)],
    };
    if videos.is_empty() {
        let detail = format!("{} holds no video tree", folder.display());
        return vec![Finding::fail("videos", ExitClass::Data, detail, remedy)];
    }
    let known: BTreeSet<&VideoId> = videos.iter().collect();
    let set = load(subject).map(|set| set.questions).unwrap_or_default();
    let missing: BTreeSet<&VideoId> = set.iter().map(|q| &q.video_id).filter(|video| !known.contains(video)).collect();
    match missing.first() {
        None => vec![Finding::ok("videos", format!("{}: {} trees", folder.display(), videos.len()))],
        Some(first) => {
            let detail = format!("{} videos with questions have no tree, such as {first}", missing.len());
            vec![Finding::warn("videos", detail, remedy)]
        }
    }
}
