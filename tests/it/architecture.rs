//! The layers hold: what may import what (design 01).

use std::fs;
use std::path::{Path, PathBuf};

/// All Rust files below a folder.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// Lines of `folder` that name one of `words` as a path (`word::`), with their place; comment lines do not count.
fn lines_naming(folder: &str, words: &[&str]) -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(folder);
    let mut found = Vec::new();
    for file in rust_files(&root) {
        let text = fs::read_to_string(&file).unwrap();
        for (index, line) in text.lines().enumerate() {
            let code = line.trim_start();
            if !code.starts_with("//") && words.iter().any(|word| code.contains(&format!("{word}::"))) {
                found.push(format!("{}:{}: {code}", file.display(), index + 1));
            }
        }
    }
    found
}

#[test]
fn the_decision_kernel_is_pure() {
    let found = lines_naming(
        "evolution",
        &[
            "tokio",
            "redb",
            "reqwest",
            "redis",
            "clap",
            "std::fs",
            "std::net",
            "std::io",
            "std::process",
            "std::thread",
            "std::time",
            "rand",
            "crate::store",
            "crate::harness",
            "crate::llm",
            "crate::agent",
            "crate::cli",
            "crate::export",
            "crate::inspect",
            "crate::config",
            "crate::data",
            "crate::sim",
            "crate::runtime",
        ],
    );
    assert!(found.is_empty(), "the kernel depends on what it must not:\n{}", found.join("\n"));
}

#[test]
fn the_words_depend_on_nothing() {
    let found = lines_naming(
        "domain",
        &[
            "tokio",
            "redb",
            "std::fs",
            "crate::store",
            "crate::harness",
            "crate::llm",
            "crate::agent",
            "crate::evolution",
        ],
    );
    assert!(found.is_empty(), "domain depends on a layer above it:\n{}", found.join("\n"));
}

#[test]
fn the_store_knows_nothing_about_training() {
    let found = lines_naming(
        "store",
        &[
            "crate::harness",
            "crate::llm",
            "crate::agent",
            "crate::cli",
            "crate::evolution",
            "crate::config",
            "crate::sim",
        ],
    );
    assert!(found.is_empty(), "the store depends on a layer above it:\n{}", found.join("\n"));
}
