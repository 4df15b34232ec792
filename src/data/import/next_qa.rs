//! NExT-QA: a table of questions and one caption per second of each video.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use csv::StringRecord;

use super::questions::{StagedQuestions, compare, report_without_tree};
use super::report::{ImportReport, QuestionsOutcome};
use super::stage::{Stage, Target};
use super::trees::StagedTrees;
use crate::data::build::{LevelSizes, TreeSource};
use crate::data::error::DataError;
use crate::data::intake::Progress;
use crate::data::printable::quoted;
use crate::data::problem::{Place, Problem, Problems, Spot};
use crate::data::questions::{RawQuestion, SetCheck, id_problem, normalise};
use crate::data::timed_text::read_into;
use crate::data::trees::TreeSet;
use crate::domain::{ContentHash, Question, TaskType, VideoId};

/// What to import of NExT-QA.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NextQaOptions {
    /// So many questions at most, spread over the task types in proportion; none means all.
    pub limit: Option<usize>,
    /// Only questions of these types; empty means all. See [`next_qa_type`].
    pub types: BTreeSet<TaskType>,
    /// The folder of captions, if it is not `caps` beside the table.
    pub captions: Option<PathBuf>,
    /// How videos are cut into scenes and events.
    pub sizes: LevelSizes,
}

/// The codes of NExT-QA and the task types they become.
pub const NEXT_QA_TYPES: [(&str, &str); 8] = [
    ("CW", "Causal Why"),
    ("CH", "Causal How"),
    ("TN", "Temporal Next"),
    ("TC", "Temporal Current"),
    ("TP", "Temporal Previous"),
    ("DO", "Descriptive Other"),
    ("DL", "Descriptive Location"),
    ("DC", "Descriptive Count"),
];

/// Imports questions and captions: `source` is the table (`val.csv`) or the folder that holds it.
///
/// With a limit or types, only the videos of the chosen questions get a tree; the choice depends on the questions'
/// content alone, so it is the same everywhere.
///
/// # Errors
/// As [`super::import_questions`].
pub fn import_next_qa(
    source: &Path,
    options: &NextQaOptions,
    target: &Target,
    progress: &dyn Progress,
) -> Result<ImportReport, DataError> {
    let mut problems = Problems::default();
    let table = find_table(source)?;
    let questions = choose(read_table(&table, &mut problems)?, &options.types, options.limit);
    let captions_dir = options.captions.clone().unwrap_or_else(|| super::stage::parent_of(&table).join("caps"));
    let all = options.limit.is_none() && options.types.is_empty();
    let captions = find_captions(&captions_dir, &questions, all, &mut problems)?;

    let mut trees = StagedTrees::new(Stage::begin(target)?);
    progress.expect(captions.len() as u64);
    for (video_id, path) in captions {
        let source = TreeSource {
            video_id,
            captions: read_into(&path, &mut problems)?,
            subtitles: Vec::new(),
            duration: None,
            domain: None,
        };
        super::build::add_built(&source, &options.sizes, &Spot::whole(&path), &mut trees, &mut problems)?;
        progress.advance(1);
    }
    let mut check = SetCheck::default();
    let mut staged = StagedQuestions::begin(trees.stage())?;
    for (question, spot) in &questions {
        if check.add(question, spot, &mut problems) {
            staged.add(question);
        }
    }
    staged.finish()?;
    let facts = check.finish(&mut problems);
    if problems.has_errors() {
        return Err(DataError::invalid(source, problems));
    }
    let present = TreeSet::new(&target.videos_dir);
    let has_tree = |video: &VideoId| trees.contains(video) || present.contains(video);
    let without_tree = report_without_tree(&facts.videos, has_tree, &table, &mut problems);
    let questions = compare(facts, target)?;
    let (stage, report) = trees.finish();
    let new_questions = questions.outcome != QuestionsOutcome::Unchanged;
    let changed = new_questions || report.new + report.changed > 0;
    stage.publish(new_questions, questions.kept_as())?;
    Ok(ImportReport { changed, questions: Some(questions), trees: Some(report), without_tree, problems })
}

/// The task type of a code (`CW`) or a name (`Causal Why`), in any case; none if there is no such type.
#[must_use]
pub fn next_qa_type(text: &str) -> Option<TaskType> {
    let text = text.trim();
    let known =
        NEXT_QA_TYPES.iter().find(|(code, name)| code.eq_ignore_ascii_case(text) || name.eq_ignore_ascii_case(text));
    known.and_then(|(_, name)| TaskType::new(*name).ok())
}

