//! What reads a training: `trm inspect step|gate|ladder|pools|epoch|run`, `trm gate replay`, `trm status`.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use trm::config::RunConfig;
use trm::evolution::gate::{Flips, e_value, wald_lambda};
use trm::store::rows::{Evolution, GateEvidence, Run, StepReport};
use trm::store::{Batch, RankKey, Target};
use unicode_width::UnicodeWidthStr;

use crate::store_sample::{STEP, TYPE, evidence_rows, sample_store, step_report};
use crate::store_support::{fresh, run_id, run_row, task_type};
use crate::support::trm;

const RUN: &str = "train1";

/// The sample training with the numbers that the gate's mathematics gives: three wins and one exclusion of four units
/// end on probation. `change` may falsify a row of evidence before it is written.
fn planted(change: impl Fn(u32, &mut GateEvidence)) -> TempDir {
    let (folder, path) = fresh();
    let run = run_id(RUN);
    let store = sample_store(&path, &run);
    let mut batch = Batch::new();
    batch.put_run(&run, &Run { config: RunConfig::default().snapshot(), ..run_row() });
    for (rank, mut row) in (0..).zip(evidence_rows()) {
        let flips = Flips::new(row.wins.into(), row.losses.into()).unwrap();
        (row.e_value, row.lambda) = (e_value(flips), wald_lambda(flips));
        change(rank, &mut row);
        batch.put(&run, STEP, &RankKey { task_type: task_type(TYPE), rank }, &row);
    }
    let flips = Flips::new(3, 0).unwrap();
    let report = StepReport { e_value: Some(e_value(flips)), lambda: Some(wald_lambda(flips)), ..step_report() };
    batch.put(&run, STEP, &task_type(TYPE), &report);
    let target = Target::Skill(task_type(TYPE));
    let row: Evolution = store.snapshot().unwrap().row(&run, STEP, &target).unwrap().unwrap();
    let edits = json!([{"file": "action-reasoning.md", "edit": {
        "op": "append", "target": "", "content": "Compare\u{1b}[2J all \u{202e}options."
    }}]);
    let report = json!([{"index": 0, "op": "append", "status": "applied", "target": "", "content_preview": ""}]);
    let row = Evolution { edits: edits.to_string(), apply_report: report.to_string(), ..row };
    batch.put(&run, STEP, &target, &row);
    store.write_blocking(batch).unwrap();
    folder
}

fn sound() -> TempDir {
    planted(|_, _| {})
}

fn text(folder: &Path, arguments: &[&str]) -> String {
    let output = trm().arg("-C").arg(folder).args(arguments).assert().success();
    String::from_utf8(output.get_output().stdout.clone()).unwrap()
}

fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    serde_json::from_str(&text(folder, &[&["--json"], arguments].concat())).unwrap()
}

/// Exit code and error of a command that fails.
fn failure(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = trm().arg("-C").arg(folder).arg("--json").args(arguments).assert().failure();
    let output = output.get_output();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stderr).unwrap())
}

#[test]
fn a_step_says_what_was_decided_and_why() {
    let folder = sound();
    let view = json_of(folder.path(), &["inspect", "step", "e1", "s0"]);
    assert_eq!(view, json_of(folder.path(), &["inspect", "step", "e1s0", "--run", RUN]));
    assert_eq!(view["batch"], json!({"correct": 1, "wrong": 2, "infra": 0}));
    let of_type = &view["task_types"][0];
    assert_eq!((&of_type["action"], &of_type["n_excluded"]), (&json!("accept_provisional"), &json!(1)));
    let path: Vec<Option<f64>> = serde_json::from_value(of_type["e_path"].clone()).unwrap();
    let expected = [Some(1.5), Some(7.0 / 3.0), None, Some(3.75)];
    let close = |(found, expected): (&Option<f64>, &Option<f64>)| match (found, expected) {
        (Some(found), Some(expected)) => (found - expected).abs() < 1e-9,
        (found, expected) => found == expected,
    };
    assert!(path.len() == 4 && path.iter().zip(&expected).all(close), "{path:?}");
    assert_eq!(of_type["quadrants"]["improvement"], 3);
    assert_eq!(of_type["error_types"], json!({"search_failure": 2}));
    assert_eq!(of_type["evolution"]["edits"][0]["status"], "applied");
    let shown = text(folder.path(), &["inspect", "step", "e1", "s0"]);
    for part in ["accepted on probation: 3 won and 0 lost of 3 units", "excluded 1", "append [applied]", "skill:Action"]
    {
        assert!(shown.contains(part), "{part} is missing in\n{shown}");
    }
}

#[test]
fn evidence_is_shown_unit_by_unit() {
    let folder = sound();
    let views = json_of(folder.path(), &["inspect", "gate", "e1", "s0", "action-reasoning"]);
    let rows = views[0]["evidence"].as_array().unwrap();
    assert_eq!(rows.len(), 4);
    assert_eq!((&rows[0]["base_cached"], &rows[2]["excluded_arm"]), (&json!(true), &json!("cand")));
    assert_eq!(rows[3]["stop_reason"], "provisional");
    let shown = text(folder.path(), &["inspect", "gate", "e1s0"]);
    assert!(shown.contains("excluded: cand failed") && shown.contains("20.00") && shown.contains('●'), "{shown}");
    let (code, error) = failure(folder.path(), &["inspect", "gate", "e1s0", "Juggling"]);
    assert_eq!((code, &error["code"]), (3, &json!("inspect.none")));
    assert!(error["hint"].as_str().unwrap().contains(TYPE), "{error}");
}

