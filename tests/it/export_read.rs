//! The Parquet export read by the programs that people read it with: DuckDB and Polars.
//!
//! `TRM_TEST_PYTHON` names a Python that has both (`.ci/run` makes one); the test says so where there is none.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};
use trm::store::rows::{Call, Prediction, TraceSpan};
use trm::store::{Scope, StoreReader};

use crate::support::trm;

/// What the store holds, read past the export.
fn held(store: &Path) -> Value {
    let snapshot = StoreReader::open(store).unwrap().snapshot().unwrap();
    let mut predictions = Vec::new();
    let (mut traces, mut calls) = (0, 0);
    for (run, _) in snapshot.runs().unwrap() {
        for scope in snapshot.scopes(&run).unwrap() {
            assert!(matches!(scope, Scope::Eval | Scope::Adhoc));
            traces += snapshot.rows::<TraceSpan>(&run, scope).unwrap().len();
            calls += snapshot.rows::<Call>(&run, scope).unwrap().len();
            for (key, row) in snapshot.rows::<Prediction>(&run, scope).unwrap() {
                predictions.push(json!({
                    "run_id": run, "question_id": key.question, "phase": key.phase.to_string(), "answer": row.answer,
                    "outcome": row.outcome.name(), "correct": row.outcome.correctness(), "raw_answer": row.raw_answer,
                    "evidence": row.evidence, "reasoning": row.reasoning, "confidence": row.confidence,
                    "steps": row.steps, "calls": row.calls, "cached_calls": row.cached_calls,
                    "prompt_tokens": row.tokens.prompt, "completion_tokens": row.tokens.completion,
                    "latency_ms": row.latency_ms, "error": row.error, "task_type": row.task_type,
                    "video_id": row.video_id, "unit_id": row.unit_id, "skills_version": row.skills_version.to_string(),
                }));
            }
        }
    }
    json!({
        "counts": {"predictions": predictions.len(), "traces": traces, "calls": calls},
        "predictions": predictions,
    })
}

#[test]
fn duckdb_and_polars_read_what_the_store_holds() {
    let Some(python) = std::env::var_os("TRM_TEST_PYTHON") else {
        println!("SKIPPED: TRM_TEST_PYTHON names no Python with duckdb and polars");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("demo");
    trm().args(["init", "--example"]).arg(&demo).assert().success();
    let run = |arguments: &[&str]| {
        let output = trm().arg("-C").arg(&demo).args(arguments).assert().success();
        output.get_output().stdout.clone()
    };
    // Technical failures and cut-off replies too, so that the nulls that have a meaning are there.
    let faulty =
        ["--set", "sim.faults.permanent=0.02", "--set", "sim.faults.rate_limited=0.05", "--set", "gate.guard_err=1"];
    run(&[&["eval", "--limit", "40", "--run-id", "first"][..], &faulty].concat());
    run(&["infer", "--limit", "15", "--run-id", "second", "--set", "agent.samples=2"]);
    let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
    write("schema.json", &run(&["export", "--list", "--json"]));
    write("store.json", held(&demo.join("trm.redb")).to_string().as_bytes());
    for (form, out) in [("--parquet", "parquet"), ("--jsonl", "jsonl")] {
        let out = folder.path().join(out);
        run(&["export", form, out.to_str().unwrap()]);
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts/read_export.py");
    let output = Command::new(python)
        .arg(script)
        .args(["parquet", "jsonl", "schema.json", "store.json"].map(|name| folder.path().join(name)))
        .output()
        .unwrap();
    let (told, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{told}{errors}");
    println!("{}", told.trim());
    assert!(told.contains("55 predictions"), "{told}");
}
