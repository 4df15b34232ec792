//! From what a file says to a [`Question`]: letters taken off, the answer found, every rule of design 02 checked.

use std::collections::BTreeMap;

use super::option_text::{Prefixes, letter, prefixes, split_letter};
use crate::data::printable::quoted;
use crate::data::problem::{Problem, Problems, Spot};
use crate::domain::{Choice, IdError, Question, TaskType};

/// What a record says, before it is checked. An absent required field was reported already.
#[derive(Debug, Default)]
pub(in crate::data) struct RawQuestion {
    pub(in crate::data) question_id: Option<String>,
    pub(in crate::data) video_id: Option<String>,
    pub(in crate::data) task_type: Option<String>,
    pub(in crate::data) question: Option<String>,
    pub(in crate::data) options: Option<Vec<String>>,
    pub(in crate::data) answer: Option<String>,
    pub(in crate::data) pair_id: Option<String>,
    pub(in crate::data) source_nodes: Vec<String>,
    pub(in crate::data) difficulty: Option<String>,
}

/// Checks everything and gives the question; none if anything required is absent or wrong, which is reported.
pub(in crate::data) fn normalise(raw: RawQuestion, spot: &Spot, problems: &mut Problems) -> Option<Question> {
    let before = problems.errors();
    let question_id = raw.question_id.as_deref().and_then(|text| id(text, "question_id", spot, problems));
    let video_id = raw.video_id.as_deref().and_then(|text| id(text, "video_id", spot, problems));
    let task_type = raw.task_type.as_deref().and_then(|text| task_type(text, spot, problems));
    let question = raw.question.as_deref().and_then(|text| question_text(text, spot, problems));
    let pair_id = raw.pair_id.as_deref().and_then(|text| id(text, "pair_id", spot, problems));
    let mut source_nodes = Vec::with_capacity(raw.source_nodes.len());
    for (index, node) in raw.source_nodes.iter().enumerate() {
        let spot = spot.at("source_nodes");
        source_nodes.extend(id(node, &index.to_string(), &spot, problems));
    }
    let texts = raw.options.as_deref().and_then(|options| option_texts(options, spot, problems));
    let answer = match (&texts, raw.options.as_deref(), raw.answer.as_deref()) {
        (Some(texts), Some(written), Some(answer)) => find_answer(answer, texts, written, spot, problems),
        _ => None,
    };
    if let (Some(texts), Some(answer)) = (&texts, answer) {
        report_repeated(texts, answer, spot, problems);
    }
    let options = texts?
        .into_iter()
        .enumerate()
        .filter_map(|(place, text)| letter(place).map(|letter| Choice { letter, text }))
        .collect();
    let normalised = Question {
        question_id: question_id?,
        video_id: video_id?,
        task_type: task_type?,
        question: question?,
        options,
        answer: answer.and_then(letter)?,
        pair_id,
        source_nodes,
        difficulty: raw.difficulty.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
    };
    (problems.errors() == before).then_some(normalised)
}

fn id<T: std::str::FromStr<Err = IdError>>(text: &str, field: &str, spot: &Spot, problems: &mut Problems) -> Option<T> {
    match text.parse() {
        Ok(id) => Some(id),
        Err(error) => {
            problems.push(id_problem(&error, &spot.at(field)));
            None
        }
    }
}

/// What is wrong with an id, as a problem.
pub(in crate::data) fn id_problem(error: &IdError, spot: &Spot) -> Problem {
    let what = match error {
        IdError::Empty => "the id is empty".to_owned(),
        IdError::TooLong(bytes) => format!("the id has {bytes} bytes"),
        IdError::Forbidden { id, what } => format!("the id {} contains {what}", quoted(id)),
        IdError::Form { id, kind, expected } => format!("{} is not {kind}: {expected} expected", quoted(id)),
    };
    let hint =
        "ids become names of files: use 1 to 200 bytes without '/', '\\', control characters or spaces at the ends";
    Problem::error("id.refused", spot, what, hint)
}

fn task_type(text: &str, spot: &Spot, problems: &mut Problems) -> Option<TaskType> {
    let found: TaskType = id(text, "task_type", spot, problems)?;
    if found.slug() == "default-strategy" {
        problems.push(Problem::error(
            "question.task_type_reserved",
            &spot.at("task_type"),
            format!("the task type {} would share the file of the fallback skill", quoted(found.as_str())),
            "give the task type another name",
        ));
        return None;
    }
    Some(found)
}

fn question_text(text: &str, spot: &Spot, problems: &mut Problems) -> Option<String> {
    if text.trim().is_empty() {
        problems.push(Problem::error(
            "question.empty",
            &spot.at("question"),
            "the question has no text",
            "write the question, or remove the record",
        ));
        return None;
    }
    Some(text.trim().to_owned())
}

