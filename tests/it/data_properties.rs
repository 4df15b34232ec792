//! Any bytes, and any change of good input: never a panic, every problem with its place, and what loads is valid.
//!
//! `PROPTEST_CASES` lengthens it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use trm::data::{DataError, Problem, QuestionRecord, QuestionSet, TreeSet, load_questions};
use trm::domain::VideoTree;

use crate::data_support::{question_with, tree_with};

/// Rules about a file as a whole: there is no better place to name than the file.
const WHOLE_FILE: [&str; 10] = [
    "file.format",
    "file.empty",
    "parquet.unreadable",
    "tree.shape",
    "tree.missing_field",
    "tree.no_root",
    "tree.no_text",
    "tree.other_video",
    "tree.wrong_type",
    "id.refused",
];

fn assert_placed(problems: &[Problem], file: &Path) {
    for problem in problems {
        assert_eq!(problem.file, file, "{problem:?}");
        assert!(!problem.what.is_empty() && !problem.hint.is_empty(), "{problem:?}");
        assert!(!problem.to_string().chars().any(char::is_control), "{problem:?}");
        let placed = problem.place.line.is_some() || problem.place.record.is_some();
        assert!(placed || WHOLE_FILE.contains(&problem.rule), "no line and no record: {problem:?}");
    }
}

fn assert_reported(error: &DataError, file: &Path) {
    let problems = error.report().unwrap_or_else(|| panic!("no report: {error:?}"));
    assert!(problems.has_errors());
    assert_placed(problems.list(), file);
}

/// Everything that the rest of the program takes for granted, checked in another way than the loader does.
fn assert_valid(set: &QuestionSet) {
    let mut ids = BTreeSet::new();
    let mut pairs: BTreeMap<String, Vec<(String, String)>> = BTreeMap::new();
    for question in &set.questions {
        for id in [question.question_id.as_str(), question.video_id.as_str(), question.task_type.as_str()] {
            assert!(!id.is_empty() && id.len() <= 200 && id.trim() == id, "{id:?}");
            assert!(!id.contains(['/', '\\', '\0']) && id != ".." && !id.chars().any(char::is_control), "{id:?}");
        }
        assert!(ids.insert(question.question_id.as_str().to_owned()), "{} twice", question.question_id);
        assert!(!question.question.trim().is_empty());
        assert!((2..=26).contains(&question.options.len()));
        let letters: String = question.options.iter().map(|choice| choice.letter).collect();
        assert!("ABCDEFGHIJKLMNOPQRSTUVWXYZ".starts_with(&letters), "{letters}");
        assert!(question.options.iter().all(|choice| !choice.text.trim().is_empty()));
        let right = question.answer_text().unwrap();
        assert_eq!(question.options.iter().filter(|choice| choice.text == right).count(), 1, "{question:?}");
        if let Some(pair) = &question.pair_id {
            let member = (question.video_id.to_string(), question.task_type.to_string());
            pairs.entry(pair.to_string()).or_default().push(member);
        }
    }
    for (pair, members) in &pairs {
        assert!(members.len() == 2 && members[0] == members[1] && !ids.contains(pair), "{pair}: {members:?}");
    }
    assert_eq!(set.units.len(), set.questions.len() - pairs.len());
    assert_eq!(set.warnings.errors(), 0);
}

/// Loads bytes as questions; if they load, the set is valid and comes back from its own written form.
fn try_questions(bytes: &[u8]) -> bool {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("q.jsonl");
    fs::write(&path, bytes).unwrap();
    match load_questions(&path) {
        Err(error) => {
            assert_reported(&error, &path);
            false
        }
        Ok(set) => {
            assert_placed(set.warnings.list(), &path);
            assert_valid(&set);
            let written: String = set
                .questions
                .iter()
                .map(|question| format!("{}\n", serde_json::to_string(&QuestionRecord::from(question)).unwrap()))
                .collect();
            fs::write(&path, written).unwrap();
            let again = load_questions(&path).unwrap();
            assert_eq!((&again.questions, again.fingerprint), (&set.questions, set.fingerprint));
            true
        }
    }
}

