//! Stores of earlier schemas open: each file here was written by the program of its time.

use std::path::PathBuf;

use crate::store_sample::sample_store;
use crate::store_support::{fresh, run_id};

fn fixture(schema: u32) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("tests/fixtures/store-schema-{schema}.redb.zst"))
}

/// With `TRM_WRITE_STORE_FIXTURE` set, keeps what this program writes as the fixture of its schema.
#[test]
fn the_store_of_this_schema_is_kept_when_asked() {
    let (_folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    if std::env::var_os("TRM_WRITE_STORE_FIXTURE").is_some() {
        let bytes = zstd::encode_all(std::fs::File::open(&path).unwrap(), 19).unwrap();
        std::fs::create_dir_all(fixture(0).parent().unwrap()).unwrap();
        std::fs::write(fixture(trm::store::SCHEMA_VERSION), bytes).unwrap();
    }
}
