//! `trm eval` on the bundled example with the simulated model: the same answers however it is run.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::support::trm;

/// A fresh workspace with the bundled example.
fn example() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    trm().args(["init", "--example"]).arg(folder.path().join("demo")).assert().success();
    folder
}

fn eval(folder: &Path, arguments: &[&str]) -> Value {
    let output = trm().arg("-C").arg(folder.join("demo")).args(["--json", "eval"]).args(arguments).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

/// Letter and outcome of every answer of a run, from its JSON Lines export.
fn answers(folder: &Path, run: &str) -> BTreeMap<String, (Value, Value)> {
    let out = folder.join(format!("out-{run}"));
    let demo = folder.join("demo");
    trm()
        .arg("-C")
        .arg(demo)
        .args(["export", "--tables", "predictions", "--run", run, "--jsonl"])
        .arg(&out)
        .assert()
        .success();
    let text = std::fs::read_to_string(out.join("predictions.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| (row["question_id"].as_str().unwrap().to_owned(), (row["answer"].clone(), row["outcome"].clone())))
        .collect()
}

#[test]
fn answers_do_not_depend_on_concurrency_and_a_second_run_makes_no_call() {
    let folder = example();
    let one = eval(folder.path(), &["--limit", "24", "--concurrency", "1", "--run-id", "one"]);
    let many = eval(
        folder.path(),
        &["--limit", "24", "--concurrency", "64", "--run-id", "many", "--set", "llm.cache.mode=off"],
    );
    assert_eq!(one["questions"], 24);
    assert_eq!(answers(folder.path(), "one"), answers(folder.path(), "many"));
    let again = eval(folder.path(), &["--limit", "24", "--concurrency", "1", "--run-id", "one"]);
    assert_eq!(again["calls"], one["calls"], "durable answers are not asked again");
    assert_eq!(many["correct"], one["correct"]);
    trm().arg("-C").arg(folder.path().join("demo")).args(["store", "check"]).assert().success();
}

#[test]
fn what_the_store_knows_can_be_looked_at() {
    let folder = example();
    let summary = eval(folder.path(), &["--limit", "5"]);
    let run = summary["run_id"].as_str().unwrap();
    let demo = folder.path().join("demo");
    let json = |arguments: &[&str]| -> Value {
        let output = trm().arg("-C").arg(&demo).arg("--json").args(arguments).assert().success();
        serde_json::from_slice(&output.get_output().stdout).unwrap()
    };
    assert_eq!(json(&["inspect", "runs"])[0]["run_id"], run);
    let detail = json(&["inspect", "run"]);
    assert_eq!(detail["state"], "finished");
    assert_eq!(detail["phases"][0]["phase"], "eval");
    let question = answers(folder.path(), run).into_keys().next().unwrap();
    let shown = json(&["inspect", "question", &question]);
    assert!(!shown[0]["trace"].as_array().unwrap().is_empty(), "{shown}");
    assert_eq!(json(&["status"])["state"], "finished");
    assert_eq!(json(&["rescore", run])["changed"], serde_json::json!([]), "today's rules are today's rules");
}

#[test]
fn unknown_selections_are_refused_with_a_hint() {
    let folder = example();
    let demo = folder.path().join("demo");
    for arguments in [["--question", "no-such-question"], ["--task-type", "Juggling"], ["--skills", "v99"]] {
        let output = trm().arg("-C").arg(&demo).arg("eval").args(arguments).assert().failure();
        let stderr = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(stderr.starts_with("error: ") && stderr.contains("hint: "), "{stderr}");
    }
}

#[test]
fn another_configuration_under_the_same_run_id_is_refused() {
    let folder = example();
    eval(folder.path(), &["--limit", "3", "--run-id", "mine"]);
    let demo = folder.path().join("demo");
    let other = ["eval", "--limit", "3", "--run-id", "mine", "--set", "agent.max_steps=7"];
    let output = trm().arg("-C").arg(&demo).args(other).assert().code(2);
    assert!(String::from_utf8_lossy(&output.get_output().stderr).contains("structural configuration"));
}
