//! The store and other processes: `kill -9` at random moments, live readers, repair by the first reader.
//!
//! The writing and reading processes are this test binary itself, started with `TRM_STORE_HELPER`.
//! `TRM_STORE_KILLS`, `TRM_STORE_READERS` and `TRM_STORE_SECONDS` lengthen the tests (see `tools/prove`).

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rand::RngExt;
use trm::domain::RunId;
use trm::store::rows::{ExpectedAnswers, Prediction, Run, RunMode, ScopeMark, TraceSpan};
use trm::store::{Batch, OpenEvent, OpenOptions, Scope, Snapshot, SpanKey, Store, StoreReader, check};

use crate::store_support::{V1, fresh, prediction, question, rollout, run_id, run_row, span, with_run};
use crate::support::trm;

/// Steps that are rewritten at the same time, each by a thread of its own.
const STEPS: u32 = 12;

fn setting(name: &str, short: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(short)
}

/// This test binary as another process in the role of a helper.
fn helper(role: &str, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store_processes::helper_process", "--nocapture"])
        .env("TRM_STORE_HELPER", role)
        .env("TRM_STORE_FILE", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Does nothing in an ordinary test run.
#[test]
fn helper_process() {
    let Ok(role) = std::env::var("TRM_STORE_HELPER") else { return };
    let path = std::env::var_os("TRM_STORE_FILE").unwrap();
    match role.as_str() {
        "write" => write_until_killed(Path::new(&path)),
        _ => read_until_told(Path::new(&path)),
    }
}

/// A store with one run that has no training state of its own.
fn prepare(path: &Path) {
    let store = with_run(path, &run_id("other"));
    let mut batch = Batch::new();
    batch.create_run(&run_id("train1"), Run { mode: RunMode::Infer, ..run_row() });
    store.write_blocking(batch).unwrap();
}

/// One transaction: a step is deleted and written anew, with as many rows as its generation says.
fn rewrite(run: &RunId, step: u32, generation: u64) -> Batch {
    let scope = Scope::step(1, step);
    let mut batch = Batch::new();
    batch.delete_scope(run, scope);
    let ids: Vec<String> = (0..rows_of(generation)).map(|number| format!("q{number}")).collect();
    let expected = ExpectedAnswers { phase: "rollout".into(), questions: ids.iter().map(|id| question(id)).collect() };
    let mark = ScopeMark {
        global_step: None,
        versions: V1,
        expected: vec![expected],
        settled: true,
        begun_ms: i64::try_from(generation).unwrap(),
    };
    batch.put(run, scope, &(), &mark);
    for id in &ids {
        let row = Prediction { raw_answer: generation.to_string(), ..prediction(id, true, 1) };
        batch.put(run, scope, &rollout(id), &row);
        let key = SpanKey { answer: rollout(id), span: 0 };
        batch.put(run, scope, &key, &span(&generation.to_string()));
    }
    batch
}

fn rows_of(generation: u64) -> u64 {
    1 + generation % 7
}

/// The generation that a step holds: all of it, or the test fails.
fn whole_generation(snapshot: &Snapshot<'_>, run: &RunId, step: u32) -> Option<u64> {
    let scope = Scope::step(1, step);
    let mark = snapshot.row::<ScopeMark>(run, scope, &()).unwrap()?;
    let generation = u64::try_from(mark.begun_ms).unwrap();
    let predictions = snapshot.rows::<Prediction>(run, scope).unwrap();
    let spans = snapshot.rows::<TraceSpan>(run, scope).unwrap();
    let counts = (predictions.len() as u64, spans.len() as u64);
    assert_eq!(counts, (rows_of(generation), rows_of(generation)), "step {step}, generation {generation}");
    let text = generation.to_string();
    assert!(predictions.iter().all(|(_, row)| row.raw_answer == text), "step {step} mixes generations");
    assert!(spans.iter().all(|(_, row)| row.thought == text), "step {step} mixes generations");
    Some(generation)
}

/// Rewrites the steps as fast as it can, and tells each acknowledgement.
fn write_until_killed(path: &Path) {
    let store = Store::open(path, &OpenOptions::default()).unwrap();
    let run = run_id("train1");
    let out = Mutex::new(std::io::stdout());
    std::thread::scope(|threads| {
        for step in 0..STEPS {
            let (store, run, out) = (store.clone(), run.clone(), &out);
            threads.spawn(move || {
                let first = whole_generation(&store.snapshot().unwrap(), &run, step).map_or(0, |last| last + 1);
                for generation in first.. {
                    store.write_blocking(rewrite(&run, step, generation)).unwrap();
                    let line = format!("\nack {step} {generation}\n");
                    out.lock().unwrap().write_all(line.as_bytes()).unwrap();
                }
            });
        }
    });
}

/// Reads the steps in a loop until its input ends; ends with an error code if anything is wrong.
fn read_until_told(path: &Path) {
    let told = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            let _end = std::io::stdin().read_to_end(&mut Vec::new());
            told.store(true, Ordering::Relaxed);
        });
        let run = run_id("train1");
        let reader = StoreReader::open(path).unwrap();
        let mut last = vec![None; STEPS as usize];
        let mut rounds = 0_u64;
        while !told.load(Ordering::Relaxed) {
            let snapshot = reader.snapshot().unwrap();
            for (step, seen) in (0..STEPS).zip(&mut last) {
                let generation = whole_generation(&snapshot, &run, step);
                assert!(generation >= *seen, "step {step} went back from {seen:?} to {generation:?}");
                *seen = generation;
            }
            rounds += 1;
            if rounds.is_multiple_of(64) {
                assert_eq!(check(&snapshot).unwrap().problems, []);
            }
        }
        let mut out = std::io::stdout();
        out.write_all(format!("\nrounds {rounds}\n").as_bytes()).unwrap();
    });
}

