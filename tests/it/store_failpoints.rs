//! The process is ended at every fail point, before and after each commit: what was acknowledged is there, nothing is
//! there in part, and the same command completes the work. Built with `--features failpoints` only.
//!
//! `TRM_FAILPOINT_PASSES` lengthens it.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use serde_json::Value;
use trm::domain::RunId;
use trm::store::rows::{ExpectedAnswers, Prediction, Run, RunMode, ScopeMark, TraceSpan};
use trm::store::{Batch, OpenOptions, Scope, Snapshot, SpanKey, Store, StoreReader, check};

use crate::store_support::{V1, fresh, prediction, question, rollout, run_id, run_row, span, with_run};
use crate::support::trm;

/// The signal of `abort`.
const SIGABRT: i32 = 6;
const GENERATIONS: u64 = 6;

fn passes() -> u64 {
    std::env::var("TRM_FAILPOINT_PASSES").ok().and_then(|text| text.parse().ok()).unwrap_or(4)
}

/// Does nothing in an ordinary test run.
#[test]
fn helper_process() {
    let Some(path) = std::env::var_os("TRM_FAILPOINT_FILE") else { return };
    // Creates the store where it is missing: that commit has fail points too.
    let store = Store::open(&path, &OpenOptions::creating()).unwrap();
    println!("\nopened");
    let run = run_id("train1");
    let first = whole_generation(&store.snapshot().unwrap(), &run).map_or(0, |last| last + 1);
    for generation in first..first + GENERATIONS {
        store.write_blocking(rewrite(&run, generation)).unwrap();
        println!("\nack {generation}");
    }
}

/// One labelled transaction: the step is deleted and written anew, with as many rows as its generation says.
fn rewrite(run: &RunId, generation: u64) -> Batch {
    let scope = Scope::step(1, 0);
    let mut batch = Batch::new();
    batch.label("rewrite");
    batch.delete_scope(run, scope);
    let ids: Vec<String> = (0..=generation % 5).map(|number| format!("q{number}")).collect();
    let expected = ExpectedAnswers { phase: "rollout".into(), questions: ids.iter().map(|id| question(id)).collect() };
    let begun_ms = i64::try_from(generation).unwrap();
    let mark = ScopeMark { global_step: None, versions: V1, expected: vec![expected], settled: true, begun_ms };
    batch.put(run, scope, &(), &mark);
    for id in &ids {
        let row = Prediction { raw_answer: generation.to_string(), ..prediction(id, true, 1) };
        batch.put(run, scope, &rollout(id), &row);
        batch.put(run, scope, &SpanKey { answer: rollout(id), span: 0 }, &span(&generation.to_string()));
    }
    batch
}

/// The generation that the step holds: all of it, or the test fails.
fn whole_generation(snapshot: &Snapshot<'_>, run: &RunId) -> Option<u64> {
    let scope = Scope::step(1, 0);
    let mark = snapshot.row::<ScopeMark>(run, scope, &()).unwrap()?;
    let generation = u64::try_from(mark.begun_ms).unwrap();
    let predictions = snapshot.rows::<Prediction>(run, scope).unwrap();
    let spans = snapshot.rows::<TraceSpan>(run, scope).unwrap();
    let expected = generation % 5 + 1;
    assert_eq!((predictions.len() as u64, spans.len() as u64), (expected, expected), "generation {generation}");
    let text = generation.to_string();
    assert!(predictions.iter().all(|(_, row)| row.raw_answer == text), "generations are mixed");
    assert!(spans.iter().all(|(_, row)| row.thought == text), "generations are mixed");
    Some(generation)
}

/// Runs the helper until the fail point ends it; what it told, and how it ended.
fn helper(path: &Path, failpoint: &str) -> (String, ExitStatus) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store_failpoints::helper_process", "--nocapture"])
        .env("TRM_FAILPOINT_FILE", path)
        .env("TRM_FAILPOINT", failpoint)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut told = String::new();
    child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
    (told, child.wait().unwrap())
}

fn prepare(path: &Path) {
    let store = with_run(path, &run_id("other"));
    let mut batch = Batch::new();
    batch.create_run(&run_id("train1"), Run { mode: RunMode::Infer, ..run_row() });
    store.write_blocking(batch).unwrap();
}