fn assert_valid_tree(tree: &VideoTree) {
    assert!(tree.duration_seconds > 0.0 && tree.duration_seconds.is_finite());
    let mut parents = BTreeMap::new();
    for (id, node) in &tree.nodes {
        let (start, end) = node.time_range;
        assert!((1..=3).contains(&node.level) && start >= 0.0 && end >= start && end.is_finite());
        for child in &node.children_ids {
            assert_eq!(tree.nodes[child].level, node.level + 1);
            assert!(parents.insert(child, id).is_none(), "{child} has two parents");
        }
        assert!(node.frame.as_ref().is_none_or(|frame| !frame.contains(['/', '\\', '\0'])));
    }
    for (id, node) in &tree.nodes {
        assert_eq!(node.level == 1, !parents.contains_key(id), "{id} is a root or has a parent");
    }
    assert!(!tree.roots().is_empty());
}

fn try_tree(bytes: &[u8]) -> bool {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("v1")).unwrap();
    let path = folder.path().join("v1/tree.json");
    fs::write(&path, bytes).unwrap();
    match TreeSet::new(folder.path()).get(&"v1".parse().unwrap()) {
        Err(error) => {
            assert_reported(&error, &path);
            false
        }
        Ok(stored) => {
            assert_placed(stored.warnings.list(), &path);
            assert_valid_tree(&stored.tree);
            fs::write(&path, serde_json::to_vec(&stored.tree).unwrap()).unwrap();
            let again = TreeSet::new(folder.path()).get(&"v1".parse().unwrap()).unwrap();
            assert_eq!((&again.tree, again.hash), (&stored.tree, stored.hash));
            true
        }
    }
}

/// Texts that have broken readers before.
fn hostile_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,12}",
        Just("A".to_owned()),
        Just("B".to_owned()),
        Just("(B) two".to_owned()),
        Just("A. one".to_owned()),
        Just("q1".to_owned()),
        Just("v1".to_owned()),
        Just(String::new()),
        Just("../x".to_owned()),
        Just("a/b".to_owned()),
        Just("%2F".to_owned()),
        Just("\0".to_owned()),
        Just("\u{85}\u{2028}\u{feff}".to_owned()),
        Just("\u{1b}[2J".to_owned()),
        Just("x".repeat(10_240)),
    ]
}

fn hostile_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        hostile_text().prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 16, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            vec((hostile_text(), inner), 0..4).prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// A change of one field of one record; none removes it.
fn field_change(names: &'static [&'static str]) -> impl Strategy<Value = (usize, &'static str, Option<Value>)> {
    (any::<usize>(), proptest::sample::select(names), proptest::option::weighted(0.85, hostile_value()))
}

/// A change of the written bytes at a place that is a number of thousandths of their length.
#[derive(Debug, Clone)]
enum ByteChange {
    Replace(Vec<u8>),
    Insert(Vec<u8>),
    Cut(usize),
    Tear,
}

fn byte_change() -> impl Strategy<Value = (usize, ByteChange)> {
    let scraps = || {
        prop_oneof![
            vec(any::<u8>(), 1..6),
            proptest::sample::select(vec![
                &b"\xef\xbb\xbf"[..],
                b"\r\n",
                b"\n\n",
                b"\xc2\x85",
                b"\xe2\x80\xa8",
                b"\\ud800",
                b"\"",
                b"{",
                b"}",
                b"[",
                b"]",
                b",",
                b":",
                b"NaN",
                b"1e999",
                b"-1",
                b"null",
                b"\0",
                b"\xff",
            ])
            .prop_map(<[u8]>::to_vec),
        ]
    };
    let change = prop_oneof![
        scraps().prop_map(ByteChange::Replace),
        scraps().prop_map(ByteChange::Insert),
        (1..40_usize).prop_map(ByteChange::Cut),
        Just(ByteChange::Tear),
    ];
    (0..1000_usize, change)
}

fn apply(bytes: &mut Vec<u8>, (share, change): &(usize, ByteChange)) {
    let at = bytes.len() * share / 1000;
    match change {
        ByteChange::Replace(scrap) => {
            let end = (at + scrap.len()).min(bytes.len());
            bytes.splice(at..end, scrap.iter().copied());
        }
        ByteChange::Insert(scrap) => {
            bytes.splice(at..at, scrap.iter().copied());
        }
        ByteChange::Cut(count) => {
            bytes.drain(at..(at + count).min(bytes.len()));
        }
        ByteChange::Tear => bytes.truncate(at),
    }
}

