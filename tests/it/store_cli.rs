//! `trm store …` on a real file.

use std::collections::BTreeMap;

use serde_json::Value;
use trm::store::{Depth, OpenOptions, Size, Store, StoreStats, stats};

use crate::store_sample::sample_store;
use crate::store_support::{first_run, fresh, run_id};
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
fn the_counts_that_a_file_keeps_of_itself_are_those_of_its_rows() {
    let (_folder, path) = fresh();
    let store = sample_store(&path, &run_id("train1"));
    let snapshot = store.snapshot().unwrap();
    let whole = stats(&snapshot, Depth::Rows).unwrap();
    let counts = stats(&snapshot, Depth::Counts).unwrap();
    assert_eq!(counts.contents, None);
    let rows =
        |stats: &StoreStats| stats.tables.iter().map(|(name, size)| (name.clone(), size.rows)).collect::<Vec<_>>();
    assert_eq!(rows(&counts), rows(&whole));
    let contents = whole.contents.unwrap();
    let sum = |sizes: &BTreeMap<String, Size>| sizes.values().map(|size| size.rows).sum::<u64>();
    assert_eq!(sum(&contents.step_rows), whole.tables["step_rows"].rows);
    assert_eq!(sum(&contents.runs), whole.tables["step_rows"].rows);
    assert!(whole.tables.values().all(|size| size.value_bytes.is_some_and(|bytes| (bytes > 0) == (size.rows > 0))));
}

#[test]
fn a_store_that_was_closed_needs_no_recovery_and_one_that_was_not_says_so() {
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    let told = |arguments: &[&str]| {
        let output = trm().env("TRM_LOG", "info").arg("-C").arg(folder.path()).args(arguments).assert();
        String::from_utf8_lossy(&output.get_output().stderr).contains("the store was not closed")
    };
    for command in ["check", "stats", "digest", "compact", "check"] {
        assert!(!told(&["store", command]), "{command}");
    }
    assert!(!told(&["doctor"]));
    // The bytes of a store that is open are those that a kill would leave.
    let store = Store::open(&path, &OpenOptions::default()).unwrap();
    store.write_blocking(first_run(&run_id("train2"))).unwrap();
    let left = std::fs::read(&path).unwrap();
    drop(store);
    std::fs::write(&path, &left).unwrap();
    assert!(told(&["store", "check"]), "a crash is told");
    assert!(!told(&["store", "check"]), "once");
    std::fs::write(&path, &left).unwrap();
    assert!(told(&["store", "stats"]));
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
