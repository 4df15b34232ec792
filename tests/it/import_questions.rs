//! Questions in: every format, every rule, every kind of damage.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::data_support::{lines, load, question, question_with};

/// Loads these bytes as a file of this name.
fn load_as(name: &str, bytes: impl AsRef<[u8]>) -> (Option<usize>, Vec<String>) {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::write(&path, bytes).unwrap();
    load(&path)
}

#[track_caller]
fn accepted(bytes: impl AsRef<[u8]>, count: usize, warnings: &[&str]) {
    assert_eq!(load_as("questions.jsonl", bytes), (Some(count), strings(warnings)));
}

#[track_caller]
fn refused(bytes: impl AsRef<[u8]>, problems: &[&str]) {
    assert_eq!(load_as("questions.jsonl", bytes), (None, strings(problems)));
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn lines_survive_marks_line_ends_and_blank_lines() {
    let text = format!("\u{feff}{}\r\n\r\n   \n{}\n\n", question("q1"), question("q2"));
    accepted(text, 2, &[]);
    accepted(question("q1").to_string(), 1, &[]);
}

#[test]
fn exotic_line_ends_inside_a_text_do_not_split_it() {
    accepted(lines(&[question_with("q1", json!({"question": "a\u{85}b\u{2028}c\u{2029}d\u{b}e?"}))]), 1, &[]);
}

#[test]
fn every_bad_line_is_reported_and_the_good_ones_still_checked() {
    let text = [
        question("q1").to_string(),
        "{\"question_id\": \"q2\", ".to_owned(),
        "[1, 2]".to_owned(),
        question_with("q4", json!({"answer": "Q"})).to_string(),
        question_with("q5", json!({"question": "", "task_type": null})).to_string(),
        "{\"question_id\": \"q6\", \"vid".to_owned(),
    ]
    .join("\n");
    refused(
        text,
        &[
            "error json.syntax line 2",
            "error record.wrong_type line 3",
            "error question.answer_unknown line 4, /answer",
            "error record.missing_field line 5",
            "error question.empty line 5, /question",
            "error json.syntax line 6",
        ],
    );
}

#[test]
fn duplicate_ids_are_kept_once_if_equal_and_refused_if_not() {
    accepted(
        lines(&[question("q1"), question_with("q1", json!({"options": ["one", "two"]}))]),
        1,
        &["warning question.duplicate_equal line 2, /question_id"],
    );
    refused(
        lines(&[question("q1"), question_with("q1", json!({"answer": "A"}))]),
        &["error question.duplicate line 2, /question_id"],
    );
}

#[test]
fn pairs_are_two_questions_of_one_type_and_one_video() {
    let member = |id: &str, pair: &str| question_with(id, json!({"pair_id": pair}));
    accepted(lines(&[member("q1", "p"), member("q2", "p"), question("q3")]), 3, &[]);
    refused(lines(&[member("q1", "p")]), &["error pair.size line 1, /pair_id"]);
    refused(lines(&[member("q1", "p"), member("q2", "p"), member("q3", "p")]), &["error pair.size line 1, /pair_id"]);
    refused(
        lines(&[
            member("q1", "p"),
            question_with("q2", json!({"pair_id": "p", "video_id": "v2", "task_type": "Other"})),
        ]),
        &["error pair.differs line 1, /pair_id", "error pair.differs line 1, /pair_id"],
    );
    refused(
        lines(&[member("q1", "q3"), member("q2", "q3"), question("q3")]),
        &["error pair.named_like_question line 1, /pair_id"],
    );
}

#[test]
fn ids_that_could_act_as_paths_are_refused() {
    for id in ["a/b", "../x", "x%2Fy", "..", "nul\0", "esc\u{1b}[2J", &"x".repeat(10_240), "", " "] {
        let record = question_with("q1", json!({"video_id": id}));
        refused(lines(&[record]), &["error id.refused line 1, /video_id"]);
        refused(lines(&[question_with(id, json!({}))]), &["error id.refused line 1, /question_id"]);
    }
}

#[test]
fn half_characters_and_wrong_encodings_are_refused() {
    let escaped = question("q1").to_string().replace("What happens?", "\\ud800");
    refused(escaped, &["error json.syntax line 1"]);
    let mut bytes = question("q1").to_string().into_bytes();
    let place = bytes.windows(4).position(|window| window == b"What").unwrap();
    bytes[place] = 0xff;
    refused(bytes, &["error json.syntax line 1"]);
    refused(b"\xff\xfe{\0}\0", &["error file.format"]);
}

#[test]
fn wrong_types_are_named_field_by_field() {
    let record = json!({
        "question_id": 7, "video_id": ["v"], "task_type": {}, "question": true, "options": "A. one", "answer": 1,
        "pair_id": 3, "source_nodes": [1, "n", null], "difficulty": [],
    });
    refused(
        lines(&[record]),
        &[
            "error record.wrong_type line 1, /question_id",
            "error record.wrong_type line 1, /video_id",
            "error record.wrong_type line 1, /task_type",
            "error record.wrong_type line 1, /question",
            "error record.wrong_type line 1, /options",
            "error record.wrong_type line 1, /answer",
            "error record.wrong_type line 1, /pair_id",
            "error record.wrong_type line 1, /source_nodes/0",
            "error record.wrong_type line 1, /source_nodes/2",
            "error record.wrong_type line 1, /difficulty",
        ],
    );
}

#[test]
fn a_key_that_stands_twice_is_refused() {
    let text = question("q1").to_string().replace("{\"answer\":\"B\"", "{\"answer\":\"A\",\"answer\":\"B\"");
    refused(text, &["error json.repeated_key line 1, /answer"]);
}

#[test]
fn unknown_fields_are_told_once_with_their_count() {
    let record = |id: &str| question_with(id, json!({"anwser": "x", "url": "known and unused"}));
    accepted(lines(&[record("q1"), record("q2")]), 2, &["warning record.unknown_field line 1, /anwser"]);
}

#[test]
fn task_types_that_share_a_skill_file_are_refused() {
    refused(
        lines(&[question("q1"), question_with("q2", json!({"task_type": "action reasoning"}))]),
        &["error question.task_types_share_file line 2, /task_type"],
    );
}

#[test]
fn empty_and_foreign_files_are_refused_as_such() {
    refused("", &["error file.format"]);
    refused("\n \n", &["error file.format"]);
    refused("[]", &["error file.empty"]);
    refused(b"\x1f\x8b\x08\0", &["error file.format"]);
    refused("{\n  \"questions\": []\n}\n", &["error record.not_lines line 1"]);
    refused("PAR1 but nothing else", &["error parquet.unreadable"]);
}

#[test]
fn folders_and_missing_files_are_told_apart() {
    let folder = TempDir::new().unwrap();
    let missing = folder.path().join("none.jsonl");
    assert!(load(&missing).1[0].contains("does not exist"));
    assert!(load(folder.path()).1[0].contains("holds no .json"));
    #[cfg(unix)]
    assert!(load(Path::new("/dev/null")).1[0].contains("neither a file nor a folder"));
}

#[test]
fn deep_nesting_is_an_error_and_no_stack_overflow() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let record = question("q1").to_string().replace("\"What happens?\"", &deep);
    refused(&record, &["error json.syntax line 1"]);
    refused(format!("[{record}]"), &["error json.syntax record 1, line 1"]);
    refused(&deep, &["error record.wrong_type record 1, line 1"]);
}

