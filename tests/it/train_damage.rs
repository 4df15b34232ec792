//! A training whose stored state is damaged or does not fit its questions stops by name, and writes nothing.

use std::path::Path;

use redb::{ReadableTable, TableDefinition};
use trm::domain::RunId;
use trm::harness::workspace::Workspace;
use trm::store::rows::LadderEntry;
use trm::store::{Batch, OpenOptions, Store};

use crate::store_support::{raw, sealed};
use crate::train_support::{SMALL, check, copy, failure, json, store, workspace};

const CHECKPOINTS: TableDefinition<(&str, u8), &[u8]> = TableDefinition::new("checkpoints");

fn store_file(ws: &Path) -> std::path::PathBuf {
    Workspace::at(ws).unwrap().store()
}

/// The training state without its last field, sealed as if it were whole.
fn shorten_state(ws: &Path) {
    raw(&store_file(ws), |transaction| {
        let mut table = transaction.open_table(CHECKPOINTS).unwrap();
        let value = table.get(("train1", 0)).unwrap().unwrap().value().to_vec();
        let (form, version, packed) = (value[0], value[1], &value[6..]);
        let body = zstd::stream::decode_all(packed).unwrap();
        let shorter = zstd::stream::encode_all(&body[..body.len() - 3], 3).unwrap();
        table.insert(("train1", 0), sealed(form, version, &shorter).as_slice()).unwrap();
    });
}

#[test]
fn a_training_state_with_a_missing_field_is_corruption() {
    let folder = tempfile::tempdir().unwrap();
    let origin = workspace(folder.path(), 8, SMALL);
    json(&origin, &["train", "--until", "e1s0"]);
    let ws = copy(&origin, &folder.path().join("damaged"));
    shorten_state(&ws);
    let (code, error, message) = failure(&ws, &["train"]);
    assert_eq!((code, error.as_str()), (7, "store.row_malformed"), "{message}");
    assert!(message.contains("train1"), "it says where: {message}");
    let runs = store(&ws).snapshot().unwrap().runs().unwrap();
    assert_eq!(runs.len(), 1, "nothing else was begun");
    let (code, _, _) = failure(&ws, &["store", "check"]);
    assert_eq!(code, 7, "the check finds it too");
    // With the state as it was, the same command goes on: nothing was half-written around it.
    std::fs::copy(store_file(&origin), store_file(&ws)).unwrap();
    assert_eq!(json(&ws, &["train"])["finished"], true);
    check(&ws);
}

#[test]
fn a_ladder_with_a_unit_that_no_question_makes_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let ws = workspace(folder.path(), 10, SMALL);
    json(&ws, &["train", "--until", "e1s0"]);
    let run: RunId = "train1".parse().unwrap();
    {
        let store = Store::open(store_file(&ws), &OpenOptions::default()).unwrap();
        let ladders = store.snapshot().unwrap().ladders(&run).unwrap();
        let mut batch = Batch::new();
        for (task_type, mut ladder) in ladders {
            // 0.5 and no observation: as informative as a unit can be, so that every gate would ask it.
            let entry = LadderEntry { unit_id: "nobody-asked".parse().unwrap(), p_hat: 0.5, observations: 0 };
            ladder.entries.insert(0, entry);
            batch.put_ladder(&run, &task_type, &ladder);
        }
        store.write_blocking(batch).unwrap();
    }
    let (code, error, message) = failure(&ws, &["train"]);
    assert_eq!((code, error.as_str()), (3, "ladder.lost_unit"), "{message}");
    assert!(message.contains("nobody-asked"), "{message}");
    let (again, _, _) = failure(&ws, &["train"]);
    assert_eq!(again, 3, "it stops at the same place again");
}