/// The texts of the options without their letters.
fn option_texts(options: &[String], spot: &Spot, problems: &mut Problems) -> Option<Vec<String>> {
    let place = spot.at("options");
    if !(2..=26).contains(&options.len()) {
        problems.push(Problem::error(
            "question.option_count",
            &place,
            match options.len() {
                1 => "there is 1 option".to_owned(),
                count => format!("there are {count} options"),
            },
            "give 2 to 26 options",
        ));
        return None;
    }
    let whole = || options.iter().map(|option| option.trim().to_owned()).collect();
    let texts: Vec<String> = match prefixes(options) {
        Prefixes::All(texts) => texts,
        Prefixes::None => whole(),
        Prefixes::Some(count) => {
            problems.push(Problem::warning(
                "question.option_letters",
                &place,
                format!("{count} of {} options begin with their letter: taken as part of the text", options.len()),
                "give all options their letter, or none",
            ));
            whole()
        }
        Prefixes::Shuffled => {
            problems.push(Problem::error(
                "question.option_letters",
                &place,
                "the options carry letters that are not in order",
                "sort the options by their letter",
            ));
            return None;
        }
    };
    let mut complete = true;
    for (index, _) in texts.iter().enumerate().filter(|(_, text)| text.is_empty()) {
        complete = false;
        problems.push(Problem::error(
            "question.option_empty",
            &place.at(&index.to_string()),
            "the option has no text",
            "write its text, or remove it",
        ));
    }
    complete.then_some(texts)
}

/// The position of the right option.
///
/// A letter counts as a letter even where an option's text is a letter too; then both readings are told.
fn find_answer(
    answer: &str,
    texts: &[String],
    written: &[String],
    spot: &Spot,
    problems: &mut Problems,
) -> Option<usize> {
    let spot = spot.at("answer");
    let answer = answer.trim();
    let same: Vec<usize> = (0..texts.len())
        .filter(|place| {
            texts.get(*place).is_some_and(|text| text == answer)
                || written.get(*place).is_some_and(|option| option.trim() == answer)
        })
        .collect();
    let by_letter =
        answer_letter(answer).and_then(|found| (0..texts.len()).find(|place| letter(*place) == Some(found)));
    match (by_letter, same.as_slice()) {
        (Some(place), []) => Some(place),
        (Some(place), same) => {
            if same != [place] {
                problems.push(Problem::warning(
                    "question.answer_two_readings",
                    &spot,
                    format!(
                        "the answer {} is a letter and the text of another option: read as the letter",
                        quoted(answer)
                    ),
                    "write the answer as a letter, and the options with their letters",
                ));
            }
            Some(place)
        }
        (None, [place]) => Some(*place),
        (None, []) => {
            problems.push(Problem::error(
                "question.answer_unknown",
                &spot,
                format!("the answer {} is no letter from A to {} and no option's text", quoted(answer), last(texts)),
                "write the letter of the right option",
            ));
            None
        }
        (None, several) => {
            problems.push(Problem::error(
                "question.answer_ambiguous",
                &spot,
                format!("the answer {} is the text of {} options", quoted(answer), several.len()),
                "write the letter of the right option, and make the options differ",
            ));
            None
        }
    }
}

fn last(texts: &[String]) -> char {
    letter(texts.len().saturating_sub(1)).unwrap_or('Z')
}

/// `B`, `b`, `B.`, `(B)` and the like as the letter; none for anything longer.
fn answer_letter(answer: &str) -> Option<char> {
    let mut characters = answer.chars();
    match (characters.next(), characters.next()) {
        (Some(found), None) if found.is_ascii_alphabetic() => Some(found.to_ascii_uppercase()),
        _ => split_letter(answer).filter(|(_, rest)| rest.trim().is_empty()).map(|(found, _)| found),
    }
}

