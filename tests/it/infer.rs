//! `trm infer` through the command line: equal answers however it runs, and a cap on spending that holds.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;
use tempfile::TempDir;

use crate::sim_server::SimServer;
use crate::support::trm;

const ROLES: [&str; 5] = ["search", "tool", "judge", "evolve", "vision"];

/// A fresh workspace with the bundled example.
fn example() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let demo = folder.path().join("demo");
    trm().args(["init", "--example"]).arg(&demo).assert().success();
    (folder, demo)
}

fn infer(demo: &Path, arguments: &[&str]) -> Output {
    trm().arg("-C").arg(demo).args(["--json", "infer"]).args(arguments).assert().get_output().clone()
}

#[track_caller]
fn summary(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn error(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let (_, rest) = text.split_once('{').unwrap_or_else(|| panic!("no error as JSON: {text}"));
    serde_json::from_str(&format!("{{{rest}")).unwrap_or_else(|_| panic!("{text}"))
}

/// The rows of a table of one run.
fn rows(demo: &Path, table: &str, run: &str) -> Vec<Value> {
    let out = tempfile::tempdir().unwrap();
    let command = ["export", "--tables", table, "--run", run, "--jsonl"];
    trm().arg("-C").arg(demo).args(command).arg(out.path().join("x")).assert().success();
    let text = std::fs::read_to_string(out.path().join(format!("x/{table}.jsonl"))).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Everything about each answer that does not depend on when it was made.
fn answers(demo: &Path, run: &str) -> BTreeMap<String, Value> {
    let lasting = |mut row: Value| {
        let fields = row.as_object_mut().unwrap();
        for field in ["run_id", "phase_run_id", "latency_ms", "finished_at", "finished_ms", "cached_calls"] {
            fields.remove(field);
        }
        (row["question_id"].as_str().unwrap().to_owned(), row)
    };
    rows(demo, "predictions", run).into_iter().map(lasting).collect()
}

/// Names the first difference: a whole run in a message helps nobody.
#[track_caller]
fn assert_same<V: PartialEq + std::fmt::Debug>(found: &BTreeMap<String, V>, expected: &BTreeMap<String, V>) {
    assert_eq!(found.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (id, value) in expected {
        assert_eq!(&found[id], value, "{id}");
    }
}

fn with<'a>(fixed: &[&'a str], more: &'a [String]) -> Vec<&'a str> {
    fixed.iter().copied().chain(more.iter().map(String::as_str)).collect()
}

#[test]
fn answers_are_the_same_for_concurrency_1_and_64_and_over_http() {
    let (_folder, demo) = example();
    let server = SimServer::start(&demo, &[]);
    let off = ["--limit", "36", "--set", "llm.cache.mode=off"];
    let one = summary(&infer(&demo, &[&off[..], &["--concurrency", "1", "--run-id", "one"]].concat()));
    summary(&infer(&demo, &[&off[..], &["--concurrency", "64", "--run-id", "many"]].concat()));
    let http = server.settings(&ROLES);
    let fixed = [&off[..], &["--concurrency", "64", "--run-id", "http"]].concat();
    let over_http = summary(&infer(&demo, &with(&fixed, &http)));
    assert_eq!((&one["questions"], &one["infra"]), (&Value::from(36), &Value::from(0)));
    let expected = answers(&demo, "one");
    assert_eq!(expected.len(), 36);
    assert_same(&answers(&demo, "many"), &expected);
    // What the answers say is the same over HTTP; the tokens are counted by the server there.
    let said = |run: &str| -> BTreeMap<String, Vec<Value>> {
        let fields = ["answer", "outcome", "stop_reason", "steps", "raw_answer", "evidence", "reasoning"];
        let of = |row: Value| fields.iter().map(|field| row[*field].clone()).collect();
        answers(&demo, run).into_iter().map(|(id, row)| (id, of(row))).collect()
    };
    assert_same(&said("http"), &said("one"));
    assert!(said("one").values().all(|fields| !fields[0].is_null() || fields[1] != "correct"));
    assert_eq!(over_http["correct"], one["correct"]);
    // Scene by scene, the same tools with the same arguments.
    let steps = |run: &str| -> Vec<[Value; 4]> {
        let of = |row: Value| ["question_id", "tool", "args", "output"].map(|field| row[field].clone());
        rows(&demo, "traces", run).into_iter().map(of).collect()
    };
    let (http, one) = (steps("http"), steps("one"));
    assert_eq!(http.len(), one.len());
    assert!(!one.is_empty());
    for (found, expected) in http.iter().zip(&one) {
        assert_eq!(found, expected);
    }
}

#[test]
fn a_second_run_with_a_warm_cache_makes_no_call() {
    let (_folder, demo) = example();
    let server = SimServer::start(&demo, &[]);
    let http = server.settings(&ROLES);
    let run = |id: &str, more: &[&str]| {
        let fixed = [&["--limit", "12", "--concurrency", "8", "--run-id", id][..], more].concat();
        summary(&infer(&demo, &with(&fixed, &http)))
    };
    let first = run("warm", &[]);
    assert!(first["calls"].as_u64() > Some(12) && first["cached_calls"] == 0, "{first}");
    let expected = answers(&demo, "warm");
    // The run is finished: its answers are durable and nothing is asked.
    let again = run("warm", &[]);
    assert_eq!((&again["calls"], &again["resumed"]), (&first["calls"], &Value::from(12)));
    // The same command found its run by itself as well.
    drop(server);
    let after_the_server_ended = run("warm", &[]);
    assert_eq!(after_the_server_ended["correct"], first["correct"]);
    assert_same(&answers(&demo, "warm"), &expected);
}

/// The configuration of a model that costs, at an endpoint that takes its time.
fn priced(demo: &Path, server: &SimServer, priced: &[&str]) {
    let mut text = std::fs::read_to_string(demo.join("trm.yaml")).unwrap();
    text = text.replace("  default: {provider: sim}\n  vision: {provider: sim}\n", "");
    let mut llm = String::from("llm:\n");
    for role in ROLES {
        llm += &format!(
            "  {role}: {{provider: openai, base_urls: [\"{}\"], model: sim-{role}, max_tokens: 400}}\n",
            server.url
        );
    }
    if !priced.is_empty() {
        llm += "  budget:\n    prices:\n";
    }
    for role in priced {
        llm += &format!("      sim-{role}: {{prompt: 1000.0, completion: 4000.0}}\n");
    }
    text = text.replace("llm:\n", &llm);
    std::fs::write(demo.join("trm.yaml"), text).unwrap();
}

/// Dollars of all calls of a run, and those of its dearest call.
fn spent(demo: &Path, run: &str) -> (f64, f64) {
    let costs: Vec<f64> = rows(demo, "calls", run).iter().map(|row| row["cost_usd"].as_f64().unwrap()).collect();
    (costs.iter().sum(), costs.iter().copied().fold(0.0, f64::max))
}

#[test]
fn a_cap_in_dollars_stops_at_concurrency_64_with_its_own_code_and_a_higher_one_completes() {
    let (_folder, demo) = example();
    let server = SimServer::start(&demo, &["--set", "sim.latency_ms=4"]);
    priced(&demo, &server, &ROLES);
    let run = |id: &str, cap: Option<f64>| {
        let cap = cap.map(|cap| format!("llm.budget.max_usd={cap}"));
        let mut arguments = vec!["--limit", "96", "--concurrency", "64", "--run-id", id];
        arguments.extend(cap.iter().flat_map(|cap| ["--set", cap.as_str()]));
        infer(&demo, &arguments)
    };
    let whole = summary(&run("whole", None));
    let (total, _) = spent(&demo, "whole");
    assert!((whole["cost_usd"].as_f64().unwrap() - total).abs() < 1e-6 && total > 10.0, "{total}, {whole}");
    // Another run has other salts, so nothing of the first is replayed.
    let cap = total / 2.0;
    let stopped = run("capped", Some(cap));
    assert_eq!(stopped.status.code(), Some(5), "{}", String::from_utf8_lossy(&stopped.stderr));
    assert_eq!(error(&stopped)["code"], "run.budget");
    assert!(error(&stopped)["hint"].as_str().unwrap().contains("llm.budget.max_usd"));
    let (used, dearest) = spent(&demo, "capped");
    assert!(used <= cap + 64.0 * dearest, "{used} of {cap}, the dearest call {dearest}");
    assert!(used > cap / 4.0, "{used} of {cap}");
    let durable = answers(&demo, "capped");
    assert!(!durable.is_empty() && durable.len() < 96, "{}", durable.len());
    trm().arg("-C").arg(&demo).args(["store", "check"]).assert().success();

    // What is spent stays spent: the same cap again buys nothing more.
    assert_eq!(run("capped", Some(cap)).status.code(), Some(5));
    let (used_again, dearest) = spent(&demo, "capped");
    assert!(used_again <= cap + 64.0 * dearest, "{used_again} of {cap} after the second session");

    let completed = summary(&run("capped", Some(total * 3.0)));
    assert_eq!(completed["correct"], whole["correct"]);
    assert!(completed["cached_calls"].as_u64() > Some(0), "calls of questions that were cut off are replayed");
    let strip = |answers: BTreeMap<String, Value>| -> BTreeMap<String, [Value; 3]> {
        let of = |row: Value| ["answer", "outcome", "raw_answer"].map(|field| row[field].clone());
        answers.into_iter().map(|(id, row)| (id, of(row))).collect()
    };
    assert_same(&strip(answers(&demo, "capped")), &strip(answers(&demo, "whole")));
    for (id, row) in &durable {
        assert_eq!(Some(&row["raw_answer"]), answers(&demo, "capped").get(id).map(|row| &row["raw_answer"]), "{id}");
    }
    // What was paid for was not paid for again, but for the calls that were cut off in flight.
    let (all, dearest) = spent(&demo, "capped");
    assert!(all <= total + 2.0 * 64.0 * dearest, "{all} instead of {total}");
}

#[test]
fn a_cap_in_tokens_stops_as_well() {
    let (_folder, demo) = example();
    let server = SimServer::start(&demo, &[]);
    priced(&demo, &server, &[]);
    let stopped = infer(&demo, &["--limit", "24", "--concurrency", "64", "--set", "llm.budget.max_tokens=20000"]);
    assert_eq!((stopped.status.code(), &error(&stopped)["code"]), (Some(5), &Value::from("run.budget")));
}

#[test]
fn a_model_without_a_price_is_refused_under_a_cap_before_anything_is_asked() {
    let (_folder, demo) = example();
    let server = SimServer::start(&demo, &[]);
    priced(&demo, &server, &["search", "tool", "judge", "evolve"]);
    let refused = infer(&demo, &["--limit", "3", "--set", "llm.budget.max_usd=5"]);
    assert_eq!(refused.status.code(), Some(2), "{}", String::from_utf8_lossy(&refused.stderr));
    let told = error(&refused).to_string();
    assert!(told.contains("sim-vision") && told.contains("price"), "{told}");
    let runs = trm().arg("-C").arg(&demo).args(["--json", "inspect", "runs"]).assert().success();
    assert_eq!(serde_json::from_slice::<Value>(&runs.get_output().stdout).unwrap(), serde_json::json!([]));
}
