//! Stores of earlier schemas open: each file here was written by the program of its time.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use redb::{ConcurrencyMode, Database, ReadableDatabase, ReadableTable, TableDefinition};
use trm::domain::Fault;
use trm::store::rows::{Prediction, Seed, StepReport, TraceSpan};
use trm::store::{
    OpenEvent, OpenListener, OpenOptions, SCHEMA_VERSION, Store, StoreReader, check, check_file, state_digest,
};

use crate::store_sample::{STEP, TYPE, sample_store, step_report};
use crate::store_support::{fresh, prediction, question, rollout, run_id, span, task_type};
use crate::support::trm;

fn fixture(schema: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/store-schema-{schema}.redb.zst"))
}

/// Unpacks the store of a schema.
fn unpack(schema: u32, to: &Path) {
    let packed = std::fs::File::open(fixture(schema)).unwrap();
    zstd::stream::copy_decode(packed, std::fs::File::create(to).unwrap()).unwrap();
}

/// Collects what opening says.
fn listener() -> (OpenListener, Arc<Mutex<Vec<OpenEvent>>>) {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let into = Arc::clone(&seen);
    (Arc::new(move |event| into.lock().unwrap().push(event)), seen)
}

const MIGRATING: OpenEvent = OpenEvent::Migrating { from: 1, to: SCHEMA_VERSION };

#[test]
fn a_store_of_schema_1_is_migrated_after_saying_so() {
    let (_folder, path) = fresh();
    unpack(1, &path);
    let (listener, seen) = listener();
    let store = Store::open(&path, &OpenOptions { listener: Some(listener), ..OpenOptions::default() }).unwrap();
    assert_eq!(*seen.lock().unwrap(), [MIGRATING]);

    let snapshot = store.snapshot().unwrap();
    assert_eq!(check(&snapshot).unwrap().problems, []);
    let run = run_id("train1");
    assert_eq!(snapshot.row::<Prediction>(&run, STEP, &rollout("q6")).unwrap(), Some(prediction("q6", false, 2)));
    let trace = snapshot.trace(&run, STEP, &rollout("q6")).unwrap();
    assert_eq!(trace.into_iter().map(|(_, row)| row).collect::<Vec<TraceSpan>>(), [span("I look."), span("I look.")]);
    let report = snapshot.row::<StepReport>(&run, STEP, &task_type(TYPE)).unwrap();
    assert_eq!(report, Some(StepReport { wasted_runs: None, wall_ms: None, ..step_report() }));
    let seed: Seed = snapshot.seed("start").unwrap().unwrap();
    assert_eq!(seed.predictions, [(question("q1"), prediction("q1", true, 0))]);

    let (_other, fresh_path) = fresh();
    let fresh_store = sample_store(&fresh_path, &run);
    let digests = [&store, &fresh_store].map(|store| state_digest(&store.snapshot().unwrap()).unwrap());
    assert_eq!(digests[0], digests[1], "a migrated training is the same training");
}

#[test]
fn a_second_opening_migrates_nothing() {
    let (_folder, path) = fresh();
    unpack(1, &path);
    drop(Store::open(&path, &OpenOptions::default()).unwrap());
    let (listener, seen) = listener();
    drop(Store::open(&path, &OpenOptions { listener: Some(listener), ..OpenOptions::default() }).unwrap());
    assert_eq!(*seen.lock().unwrap(), []);
}

#[test]
fn a_reader_migrates_when_nobody_writes() {
    let (folder, path) = fresh();
    unpack(1, &path);
    let (listener, seen) = listener();
    let reader = StoreReader::open_with(&path, Some(&listener)).unwrap();
    assert_eq!(*seen.lock().unwrap(), [MIGRATING]);
    assert_eq!(check(&reader.snapshot().unwrap()).unwrap().problems, []);
    unpack(1, &path.with_extension("other"));
    std::fs::rename(path.with_extension("other"), &path).unwrap();
    let output = trm().arg("-C").arg(folder.path()).args(["store", "check"]).assert().success();
    assert!(String::from_utf8_lossy(&output.get_output().stderr).contains("migrating the store from schema 1"));
}

