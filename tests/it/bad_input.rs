//! Every named kind of bad input through the command line: refused with file, place and hint, and nothing is imported half.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::config_canary::all_files;
use crate::data_support::{lines, question, question_with, tree, tree_with};
use crate::support::trm;

/// The files of a workspace with their content; the store changes its bytes by being opened.
fn state(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = all_files(folder).into_iter().filter(|path| path.extension().is_none_or(|end| end != "redb"));
    files.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect()
}

/// A workspace that has a question and a tree already, and a place for sources beside it.
fn desk() -> TempDir {
    let desk = TempDir::new().unwrap();
    trm().arg("init").arg(desk.path().join("demo")).assert().success();
    fs::write(desk.path().join("q.jsonl"), lines(&[question("before")])).unwrap();
    fs::create_dir_all(desk.path().join("trees/v1")).unwrap();
    fs::write(desk.path().join("trees/v1/tree.json"), tree("v1").to_string()).unwrap();
    let import = |what: &str, path: &str| {
        trm().current_dir(desk.path()).args(["-C", "demo", "import", what, path]).assert().success();
    };
    import("trees", "trees");
    import("questions", "q.jsonl");
    desk
}

/// Imports what must be refused; the rules that are broken.
#[track_caller]
fn refused(desk: &TempDir, what: &str, path: &str, file: &str, name: &str) -> Vec<String> {
    let before = state(&desk.path().join("demo"));
    let mut command = trm();
    command.current_dir(desk.path()).args(["-C", "demo", "--json", "import", what, path]);
    let output = command.assert().get_output().clone();
    assert_eq!(output.status.code(), Some(3), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    assert!(state(&desk.path().join("demo")) == before, "{name}: the workspace changed");
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["imported"], false, "{name}");
    let problems = report["problems"]["list"].as_array().unwrap();
    let errors: Vec<&Value> = problems.iter().filter(|problem| problem["severity"] == "error").collect();
    for problem in &errors {
        assert!(problem["file"].as_str().unwrap().ends_with(file), "{name}: {problem}");
        assert!(!problem["hint"].as_str().unwrap().is_empty(), "{name}: {problem}");
        let place = &problem["place"];
        let placed = place["line"].is_u64() || place["record"].is_u64() || place["pointer"].is_string();
        assert!(placed || problem["rule"].as_str().unwrap().starts_with("file."), "{name}: no place: {problem}");
    }
    let rules: Vec<String> = errors.iter().map(|problem| problem["rule"].as_str().unwrap().to_owned()).collect();
    assert!(!rules.is_empty(), "{name}");
    rules
}

#[test]
fn every_named_kind_of_bad_question_is_refused_whole() {
    let desk = desk();
    let paired = |id: &str, changes: Value| {
        let mut record = question_with(id, json!({"pair_id": "p"}));
        for (field, value) in changes.as_object().unwrap() {
            record[field] = value.clone();
        }
        record
    };
    let one = |changes: Value| lines(&[question("good"), question_with("bad", changes)]).into_bytes();
    let id = |id: &str| one(json!({"question_id": id}));
    let good = question("good");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("a torn last line", format!("{good}\n{{\"question_id\": \"q2\", \"vid").into_bytes(), "json.syntax"),
        (
            "a torn last line behind a mark and CRLF",
            format!("\u{feff}{good}\r\n\r\n{{\"qu").into_bytes(),
            "json.syntax",
        ),
        ("equal ids, other content", one(json!({"question_id": "good", "answer": "A"})), "question.duplicate"),
        ("one option", one(json!({"options": ["A. one"], "answer": "A"})), "question.option_count"),
        ("no option", one(json!({"options": []})), "question.option_count"),
        ("an empty option", one(json!({"options": ["A. one", "B. "]})), "question.option_empty"),
        ("an answer beyond the options", one(json!({"answer": "C"})), "question.answer_unknown"),
        ("an answer of other words", one(json!({"answer": "three"})), "question.answer_unknown"),
        (
            "a pair of three",
            lines(&[paired("a", json!({})), paired("b", json!({})), paired("c", json!({}))]).into_bytes(),
            "pair.size",
        ),
        ("a pair of one", lines(&[paired("a", json!({}))]).into_bytes(), "pair.size"),
        (
            "a pair across videos",
            lines(&[paired("a", json!({})), paired("b", json!({"video_id": "v2"}))]).into_bytes(),
            "pair.differs",
        ),
        ("an id with a separator", id("a/b"), "id.refused"),
        ("an id that climbs", id("../x"), "id.refused"),
        ("an id with an encoded separator", id("%2F"), "id.refused"),
        ("an id of ten kilobytes", id(&"x".repeat(10_240)), "id.refused"),
        ("an id with NUL", id("a\0b"), "id.refused"),
        ("half a character", format!("{good}\n{{\"question\": \"\\ud800\"}}\n").into_bytes(), "json.syntax"),
        ("a byte that is no UTF-8", [&one(json!({}))[..], b"{\"question\": \"\xff\"}"].concat(), "json.syntax"),
        ("a line end inside a text", format!("{good}\n{{\"question\": \"a\nb\"}}\n").into_bytes(), "json.syntax"),
        ("nothing", Vec::new(), "file.format"),
        ("UTF-16", b"\xff\xfe{\0}\0".to_vec(), "file.format"),
    ];
    for (name, bytes, rule) in cases {
        fs::write(desk.path().join("bad.jsonl"), bytes).unwrap();
        let rules = refused(&desk, "questions", "bad.jsonl", "bad.jsonl", name);
        assert!(rules.iter().any(|found| found == rule), "{name}: {rules:?}");
    }
}

