//! Shared by the tests of the gate: reading the golden vectors, comparing numbers.

use std::fs;
use std::path::Path;

use serde_json::Value;

/// The text of a golden file, decompressed if it is stored so.
pub(crate) fn vector_text(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors");
    let plain = folder.join(name);
    if plain.exists() {
        return fs::read_to_string(plain).unwrap();
    }
    let packed = fs::read(folder.join(format!("{name}.zst"))).unwrap();
    String::from_utf8(zstd::decode_all(packed.as_slice()).unwrap()).unwrap()
}

/// A golden file as JSON.
pub(crate) fn vector(name: &str) -> Value {
    serde_json::from_str(&vector_text(name)).unwrap()
}

/// The rows of `vector[key]`.
pub(crate) fn rows<'a>(vector: &'a Value, key: &str) -> &'a [Value] {
    vector[key].as_array().unwrap()
}

/// Equal to 1e-12 relative, as the vectors ask for.
pub(crate) fn close(actual: f64, expected: f64) -> bool {
    actual == expected || (actual - expected).abs() <= 1e-12 * actual.abs().max(expected.abs())
}
