//! Shared by the tests of the gate: reading the golden vectors, comparing numbers.

use std::fs;
use std::path::{Path, PathBuf};

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

/// The golden file as a file that the program can be given.
pub(crate) fn vector_file(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, vector_text(name)).unwrap();
    path
}

/// The rows of `vector[key]`.
pub(crate) fn rows<'a>(vector: &'a Value, key: &str) -> &'a [Value] {
    vector[key].as_array().unwrap()
}

/// Equal to 1e-12 relative, as the vectors ask for.
pub(crate) fn close(actual: f64, expected: f64) -> bool {
    actual == expected || (actual - expected).abs() <= 1e-12 * actual.abs().max(expected.abs())
}

/// Where two JSON values differ, if they do: floats to 1e-12 relative, all else exactly.
pub(crate) fn difference(actual: &Value, expected: &Value, place: &str) -> Option<String> {
    match (actual, expected) {
        (Value::Object(a), Value::Object(e)) => {
            let mut keys: Vec<&String> = a.keys().chain(e.keys()).collect();
            keys.sort();
            keys.dedup();
            keys.into_iter().find_map(|key| match (a.get(key), e.get(key)) {
                (Some(a), Some(e)) => difference(a, e, &format!("{place}.{key}")),
                (a, e) => Some(format!("{place}.{key}: {a:?} instead of {e:?}")),
            })
        }
        (Value::Array(a), Value::Array(e)) if a.len() == e.len() => {
            a.iter().zip(e).enumerate().find_map(|(index, (a, e))| difference(a, e, &format!("{place}[{index}]")))
        }
        (Value::Number(a), Value::Number(e)) if a.is_f64() || e.is_f64() => {
            let (a, e) = (a.as_f64().unwrap(), e.as_f64().unwrap());
            (!close(a, e)).then(|| format!("{place}: {a} instead of {e}"))
        }
        _ => (actual != expected).then(|| format!("{place}: {actual} instead of {expected}")),
    }
}
