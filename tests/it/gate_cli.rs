//! `trm gate …` as a person and a program see it.
#![expect(clippy::indexing_slicing, reason = "an output of another shape shall fail its test")]

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::gate_support::{close, difference, rows, vector, vector_file};
use crate::support::trm;

/// Runs `trm gate ARGS` with this input and gives the exit code and the JSON lines of stdout.
fn gate_lines(args: &[&str], input: &str) -> (i32, Vec<Value>) {
    let output = trm().arg("gate").args(args).write_stdin(input).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    (output.status.code().unwrap(), text.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn gate_json(args: &[&str]) -> (i32, Value) {
    let output = trm().arg("--json").arg("gate").args(args).output().unwrap();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap_or(Value::Null))
}

fn json_lines<'a>(values: impl IntoIterator<Item = &'a Value>) -> String {
    values.into_iter().map(|value| format!("{value}\n")).collect()
}

#[test]
fn eval_answers_every_golden_decision() {
    let file = vector("decisions.json");
    let mut asked = rows(&file, "rows").to_vec();
    for row in &mut asked {
        // The kind of a golden row names its origin, not what is asked.
        row.as_object_mut().unwrap().remove("kind");
    }
    let (code, answers) = gate_lines(&["eval"], &json_lines(&asked));
    assert_eq!((code, answers.len()), (0, 2_000));
    for (row, answer) in asked.iter().zip(&answers) {
        assert_eq!(difference(answer, &row["expected"], "decision"), None, "{row}");
    }
}

#[test]
fn eval_answers_every_golden_probation_and_e_value() {
    let probation = vector("probation.json");
    let values = vector("e_values.json");
    let asked = |row: &Value, kind: &str| {
        let mut row = row.clone();
        row["kind"] = json!(kind);
        row
    };
    let probations: Vec<Value> = rows(&probation, "rows").iter().map(|row| asked(row, "probation")).collect();
    let (code, answers) = gate_lines(&["eval"], &json_lines(&probations));
    assert_eq!(code, 0);
    for (row, answer) in probations.iter().zip(&answers) {
        assert_eq!(difference(answer, &row["expected"], "probation"), None, "{row}");
    }
    let e_values: Vec<Value> =
        rows(&values, "values").iter().chain(rows(&values, "large")).map(|row| asked(row, "e_value")).collect();
    let (code, answers) = gate_lines(&["eval"], &json_lines(&e_values));
    assert_eq!((code, answers.len()), (0, e_values.len()));
    for (row, answer) in e_values.iter().zip(&answers) {
        assert!(close(answer["e_value"].as_f64().unwrap(), row["float"].as_f64().unwrap()), "{row}");
    }
}

#[test]
fn a_bad_line_is_named_and_the_others_are_answered() {
    let input = "{\"kind\":\"e_value\",\"w\":7,\"l\":0}\n\nnot json\n{\"w\":-1,\"l\":0,\"n_used\":1,\"n_remaining\":0}\n\
                 {\"id\":5,\"kind\":\"e_value\",\"w\":0,\"l\":0}\n";
    let (code, answers) = gate_lines(&["eval"], input);
    assert_eq!(code, 3);
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[0], json!({"e_value": 31.875}));
    assert_eq!(answers[1]["line"], 3);
    assert_eq!(answers[2]["line"], 4);
    assert!(answers[2]["error"].as_str().unwrap().contains("never negative"));
    assert_eq!(answers[3], json!({"e_value": 1.0, "id": 5}));
}

