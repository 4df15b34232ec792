//! Importing questions: one pass over the source into the staged file, then the checks that need the whole.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::report::{ImportReport, QuestionsOutcome, QuestionsReport, WithoutTree};
use super::stage::{Stage, Target, parent_of, writing};
use crate::data::error::DataError;
use crate::data::intake::{NoProgress, Progress};
use crate::data::printable::quoted;
use crate::data::problem::{Problem, Problems, Spot};
use crate::data::questions::{QuestionRecord, Scan, SetFacts, VideoIdField, each_question, scan_questions};
use crate::data::trees::TreeSet;
use crate::domain::{ContentHash, Fault, Question, VideoId};

/// Imports a set of questions in place of the one that is there, which is kept under another name.
///
/// # Errors
/// The source is missing, unreadable or invalid (every problem is listed, and nothing changes), another import runs,
/// or the target cannot be written.
pub fn import_questions(
    source: &Path,
    prefer: VideoIdField,
    target: &Target,
    progress: &dyn Progress,
) -> Result<ImportReport, DataError> {
    let stage = Stage::begin(target)?;
    let mut staged = StagedQuestions::begin(&stage)?;
    let mut names_nodes = false;
    let Scan { facts, mut problems } = scan_questions(source, prefer, progress, &mut |question| {
        names_nodes |= !question.source_nodes.is_empty();
        staged.add(&question);
    })?;
    staged.finish()?;
    if problems.has_errors() {
        return Err(DataError::invalid(source, problems));
    }
    let trees = TreeSet::new(&target.videos_dir);
    let without_tree = report_without_tree(&facts.videos, |video| trees.contains(video), source, &mut problems);
    if names_nodes {
        check_source_nodes(stage.staged_questions(), &trees, source, &mut problems)?;
    }
    let questions = compare(facts, target)?;
    let changed = questions.outcome != QuestionsOutcome::Unchanged;
    stage.publish(changed, questions.kept_as())?;
    Ok(ImportReport { changed, questions: Some(questions), trees: None, without_tree, problems })
}

/// The staged file of questions, written as they come.
pub(super) struct StagedQuestions {
    writer: std::io::BufWriter<fs::File>,
    path: PathBuf,
    failed: Option<std::io::Error>,
}

impl StagedQuestions {
    pub(super) fn begin(stage: &Stage<'_>) -> Result<Self, DataError> {
        let (writer, path) = (stage.questions_writer()?, stage.staged_questions().to_path_buf());
        Ok(Self { writer, path, failed: None })
    }

    /// A failure is kept until [`StagedQuestions::finish`]: the source is still read for its own problems.
    pub(super) fn add(&mut self, question: &Question) {
        if self.failed.is_none() {
            let line = serde_json::to_writer(&mut self.writer, &QuestionRecord::from(question));
            self.failed = line.map_err(Into::into).and_then(|()| self.writer.write_all(b"\n")).err();
        }
    }

    pub(super) fn finish(mut self) -> Result<(), DataError> {
        let result = self.failed.take().map_or_else(|| self.writer.flush(), Err);
        result.map_err(|error| writing(&self.path, error))
    }
}

/// How the new set differs from the one in place.
pub(super) fn compare(facts: SetFacts, target: &Target) -> Result<QuestionsReport, DataError> {
    let outcome = match scan_questions(&target.questions, VideoIdField::VideoId, &NoProgress, &mut |_| {}) {
        Err(DataError::NotFound { .. }) => QuestionsOutcome::New,
        Err(error) => return Err(error),
        Ok(before) if before.problems.has_errors() => {
            let bytes = hash_of_file(&target.questions)?;
            QuestionsOutcome::Replaced {
                kept_as: beside(&target.questions, &format!("invalid-{}", bytes.short())),
                previous_fingerprint: None,
                added: facts.questions(),
                removed: 0,
                changed: 0,
            }
        }
        Ok(before) if before.facts.fingerprint == facts.fingerprint => QuestionsOutcome::Unchanged,
        Ok(before) => {
            let (added, removed, changed) = facts.compare(&before.facts);
            QuestionsOutcome::Replaced {
                kept_as: beside(&target.questions, &before.facts.fingerprint.short()),
                previous_fingerprint: Some(before.facts.fingerprint),
                added,
                removed,
                changed,
            }
        }
    };
    Ok(QuestionsReport {
        file: target.questions.clone(),
        questions: facts.questions(),
        units: facts.questions() - facts.pairs,
        pairs: facts.pairs,
        videos: facts.videos.len() as u64,
        task_types: facts.types,
        fingerprint: facts.fingerprint,
        outcome,
    })
}