#[test]
fn what_only_looks_bad_is_imported() {
    let desk = desk();
    let text = format!(
        "\u{feff}{}\r\n\r\n  \n{}\n{}",
        question_with("q1", json!({"question": "a\u{85}b\u{2028}c\u{2029}d?"})),
        question_with("q2", json!({"answer": "one"})),
        question_with("q2", json!({"options": ["one", "two"], "answer": "A"})),
    );
    fs::write(desk.path().join("odd.jsonl"), text).unwrap();
    let mut command = trm();
    command.current_dir(desk.path()).args(["-C", "demo", "--json", "import", "questions", "odd.jsonl"]);
    let report: Value = serde_json::from_slice(&command.assert().success().get_output().stdout).unwrap();
    assert_eq!(report["questions"]["questions"], 2);
    let warnings: Vec<_> =
        report["problems"]["list"].as_array().unwrap().iter().map(|problem| &problem["rule"]).collect();
    assert_eq!(warnings, ["question.duplicate_equal"]);
    let kept = fs::read_to_string(desk.path().join("demo/questions.jsonl")).unwrap();
    assert!(kept.contains("a\u{85}b\u{2028}c\u{2029}d?") && kept.lines().count() == 2, "{kept}");
}

#[test]
fn every_named_kind_of_bad_tree_is_refused_whole() {
    let desk = desk();
    let text = |changes: Value| tree_with("v2", changes).to_string();
    let node = |id: &str| {
        let mut tree = tree("v2");
        tree["nodes"][id] = json!({"level": 1, "time_range": [0, 1], "card": "x"});
        tree.to_string()
    };
    let good = tree("v2").to_string();
    let cases: Vec<(&str, String, &str)> = vec![
        ("an unknown child", text(json!({"nodes": {"s": {"children_ids": ["e", "ghost"]}}})), "tree.unknown_child"),
        ("a cycle", text(json!({"nodes": {"f": {"children_ids": ["s"]}}})), "tree.cycle"),
        ("an orphan", text(json!({"nodes": {"e": {"children_ids": []}}})), "tree.orphan"),
        ("a time that is NaN", good.replace("[1.0,2.0]", "[NaN,2.0]"), "json.syntax"),
        ("a negative time", text(json!({"nodes": {"f": {"time_range": [-1.0, 2.0]}}})), "tree.time_range"),
        ("times in the wrong order", text(json!({"nodes": {"f": {"time_range": [2.0, 1.0]}}})), "tree.time_range"),
        ("a node id with a separator", node("a/b"), "id.refused"),
        ("a node id that climbs", node("../x"), "id.refused"),
        ("a node id with an encoded separator", node("%2F"), "id.refused"),
        ("a node id of ten kilobytes", node(&"x".repeat(10_240)), "id.refused"),
        ("a node id with NUL", node("a\0"), "id.refused"),
        ("half a character", good.replace("a knife", "\\ud800"), "json.syntax"),
        ("a torn end", good.chars().take(good.len() - 30).collect(), "json.syntax"),
        ("no duration", text(json!({"duration_seconds": 0})), "tree.duration"),
    ];
    fs::create_dir_all(desk.path().join("bad/v2")).unwrap();
    fs::create_dir_all(desk.path().join("bad/v3")).unwrap();
    fs::write(desk.path().join("bad/v3/tree.json"), tree("v3").to_string()).unwrap();
    for (name, bytes, rule) in cases {
        fs::write(desk.path().join("bad/v2/tree.json"), bytes).unwrap();
        let rules = refused(&desk, "trees", "bad", "v2/tree.json", name);
        assert!(rules.iter().any(|found| found == rule), "{name}: {rules:?}");
    }
    for video in ["a/b", "../x", "%2F", &"x".repeat(10_240), "a\0b"] {
        fs::write(desk.path().join("one.json"), tree(video).to_string()).unwrap();
        let rules = refused(&desk, "trees", "one.json", "one.json", video.get(..5).unwrap_or(video));
        assert_eq!(rules, ["id.refused"]);
    }
}
