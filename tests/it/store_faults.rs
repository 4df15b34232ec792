//! Every failure of the store has its own code, names its remedy, and damages nothing.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use redb::{ConcurrencyMode, Database, ReadableTable, TableDefinition};
use trm::domain::{Fault, RunId};
use trm::store::rows::{Prediction, ValidationFlags};
use trm::store::{Batch, OpenOptions, Scope, Store, StoreReader, check, check_file};

use crate::store_sample::sample_store;
use crate::store_support::{fresh, prediction, raw, rollout, run_id, sealed, with_run};
use crate::support::trm;

const META: TableDefinition<&str, &[u8]> = TableDefinition::new("meta");
type StepColumns = (&'static str, u8, u32, u8, u32, u8, &'static str, &'static str, u32);
const STEP_ROWS: TableDefinition<StepColumns, &[u8]> = TableDefinition::new("step_rows");

/// A small file system of its own; none where mounting is not permitted.
struct SmallDisk(PathBuf);

impl SmallDisk {
    #[expect(clippy::print_stderr, reason = "a skipped test says so")]
    fn mount(at: &Path, size: &str) -> Option<Self> {
        std::fs::create_dir_all(at).unwrap();
        let mounted =
            Command::new("mount").args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"]).arg(at).output();
        if mounted.is_ok_and(|output| output.status.success()) {
            std::fs::write(at.join("trm.yaml"), "").unwrap();
            return Some(Self(at.to_owned()));
        }
        eprintln!("SKIPPED: a small file system cannot be mounted here (it needs root)");
        None
    }

    fn remount(&self, options: &str) {
        let status = Command::new("mount").args(["-o", &format!("remount,{options}")]).arg(&self.0).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// Runs `trm store COMMAND --json` in a folder; returns the exit code and the stable code of the failure.
fn failure(folder: &Path, command: &str) -> (Option<i32>, String) {
    let output = trm().arg("-C").arg(folder).args(["--json", "store", command]).assert().failure();
    let output = output.get_output();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
    let line = stderr.lines().find(|line| line.starts_with('{')).unwrap_or_default();
    let error: serde_json::Value = serde_json::from_str(line).unwrap();
    (output.status.code(), error.get("code").and_then(serde_json::Value::as_str).unwrap().to_owned())
}

#[test]
fn a_full_disk_stops_the_writer_and_loses_nothing() {
    let (folder, _) = fresh();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), "3m") else { return };
    let path = disk.0.join("trm.redb");
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let row = Prediction { reasoning: "x".repeat(40_000), ..prediction("q", true, 0) };
    let mut acknowledged = Vec::new();
    let failed = loop {
        let id = format!("q{}", acknowledged.len());
        let mut batch = Batch::new();
        batch.put(&run, Scope::Adhoc, &rollout(&id), &row);
        match store.write_blocking(batch) {
            Ok(()) => acknowledged.push(id),
            Err(error) => break error,
        }
        assert!(acknowledged.len() < 1000, "a disk of 3 MB took {} rows of 40 kB", acknowledged.len());
    };
    assert_eq!(failed.code(), "store.disk_full", "{failed}");
    assert!(failed.to_string().contains("trm.redb") && failed.hint().unwrap().contains("free some space"));
    let mut batch = Batch::new();
    batch.put_text("small", "x");
    let later = store.write_blocking(batch).unwrap_err();
    assert_eq!(later.code(), "store.disk_full", "a later caller hears of the same failure: {later}");
    assert!(!acknowledged.is_empty());
    drop(store);

    disk.remount("size=32m");
    let store = Store::open(&path, &OpenOptions::default()).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(check(&snapshot).unwrap().problems, []);
    for id in &acknowledged {
        assert!(snapshot.row::<Prediction>(&run, Scope::Adhoc, &rollout(id)).unwrap().is_some(), "{id} is lost");
    }
    let mut batch = Batch::new();
    batch.put(&run, Scope::Adhoc, &rollout("later"), &row);
    store.write_blocking(batch).unwrap();
}

#[test]
fn a_disk_that_is_full_from_the_start_says_so() {
    let (folder, _) = fresh();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), "16k") else { return };
    assert_eq!(Store::create(disk.0.join("trm.redb")).unwrap_err().code(), "store.disk_full");
}