/// Two options of the same text: the question cannot be judged if one of them is the key.
fn report_repeated(texts: &[String], answer: usize, spot: &Spot, problems: &mut Problems) {
    let mut places: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, text) in texts.iter().enumerate() {
        places.entry(text).or_default().push(place);
    }
    for (text, places) in places.into_iter().filter(|(_, places)| places.len() > 1) {
        let letters: Vec<String> = places.iter().filter_map(|place| letter(*place)).map(String::from).collect();
        let what = format!("options {} have the same text {}", letters.join(" and "), quoted(text));
        if places.contains(&answer) {
            let hint = "the right answer is one of them: make the options differ, or remove the question";
            problems.push(Problem::error("question.option_repeated", &spot.at("options"), what, hint));
        } else {
            let hint = "the right answer is another one, so the question still works; make the options differ";
            problems.push(Problem::warning("question.option_repeated", &spot.at("options"), what, hint));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::problem::Severity;

    fn raw(options: &[&str], answer: &str) -> RawQuestion {
        RawQuestion {
            question_id: Some("q".into()),
            video_id: Some("v".into()),
            task_type: Some("T".into()),
            question: Some(" What? ".into()),
            options: Some(options.iter().map(|option| (*option).to_owned()).collect()),
            answer: Some(answer.into()),
            ..RawQuestion::default()
        }
    }

    fn read(raw: RawQuestion) -> (Option<Question>, Vec<(Severity, &'static str)>) {
        let mut problems = Problems::default();
        let question = normalise(raw, &Spot::whole("f"), &mut problems);
        (question, problems.list().iter().map(|problem| (problem.severity, problem.rule)).collect())
    }

    #[track_caller]
    fn answer_of(options: &[&str], answer: &str) -> char {
        let (question, problems) = read(raw(options, answer));
        assert_eq!(problems, []);
        question.unwrap().answer
    }

    #[track_caller]
    fn refused(raw: RawQuestion, rule: &'static str) {
        let (question, problems) = read(raw);
        assert_eq!((question, problems), (None, vec![(Severity::Error, rule)]));
    }

    #[test]
    fn an_answer_is_a_letter_or_exactly_one_options_text() {
        assert_eq!(answer_of(&["A. red", "B. blue"], "B"), 'B');
        assert_eq!(answer_of(&["A. red", "B. blue"], "b"), 'B');
        assert_eq!(answer_of(&["red", "blue"], "(B)"), 'B');
        assert_eq!(answer_of(&["red", "blue"], " blue "), 'B');
        assert_eq!(answer_of(&["A. red", "B. blue"], "blue"), 'B');
        assert_eq!(answer_of(&["A. red", "B. blue"], "B. blue"), 'B');
    }

    #[test]
    fn an_answer_that_is_no_option_is_refused() {
        refused(raw(&["red", "blue"], "C"), "question.answer_unknown");
        refused(raw(&["red", "blue"], "green"), "question.answer_unknown");
        refused(raw(&["red", "blue"], ""), "question.answer_unknown");
        refused(raw(&["red", "blue"], "Blue"), "question.answer_unknown");
    }

    #[test]
    fn a_letter_that_is_also_a_text_is_read_as_a_letter_and_told() {
        let (question, problems) = read(raw(&["B", "A"], "A"));
        assert_eq!(question.unwrap().answer, 'A');
        assert_eq!(problems, [(Severity::Warning, "question.answer_two_readings")]);
        assert_eq!(answer_of(&["A", "B"], "B"), 'B');
    }

    #[test]
    fn repeated_options_are_refused_only_where_the_key_is_one_of_them() {
        let (question, problems) = read(raw(&["red", "red", "blue"], "C"));
        assert!(question.is_some());
        assert_eq!(problems, [(Severity::Warning, "question.option_repeated")]);
        refused(raw(&["red", "red", "blue"], "A"), "question.option_repeated");
        let (_, problems) = read(raw(&["red", "red", "blue"], "red"));
        assert_eq!(problems, [(Severity::Error, "question.answer_ambiguous")]);
    }

    #[test]
    fn two_to_twenty_six_options_are_allowed() {
        let many: Vec<String> = (0..27).map(|number| format!("option {number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        refused(raw(&["only"], "A"), "question.option_count");
        refused(raw(&[], "A"), "question.option_count");
        refused(raw(&many, "A"), "question.option_count");
        assert_eq!(answer_of(&many[..26], "Z"), 'Z');
    }

    #[test]
    fn empty_options_are_refused_wherever_the_letter_stands() {
        refused(raw(&["red", "  "], "A"), "question.option_empty");
        refused(raw(&["A. red", "B. "], "A"), "question.option_empty");
    }

    #[test]
    fn every_wrong_field_of_a_record_is_reported() {
        let mut record = raw(&["x"], "Q");
        record.question_id = Some("a/b".into());
        record.video_id = Some("../x".into());
        record.task_type = Some("Default Strategy".into());
        record.question = Some("\n".into());
        record.pair_id = Some("x".repeat(10_240));
        record.source_nodes = vec!["ok".into(), "n\0".into()];
        let (question, problems) = read(record);
        let rules: Vec<_> = problems.iter().map(|(_, rule)| *rule).collect();
        assert_eq!(question, None);
        let expected = [
            "id.refused",
            "id.refused",
            "question.task_type_reserved",
            "question.empty",
            "id.refused",
            "id.refused",
            "question.option_count",
        ];
        assert_eq!(rules, expected);
    }
}
