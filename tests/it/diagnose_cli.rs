//! `trm diagnose` and `trm evolve` on the bundled example: reports, rows, exit codes.

use std::path::{Path, PathBuf};

use assert_cmd::assert::Assert;
use serde_json::Value;
use tempfile::TempDir;

use crate::support::trm;

/// A workspace with the bundled example and answers to 36 questions, as run `answers`.
fn answered() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("demo");
    trm().args(["init", "--example"]).arg(&demo).assert().success();
    run(&demo, &["eval", "--limit", "36", "--run-id", "answers"]).success();
    (folder, demo)
}

fn run(demo: &Path, arguments: &[&str]) -> Assert {
    trm().arg("-C").arg(demo).args(arguments).assert()
}

fn json(demo: &Path, arguments: &[&str]) -> Value {
    let output = trm().arg("-C").arg(demo).arg("--json").args(arguments).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

fn stdout(assert: &Assert) -> String {
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

fn stderr(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

const DEAD_JUDGE: [&str; 8] = [
    "--set",
    "llm.judge.provider=openai",
    "--set",
    "llm.judge.base_urls=http://127.0.0.1:9/v1",
    "--set",
    "llm.judge.model=nobody",
    "--set",
    "llm.judge.retries=0",
];

/// The task type with most failures that the body of its skill could mend.
fn worst_type(report: &Value) -> String {
    let packs = report["packs"].as_array().unwrap().iter();
    let skills = packs.filter(|pack| pack["target"].as_str().unwrap().starts_with("skill:"));
    let worst = skills.max_by_key(|pack| pack["failures"].as_u64().unwrap()).unwrap();
    worst["target"].as_str().unwrap().strip_prefix("skill:").unwrap().to_owned()
}

#[test]
fn answers_are_diagnosed_into_a_run_of_their_own() {
    let (folder, demo) = answered();
    let report = json(&demo, &["diagnose", "--run", "answers"]);
    assert_eq!(report["diagnosed"].as_u64().unwrap() + report["infra"].as_u64().unwrap(), 36);
    let wrong = report["wrong"].as_u64().unwrap();
    assert!(wrong > 0);
    let types = report["task_types"].as_object().unwrap().values();
    let causes: u64 =
        types.map(|of_type| of_type["defects"].as_u64().unwrap() + of_type["lapses"].as_u64().unwrap()).sum();
    assert_eq!(causes, wrong, "every wrong answer has a cause");
    assert!(!report["packs"].as_array().unwrap().is_empty() && !report["tools"].as_array().unwrap().is_empty());
    assert!(report["cost"]["calls"].as_u64().unwrap() > 36);

    let id = report["run_id"].as_str().unwrap();
    let detail = json(&demo, &["inspect", "run", id]);
    assert_eq!((detail["mode"].as_str(), detail["state"].as_str()), (Some("diagnose"), Some("finished")));
    let out = folder.path().join("out");
    let command = ["export", "--tables", "question_metrics,case_packs", "--run", id, "--jsonl", out.to_str().unwrap()];
    run(&demo, &command).success();
    let rows = |table: &str| std::fs::read_to_string(out.join(format!("{table}.jsonl"))).unwrap().lines().count();
    assert_eq!(rows("question_metrics") as u64, report["diagnosed"].as_u64().unwrap());
    assert_eq!(rows("case_packs"), report["packs"].as_array().unwrap().len());

    // The same command is the same run, and the judge is not paid again.
    let again = json(&demo, &["diagnose", "--run", "answers", "--concurrency", "3"]);
    let paid = |report: &Value| {
        let cost = &report["cost"];
        (cost["prompt_tokens"].clone(), cost["completion_tokens"].clone(), cost["cost_usd"].clone())
    };
    assert_eq!(paid(&again), paid(&report));
    let findings = |mut report: Value| {
        report.as_object_mut().unwrap().remove("cost");
        report
    };
    assert_eq!(findings(again), findings(report.clone()));
    run(&demo, &["store", "check"]).success();

    let text = stdout(&run(&demo, &["diagnose", "--run", "answers"]).success());
    for shown in
        ["what went wrong", "DEFECTS", "COMPLETENESS", "CASE PACK", "behaviour across task types", "judge calls: "]
    {
        assert!(text.contains(shown), "{shown} is missing:\n{text}");
    }
    let wrong_only = json(&demo, &["diagnose", "--run", "answers", "--only-incorrect"]);
    assert_eq!((&wrong_only["diagnosed"], &wrong_only["wrong"]), (&report["wrong"], &report["wrong"]));
    assert_ne!(wrong_only["run_id"], report["run_id"]);
}

#[test]
fn a_candidate_is_shown_and_no_version_is_changed() {
    let (folder, demo) = answered();
    let report = json(&demo, &["diagnose", "--run", "answers"]);
    let task_type = worst_type(&report);
    let versions = json(&demo, &["skills", "list"]);
    let out = folder.path().join("candidate.md");
    let command = ["evolve", "--run", "answers", "--task-type", &task_type, "--out", out.to_str().unwrap()];
    let evolved = json(&demo, &command);
    assert_eq!(evolved["run_id"], report["run_id"], "the last diagnosis is used");
    assert_eq!((evolved["diagnosed_now"].as_bool(), evolved["status"].as_str()), (Some(false), Some("evolved")));
    let edits = evolved["edits"].as_array().unwrap();
    assert!(!edits.is_empty() && edits.iter().all(|edit| edit["status"].as_str().unwrap().starts_with("applied")));
    let diff = evolved["diff"].as_str().unwrap();
    assert!(diff.contains("--- v1/") && diff.contains("+++ candidate/"), "{diff}");
    assert_eq!(std::fs::read_to_string(&out).unwrap(), evolved["candidate"].as_str().unwrap());
    assert_eq!(json(&demo, &["skills", "list"]), versions);

    let slug = task_type.to_lowercase().replace(' ', "-");
    let by_diagnosis = report["run_id"].as_str().unwrap();
    let text = stdout(&run(&demo, &["evolve", "--run", by_diagnosis, "--task-type", &slug]).success());
    for shown in ["edits proposed: ", "applied", "+++ candidate/", "writer calls: ", "no version was changed"] {
        assert!(text.contains(shown), "{shown} is missing:\n{text}");
    }
    run(&demo, &["store", "check"]).success();
}

#[test]
fn evolving_diagnoses_first_where_nobody_has() {
    let (_folder, demo) = answered();
    let wrong_type = {
        let summary = json(&demo, &["eval", "--limit", "36", "--run-id", "answers"]);
        let types = summary["by_task_type"].as_object().unwrap();
        types.iter().max_by_key(|(_, of_type)| of_type["wrong"].as_u64().unwrap()).unwrap().0.clone()
    };
    let evolved = json(&demo, &["evolve", "--run", "answers", "--task-type", &wrong_type]);
    assert_eq!(evolved["diagnosed_now"], true);
    let again = json(&demo, &["evolve", "--run", "answers", "--task-type", &wrong_type]);
    assert_eq!((&again["diagnosed_now"], &again["candidate"]), (&Value::Bool(false), &evolved["candidate"]));
}

#[test]
fn what_is_not_there_is_refused_with_a_hint() {
    let (_folder, demo) = answered();
    for (arguments, code) in [
        (&["diagnose", "--run", "nobody"][..], 2),
        (&["evolve", "--run", "nobody", "--task-type", "Action Reasoning"], 2),
        (&["diagnose", "--run", "answers", "--task-type", "Juggling"], 2),
        (&["evolve", "--run", "answers", "--task-type", "Juggling"], 2),
        (&["diagnose", "--run", "answers", "--question", "no-such-question"], 2),
        (&["diagnose", "--run", "answers", "--scope", "e1 s0"], 2),
    ] {
        let told = stderr(&run(&demo, arguments).code(code));
        assert!(told.starts_with("error: ") && told.contains("hint: "), "{arguments:?}: {told}");
    }
}

#[test]
fn a_dead_judge_ends_with_exit_code_4_and_leaves_the_diagnosis_before_it_alone() {
    let (_folder, demo) = answered();
    let report = json(&demo, &["diagnose", "--run", "answers"]);
    let dead = [&["diagnose", "--run", "answers", "--set", "llm.cache.mode=off"][..], &DEAD_JUDGE].concat();
    let told = stderr(&run(&demo, &dead).code(4));
    assert!(told.contains("error: ") && told.contains("diagnose the answers of run answers"), "{told}");
    let detail = json(&demo, &["inspect", "run", report["run_id"].as_str().unwrap()]);
    assert_eq!(detail["state"], "finished", "what was found before still stands");
    let dead_first = [&["evolve", "--run", "answers", "--task-type", "x"][..], &DEAD_JUDGE].concat();
    run(&demo, &dead_first).code(2);
    run(&demo, &["store", "check"]).success();
}

#[cfg(unix)]
#[test]
fn an_interrupted_diagnosis_ends_with_exit_code_6_and_goes_on() {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    let (_folder, demo) = answered();
    let mut child = Command::new(env!("CARGO_BIN_EXE_trm"))
        .arg("-C")
        .arg(&demo)
        .args(["diagnose", "--run", "answers", "--concurrency", "1"])
        .args(["--set", "sim.latency_ms=3000", "--set", "sim.latency_sigma=0"])
        .env("NO_COLOR", "1")
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // Its heartbeat says that it has begun; before that there is nothing to interrupt.
    let began = || {
        let status = trm().arg("-C").arg(&demo).args(["--json", "status"]).output().unwrap();
        String::from_utf8_lossy(&status.stdout).contains("\"diagnosis\"")
    };
    for _ in 0..600 {
        if began() || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(6), "{told}");
    assert!(told.contains("interrupted after"), "{told}");
    run(&demo, &["diagnose", "--run", "answers"]).success();
    run(&demo, &["store", "check"]).success();
}