#[test]
fn a_read_only_file_system_can_be_read_and_not_written() {
    let (folder, _) = fresh();
    let Some(disk) = SmallDisk::mount(&folder.path().join("disk"), "8m") else { return };
    let path = disk.0.join("trm.redb");
    drop(sample_store(&path, &run_id("train1")));
    disk.remount("ro");
    assert_eq!(Store::open(&path, &OpenOptions::default()).unwrap_err().code(), "store.read_only");
    assert_eq!(Store::create(disk.0.join("other.redb")).unwrap_err().code(), "store.read_only");
    assert_eq!(failure(&disk.0, "compact"), (Some(7), "store.read_only".into()));
    let report = check_file(&path, None).unwrap();
    assert!(report.is_clean() && !report.pages_verified);
}

#[test]
fn a_forbidden_file_says_so() {
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_trm"));
    command.arg("-C").arg(folder.path()).args(["--json", "store", "stats"]);
    if rustix::process::geteuid().is_root() {
        // Root may read everything: ask as nobody.
        command.uid(65_534).gid(65_534);
    } else {
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o000)).unwrap();
    }
    let output = match command.output() {
        Ok(output) => output,
        Err(error) => {
            eprintln!("SKIPPED: the program cannot be run as nobody here: {error}");
            return;
        }
    };
    let error: serde_json::Value = serde_json::from_slice(&output.stderr).unwrap();
    assert_eq!((output.status.code(), error["code"].as_str()), (Some(7), Some("store.permission_denied")));
}

#[test]
fn files_that_are_no_store_are_left_as_they_are() {
    let (folder, path) = fresh();
    for content in [&b"SQLite format 3\0 and more"[..], &[0; 8192], b"\n"] {
        std::fs::write(&path, content).unwrap();
        let (exit, code) = failure(folder.path(), "stats");
        assert!(exit == Some(7) && matches!(code.as_str(), "store.not_a_store" | "store.corrupt"), "{code}");
        assert!(Store::open(&path, &OpenOptions::creating()).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), content, "the file was changed");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert_eq!(failure(folder.path(), "stats").1, "store.not_a_store");
}

#[test]
fn a_database_of_another_program_is_refused() {
    let (folder, path) = fresh();
    let database = Database::builder().set_concurrency_mode(ConcurrencyMode::SingleWriter).create(&path).unwrap();
    let transaction = database.begin_write().unwrap();
    let table: TableDefinition<u64, u64> = TableDefinition::new("numbers");
    transaction.open_table(table).unwrap().insert(1, 2).unwrap();
    transaction.commit().unwrap();
    drop(database);
    assert_eq!(failure(folder.path(), "stats"), (Some(7), "store.not_a_store".into()));
    assert_eq!(Store::open(&path, &OpenOptions::creating()).unwrap_err().code(), "store.not_a_store");
}

#[test]
fn a_newer_schema_is_refused_with_both_versions_named() {
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    raw(&path, |transaction| {
        transaction.open_table(META).unwrap().insert("schema", sealed(1, 1, &[99]).as_slice()).unwrap();
    });
    assert_eq!(failure(folder.path(), "stats"), (Some(7), "store.newer_schema".into()));
    let error = Store::open(&path, &OpenOptions::default()).unwrap_err();
    let known = trm::store::SCHEMA_VERSION.to_string();
    assert!(error.to_string().contains("99") && error.to_string().contains(&known), "{error}");
    assert_eq!(StoreReader::open(&path).unwrap_err().code(), "store.newer_schema");
    // A program that knows the schema finds everything as it was.
    raw(&path, |transaction| {
        let schema = u8::try_from(trm::store::SCHEMA_VERSION).unwrap();
        transaction.open_table(META).unwrap().insert("schema", sealed(1, 1, &[schema]).as_slice()).unwrap();
    });
    assert!(check_file(&path, None).unwrap().is_clean());
}

