//! A whole set of questions: read, checked, hashed.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::index::{SetCheck, SetFacts};
use super::record::{VideoIdField, read_record};
use super::source::{QuestionFile, find_files, read_file};
use crate::data::error::DataError;
use crate::data::intake::{Intake, NoProgress, Progress};
use crate::data::json::Fields;
use crate::data::problem::{Problem, Problems, Spot};
use crate::domain::{ContentHash, Question, QuestionId, TaskType, Unit, VideoId, build_units};

/// All questions of a workspace or a file, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionSet {
    /// The questions by id: equal sets have equal order, however their files were written.
    pub questions: Vec<Question>,
    /// The units that the statistics count, each where its first question stands.
    pub units: Vec<Unit>,
    /// The hash of the contents of all questions, whatever their order in the file. Pools, ladder, caches and
    /// checkpoints carry it.
    pub fingerprint: ContentHash,
    /// What is worth knowing; errors are no part of a set.
    pub warnings: Problems,
}

impl QuestionSet {
    /// A set from questions that are already normalised, such as generated ones.
    ///
    /// # Errors
    /// Every rule that only the whole set can break: repeated ids, broken pairs, task types that share a skill file.
    pub fn from_questions(questions: Vec<Question>) -> Result<Self, DataError> {
        let source = Path::new("questions");
        let mut index = SetCheck::default();
        let mut problems = Problems::default();
        let mut kept = Vec::with_capacity(questions.len());
        for (place, question) in questions.into_iter().enumerate() {
            let place = crate::data::problem::Place { record: Some(place as u64 + 1), ..Default::default() };
            if index.add(&question, &Spot::whole(source).with(place), &mut problems) {
                kept.push(question);
            }
        }
        let facts = index.finish(&mut problems);
        Self::build(source, kept, &facts, problems)
    }

    /// The question of this id; binary search.
    #[must_use]
    pub fn get(&self, id: &QuestionId) -> Option<&Question> {
        let place = self.questions.binary_search_by(|question| question.question_id.cmp(id)).ok()?;
        self.questions.get(place)
    }

    /// How many questions each task type has.
    #[must_use]
    pub fn task_types(&self) -> BTreeMap<&TaskType, usize> {
        let mut types = BTreeMap::new();
        for question in &self.questions {
            *types.entry(&question.task_type).or_default() += 1;
        }
        types
    }

    /// How many questions each video has.
    #[must_use]
    pub fn videos(&self) -> BTreeMap<&VideoId, usize> {
        let mut videos = BTreeMap::new();
        for question in &self.questions {
            *videos.entry(&question.video_id).or_default() += 1;
        }
        videos
    }

    fn build(
        path: &Path,
        mut questions: Vec<Question>,
        facts: &SetFacts,
        mut problems: Problems,
    ) -> Result<Self, DataError> {
        questions.sort_unstable_by(|a, b| a.question_id.cmp(&b.question_id));
        let units = if problems.has_errors() { Ok(Vec::new()) } else { build_units(&questions) };
        // The index checks the rules of pairs too; a unit error beyond it would be a bug, and is no reason to go on.
        for error in units.as_ref().err().into_iter().flatten() {
            problems.push(Problem::error("pair.broken", &Spot::whole(path), error, "correct the pair"));
        }
        match units {
            Ok(units) if !problems.has_errors() => {
                Ok(Self { questions, units, fingerprint: facts.fingerprint, warnings: problems })
            }
            Ok(_) | Err(_) => Err(DataError::invalid(path, problems)),
        }
    }
}

/// Reads a set of questions: JSON Lines, a JSON list, Parquet, or a folder of such files (one per video).
///
/// # Errors
/// The path cannot be read, or the content is invalid: then [`DataError::report`] has every problem.
pub fn load_questions(path: &Path) -> Result<QuestionSet, DataError> {
    let mut questions = Vec::new();
    let scan = scan_questions(path, VideoIdField::VideoId, &NoProgress, &mut |question| questions.push(question))?;
    QuestionSet::build(path, questions, &scan.facts, scan.problems)
}