impl QuestionsReport {
    pub(super) fn kept_as(&self) -> Option<&Path> {
        match &self.outcome {
            QuestionsOutcome::Replaced { kept_as, .. } => Some(kept_as),
            QuestionsOutcome::New | QuestionsOutcome::Unchanged => None,
        }
    }
}

/// `questions.jsonl` becomes `questions.MARK.jsonl` in the same folder.
fn beside(path: &Path, mark: &str) -> PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    parent_of(path).join(format!("{stem}.{mark}.{extension}"))
}

fn hash_of_file(path: &Path) -> Result<ContentHash, DataError> {
    fs::read(path).map(ContentHash::of).map_err(|error| DataError::reading(path, error))
}

/// Names all videos of questions that have no tree: nothing is dropped silently.
pub(super) fn report_without_tree(
    videos: &BTreeMap<VideoId, u64>,
    has_tree: impl Fn(&VideoId) -> bool,
    source: &Path,
    problems: &mut Problems,
) -> WithoutTree {
    const NAMED: usize = 20;
    let without: Vec<(&VideoId, u64)> =
        videos.iter().filter(|(video, _)| !has_tree(video)).map(|(video, count)| (video, *count)).collect();
    let report = WithoutTree {
        questions: without.iter().map(|(_, count)| count).sum(),
        videos: without.iter().map(|(video, _)| (*video).clone()).collect(),
    };
    if !without.is_empty() {
        let mut names: Vec<&str> = without.iter().take(NAMED).map(|(video, _)| video.as_str()).collect();
        if without.len() > NAMED {
            names.push("…");
        }
        let what = format!(
            "{} of the questions are about {} videos without a tree: {}",
            report.questions,
            without.len(),
            names.join(", ")
        );
        let hint = "import their trees with 'trm import trees PATH', or make them with 'trm tree build'";
        problems.push(Problem::warning("question.no_tree", &Spot::whole(source), what, hint));
    }
    report
}

/// Questions may name the nodes that answer them; a name that is in no tree is a slip.
fn check_source_nodes(staged: &Path, trees: &TreeSet, source: &Path, problems: &mut Problems) -> Result<(), DataError> {
    let mut wrong = Problems::default();
    each_question(staged, &mut |question| {
        if question.source_nodes.is_empty() || !trees.contains(&question.video_id) {
            return;
        }
        let spot = Spot::whole(source);
        match trees.get(&question.video_id) {
            Ok(stored) => {
                for node in question.source_nodes.iter().filter(|node| !stored.tree.nodes.contains_key(*node)) {
                    let what = format!(
                        "the question {} names the node {}, which is not in the tree of video {}",
                        quoted(question.question_id.as_str()),
                        quoted(node.as_str()),
                        quoted(question.video_id.as_str())
                    );
                    wrong.push(Problem::warning("question.source_node", &spot, what, "correct source_nodes"));
                }
            }
            Err(error) => {
                let first = error.problems().first().map_or_else(|| error.to_string(), ToString::to_string);
                let what = format!("the tree of video {} cannot be used: {first}", quoted(question.video_id.as_str()));
                wrong.push(Problem::warning("question.tree_unusable", &spot, what, "import the tree again"));
            }
        }
    })?;
    problems.extend(wrong);
    Ok(())
}