/// The code of reading a row whose value is replaced.
fn code_of_row(value: &dyn Fn(&[u8]) -> Vec<u8>) -> &'static str {
    let (_folder, path) = fresh();
    let run: RunId = run_id("train1");
    let store = with_run(&path, &run);
    let mut batch = Batch::new();
    let row = ValidationFlags { flags: vec!["a".into()], details: "{}".into() };
    batch.put(&run, Scope::Adhoc, &rollout("q1"), &row);
    store.write_blocking(batch).unwrap();
    drop(store);
    raw(&path, |transaction| {
        let mut table = transaction.open_table(STEP_ROWS).unwrap();
        let key = ("train1", 4, 0, 0, 0, 5, "rollout", "q1", 0);
        let old = table.get(key).unwrap().unwrap().value().to_vec();
        table.insert(key, value(&old).as_slice()).unwrap();
    });
    let snapshot = StoreReader::open(&path).unwrap().snapshot().unwrap();
    let error = snapshot.rows::<ValidationFlags>(&run, Scope::Adhoc).unwrap_err();
    assert!(error.to_string().contains("q1") && error.to_string().contains("validation_flags"), "{error}");
    error.code()
}

#[test]
fn a_damaged_value_is_told_by_what_is_wrong_with_it() {
    let flipped = code_of_row(&|old| {
        let mut value = old.to_vec();
        *value.last_mut().unwrap() ^= 0x20;
        value
    });
    assert_eq!(flipped, "store.row_checksum");
    // 253 announces a length of eight bytes.
    let length = code_of_row(&|_| sealed(1, 1, &[1, 253, 255, 255, 255, 255, 255, 255, 255, 63]));
    assert_eq!(length, "store.row_length");
    assert_eq!(code_of_row(&|_| sealed(1, 77, &[])), "store.row_version");
    assert_eq!(code_of_row(&|_| sealed(1, 1, &[0, 0, 0])), "store.row_malformed");
    assert_eq!(code_of_row(&|_| vec![]), "store.row_malformed");
}

#[test]
fn random_damage_never_ends_in_a_panic_and_never_passes_for_sound_text() {
    use rand::RngExt;
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    let sound = std::fs::read(&path).unwrap();
    let expected = trm::store::state_digest(&StoreReader::open(&path).unwrap().snapshot().unwrap()).unwrap();
    let mut generator = trm::domain::seeded_rng(7, &["damage"]);
    for _ in 0..60 {
        let mut bytes = sound.clone();
        let place = generator.random_range(0..bytes.len());
        bytes[place] ^= 1 << generator.random_range(0..8);
        let damaged = folder.path().join("damaged.redb");
        std::fs::write(&damaged, &bytes).unwrap();
        let found = StoreReader::open(&damaged)
            .and_then(|reader| reader.snapshot())
            .and_then(|snapshot| trm::store::state_digest(&snapshot));
        if let Ok(found) = found {
            assert_eq!(found, expected, "byte {place} changed what was learnt, unnoticed");
        }
        let _report = check_file(&damaged, None);
    }
}

#[test]
fn a_store_that_is_written_by_another_process_is_locked_for_writing_only() {
    let (folder, path) = fresh();
    let store = sample_store(&path, &run_id("train1"));
    assert_eq!(failure(folder.path(), "compact"), (Some(7), "store.busy".into()));
    trm().arg("-C").arg(folder.path()).args(["store", "stats"]).assert().success();
    let output = trm().arg("-C").arg(folder.path()).args(["--json", "store", "check"]).assert().success();
    let report: serde_json::Value = serde_json::from_slice(&output.get_output().stdout).unwrap();
    assert_eq!(report["pages_verified"], false);
    drop(store);
}

#[test]
fn control_characters_of_damaged_keys_do_not_reach_the_terminal() {
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    raw(&path, |transaction| {
        let key = ("train1\u{1b}[2J", 1, 1, 0, 0, 2, "\u{7}", "q\r\n", 0);
        transaction.open_table(STEP_ROWS).unwrap().insert(key, &b""[..]).unwrap();
    });
    let output = trm().arg("-C").arg(folder.path()).args(["store", "check"]).assert().code(7);
    let shown = [output.get_output().stdout.clone(), output.get_output().stderr.clone()].concat();
    assert!(!shown.iter().any(|byte| matches!(byte, 0x1b | 0x07 | b'\r')), "{}", String::from_utf8_lossy(&shown));
}
