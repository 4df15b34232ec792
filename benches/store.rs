//! The store against SQLite (WAL, synchronous=FULL) on the same disk, in one run.
//!
//! `cargo bench --bench store [-- PART …]`; parts: `commits`, `bulk`, `delete`, `open`, `growth`. Sizes come from
//! `TRM_BENCH_ROWS` (1000000), `TRM_BENCH_OPEN_MB` (256), `TRM_BENCH_REPEATS` (3), `TRM_BENCH_DELETES` (25),
//! `TRM_BENCH_CACHE_MB` (the store's own); figures are medians.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark prints, and fails loudly")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use trm::domain::{ContentHash, Phase, RunId, StopReason, VersionName};
use trm::store::rows::{Outcome, Prediction, Run, RunMode, RunState, Tokens, Version, VersionKind, VersionPair};
use trm::store::{AnswerKey, Batch, OpenOptions, PhaseKey, Scope, Store};

const PAIR: VersionPair = VersionPair { skills: VersionName::FIRST, prompts: VersionName::FIRST };
/// Bytes of a row's long text: about what a prediction holds.
const TEXT: usize = 700;
const STEP_ROWS: u32 = 2000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    if let [role, path] = arguments.as_slice()
        && role == "fill"
    {
        fill_until_killed(Path::new(path));
        return;
    }
    let wanted = |part: &str| arguments.is_empty() || arguments.iter().any(|argument| argument == part);
    let parts: [(&str, fn()); 5] =
        [("commits", commits), ("bulk", bulk), ("delete", delete), ("open", open), ("growth", growth)];
    for (name, part) in parts {
        if wanted(name) {
            part();
        }
    }
}

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn repeats() -> u64 {
    setting("TRM_BENCH_REPEATS", 3)
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap()
}

fn run() -> RunId {
    "bench".parse().unwrap()
}

fn prediction(number: u32) -> Prediction {
    Prediction {
        task_type: "Action Reasoning".parse().unwrap(),
        video_id: "video".parse().unwrap(),
        unit_id: format!("q{number}").parse().unwrap(),
        answer: Some("A".into()),
        read_by: None,
        outcome: Outcome::Correct,
        stop_reason: StopReason::Finished,
        raw_answer: "A".into(),
        evidence: "L1_000".into(),
        reasoning: "x".repeat(TEXT),
        confidence: Some(0.75),
        graded_credit: None,
        samples: 1,
        steps: 3,
        max_steps: 40,
        spans: 0,
        calls: 4,
        cached_calls: 1,
        tokens: Tokens { prompt: 1000, cached: 0, completion: 50, estimated: false },
        latency_ms: 1200,
        skills_version: VersionName::FIRST,
        prompts_version: VersionName::FIRST,
        error: None,
        finished_ms: 5,
    }
}

fn key(number: u32) -> AnswerKey {
    AnswerKey { phase: PhaseKey::plain(Phase::Rollout), question: format!("q{number:07}").parse().unwrap() }
}

fn store(path: &Path) -> Store {
    let mut options = OpenOptions::creating();
    options.cache_bytes =
        usize::try_from(setting("TRM_BENCH_CACHE_MB", options.cache_bytes as u64 >> 20)).unwrap() << 20;
    let store = Store::open(path, &options).unwrap();
    let mut batch = Batch::new();
    let files = BTreeMap::from([("default-strategy.md".parse().unwrap(), batch.put_content("text"))]);
    let version =
        Version { files, parent: None, source: "built-in".into(), note: String::new(), made_by: None, created_ms: 0 };
    batch.put_version(VersionKind::Skills, VersionName::FIRST, &version);
    batch.put_version(VersionKind::Prompts, VersionName::FIRST, &version);
    let hash = ContentHash::of("bench");
    let row = Run {
        sequence: 0,
        mode: RunMode::Infer,
        state: RunState::Unfinished,
        config: "{}".into(),
        config_fingerprint: hash,
        data_fingerprint: hash,
        environment_fingerprint: hash,
        seed: 1,
        versions: PAIR,
        program_version: "bench".into(),
        created_ms: 0,
        finished_ms: None,
        history: vec![],
        summary: None,
    };
    batch.create_run(&run(), row);
    store.write_blocking(batch).unwrap();
    store
}