/// What a pass over a source of questions found.
#[derive(Debug)]
pub(in crate::data) struct Scan {
    pub(in crate::data) facts: SetFacts,
    pub(in crate::data) problems: Problems,
}

/// Reads a source in one pass and gives each valid question once to `take`, in the order of the source.
pub(in crate::data) fn scan_questions(
    path: &Path,
    prefer: VideoIdField,
    progress: &dyn Progress,
    take: &mut dyn FnMut(Question),
) -> Result<Scan, DataError> {
    let mut index = SetCheck::default();
    let mut problems = collect(path, prefer, progress, &mut index, take)?;
    let facts = index.finish(&mut problems);
    Ok(Scan { facts, problems })
}

/// Gives each question of a file that was checked as a whole before; holds one at a time.
pub(in crate::data) fn each_question(path: &Path, take: &mut dyn FnMut(Question)) -> Result<(), DataError> {
    collect(path, VideoIdField::VideoId, &NoProgress, &mut CheckedBefore, take).map(drop)
}

fn collect(
    path: &Path,
    prefer: VideoIdField,
    progress: &dyn Progress,
    index: &mut dyn Index,
    take: &mut dyn FnMut(Question),
) -> Result<Problems, DataError> {
    let files = find_files(path)?;
    progress.expect(files.iter().map(|file| file.bytes).sum());
    let mut collector =
        Collector { prefer, folder_video: None, index, problems: Problems::default(), records: 0, progress, take };
    for QuestionFile { path, video, .. } in files {
        collector.folder_video = video;
        let before = (collector.records, collector.problems.errors());
        read_file(&path, &mut collector)?;
        if before == (collector.records, collector.problems.errors()) {
            let what = "there is no question in the file";
            let hint = "write one question per line, as JSON";
            collector.problems.push(Problem::error("file.empty", &Spot::whole(&path), what, hint));
        }
    }
    Ok(collector.problems)
}

/// Who checks what holds across questions.
trait Index {
    fn add(&mut self, question: &Question, spot: &Spot, problems: &mut Problems) -> bool;
    fn unknown_field(&mut self, name: &str, spot: &Spot);
}

impl Index for SetCheck {
    fn add(&mut self, question: &Question, spot: &Spot, problems: &mut Problems) -> bool {
        Self::add(self, question, spot, problems)
    }

    fn unknown_field(&mut self, name: &str, spot: &Spot) {
        Self::unknown_field(self, name, spot);
    }
}

/// Nothing is left to check.
struct CheckedBefore;

impl Index for CheckedBefore {
    fn add(&mut self, _: &Question, _: &Spot, _: &mut Problems) -> bool {
        true
    }

    fn unknown_field(&mut self, _: &str, _: &Spot) {}
}

struct Collector<'a> {
    prefer: VideoIdField,
    folder_video: Option<String>,
    index: &'a mut dyn Index,
    problems: Problems,
    records: u64,
    progress: &'a dyn Progress,
    take: &'a mut dyn FnMut(Question),
}

impl Intake for Collector<'_> {
    fn record(&mut self, spot: &Spot, fields: Fields<Value>) {
        self.records += 1;
        for (spot, fields) in super::nested::unfold(spot, fields, &mut self.problems) {
            let video = self.folder_video.as_deref();
            let unknown = |name: &str, spot: &Spot| self.index.unknown_field(name, spot);
            let question = read_record(fields, &spot, self.prefer, video, &mut self.problems, unknown);
            let Some(question) = question else {
                continue;
            };
            if self.index.add(&question, &spot, &mut self.problems) {
                (self.take)(question);
            }
        }
    }

    fn problem(&mut self, problem: Problem) {
        self.problems.push(problem);
    }

    fn advance(&mut self, bytes: u64) {
        self.progress.advance(bytes);
    }
}