#[test]
fn an_older_store_that_cannot_be_written_names_both_schemas() {
    let (_folder, path) = fresh();
    unpack(1, &path);
    let before = std::fs::read(&path).unwrap();
    // The program of its time still writes it.
    let writer = Database::builder().set_concurrency_mode(ConcurrencyMode::SingleWriter).open(&path).unwrap();
    let error = StoreReader::open(&path).unwrap_err();
    assert_eq!(error.code(), "store.older_schema");
    assert!(error.to_string().contains("version 1"), "{error}");
    assert_eq!(Store::open(&path, &OpenOptions::default()).unwrap_err().code(), "store.locked");
    drop(writer);
    assert!(check_file(&path, None).unwrap().is_clean());
    assert_ne!(std::fs::read(&path).unwrap(), before, "once nobody writes it, it is migrated");
}

#[test]
fn a_damaged_row_does_not_keep_a_store_from_being_migrated() {
    let (_folder, path) = fresh();
    unpack(1, &path);
    let key = ("train1", 1, 1, 0, 0, 2, "rollout", "q8", 0);
    let database = Database::builder().set_concurrency_mode(ConcurrencyMode::SingleWriter).open(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    transaction.open_table(STEP_ROWS).unwrap().insert(key, &b"damaged"[..]).unwrap();
    transaction.commit().unwrap();
    drop(database);
    let store = Store::open(&path, &OpenOptions::default()).unwrap();
    let problems = check(&store.snapshot().unwrap()).unwrap().problems;
    assert!(problems.iter().any(|problem| problem.place.contains("q8")), "{problems:#?}");
}

type StepColumns = (&'static str, u8, u32, u8, u32, u8, &'static str, &'static str, u32);
const STEP_ROWS: TableDefinition<StepColumns, &[u8]> = TableDefinition::new("step_rows");
type BaselineColumns = (&'static [u8; 32], &'static str, &'static [u8; 32], u32, &'static str);
type UsageColumns = (&'static str, u8, u32, u8, u32, &'static str, &'static str);

/// Every value of every table, with compressed ones unpacked, as `table key` → bytes.
fn values(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let database = Database::builder().set_concurrency_mode(ConcurrencyMode::SingleWriter).open(path).unwrap();
    let transaction = database.begin_read().unwrap();
    let mut found = BTreeMap::new();
    macro_rules! read {
        ($name:literal, $key:ty) => {
            let table: TableDefinition<$key, &[u8]> = TableDefinition::new($name);
            for entry in transaction.open_table(table).unwrap().iter().unwrap() {
                let (key, value) = entry.unwrap();
                found.insert(format!("{} {:?}", $name, key.value()), unpacked(value.value()));
            }
        };
    }
    read!("step_rows", StepColumns);
    read!("meta", &str);
    read!("runs", &str);
    read!("contents", &[u8; 32]);
    read!("versions", (u8, u32));
    read!("manifest", &str);
    read!("seeds", &str);
    read!("pools", &str);
    read!("ladders", (&str, &str));
    read!("baseline_cache", BaselineColumns);
    read!("checkpoints", (&str, u8));
    read!("usage", UsageColumns);
    read!("heartbeats", &str);
    assert_eq!(transaction.list_tables().unwrap().count(), 13, "a table is missing in this list");
    found
}

/// Form, version and body; the checksum is over what the compressor of the day wrote.
fn unpacked(value: &[u8]) -> Vec<u8> {
    let (envelope, body) = value.split_first_chunk::<6>().unwrap();
    let [form, version, ..] = *envelope;
    let body = if form == 2 { zstd::decode_all(body).unwrap() } else { body.to_vec() };
    [vec![form, version], body].concat()
}

/// The golden bytes of every record: whoever changes one must raise the schema and keep its file.
/// With `TRM_WRITE_STORE_FIXTURE` set, keeps what this program writes as the file of its schema.
#[test]
fn this_program_writes_the_bytes_of_its_schema() {
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    if std::env::var_os("TRM_WRITE_STORE_FIXTURE").is_some() {
        let bytes = zstd::encode_all(std::fs::File::open(&path).unwrap(), 19).unwrap();
        std::fs::write(fixture(SCHEMA_VERSION), bytes).unwrap();
    }
    let kept = folder.path().join("kept.redb");
    unpack(SCHEMA_VERSION, &kept);
    let (kept, written) = (values(&kept), values(&path));
    assert_eq!(kept.keys().collect::<Vec<_>>(), written.keys().collect::<Vec<_>>());
    for (key, value) in &kept {
        assert_eq!(written.get(key), Some(value), "{key}");
    }
}