fn sqlite(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection
        .execute_batch(
            "CREATE TABLE IF NOT EXISTS rows (run TEXT, epoch INT, step INT, kind INT, sub TEXT, item TEXT, value BLOB,
             PRIMARY KEY (run, epoch, step, kind, sub, item)) WITHOUT ROWID",
        )
        .unwrap();
    connection
}

/// As many bytes as the store's encoded row has.
fn blob() -> Vec<u8> {
    vec![b'x'; TEXT + 160]
}

const INSERT: &str = "INSERT OR REPLACE INTO rows VALUES ('bench', ?1, ?2, 2, 'rollout', ?3, ?4)";

fn insert(connection: &Connection, epoch: u32, step: u32, number: u32, blob: &[u8]) {
    let mut statement = connection.prepare_cached(INSERT).unwrap();
    statement.execute(params![epoch, step, format!("q{number:07}"), blob]).unwrap();
}

/// Waits of all writers, sorted, and rows per second.
struct Rate {
    per_second: f64,
    p99: Duration,
}

/// Lets `writers` threads write one row after the other for a while; `write` returns when the row is durable.
fn rate(writers: u32, write: impl Fn(u32) + Sync) -> Rate {
    let length = Duration::from_millis(setting("TRM_BENCH_MS", 2000));
    let waits = Mutex::new(Vec::new());
    let begin = Instant::now();
    std::thread::scope(|threads| {
        for writer in 0..writers {
            let (waits, write) = (&waits, &write);
            threads.spawn(move || {
                let mut mine = Vec::new();
                let mut number = writer;
                while begin.elapsed() < length {
                    let asked = Instant::now();
                    write(number);
                    mine.push(asked.elapsed());
                    number += writers;
                }
                waits.lock().unwrap().extend(mine);
            });
        }
    });
    let took = begin.elapsed();
    let mut waits = waits.into_inner().unwrap();
    waits.sort();
    let p99 = waits.get(waits.len() * 99 / 100).copied().unwrap_or_default();
    Rate { per_second: waits.len() as f64 / took.as_secs_f64(), p99 }
}

fn trm_rate(writers: u32) -> Rate {
    let folder = tempfile::tempdir().unwrap();
    let store = store(&folder.path().join("trm.redb"));
    rate(writers, |number| {
        let mut batch = Batch::new();
        batch.put(&run(), Scope::step(1, 0), &key(number), &prediction(number));
        store.write_blocking(batch).unwrap();
    })
}

fn sqlite_rate(writers: u32) -> Rate {
    let folder = tempfile::tempdir().unwrap();
    let connection = Mutex::new(sqlite(&folder.path().join("rows.sqlite")));
    let blob = blob();
    rate(writers, |number| insert(&connection.lock().unwrap(), 1, 0, number, &blob))
}

type Asked = (u32, Sender<()>);

/// SQLite behind the same grouping: one thread, what waits goes together.
fn sqlite_grouped_rate(writers: u32) -> Rate {
    let folder = tempfile::tempdir().unwrap();
    let connection = sqlite(&folder.path().join("rows.sqlite"));
    let (sender, receiver) = sync_channel::<Asked>(1024);
    let worker = std::thread::spawn(move || group_commits(connection, &receiver));
    let result = rate(writers, |number| {
        let (answer, done) = channel();
        sender.send((number, answer)).unwrap();
        done.recv().unwrap();
    });
    drop(sender);
    worker.join().unwrap();
    result
}

fn group_commits(mut connection: Connection, receiver: &Receiver<Asked>) {
    let blob = blob();
    while let Ok(first) = receiver.recv() {
        let group: Vec<Asked> = std::iter::once(first).chain(receiver.try_iter().take(255)).collect();
        let transaction = connection.transaction().unwrap();
        group.iter().for_each(|(number, _)| insert(&transaction, 1, 0, *number, &blob));
        transaction.commit().unwrap();
        group.into_iter().for_each(|(_, answer)| answer.send(()).unwrap());
    }
}

