//! `trm store …` on a real file.

use serde_json::Value;

use crate::store_sample::sample_store;
use crate::store_support::{fresh, run_id};
use crate::support::trm;

fn json_of(folder: &std::path::Path, command: &str) -> Value {
    let output = trm().arg("-C").arg(folder).args(["--json", "store", command]).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[test]
fn a_sound_store_passes_and_its_figures_are_told() {
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    let check = json_of(folder.path(), "check");
    assert_eq!(check["problems"], serde_json::json!([]));
    assert_eq!(check["pages_verified"], true);
    let stats = json_of(folder.path(), "stats");
    assert_eq!(stats["tables"]["versions"]["rows"], 3);
    assert_eq!(stats["step_rows"]["gate_evidence"]["rows"], 4);
    assert_eq!(stats["runs"]["train1"]["rows"], stats["tables"]["step_rows"]["rows"]);
    assert_eq!(stats["file_bytes"], std::fs::metadata(&path).unwrap().len());
    let before = json_of(folder.path(), "digest");
    json_of(folder.path(), "compact");
    assert_eq!(json_of(folder.path(), "digest"), before, "compacting changes no state");
    let text = trm().arg("-C").arg(folder.path()).args(["store", "check"]).assert().success();
    assert!(String::from_utf8_lossy(&text.get_output().stdout).contains("every invariant holds"));
}

#[test]
fn the_store_is_found_from_a_folder_below_the_workspace() {
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    let below = folder.path().join("videos/a");
    std::fs::create_dir_all(&below).unwrap();
    trm().current_dir(&below).args(["store", "stats"]).assert().success();
}

#[test]
fn a_workspace_without_a_store_says_so() {
    let (folder, _) = fresh();
    let output = trm().arg("-C").arg(folder.path()).args(["--json", "store", "stats"]).assert().code(7);
    let error: Value = serde_json::from_slice(&output.get_output().stderr).unwrap();
    assert_eq!(error["code"], "store.not_found");
    assert!(error["hint"].as_str().unwrap().contains("trm init"));
}