#[test]
fn a_list_is_read_element_by_element_with_record_and_line() {
    let list = format!(
        "\u{feff}[\n{},\n3,\n{},\n\n{}]\n",
        question("q1"),
        question_with("q2", json!({"answer": "Z"})),
        question("q3")
    );
    assert_eq!(
        load_as("q.json", list),
        (
            None,
            strings(&[
                "error record.wrong_type record 2, line 3",
                "error question.answer_unknown record 3, line 4, /answer"
            ])
        )
    );
    let good = serde_json::to_string_pretty(&[question("q1"), question("q2")]).unwrap();
    assert_eq!(load_as("q.json", &good), (Some(2), vec![]));
    assert_eq!(load_as("q.json", format!("{good} x")), (None, strings(&["error json.syntax record 2, line 24"])));
    let torn: String = good.chars().take(good.len() - 40).collect();
    let (none, problems) = load_as("q.json", torn);
    assert!(none.is_none() && problems[0].starts_with("error json.syntax record 2"), "{problems:?}");
}

#[test]
fn a_folder_of_lists_names_its_videos() {
    let folder = TempDir::new().unwrap();
    let unnamed = |id: &str| question_with(id, json!({"video_id": null}));
    fs::write(folder.path().join("v1.json"), Value::from(vec![unnamed("q1"), unnamed("q2")]).to_string()).unwrap();
    fs::write(folder.path().join("v2.json"), Value::from(vec![unnamed("q3")]).to_string()).unwrap();
    fs::write(folder.path().join("README.txt"), "not a question").unwrap();
    let set = trm::data::load_questions(folder.path()).unwrap();
    let videos: Vec<_> = set.videos().into_iter().map(|(video, count)| (video.to_string(), count)).collect();
    assert_eq!(videos, [("v1".to_owned(), 2), ("v2".to_owned(), 1)]);
    fs::write(folder.path().join("v3.json"), Value::from(vec![question("q1")]).to_string()).unwrap();
    fs::write(folder.path().join("v4.json"), "[").unwrap();
    let (none, problems) = load(folder.path());
    let expected = ["warning question.duplicate_equal record 1, line 1, /question_id", "error json.syntax line 1"];
    assert_eq!((none, problems), (None, strings(&expected)));
}

#[test]
fn the_fingerprint_depends_on_content_and_not_on_order_or_writing() {
    let folder = TempDir::new().unwrap();
    let fingerprint = |name: &str, text: String| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        trm::data::load_questions(&path).unwrap()
    };
    let first = fingerprint("a.jsonl", lines(&[question("q1"), question("q2")]));
    let again = fingerprint(
        "b.json",
        json!([question_with("q2", json!({"options": ["one", "(B) two"], "answer": "(B) two"})), question("q1")])
            .to_string()
            .replace("\"one\"", "\"(A) one\""),
    );
    let other = fingerprint("c.jsonl", lines(&[question("q1"), question_with("q2", json!({"answer": "A"}))]));
    assert_eq!((first.fingerprint, &first.questions), (again.fingerprint, &again.questions));
    assert_ne!(first.fingerprint, other.fingerprint);
}
