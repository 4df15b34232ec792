//! Shared by the tests of data and import: small valid files to break in one place at a time.

use std::path::Path;

use serde_json::{Value, json};
use trm::data::{DataError, Severity, TreeSet, load_questions};

/// A valid question of this id.
pub(crate) fn question(id: &str) -> Value {
    json!({
        "question_id": id, "video_id": "v1", "task_type": "Action Reasoning", "question": "What happens?",
        "options": ["A. one", "B. two"], "answer": "B",
    })
}

/// A valid question with some fields set otherwise; null removes one.
pub(crate) fn question_with(id: &str, changes: Value) -> Value {
    let mut question = question(id);
    merge(&mut question, changes);
    question
}

/// A valid tree: a scene, an event, a frame.
pub(crate) fn tree(video: &str) -> Value {
    json!({
        "videoID": video, "duration_seconds": 60.0,
        "nodes": {
            "s": {"level": 1, "time_range": [0.0, 60.0], "card": {"scene_summary": "a kitchen"}, "children_ids": ["e"]},
            "e": {"level": 2, "time_range": [0.0, 30.0], "card": {"event_description": "cutting"}, "children_ids": ["f"]},
            "f": {"level": 3, "time_range": [1.0, 2.0], "card": {"frame_summary": "a knife"}, "subtitle": "careful"},
        },
    })
}

/// A valid tree with some nodes set otherwise or added, fields merged; null removes one.
pub(crate) fn tree_with(video: &str, changes: Value) -> Value {
    let mut tree = tree(video);
    merge(&mut tree, changes);
    tree
}

fn merge(target: &mut Value, changes: Value) {
    let (Value::Object(target), Value::Object(changes)) = (&mut *target, &changes) else {
        *target = changes;
        return;
    };
    for (name, change) in changes {
        if change.is_null() {
            target.remove(name);
        } else {
            merge(target.entry(name.clone()).or_insert(Value::Null), change.clone());
        }
    }
}

/// One JSON object per line.
pub(crate) fn lines(records: &[Value]) -> String {
    records.iter().map(|record| format!("{record}\n")).collect()
}

/// The outcome of loading: how many questions, and each problem as `severity rule place`.
pub(crate) fn load(path: &Path) -> (Option<usize>, Vec<String>) {
    match load_questions(path) {
        Ok(set) => (Some(set.questions.len()), listed(&set.warnings)),
        Err(error) => (None, problems_of(&error)),
    }
}

/// The outcome of reading the tree of video `v1` below this folder.
pub(crate) fn load_tree(videos: &Path) -> (Option<usize>, Vec<String>) {
    match TreeSet::new(videos).get(&"v1".parse().unwrap()) {
        Ok(stored) => (Some(stored.tree.nodes.len()), listed(&stored.warnings)),
        Err(error) => (None, problems_of(&error)),
    }
}

fn problems_of(error: &DataError) -> Vec<String> {
    error.report().map_or_else(|| vec![error.to_string()], listed)
}

fn listed(problems: &trm::data::Problems) -> Vec<String> {
    let list = problems.list().iter();
    list.map(|problem| {
        assert!(!problem.hint.is_empty() && !problem.what.is_empty(), "{problem:?}");
        let severity = if problem.severity == Severity::Error { "error" } else { "warning" };
        format!("{severity} {} {}", problem.rule, problem.place).trim_end().to_owned()
    })
    .collect()
}