fn commits() {
    println!("## Durable single-record commits per second\n");
    println!(
        "| writers | trm ÷ SQLite, one commit a row | trm ÷ SQLite grouped | trm | SQLite | SQLite grouped | trm p99 wait ÷ one commit |"
    );
    println!("|---|---|---|---|---|---|---|");
    let mut one_commit = 0.0;
    for writers in [1, 32, 256] {
        let (mut trm, mut single, mut grouped, mut p99) = (vec![], vec![], vec![], vec![]);
        for _ in 0..repeats() {
            let rate = trm_rate(writers);
            trm.push(rate.per_second);
            p99.push(rate.p99.as_secs_f64());
            single.push(sqlite_rate(writers).per_second);
            grouped.push(sqlite_grouped_rate(writers).per_second);
        }
        let (trm, single, grouped, p99) = (median(trm), median(single), median(grouped), median(p99));
        if writers == 1 {
            one_commit = 1.0 / trm;
        }
        let (by_single, by_grouped, waits) = (trm / single, trm / grouped, p99 / one_commit);
        println!(
            "| {writers} | {by_single:.2} | {by_grouped:.2} | {trm:.0} | {single:.0} | {grouped:.0} | {waits:.1} |"
        );
    }
    println!();
}

fn fill(store: &Store, steps: std::ops::Range<u32>) {
    for step in steps {
        let mut batch = Batch::new();
        for number in 0..STEP_ROWS {
            batch.put(&run(), Scope::step(1, step), &key(number), &prediction(number));
        }
        store.write_blocking(batch).unwrap();
    }
}

fn fill_sqlite(connection: &mut Connection, steps: std::ops::Range<u32>) {
    let blob = blob();
    for step in steps {
        let transaction = connection.transaction().unwrap();
        (0..STEP_ROWS).for_each(|number| insert(&transaction, 1, step, number, &blob));
        transaction.commit().unwrap();
    }
}

fn seconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64()
}

fn bulk() {
    let (mut trm, mut other) = (vec![], vec![]);
    let rows = f64::from(10 * STEP_ROWS);
    for _ in 0..repeats() {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder.path().join("trm.redb"));
        trm.push(rows / seconds(|| fill(&store, 0..10)));
        let mut connection = sqlite(&folder.path().join("rows.sqlite"));
        other.push(rows / seconds(|| fill_sqlite(&mut connection, 0..10)));
    }
    let (trm, other) = (median(trm), median(other));
    println!("## Bulk: 20,000 rows in transactions of 2,000\n");
    println!("| trm ÷ SQLite | trm rows/s | SQLite rows/s |\n|---|---|---|");
    println!("| {:.2} | {trm:.0} | {other:.0} |\n", trm / other);
}

/// A store and an SQLite file of the same rows.
struct Rows {
    rows: u32,
    steps: u32,
    store: Store,
    connection: Connection,
    trm: Vec<f64>,
    sqlite: Vec<f64>,
    /// A commit of one row between two deletes: what any commit costs in a file of this size.
    one_row: Vec<f64>,
    _folder: tempfile::TempDir,
}

impl Rows {
    fn new(rows: u32) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = store(&folder.path().join("trm.redb"));
        let mut connection = sqlite(&folder.path().join("rows.sqlite"));
        let steps = rows / STEP_ROWS;
        fill(&store, 0..steps);
        fill_sqlite(&mut connection, 0..steps);
        Self { rows, steps, store, connection, trm: vec![], sqlite: vec![], one_row: vec![], _folder: folder }
    }

    /// Deletes a step in both and writes it anew, which is not measured.
    fn round(&mut self, round: u32, rounds: u32) {
        let step = self.steps * (round + 1) / (rounds + 2);
        self.trm.push(
            1000.0
                * seconds(|| {
                    let mut batch = Batch::new();
                    batch.delete_scope(&run(), Scope::step(1, step));
                    self.store.write_blocking(batch).unwrap();
                }),
        );
        self.sqlite.push(
            1000.0
                * seconds(|| {
                    let sql = "DELETE FROM rows WHERE run = 'bench' AND epoch = 1 AND step = ?1";
                    self.connection.execute(sql, params![step]).unwrap();
                }),
        );
        fill(&self.store, step..step + 1);
        fill_sqlite(&mut self.connection, step..step + 1);
        self.one_row.push(
            1000.0
                * seconds(|| {
                    let mut batch = Batch::new();
                    batch.put(&run(), Scope::step(1, step), &key(0), &prediction(0));
                    self.store.write_blocking(batch).unwrap();
                }),
        );
    }
}

