//! A training is ended before and after every kind of commit, and reaches the same state. Built with
//! `--features failpoints` only.

use std::os::unix::process::ExitStatusExt;

use crate::train_support::{SMALL, check, child, copy, digest, json, workspace};

/// The signal of `abort`.
const SIGABRT: i32 = 6;

/// Labels of the commits of a training, in the order in which they first happen.
const LABELS: [&str; 13] = [
    "begin training",
    "begin baseline",
    "answer",
    "prepare",
    "begin step",
    "diagnosis",
    "evolution",
    "gate arm",
    "settlement",
    "begin slow",
    "slow update",
    "begin final test",
    "finish",
];

#[test]
fn a_crash_at_any_commit_changes_nothing_in_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let origin = workspace(folder.path(), 10, SMALL);
    let whole = copy(&origin, &folder.path().join("whole"));
    json(&whole, &["train"]);
    let expected = digest(&whole);
    let crashed = copy(&origin, &folder.path().join("crashed"));
    for label in LABELS {
        // Sub-steps of the slow update share a label: each of the ten is met.
        let passages = if label == "slow update" { 4 } else { 1 };
        for point in ["store.before_commit", "store.after_commit"] {
            for _ in 0..passages {
                let mut command = child(&crashed, &["train"]);
                command.env("TRM_FAILPOINT", format!("{point}/{label}:1"));
                let status = command.status().unwrap();
                assert_eq!(status.signal(), Some(SIGABRT), "{point}/{label}: {status:?}");
                check(&crashed);
            }
        }
    }
    json(&crashed, &["train"]);
    check(&crashed);
    assert_eq!(digest(&crashed), expected);
}