fn set(record: &mut Value, name: &str, value: Option<&Value>) {
    if let Some(fields) = record.as_object_mut() {
        match value {
            Some(value) => fields.insert(name.to_owned(), value.clone()),
            None => fields.remove(name),
        };
    }
}

const QUESTION_FIELDS: &[&str] = &[
    "question_id",
    "video_id",
    "task_type",
    "question",
    "options",
    "answer",
    "pair_id",
    "source_nodes",
    "difficulty",
    "videoID",
    "questions",
    "note",
];
const TREE_FIELDS: &[&str] = &["videoID", "duration_category", "duration_seconds", "domain", "nodes", "note"];
const NODE_FIELDS: &[&str] = &["level", "time_range", "card", "subtitle", "children_ids", "frame", "note"];

fn good_questions() -> Vec<Value> {
    vec![
        question_with("q1", json!({"source_nodes": ["s"]})),
        question_with("q2", json!({"options": ["one", "two", "three"], "answer": "three", "difficulty": "hard"})),
        question_with("q3", json!({"pair_id": "p"})),
        question_with("q4", json!({"pair_id": "p"})),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_no_questions_or_valid_ones(
        start in proptest::sample::select(vec![&b""[..], b"{", b"[", b"[{", b"PAR1", b"\xef\xbb\xbf{", b"\xff\xfe"]),
        bytes in vec(any::<u8>(), 0..400),
    ) {
        try_questions(&[start, &bytes].concat());
    }

    #[test]
    fn any_bytes_are_no_tree_or_a_valid_one(
        start in proptest::sample::select(vec![&b""[..], b"{\"nodes\":", b"[", b"{\"videoID\":\"v1\","]),
        bytes in vec(any::<u8>(), 0..400),
    ) {
        try_tree(&[start, &bytes].concat());
    }

    #[test]
    fn any_change_of_a_field_gives_valid_questions_or_problems(
        changes in vec(field_change(QUESTION_FIELDS), 0..4),
        as_list in any::<bool>(),
    ) {
        let mut records = good_questions();
        for (place, name, value) in &changes {
            let place = place % records.len();
            set(&mut records[place], name, value.as_ref());
        }
        let text = if as_list {
            serde_json::to_string_pretty(&records).unwrap()
        } else {
            records.iter().map(|record| format!("{record}\n")).collect()
        };
        let loaded = try_questions(text.as_bytes());
        prop_assert!(loaded || !changes.is_empty(), "the unchanged questions load");
    }

    #[test]
    fn any_change_of_the_bytes_gives_valid_questions_or_problems(
        changes in vec(byte_change(), 1..4),
        as_list in any::<bool>(),
    ) {
        let mut bytes = if as_list {
            serde_json::to_vec_pretty(&good_questions()).unwrap()
        } else {
            good_questions().iter().map(|record| format!("{record}\n")).collect::<String>().into_bytes()
        };
        changes.iter().for_each(|change| apply(&mut bytes, change));
        try_questions(&bytes);
    }

    #[test]
    fn any_change_of_a_field_gives_a_valid_tree_or_problems(
        top in vec(field_change(TREE_FIELDS), 0..2),
        nodes in vec(field_change(NODE_FIELDS), 0..4),
    ) {
        let mut tree = tree_with("v1", json!({}));
        for (place, name, value) in &nodes {
            let id = ["s", "e", "f"][place % 3];
            set(&mut tree["nodes"][id], name, value.as_ref());
        }
        for (_, name, value) in &top {
            set(&mut tree, name, value.as_ref());
        }
        let loaded = try_tree(tree.to_string().as_bytes());
        prop_assert!(loaded || !(top.is_empty() && nodes.is_empty()), "the unchanged tree loads");
    }

    #[test]
    fn any_change_of_the_bytes_gives_a_valid_tree_or_problems(changes in vec(byte_change(), 1..4)) {
        let mut bytes = serde_json::to_vec_pretty(&tree_with("v1", json!({}))).unwrap();
        changes.iter().for_each(|change| apply(&mut bytes, change));
        try_tree(&bytes);
    }
}