/// The stores take turns, so that what else happens on the machine and its disk meets all of them alike.
fn delete() {
    let most = u32::try_from(setting("TRM_BENCH_ROWS", 1_000_000)).unwrap();
    let rounds = u32::try_from(setting("TRM_BENCH_DELETES", 25)).unwrap();
    let mut stores = [Rows::new(most / 10), Rows::new(most)];
    for round in 0..rounds {
        stores.iter_mut().for_each(|rows| rows.round(round, rounds));
    }
    println!("## Deleting a step of 2,000 rows, durable, in milliseconds (median of {rounds}; quartiles)\n");
    println!("| rows in the store | trm ÷ SQLite | trm | SQLite | trm, a commit of one row |\n|---|---|---|---|---|");
    let shown = |values: &[f64]| {
        let [low, middle, high] = quartiles(values);
        format!("{middle:.1} ({low:.1} to {high:.1})")
    };
    let mut times = Vec::new();
    for Rows { rows, trm, sqlite, one_row, .. } in &stores {
        let (ours, other) = (median(trm.clone()), median(sqlite.clone()));
        println!("| {rows} | {:.2} | {} | {} | {} |", ours / other, shown(trm), shown(sqlite), shown(one_row));
        times.push(ours);
    }
    if let [small, large] = times.as_slice() {
        println!("\nTen times the rows: {:.2} times the time.\n", large / small);
    }
}

fn quartiles(values: &[f64]) -> [f64; 3] {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| values.get(values.len() * quarter / 4).copied().unwrap())
}

fn fill_until_killed(path: &Path) {
    let store = store(path);
    for step in 0.. {
        fill(&store, step..step + 1);
        println!("{}", std::fs::metadata(path).unwrap().len());
    }
}

fn open() {
    let size = setting("TRM_BENCH_OPEN_MB", 256) << 20;
    let limit = setting("TRM_BENCH_OPEN_LIMIT_MS", u64::MAX);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("trm.redb");
    let mut child =
        Command::new(std::env::current_exe().unwrap()).arg("fill").arg(&path).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(|line| line.parse::<u64>().ok()).find(|bytes| *bytes >= size).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    let bytes = std::fs::metadata(&path).unwrap().len();
    let mut opened = None;
    let took = 1000.0 * seconds(|| opened = Some(Store::open(&path, &OpenOptions::default()).unwrap()));
    let scopes = opened.unwrap().snapshot().unwrap().scopes(&run()).unwrap().len();
    println!("## Opening after kill -9\n");
    println!("{} MB, {scopes} steps: open for writing in {took:.0} ms.\n", bytes >> 20);
    assert!(took <= limit as f64, "opening took {took:.0} ms, the limit is {limit} ms");
}

fn growth() {
    let folder = tempfile::tempdir().unwrap();
    let (path, other_path) = (folder.path().join("trm.redb"), folder.path().join("rows.sqlite"));
    let store = store(&path);
    let mut connection = sqlite(&other_path);
    let size = |path: &Path| std::fs::metadata(path).unwrap().len() as f64;
    fill(&store, 0..5);
    fill_sqlite(&mut connection, 0..5);
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    let (before, other_before) = (size(&path), size(&other_path));
    for _ in 0..50 {
        let mut batch = Batch::new();
        batch.delete_scope(&run(), Scope::step(1, 2));
        for number in 0..STEP_ROWS {
            batch.put(&run(), Scope::step(1, 2), &key(number), &prediction(number));
        }
        store.write_blocking(batch).unwrap();
        connection.execute("DELETE FROM rows WHERE run = 'bench' AND epoch = 1 AND step = 2", []).unwrap();
        fill_sqlite(&mut connection, 2..3);
    }
    connection.pragma_update(None, "wal_checkpoint", "TRUNCATE").unwrap();
    let (after, other_after) = (size(&path), size(&other_path));
    println!("## File growth over 50 rounds of deleting and rewriting a step of 2,000 rows (of 10,000)\n");
    println!("| | before | after | ratio |\n|---|---|---|---|");
    for (name, before, after) in [("trm", before, after), ("SQLite", other_before, other_after)] {
        println!("| {name} | {:.1} MB | {:.1} MB | {:.2} |", before / 1e6, after / 1e6, after / before);
    }
    println!();
}