fn find_table(source: &Path) -> Result<PathBuf, DataError> {
    let metadata = fs::metadata(source).map_err(|error| DataError::reading(source, error))?;
    if metadata.is_file() {
        return Ok(source.to_path_buf());
    }
    for name in ["val.csv", "test.csv", "train.csv"] {
        if source.join(name).is_file() {
            return Ok(source.join(name));
        }
    }
    Err(DataError::WrongKind {
        path: source.to_path_buf(),
        what: "there is no val.csv, test.csv or train.csv in it",
        hint: "name the table of NExT-QA's multiple-choice questions, or its folder",
    })
}

fn codes() -> String {
    NEXT_QA_TYPES.iter().map(|(code, name)| format!("{code} ({name})")).collect::<Vec<_>>().join(", ")
}

/// Where the columns are.
struct Columns {
    video: usize,
    question: usize,
    answer: usize,
    qid: usize,
    kind: usize,
    options: Vec<usize>,
}

impl Columns {
    fn find(header: &StringRecord) -> Result<Self, Vec<&'static str>> {
        let place = |name: &str| header.iter().position(|column| column.trim().eq_ignore_ascii_case(name));
        let mut missing = Vec::new();
        let mut need = |name: &'static str| {
            place(name).unwrap_or_else(|| {
                missing.push(name);
                0
            })
        };
        let columns = Self {
            video: need("video"),
            question: need("question"),
            answer: need("answer"),
            qid: need("qid"),
            kind: need("type"),
            options: ["a0", "a1", "a2", "a3", "a4"].into_iter().map(need).collect(),
        };
        if missing.is_empty() { Ok(columns) } else { Err(missing) }
    }
}

fn read_table(table: &Path, problems: &mut Problems) -> Result<Vec<(Question, Spot)>, DataError> {
    let file = fs::File::open(table).map_err(|error| DataError::reading(table, error))?;
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(std::io::BufReader::new(file));
    let spot = Spot::whole(table);
    let columns = match reader.headers().map(Columns::find) {
        Ok(Ok(columns)) => columns,
        Ok(Err(missing)) => {
            let what = format!("the table has no column {}", missing.join(", "));
            let hint = "take dataset/nextqa/val.csv of NExT-QA: the multiple-choice questions, with a header";
            problems.push(Problem::error("next_qa.columns", &spot.with(Place::line(1)), what, hint));
            return Ok(Vec::new());
        }
        Err(error) => {
            problems.push(Problem::error("csv.row", &spot.with(Place::line(1)), error, "correct this row"));
            return Ok(Vec::new());
        }
    };
    let mut questions = Vec::new();
    for row in reader.records() {
        match row {
            Ok(row) => {
                let line = row.position().map(csv::Position::line);
                let spot = spot.with(Place { line, ..Place::whole() });
                questions.extend(read_row(&row, &columns, &spot, problems).map(|question| (question, spot)));
            }
            Err(error) if error.is_io_error() => return Err(DataError::reading(table, std::io::Error::other(error))),
            Err(error) => problems.push(Problem::error("csv.row", &spot, error, "correct this row")),
        }
    }
    Ok(questions)
}

fn read_row(row: &StringRecord, columns: &Columns, spot: &Spot, problems: &mut Problems) -> Option<Question> {
    let cell = |column: usize| row.get(column).unwrap_or_default().trim();
    let kind = cell(columns.kind);
    let found = next_qa_type(kind);
    if found.is_none() {
        let what = format!("{} is no type of NExT-QA", quoted(kind));
        problems.push(Problem::error("next_qa.type", &spot.at("type"), what, format!("use one of {}", codes())));
    }
    let answer = cell(columns.answer);
    let letter = ["A", "B", "C", "D", "E"].iter().zip(0..).find(|(_, place)| answer.parse() == Ok(*place));
    if letter.is_none() {
        let what = format!("the answer {} is not 0, 1, 2, 3 or 4", quoted(answer));
        problems.push(Problem::error(
            "next_qa.answer",
            &spot.at("answer"),
            what,
            "write the number of the right option",
        ));
    }
    let options: Vec<String> = columns.options.iter().map(|column| cell(*column).to_owned()).collect();
    let (letter, found) = (letter?.0, found?);
    let raw = RawQuestion {
        question_id: Some(format!("{}_{}", cell(columns.video), cell(columns.qid))),
        video_id: Some(cell(columns.video).to_owned()),
        task_type: Some(found.to_string()),
        question: Some(cell(columns.question).to_owned()),
        options: Some(options),
        answer: Some((*letter).to_owned()),
        ..RawQuestion::default()
    };
    normalise(raw, spot, problems)
}

