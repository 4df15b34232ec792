//! Questions that failed for technical reasons are asked again, beside the answers that stand.

use trm::domain::RunId;
use trm::store::Scope;
use trm::store::rows::Call;

use crate::train_support::{SMALL, check, json, store, workspace};

#[test]
fn failures_within_the_guard_fail_again_and_the_run_still_stands() {
    let folder = tempfile::tempdir().unwrap();
    let faults = "sim: {faults: {permanent: 0.008}}\nllm: {default: {provider: sim, retries: 0}}\n";
    let config = SMALL.replace("llm: {default: {provider: sim}, vision: {provider: sim}}\n", faults);
    let ws = workspace(folder.path(), 24, &config);
    let first = json(&ws, &["eval", "--run-id", "r"]);
    let failed = first["infra"].as_u64().unwrap();
    assert!((10..28).contains(&failed), "more than ten, and fewer than a tenth: {first}");
    // Only what failed is asked again, and all of it fails again: that is no dead provider.
    let again = json(&ws, &["eval", "--run-id", "r"]);
    assert_eq!((&again["infra"], &again["correct"]), (&first["infra"], &first["correct"]));
    check(&ws);
    let id: RunId = "r".parse().unwrap();
    let rows = store(&ws).snapshot().unwrap().rows::<Call>(&id, Scope::Eval).unwrap().len() as u64;
    assert_eq!(rows, again["calls"].as_u64().unwrap(), "calls of both sessions are kept");
    assert_eq!(again["resumed"].as_u64().unwrap() + failed, first["questions"].as_u64().unwrap());
}

#[test]
fn another_address_is_the_same_model_and_other_videos_are_another_run() {
    let folder = tempfile::tempdir().unwrap();
    let ws = workspace(folder.path(), 8, SMALL);
    json(&ws, &["train", "--until", "e1s0"]);
    let elsewhere = ["train", "--until", "e1s1", "--set", "llm.search.base_urls=[\"http://127.0.0.1:9/v1\"]"];
    assert_eq!(json(&ws, &elsewhere)["progress"], "e1 s1 settled");

    let first = json(&ws, &["eval", "--limit", "5"]);
    let tree = std::fs::read_dir(ws.join("videos")).unwrap().next().unwrap().unwrap().path().join("tree.json");
    let text = std::fs::read_to_string(&tree).unwrap();
    std::fs::write(&tree, text.replacen("\"scene_summary\":\"", "\"scene_summary\":\"Now, ", 1)).unwrap();
    assert_ne!(text, std::fs::read_to_string(&tree).unwrap());
    let second = json(&ws, &["eval", "--limit", "5"]);
    assert_ne!(first["run_id"], second["run_id"], "its answers are not those of the old videos");
}