#[test]
fn ladder_pools_epoch_and_run_are_told() {
    let folder = sound();
    let ladders = json_of(folder.path(), &["inspect", "ladder"]);
    assert_eq!((&ladders[0]["planned"], &ladders[0]["at_best"]), (&json!(7), &json!("confirmed")));
    let pools = json_of(folder.path(), &["inspect", "pools"]);
    assert_eq!((&pools["overlaps"], &pools["pools"][1]["pool"]), (&json!([]), &json!("validation")));
    // The pair has a wrong answer, hence is wrong.
    assert_eq!(pools["pools"][1]["total"], json!({"units": 4, "questions": 5, "right": 2, "wrong": 2, "unknown": 0}));
    let epoch = json_of(folder.path(), &["inspect", "epoch", "e1"]);
    assert_eq!((&epoch["done"], &epoch["momentum"][0]["improved"]), (&json!(true), &json!(2)));
    let run = json_of(folder.path(), &["inspect", "run"]);
    let training = &run["training"];
    assert_eq!((&training["gates"], &training["provisional"]), (&json!(1), &json!(1)));
    assert_eq!(training["failures"][0]["phase"], "gate-cand");
    assert_eq!(training["epochs"][0]["best_val_acc"], 1.0);
    let status = json_of(folder.path(), &["status"]);
    assert_eq!(status["training"]["progress"], "epoch 1 is done");
    for missing in [["step", "e7s0"], ["epoch", "e7"], ["pools", "--run=nobody"], ["ladder", "Juggling"]] {
        let (code, error) = failure(folder.path(), &[&["inspect"], &missing[..]].concat());
        assert_eq!((code, &error["code"]), (3, &json!("inspect.none")), "{missing:?}");
    }
    assert_eq!(failure(folder.path(), &["inspect", "step", "s0"]).0, 2);
}

#[test]
fn a_narrow_terminal_is_kept_and_nothing_acts_on_it() {
    let folder = sound();
    for arguments in [
        &["inspect", "step", "e1", "s0", "--full"][..],
        &["inspect", "gate", "e1s0"],
        &["inspect", "ladder", TYPE],
        &["inspect", "ladder"],
        &["inspect", "pools"],
        &["inspect", "epoch", "1"],
    ] {
        let output = trm().env("COLUMNS", "80").arg("-C").arg(folder.path()).args(arguments).assert().success();
        let shown = String::from_utf8(output.get_output().stdout.clone()).unwrap();
        let control = |c: char| c == '\u{1b}' || c == '\u{202e}';
        assert!(!shown.contains(control), "{arguments:?}");
        let wide: Vec<&str> = shown.lines().filter(|line| line.width() > 80).collect();
        assert!(wide.is_empty(), "{arguments:?}: {wide:#?}");
    }
}

#[test]
fn replay_confirms_a_sound_step_and_finds_every_falsification() {
    let folder = sound();
    let audit = json_of(folder.path(), &["gate", "replay", RUN, "e1", "s0"]);
    assert_eq!((&audit["differing"], &audit["gates"][0]["stop_reason"]), (&json!(0), &json!("provisional")));
    assert!(text(folder.path(), &["gate", "replay", RUN]).contains("1 gates, every verdict confirmed"));
    // Under other thresholds the same evidence says something else.
    assert_eq!(failure(folder.path(), &["gate", "replay", RUN, "e1s0", "--e-provisional", "4"]).0, 8);
    type Change = fn(u32, &mut GateEvidence);
    let falsified: [(&str, Change); 4] = [
        ("e_value", |rank, row| row.e_value += f64::from(u8::from(rank == 1))),
        ("w", |rank, row| row.wins += u32::from(rank == 3)),
        ("stop_reason", |rank, row| row.cand_correct = row.cand_correct.map(|right| right && rank != 0)),
        ("n_remaining", |rank, row| row.n_remaining += u32::from(rank == 0)),
    ];
    for (field, change) in falsified {
        let folder = planted(change);
        let output =
            trm().arg("-C").arg(folder.path()).args(["--json", "gate", "replay", RUN, "e1s0"]).output().unwrap();
        assert_eq!(output.status.code(), Some(8), "{field}");
        let audit: Value = serde_json::from_slice(&output.stdout).unwrap();
        let found = audit["gates"][0]["differences"].as_array().unwrap();
        assert!(found.iter().any(|one| one["field"].as_str().unwrap().ends_with(field)), "{field}: {found:?}");
    }
}

#[test]
fn simulation_and_audit_of_files_take_the_thresholds_of_the_workspace() {
    let folder = sound();
    std::fs::write(folder.path().join("trm.yaml"), "gate: {n_max: 12, e_confirm: 40}\n").unwrap();
    let simulated = json_of(folder.path(), &["gate", "simulate"]);
    assert_eq!((&simulated["n_max"], &simulated["params"]["e_confirm"]), (&json!(12), &json!(40.0)));
    let own = json_of(folder.path(), &["gate", "simulate", "--n-max", "20", "--e-confirm", "30"]);
    assert_eq!((&own["n_max"], &own["params"]["e_confirm"]), (&json!(20), &json!(30.0)));
    let line = |rank: u32, stop: &str| {
        json!({"unit_id": format!("u{rank}"), "ladder_rank": rank, "baseline_correct": false,
               "candidate_correct": true, "n_plan": 12, "stop_reason": stop})
    };
    let lines: Vec<String> =
        (0..7).map(|rank| line(rank, if rank == 6 { "confirmed" } else { "" }).to_string()).collect();
    let file = folder.path().join("evidence.jsonl");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let file = file.to_str().unwrap();
    assert_eq!(failure(folder.path(), &["gate", "replay", "--evidence", file]).0, 8, "40 is not reached by 7 wins");
    json_of(folder.path(), &["gate", "replay", "--evidence", file, "--e-confirm", "20"]);
}
