//! `trm promote`, `trm init --from`, `trm skills seeds`, `trm gate calibrate` on a small generated world.

use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;
use trm::harness::workspace::{InitRequest, init};
use trm::sim::world::{WorldSpec, generate};

use crate::support::trm;

/// A workspace with a small generated world at `demo`.
fn world() -> TempDir {
    let spec =
        WorldSpec { videos: 2, questions_per_type: 3, min_minutes: 10, max_minutes: 14, pair_share: 0.0, seed: 7 };
    let folder = tempfile::tempdir().unwrap();
    let owned = |texts: Vec<(trm::domain::FileName, &str)>| {
        texts.into_iter().map(|(name, text)| (name, text.to_owned())).collect()
    };
    let request = InitRequest {
        skills: owned(trm::assets::default_skills()),
        prompts: owned(trm::assets::default_prompts()),
        example: Some(generate(&spec).unwrap()),
    };
    init(&folder.path().join("demo"), &request).unwrap();
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> (i32, Value) {
    let output = trm().current_dir(folder).arg("--json").args(arguments).output().unwrap();
    let text = if output.status.success() { &output.stdout } else { &output.stderr };
    (output.status.code().unwrap(), serde_json::from_slice(text).unwrap_or(Value::Null))
}

fn ok(folder: &Path, arguments: &[&str]) -> Value {
    let (code, value) = run(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {value}");
    value
}

fn refused(folder: &Path, arguments: &[&str]) -> String {
    let (code, error) = run(folder, arguments);
    assert_ne!(code, 0, "{arguments:?}");
    assert!(error["hint"].is_string(), "{error}");
    error["code"].as_str().unwrap().to_owned()
}

fn promote<'a>(run: &'a str, name: &'a str) -> Vec<&'a str> {
    vec!["-C", "demo", "promote", "--version", "current", "--eval-run", run, "--name", name]
}

#[test]
fn a_seed_starts_a_workspace_that_has_its_evaluation() {
    let folder = world();
    let folder = folder.path();
    let eval = ok(folder, &["-C", "demo", "eval", "--run-id", "whole"]);
    let promoted = ok(folder, &promote("whole", "start"));
    assert_eq!((&promoted["correct"], &promoted["questions"]), (&eval["correct"], &eval["questions"]));
    assert_eq!(ok(folder, &["-C", "demo", "skills", "seeds"])[0]["name"], "start");
    let started = ok(folder, &["init", "next", "--from", "start", "--workspace", "demo"]);
    assert_eq!(started["answers"], eval["questions"]);
    assert_eq!(ok(folder, &["-C", "next", "store", "check"])["problems"], serde_json::json!([]));
    // The same evaluation in the new workspace is the one that came along: nothing is asked again.
    let again = ok(folder, &["-C", "next", "eval", "--run-id", "whole"]);
    assert_eq!((&again["correct"], &again["resumed"]), (&eval["correct"], &eval["questions"]));
    assert_eq!(refused(folder, &["init", "next", "--from", "start", "--workspace", "demo"]), "workspace.exists");
}

#[test]
fn the_evaluation_of_a_seed_is_the_baseline_of_a_training() {
    let folder = world();
    let folder = folder.path();
    let eval = ok(folder, &["-C", "demo", "eval", "--run-id", "whole"]);
    ok(folder, &promote("whole", "start"));
    ok(folder, &["init", "next", "--from", "start", "--workspace", "demo"]);
    let set = [
        "--set",
        "pools.eval_min_per_class=1",
        "--set",
        "minibatch.batch_size=8",
        "--set",
        "minibatch.max_steps_per_epoch=1",
    ];
    let train = |ws, more: &[&str]| ok(folder, &[&["-C", ws, "train", "--until", "e1 s0"], &set[..], more].concat());
    train("next", &[]);
    let shown = ok(folder, &["-C", "next", "inspect", "run", "train1"]);
    let came = format!("{} answers come from the evaluation of seed start", eval["questions"]);
    assert!(shown["history"].to_string().contains(&came), "{shown}");
    let baseline = &shown["phases"][0];
    assert_eq!((&baseline["scope"], &baseline["correct"]), (&"baseline".into(), &eval["correct"]));
    assert_eq!(ok(folder, &["-C", "next", "store", "check"])["problems"], serde_json::json!([]));
    // Where anything that answers depend on differs, the baseline is asked anew.
    ok(folder, &["init", "other", "--from", "start", "--workspace", "demo"]);
    train("other", &["--set", "agent.max_steps=9"]);
    let shown = ok(folder, &["-C", "other", "inspect", "run", "train1"]);
    assert!(!shown["history"].to_string().contains("seed start"), "{shown}");
}

#[test]
fn each_refusal_has_its_own_code_and_changes_nothing() {
    let folder = world();
    let folder = folder.path();
    ok(folder, &["-C", "demo", "eval", "--run-id", "part", "--limit", "5"]);
    ok(folder, &["-C", "demo", "infer", "--run-id", "adhoc", "--limit", "5"]);
    ok(folder, &["-C", "demo", "eval", "--run-id", "whole"]);
    assert_eq!(refused(folder, &promote("nobody", "x")), "seed.no_run");
    assert_eq!(refused(folder, &promote("adhoc", "x")), "seed.not_evaluation");
    assert_eq!(refused(folder, &promote("part", "x")), "seed.partial");
    assert_eq!(refused(folder, &promote("whole", "a b")), "seed.name");
    let skill = folder.join("action-reasoning.md");
    let text = ok(folder, &["-C", "demo", "skills", "show", "current", "action-reasoning.md"]);
    std::fs::write(&skill, format!("{}\nLook twice.\n", text["text"].as_str().unwrap())).unwrap();
    ok(folder, &["-C", "demo", "skills", "import", skill.to_str().unwrap()]);
    let other = ["-C", "demo", "promote", "--version", "v2", "--eval-run", "whole", "--name", "x"];
    assert_eq!(refused(folder, &other), "seed.other_version");
    ok(folder, &promote("whole", "start"));
    assert_eq!(refused(folder, &promote("whole", "start")), "seed.exists");
    ok(folder, &[promote("whole", "start"), vec!["--replace"]].concat());
    assert_eq!(refused(folder, &["init", "next", "--from", "nothing", "--workspace", "demo"]), "seed.unknown");
    let questions = folder.join("demo/questions.jsonl");
    let all = std::fs::read_to_string(&questions).unwrap();
    let fewer: Vec<&str> = all.lines().skip(1).collect();
    std::fs::write(&questions, fewer.join("\n")).unwrap();
    assert_eq!(refused(folder, &["init", "next", "--from", "start", "--workspace", "demo"]), "seed.questions_differ");
    assert_eq!(refused(folder, &promote("whole", "y")), "seed.other_questions");
    std::fs::write(&questions, all).unwrap();
    let videos = folder.join("demo/videos");
    std::fs::rename(&videos, folder.join("away")).unwrap();
    assert_eq!(refused(folder, &["init", "next", "--from", "start", "--workspace", "demo"]), "seed.trees_missing");
    assert!(!folder.join("next").exists(), "nothing was changed");
}

#[test]
fn calibration_pairs_answers_of_different_phases_only() {
    let folder = world();
    let folder = folder.path();
    let calibrate = ["-C", "demo", "gate", "calibrate"];
    assert_eq!(refused(folder, &calibrate), "gate.no_pairs");
    ok(folder, &["-C", "demo", "eval", "--run-id", "one"]);
    ok(folder, &["-C", "demo", "eval", "--run-id", "two"]);
    assert_eq!(refused(folder, &calibrate), "gate.no_pairs", "one phase path is one measurement");
    let summary = ok(folder, &["-C", "demo", "infer", "--run-id", "three"]);
    let result = ok(folder, &calibrate);
    let total = &result["total"];
    assert_eq!(total["pairs"], summary["questions"]);
    let (gained, lost) = (total["gained"].as_u64().unwrap(), total["lost"].as_u64().unwrap());
    assert!(gained + lost > 0, "answers of the simulated model differ between phases: {total}");
    let pairs = total["pairs"].as_f64().unwrap();
    #[expect(clippy::cast_precision_loss, reason = "dozens of units")]
    let expected = (gained + lost) as f64 / pairs / 2.0;
    assert!((total["noise"]["estimate"].as_f64().unwrap() - expected).abs() < 1e-12);
    let of_type = result["by_type"].as_object().unwrap().values().next().unwrap();
    assert_eq!((of_type["n_max"].as_u64(), of_type["gains"].as_array().map(Vec::len)), (Some(40), Some(2)));
}