#[test]
fn before_a_commit_nothing_of_it_is_there_and_after_it_everything() {
    let run = run_id("train1");
    for (point, durable_beyond_the_last_ack) in [
        ("store.before_commit", false),
        ("store.before_commit/rewrite", false),
        ("store.after_commit", true),
        ("store.after_commit/rewrite", true),
    ] {
        let (folder, path) = fresh();
        prepare(&path);
        let mut last = None;
        for pass in 1..=passes() {
            let pass = (pass - 1) % GENERATIONS + 1;
            let (told, status) = helper(&path, &format!("{point}:{pass}"));
            assert_eq!(status.signal(), Some(SIGABRT), "{point}:{pass}: {status}, {told}");
            let acks: Vec<u64> = told.lines().filter_map(|line| line.strip_prefix("ack ")?.parse().ok()).collect();
            assert_eq!(acks.len() as u64, pass - 1, "{point}:{pass}");
            last = acks.last().copied().or(last);
            let expected = if durable_beyond_the_last_ack { Some(last.map_or(0, |last| last + 1)) } else { last };
            let reader = StoreReader::open(&path).unwrap();
            let snapshot = reader.snapshot().unwrap();
            assert_eq!(whole_generation(&snapshot, &run), expected, "{point}:{pass}");
            assert_eq!(check(&snapshot).unwrap().problems, [], "{point}:{pass}");
            last = expected;
        }
        trm().arg("-C").arg(folder.path()).args(["store", "check"]).assert().success();
    }
}

#[test]
fn a_store_that_was_cut_off_while_it_was_made_is_made_by_the_next_command() {
    for point in ["store.before_commit/initialise:1", "store.after_commit/initialise:1"] {
        let (folder, path) = fresh();
        let (told, status) = helper(&path, point);
        assert_eq!(status.signal(), Some(SIGABRT), "{point}: {told}");
        assert!(!told.contains("opened"));
        trm().arg("-C").arg(folder.path()).args(["store", "check"]).assert().success();
        drop(Store::open(&path, &OpenOptions::default()).unwrap());
    }
}

#[test]
fn a_migration_that_was_cut_off_left_the_older_store_or_the_new_one() {
    let older = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/store-schema-1.redb.zst");
    let older = zstd::decode_all(std::fs::File::open(older).unwrap()).unwrap();
    let digest = |folder: &Path| {
        let output = trm().arg("-C").arg(folder).args(["store", "digest", "--json"]).assert().success();
        serde_json::from_slice::<Value>(&output.get_output().stdout).unwrap()
    };
    let (whole_folder, path) = fresh();
    std::fs::write(&path, &older).unwrap();
    let whole = digest(whole_folder.path());
    for point in ["store.before_commit/migrate:1", "store.after_commit/migrate:1"] {
        let (folder, path) = fresh();
        std::fs::write(&path, &older).unwrap();
        let (told, status) = helper(&path, point);
        assert_eq!(status.signal(), Some(SIGABRT), "{point}: {told}");
        assert_eq!(digest(folder.path()), whole, "{point}");
        trm().arg("-C").arg(folder.path()).args(["store", "check"]).assert().success();
    }
}

/// Letter and outcome of every answer of a run.
fn answers(demo: &Path, run: &str) -> BTreeMap<String, (Value, Value)> {
    let out = demo.with_file_name(format!("out-{run}"));
    let command = ["export", "--tables", "predictions", "--run", run, "--jsonl"];
    trm().arg("-C").arg(demo).args(command).arg(&out).assert().success();
    let text = std::fs::read_to_string(out.join("predictions.jsonl")).unwrap();
    let rows = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.map(|row| (row["question_id"].as_str().unwrap().to_owned(), (row["answer"].clone(), row["outcome"].clone())))
        .collect()
}

#[test]
fn an_evaluation_that_was_cut_off_at_any_commit_is_completed_by_the_same_command() {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("demo");
    trm().args(["init", "--example"]).arg(&demo).assert().success();
    let eval = |run: &str| {
        let mut command = trm();
        command.arg("-C").arg(&demo).args(["eval", "--limit", "6", "--concurrency", "2", "--run-id", run]);
        command
    };
    eval("whole").assert().success();
    let expected = answers(&demo, "whole");
    assert_eq!(expected.len(), 6);
    let mut points = Vec::new();
    for label in ["begin evaluation", "settle evaluation"] {
        points.extend([format!("store.before_commit/{label}:1"), format!("store.after_commit/{label}:1")]);
    }
    // Answers may share a commit, so the sixth need not come.
    for pass in 1..=passes().min(3) {
        points.extend([format!("store.before_commit/answer:{pass}"), format!("store.after_commit/answer:{pass}")]);
    }
    for (number, point) in points.iter().enumerate() {
        let run = format!("r{number}");
        let cut = eval(&run).env("TRM_FAILPOINT", point).assert().failure();
        assert_eq!(cut.get_output().status.signal(), Some(SIGABRT), "{point}");
        trm().arg("-C").arg(&demo).args(["store", "check"]).assert().success();
        eval(&run).assert().success();
        assert_eq!(answers(&demo, &run), expected, "{point}");
    }
    trm().arg("-C").arg(&demo).args(["store", "check"]).assert().success();
}
