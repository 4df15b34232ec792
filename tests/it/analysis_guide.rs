//! The examples of docs/guides/analysis.md run on an export: each SQL block in DuckDB, each Python block with Polars.

use std::path::Path;
use std::process::Command;

use crate::store_sample::sample_store;
use crate::store_support::{fresh, run_id};
use crate::support::trm;

/// The fenced blocks of a language.
fn blocks<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
    let fence = format!("```{language}\n");
    text.split(fence.as_str()).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_query_of_the_guide_runs_on_an_export() {
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guides/analysis.md");
    let text = std::fs::read_to_string(guide).unwrap();
    let (sql, python_blocks) = (blocks(&text, "sql"), blocks(&text, "python"));
    assert!(sql.len() >= 4 && python_blocks.len() >= 3, "the guide has lost its examples");
    let Some(python) = std::env::var_os("TRM_TEST_PYTHON") else {
        println!("SKIPPED: TRM_TEST_PYTHON names no Python with duckdb and polars");
        return;
    };
    let (folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    let out = folder.path().join("out");
    trm().arg("-C").arg(folder.path()).args(["export", "--parquet"]).arg(&out).assert().success();
    let run = |script: &str| {
        let output = Command::new(&python).current_dir(folder.path()).args(["-c", script]).output().unwrap();
        let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success(), "{script}\n{errors}");
        told.into_owned()
    };
    for query in sql {
        let query = serde_json::to_string(query).unwrap();
        let told = run(&format!("import duckdb\nrows = duckdb.sql({query}).fetchall()\nprint(len(rows))"));
        assert_ne!(told.trim(), "0", "the query finds nothing: {query}");
    }
    for script in python_blocks {
        assert!(run(script).contains("shape: ("), "{script}");
    }
}