/// Those of the wanted types, and of these so many as the limit allows: from each type in proportion to its size
/// (largest remainder), within a type by the hash of the question's id.
fn choose(
    mut questions: Vec<(Question, Spot)>,
    wanted: &BTreeSet<TaskType>,
    limit: Option<usize>,
) -> Vec<(Question, Spot)> {
    questions.retain(|(question, _)| wanted.is_empty() || wanted.contains(&question.task_type));
    let Some(limit) = limit.filter(|limit| *limit < questions.len()) else {
        return questions;
    };
    let mut types: BTreeMap<&TaskType, Vec<(ContentHash, usize)>> = BTreeMap::new();
    for (place, (question, _)) in questions.iter().enumerate() {
        let key = ContentHash::of(question.question_id.as_str());
        types.entry(&question.task_type).or_default().push((key, place));
    }
    let mut types: Vec<Vec<(ContentHash, usize)>> = types.into_values().collect();
    let total = questions.len();
    let given: usize = types.iter().map(|members| members.len() * limit / total).sum();
    types.sort_by_key(|members| std::cmp::Reverse(members.len() * limit % total));
    let mut chosen = BTreeSet::new();
    for (rank, mut members) in types.into_iter().enumerate() {
        members.sort_unstable();
        let share = members.len() * limit / total + usize::from(rank < limit - given);
        chosen.extend(members.iter().take(share).map(|(_, place)| *place));
    }
    let mut place = 0;
    questions.retain(|_| {
        place += 1;
        chosen.contains(&(place - 1))
    });
    questions
}

/// The caption files to make trees of, by video: all there are, or those of the chosen questions.
fn find_captions(
    folder: &Path,
    questions: &[(Question, Spot)],
    all: bool,
    problems: &mut Problems,
) -> Result<BTreeMap<VideoId, PathBuf>, DataError> {
    let reading = |error| DataError::reading(folder, error);
    let wanted: BTreeSet<&VideoId> = questions.iter().map(|(question, _)| &question.video_id).collect();
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(reading)? {
        let path = entry.map_err(reading)?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()).and_then(|name| name.strip_suffix(".json"))
        else {
            continue;
        };
        match VideoId::new(name.strip_suffix("_cap").unwrap_or(name)) {
            Ok(video) if all || wanted.contains(&video) => {
                found.insert(video, path);
            }
            Ok(_) => {}
            Err(error) => problems.push(id_problem(&error, &Spot::whole(&path))),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn questions(counts: &[(&str, usize)]) -> Vec<(Question, Spot)> {
        let mut questions = Vec::new();
        for (name, count) in counts {
            for number in 0..*count {
                let raw = RawQuestion {
                    question_id: Some(format!("{name}{number}")),
                    video_id: Some("v".into()),
                    task_type: Some((*name).to_owned()),
                    question: Some("?".into()),
                    options: Some(vec!["x".into(), "y".into()]),
                    answer: Some("A".into()),
                    ..RawQuestion::default()
                };
                let spot = Spot::whole("f");
                questions.push((normalise(raw, &spot, &mut Problems::default()).unwrap(), spot));
            }
        }
        questions
    }

    fn ids(questions: &[(Question, Spot)]) -> Vec<String> {
        questions.iter().map(|(question, _)| question.question_id.to_string()).collect()
    }

    #[test]
    fn a_limit_takes_from_every_type_in_proportion() {
        let chosen = choose(questions(&[("S", 50), ("T", 30), ("U", 7)]), &BTreeSet::new(), Some(10));
        let count = |name: &str| ids(&chosen).iter().filter(|id| id.starts_with(name)).count();
        assert_eq!((count("S"), count("T"), count("U")), (6, 3, 1));
        assert_eq!(choose(questions(&[("S", 5)]), &BTreeSet::new(), Some(9)).len(), 5);
        assert_eq!(choose(questions(&[("S", 5)]), &BTreeSet::new(), Some(0)).len(), 0);
    }

    #[test]
    fn the_choice_does_not_depend_on_the_order_of_the_table() {
        let all = questions(&[("S", 50), ("T", 30)]);
        let mut turned = all.clone();
        turned.reverse();
        let mut one = ids(&choose(all, &BTreeSet::new(), Some(13)));
        let mut other = ids(&choose(turned, &BTreeSet::new(), Some(13)));
        one.sort_unstable();
        other.sort_unstable();
        assert_eq!((one.len(), &one), (13, &other));
    }

    #[test]
    fn codes_and_names_are_understood() {
        assert_eq!(next_qa_type("cw").unwrap().as_str(), "Causal Why");
        assert_eq!(next_qa_type("Descriptive count").unwrap().as_str(), "Descriptive Count");
        assert_eq!(next_qa_type("XX"), None);
    }
}