#[test]
fn one_case_is_explained_in_words() {
    let told = |args: &[&str]| {
        let output = trm().args(["gate", "eval"]).args(args).assert().success();
        String::from_utf8(output.get_output().stdout.clone()).unwrap()
    };
    insta::assert_snapshot!(told(&["--w", "9", "--l", "2", "--n-used", "20", "--n-remaining", "20"]), @r"
    continue: not decided yet: 9 won and 2 lost of 20 units, 20 remain; E = 6.09 of 20 needed, lambda = 2.007 (rejected at -0.642).

    E        6.0864  (confirmed from 20, on probation from 3 when the ladder is used up)
    lambda   +2.0066  (rejected at or below -0.642)
    gain     +0.3500 observed, +0.2917 shrunk (confirming needs at least +0.02)
    at best  E = 288640.2397 if all 20 remaining units are won
    ");
    assert!(told(&["--w", "2", "--l", "5", "--n-used", "9", "--n-remaining", "31"]).contains("harmful"));
    assert!(told(&["--w", "0", "--l", "5", "--kind", "probation"]).starts_with("rollback"));
    trm().args(["gate", "eval", "--w", "3", "--l", "0"]).assert().code(2);
    trm().args(["gate", "eval", "--w", "3", "--l", "0", "--n-used", "0"]).assert().code(2);
    trm().args(["gate", "eval", "--w", "-3", "--l", "0", "--n-used", "3"]).assert().code(2);
    trm().args(["gate", "eval", "--w", "3", "--l", "0", "--n-used", "3", "--e-confirm", "2"]).assert().code(2);
}

/// Plays a golden file through the program and compares every outcome.
fn check_scenarios(name: &str, extra: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let path = vector_file(folder.path(), name);
    let expected = vector(name);
    let (code, outcomes) = gate_lines(&[&["scenario", path.to_str().unwrap()], extra].concat(), "");
    assert_eq!((code, outcomes.len()), (0, rows(&expected, "scenarios").len()));
    for (mut actual, scenario) in outcomes.into_iter().zip(rows(&expected, "scenarios")) {
        assert_eq!(actual["id"], scenario["id"]);
        let mut expected = scenario["expected"].clone();
        for value in [&mut actual, &mut expected] {
            let fields = value.as_object_mut().unwrap();
            fields.remove("message");
            fields.remove("id");
        }
        assert_eq!(difference(&actual, &expected, scenario["id"].as_str().unwrap()), None, "{extra:?}");
    }
}

#[test]
fn scenarios_hold_as_given() {
    check_scenarios("scenarios.json", &[]);
    check_scenarios("scenarios_timed.json", &["--policy", "round_robin"]);
}

#[test]
fn scenarios_hold_with_drawn_latencies_and_slots() {
    for seed in ["100", "101", "102"] {
        check_scenarios("scenarios.json", &["--latency-seed", seed, "--concurrency", "random"]);
    }
}

#[test]
fn one_scenario_and_a_list_are_files_too() {
    let scenarios = vector("scenarios.json");
    let one = &rows(&scenarios, "scenarios")[0];
    for input in [one.to_string(), json!([one]).to_string()] {
        let (code, outcomes) = gate_lines(&["scenario", "-"], &input);
        assert_eq!((code, outcomes.len()), (0, 1));
    }
    let (code, _) = gate_lines(&["scenario", "-"], "{\"id\": \"x\"}");
    assert_eq!(code, 3);
    trm().args(["gate", "scenario", "no-such-file.json"]).assert().code(3);
    trm().args(["gate", "scenario", "-", "--concurrency", "0"]).assert().code(2);
}

#[test]
fn simulate_prints_the_exact_characteristics() {
    let golden = vector("oc.json");
    for n_max in [10, 40] {
        let (code, report) = gate_json(&["simulate", "--n-max", &n_max.to_string()]);
        assert_eq!(code, 0);
        assert_eq!((report["units_to_confirm"].as_u64(), report["units_to_provisional"].as_u64()), (Some(7), Some(3)));
        let printed = rows(&report, "no_effect").iter().chain(rows(&report, "effects"));
        let mut compared = 0;
        for row in printed {
            let number = |value: &Value| value.as_f64().unwrap();
            let same = |golden: &&Value| {
                golden["n_max"] == n_max
                    && (number(&golden["pW"]) - number(&row["p_win"])).abs() < 1e-9
                    && (number(&golden["pL"]) - number(&row["p_loss"])).abs() < 1e-9
            };
            let Some(golden) = rows(&golden, "rows").iter().find(same) else { continue };
            compared += 1;
            for (printed, exact) in [
                ("accept_confirmed", "accept_confirmed"),
                ("accept_provisional", "accept_provisional"),
                ("reject_futility", "reject_futility"),
                ("expected_units", "expected_n_used"),
            ] {
                assert!((number(&row[printed]) - number(&golden[exact])).abs() < 1e-10, "{printed}: {row} {golden}");
            }
        }
        assert!(compared >= 7, "{compared} rows of {n_max} units are golden");
    }
}

#[test]
fn simulate_is_a_table_for_a_person_and_plays_on_request() {
    let output = trm().args(["gate", "simulate", "--n-max", "6", "--monte-carlo", "20"]).assert().success();
    let text = String::from_utf8(output.get_output().stdout.clone()).unwrap();
    for words in ["only be accepted on probation", "Played through the scheduler", "+30 points", "of these directional"]
    {
        assert!(text.contains(words), "{words} is missing in\n{text}");
    }
    let (_, once) = gate_json(&["simulate", "--monte-carlo", "20", "--seed", "5"]);
    let (_, again) = gate_json(&["simulate", "--monte-carlo", "20", "--seed", "5"]);
    assert_eq!(once, again);
    assert_eq!(rows(&once, "monte_carlo").len(), 7);
    trm().args(["gate", "simulate", "--noise", "0.7"]).assert().code(2);
    trm().args(["gate", "simulate", "--e-provisional", "30"]).assert().code(2);
}

/// Evidence of a golden scenario, as an export would hold it.
fn export(folder: &Path, tamper: impl Fn(&mut Value)) -> std::path::PathBuf {
    let scenarios = vector("scenarios.json");
    let scenario = rows(&scenarios, "scenarios")
        .iter()
        .find(|scenario| scenario["expected"]["outcomes"].as_object().is_some_and(|outcomes| outcomes.len() > 2))
        .unwrap();
    let mut lines = Vec::new();
    for (task_type, outcome) in scenario["expected"]["outcomes"].as_object().unwrap() {
        let units = rows(scenario, "task_types").iter().find(|one| one["task_type"] == *task_type).unwrap();
        for row in rows(outcome, "evidence") {
            let mut row = row.clone();
            row["task_type"] = json!(task_type);
            row["n_plan"] = json!(rows(units, "units").len());
            tamper(&mut row);
            lines.push(row);
        }
    }
    let path = folder.join("evidence.jsonl");
    fs::write(&path, json_lines(&lines)).unwrap();
    path
}

#[test]
fn replay_confirms_true_evidence_and_finds_a_changed_answer() {
    let folder = tempfile::tempdir().unwrap();
    let path = export(folder.path(), |_| {});
    let evidence = ["replay", "--evidence", path.to_str().unwrap()];
    let (code, report) = gate_json(&evidence);
    assert_eq!(code, 0, "{report}");
    assert_eq!(report["differing"], 0);
    let flip = |row: &mut Value| {
        if row["ladder_rank"] == 0 {
            row["candidate_correct"] = json!(!row["candidate_correct"].as_bool().unwrap());
        }
    };
    export(folder.path(), flip);
    let (code, report) = gate_json(&evidence);
    assert_eq!(code, 8);
    assert!(report["differing"].as_u64().unwrap() >= 3, "{report}");
    let told = trm().arg("gate").args(evidence).assert().code(8);
    assert!(String::from_utf8_lossy(&told.get_output().stdout).contains("DIFFERS"));
    export(folder.path(), |row| row["ladder_rank"] = json!("first"));
    trm().arg("gate").args(evidence).assert().code(3);
}
