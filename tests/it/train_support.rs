//! Small trainings with the simulated model, through the real binary.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use trm::store::StoreReader;

use crate::support::trm;

/// A configuration whose training takes a few seconds.
pub(crate) const SMALL: &str = "\
data: {questions: questions.jsonl, videos_dir: videos}
llm: {default: {provider: sim}, vision: {provider: sim}}
run: {seed: 42}
agent: {tool_summaries: raw, concurrency: 16, max_steps: 8}
pools: {eval_min_per_class: 1}
minibatch: {batch_size: 16, max_steps_per_epoch: 2}
epochs: {epochs: 2}
slow: {momentum_sample: 6}
";

/// A workspace with a generated world of so many questions of each of the twelve types.
pub(crate) fn workspace(folder: &Path, questions: usize, config: &str) -> PathBuf {
    let ws = folder.join("ws");
    trm().args(["init", "--example"]).arg(&ws).assert().success();
    // The world of the example makes way: what is left of its videos is never asked for.
    std::fs::remove_dir_all(ws.join("videos")).unwrap();
    let questions = questions.to_string();
    trm()
        .args(["sim", "world", "--videos", "5", "--seed", "7", "--force", "--questions", &questions, "-o"])
        .arg(&ws)
        .assert()
        .success();
    std::fs::write(ws.join("trm.yaml"), config).unwrap();
    ws
}

/// A copy of a workspace: trainings that shall be compared begin from the same bytes.
pub(crate) fn copy(from: &Path, to: &Path) -> PathBuf {
    let status = Command::new("cp").arg("-a").arg(from).arg(to).status().unwrap();
    assert!(status.success());
    to.to_owned()
}

/// `trm -C WS …` to its end, with plain environment.
pub(crate) fn run(ws: &Path, arguments: &[&str]) -> Output {
    trm().arg("-C").arg(ws).args(arguments).output().unwrap()
}

/// The JSON on stdout of a command that succeeds.
pub(crate) fn json(ws: &Path, arguments: &[&str]) -> Value {
    let output = trm().arg("-C").arg(ws).arg("--json").args(arguments).output().unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The state digest.
pub(crate) fn digest(ws: &Path) -> String {
    json(ws, &["store", "digest"])["digest"].as_str().unwrap().to_owned()
}

/// Every invariant of the store holds, among them: no answer of a settled scope lost or twice.
pub(crate) fn check(ws: &Path) {
    let output = run(ws, &["store", "check"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// Model calls that were paid for, as the store counts them.
pub(crate) fn paid(summary: &Value) -> u64 {
    summary["calls"].as_u64().unwrap() - summary["cached_calls"].as_u64().unwrap()
}

/// The command as a child process without a terminal.
pub(crate) fn child(ws: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_trm"));
    command.env_clear().env("NO_COLOR", "1").arg("-C").arg(ws).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A reader of the workspace's store.
pub(crate) fn store(ws: &Path) -> StoreReader {
    StoreReader::open(trm::harness::workspace::Workspace::at(ws).unwrap().store()).unwrap()
}

/// Exit code, stable code and the whole JSON text of the error of a command that fails.
pub(crate) fn failure(ws: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = trm().arg("-C").arg(ws).arg("--json").args(arguments).output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let line = stderr.lines().rev().find(|line| serde_json::from_str::<Value>(line).is_ok()).unwrap_or_default();
    let error: Value = serde_json::from_str(line).unwrap_or_default();
    let code = error["code"].as_str().unwrap_or_default().to_owned();
    (output.status.code().unwrap_or(-1), code, line.to_owned())
}