/// The last acknowledged generation of each step, from what a killed process told.
fn acknowledged(lines: impl Iterator<Item = String>, into: &mut BTreeMap<u32, u64>) -> u64 {
    let mut count = 0;
    for line in lines {
        let Some(rest) = line.strip_prefix("ack ") else { continue };
        let numbers = rest.split_once(' ').map(|(step, generation)| (step.parse(), generation.parse()));
        // The last line may be torn.
        if let Some((Ok(step), Ok(generation))) = numbers {
            into.insert(step, generation);
            count += 1;
        }
    }
    count
}

#[test]
fn kill_9_loses_nothing_acknowledged_and_leaves_nothing_partial() {
    let kills = setting("TRM_STORE_KILLS", 10);
    let (folder, path) = fresh();
    let run = run_id("train1");
    prepare(&path);
    let seed = setting("TRM_STORE_SEED", u64::from(std::process::id()));
    let mut generator = trm::domain::seeded_rng(seed, &["kill"]);
    let long_lived = StoreReader::open(&path).unwrap();
    let mut durable = BTreeMap::new();
    let mut repairs = 0;
    let mut acks = 0;
    for kill in 0..kills {
        let mut child = helper("write", &path);
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        // Some kills come while the store is being opened.
        let mut told = Vec::new();
        if kill % 8 != 0 {
            told.extend(lines.by_ref().find(|line| line.starts_with("ack ")));
        }
        std::thread::sleep(Duration::from_micros(generator.random_range(0..60_000)));
        child.kill().unwrap();
        child.wait().unwrap();
        acks += acknowledged(told.into_iter().chain(lines), &mut durable);

        let seen = std::sync::Arc::new(Mutex::new(Vec::new()));
        let listener: trm::store::OpenListener = {
            let seen = std::sync::Arc::clone(&seen);
            std::sync::Arc::new(move |event| seen.lock().unwrap().push(event))
        };
        let reader = StoreReader::open_with(&path, Some(&listener)).unwrap();
        repairs += seen.lock().unwrap().iter().filter(|event| **event == OpenEvent::Repairing).count();
        let snapshot = reader.snapshot().unwrap();
        assert_eq!(check(&snapshot).unwrap().problems, [], "kill {kill}, seed {seed}");
        for step in 0..STEPS {
            let generation = whole_generation(&snapshot, &run, step);
            let last = durable.get(&step).copied();
            assert!(
                generation >= last,
                "kill {kill}, seed {seed}: step {step} has {generation:?}, {last:?} was durable"
            );
        }
        drop((snapshot, reader));
        // A reader that was open all the time follows the repair and the next writer.
        let snapshot = long_lived.snapshot().unwrap();
        for step in 0..STEPS {
            assert!(whole_generation(&snapshot, &run, step) >= durable.get(&step).copied());
        }
    }
    trm().arg("-C").arg(folder.path()).args(["store", "check"]).assert().success();
    assert!(acks > kills, "the writers got nowhere");
    assert!(repairs > 0, "no kill left anything to repair");
    println!("{kills} kills, {acks} acknowledged transactions, {repairs} repairs by the first reader, seed {seed}");
}

#[test]
fn after_a_kill_many_readers_at_once_all_succeed() {
    let (folder, path) = fresh();
    prepare(&path);
    for _ in 0..3 {
        let mut child = helper("write", &path);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        lines.filter(|line| line.starts_with("ack ")).nth(5).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        std::thread::scope(|threads| {
            for _ in 0..4 {
                threads.spawn(|| trm().arg("-C").arg(folder.path()).args(["store", "stats"]).assert().success());
            }
        });
        drop(Store::open(&path, &OpenOptions::default()).unwrap());
    }
}

#[test]
fn other_processes_read_whole_steps_while_one_writes_at_full_speed() {
    let readers = setting("TRM_STORE_READERS", 3);
    let seconds = setting("TRM_STORE_SECONDS", 3);
    let (folder, path) = fresh();
    prepare(&path);
    let mut writer = helper("write", &path);
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.by_ref().find(|line| line.starts_with("ack ")).unwrap();
    let acks = std::thread::spawn(move || acknowledged(lines, &mut BTreeMap::new()));

    let children: Vec<Child> = (0..readers).map(|_| helper("read", &path)).collect();
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut runs = 0_u64;
    std::thread::scope(|threads| {
        let loops: Vec<_> = (0..readers)
            .map(|_| {
                threads.spawn(|| {
                    let mut runs = 0_u64;
                    while Instant::now() < end {
                        let output =
                            trm().arg("-C").arg(folder.path()).args(["--json", "store", "stats"]).assert().success();
                        let stats: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
                        assert!(stats.pointer("/tables/step_rows/rows").unwrap().as_u64() > Some(0));
                        runs += 1;
                    }
                    runs
                })
            })
            .collect();
        runs = loops.into_iter().map(|thread| thread.join().unwrap()).sum();
    });
    let mut rounds = 0;
    for mut child in children {
        drop(child.stdin.take());
        let mut told = String::new();
        child.stdout.take().unwrap().read_to_string(&mut told).unwrap();
        assert!(child.wait().unwrap().success(), "a reader failed: {told}");
        let done = told.lines().find_map(|line| line.strip_prefix("rounds ")?.parse::<u64>().ok());
        rounds += done.unwrap();
    }
    writer.kill().unwrap();
    writer.wait().unwrap();
    let acks = acks.join().unwrap();
    println!("{acks} transactions beside {runs} runs of `trm store stats` and {rounds} rounds of reading");
    assert!(acks > 0 && runs >= readers && rounds > 0);
}
