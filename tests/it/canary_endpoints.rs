//! A planted key and endpoints that repeat it: in error bodies, in replies, in lists of models. It appears nowhere.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;

use crate::config_canary::all_files;
use crate::llm_support::{Act, Hostile};
use crate::support::trm;

const KEY: &str = "sk-canary-endpoint-4b8d2e77";
const PASSWORD: &str = "canary-password-91fe03";

/// Bytes as they are, and every zstd frame among them unpacked: the store compresses long values.
fn assert_clean(what: &str, bytes: &[u8]) {
    let shows = |bytes: &[u8]| {
        [KEY, PASSWORD].into_iter().find(|key| bytes.windows(key.len()).any(|window| window == key.as_bytes()))
    };
    assert_eq!(shows(bytes), None, "{what} shows a key:\n{:.2000}", String::from_utf8_lossy(bytes));
    let magic = b"\x28\xb5\x2f\xfd";
    for start in (0..bytes.len().saturating_sub(4)).filter(|start| bytes[*start..].starts_with(magic)) {
        let mut unpacked = Vec::new();
        if let Ok(decoder) = zstd::stream::read::Decoder::new(&bytes[start..]) {
            let _not_a_frame_after_all = decoder.single_frame().take(8 << 20).read_to_end(&mut unpacked);
        }
        assert_eq!(shows(&unpacked), None, "{what} shows a key in a compressed value at {start}");
    }
}

/// The key as the request carried it.
fn sent_key(request: &str) -> String {
    let line = request.lines().find(|line| line.to_lowercase().starts_with("authorization:"));
    line.and_then(|line| line.split_once(':')).map(|(_, value)| value.trim().to_owned()).unwrap_or_default()
}

/// An answer that repeats the key in every field that is kept.
fn telling_reply(key: &str) -> Act {
    let content = json!({"thought": format!("my key is {key}"), "tool": "submit_answer",
        "args": {"answer": "A", "evidence": [key], "reasoning": key, "confidence": 0.5}});
    let message =
        json!({"role": "assistant", "content": format!("{content} {key}\nAnswer: A"), "reasoning_content": key});
    let reply = json!({
        "id": key, "model": key, "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10},
    });
    Act::Reply(
        200,
        vec![("content-type", "application/json".to_owned()), ("x-echo", key.to_owned())],
        reply.to_string().into_bytes(),
    )
}

/// Fails in every way that has a body, and answers in between; the key is in all of them.
fn telling_server() -> (tokio::runtime::Runtime, Hostile) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let asked = AtomicUsize::new(0);
    let server = runtime.block_on(Hostile::start(move |_, request| {
        let request = String::from_utf8_lossy(request).into_owned();
        let key = sent_key(&request);
        assert!(key.contains(KEY), "the key is sent: else this test shows nothing");
        if request.starts_with("GET") {
            return Act::ok(json!({"data": [{"id": key}, {"id": "m"}]}).to_string());
        }
        let error =
            |status, body: String| Act::Reply(status, vec![("content-type", "text/plain".to_owned())], body.into());
        match asked.fetch_add(1, Ordering::SeqCst) % 7 {
            0 => error(
                400,
                json!({"error": {"message": format!("you sent {key}"), "type": key, "code": key}}).to_string(),
            ),
            1 => error(401, format!("Authorization: {key}")),
            2 => error(500, json!({"detail": key}).to_string()),
            3 => Act::ok(json!({"error": {"message": key, "code": 429}}).to_string()),
            4 => error(404, format!("<html>{key}</html>")),
            5 => Act::ok(format!("not JSON: {key}")),
            _ => telling_reply(&key),
        }
    }));
    (runtime, server)
}

fn workspace(url: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    trm().current_dir(root.path()).args(["init", "--example"]).assert().success();
    fs::write(root.path().join(".env"), format!("MY_KEY={KEY}\n")).unwrap();
    let mut yaml = fs::read_to_string(root.path().join("trm.yaml")).unwrap();
    yaml = yaml.replace("  default: {provider: sim}\n  vision: {provider: sim}\n", "");
    let role = format!("{{base_urls: [\"{url}\"], model: m, api_key_env: MY_KEY, retries: 1}}");
    yaml = yaml.replace("llm:\n", &format!("llm:\n  default: {role}\n  vision: {role}\ngate: {{guard_err: 1.0}}\n"));
    fs::write(root.path().join("trm.yaml"), yaml).unwrap();
    root
}

fn run(folder: &Path, arguments: &[&str]) -> Option<i32> {
    let mut command = trm();
    command.current_dir(folder).env("TRM_LOG", "debug,trm=trace,reqwest=trace,hyper=trace,h2=trace").args(arguments);
    let output = command.assert().get_output().clone();
    assert_clean(&format!("stdout of {arguments:?}"), &output.stdout);
    assert_clean(&format!("stderr of {arguments:?}"), &output.stderr);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{arguments:?}");
    output.status.code()
}

fn assert_files_clean(folder: &Path) {
    for file in all_files(folder) {
        if file.file_name().is_some_and(|name| name == ".env") {
            continue;
        }
        assert_clean(&file.display().to_string(), &fs::read(&file).unwrap());
    }
}

#[test]
fn endpoints_that_repeat_the_key_do_not_bring_it_into_anything() {
    let (_runtime, server) = telling_server();
    let root = workspace(&server.url);
    let path = root.path();
    run(path, &["doctor"]);
    run(path, &["doctor", "--json"]);
    run(path, &["eval", "--limit", "14", "--concurrency", "2", "--run-id", "e", "--set", "agent.tool_summaries=raw"]);
    run(path, &["infer", "--limit", "7", "--mode", "direct", "--run-id", "i", "--json"]);
    // Something was kept of replies: else nothing was shown.
    let exported = path.join("rows");
    run(path, &["export", "--jsonl", exported.to_str().unwrap()]);
    let rows = fs::read_to_string(exported.join("calls.jsonl")).unwrap();
    assert!(rows.contains("***") && rows.lines().count() > 10, "{rows:.1000}");
    run(path, &["export", "--parquet", path.join("parquet").to_str().unwrap()]);
    for arguments in [
        &["status"][..],
        &["status", "--json"],
        &["inspect", "runs"],
        &["inspect", "run", "e"],
        &["inspect", "run", "e", "--json"],
        &["inspect", "llm"],
        &["inspect", "llm", "--json"],
        &["rescore", "e"],
        &["cache", "stats"],
        &["cache", "renew"],
        &["cache", "prune"],
        &["import", "questions", "trm.yaml"],
        &["import", "questions", "none.jsonl", "--json"],
        &["import", "trees", "videos"],
        &["config", "show", "--json"],
        &["store", "check"],
        &["store", "stats", "--full"],
        &["store", "digest", "--json"],
        &["skills", "list"],
        &["eval", "--limit", "3", "--run-id", "e"],
        &["eval", "--question", "none"],
    ] {
        run(path, arguments);
    }
    let question: serde_json::Value =
        serde_json::from_str(fs::read_to_string(path.join("questions.jsonl")).unwrap().lines().next().unwrap())
            .unwrap();
    run(path, &["inspect", "question", question["question_id"].as_str().unwrap(), "--json"]);
    run(path, &["store", "compact"]);
    assert!(path.join("trm.redb").is_file() && path.join("llm-cache.redb").is_file());
    assert_files_clean(path);
}

#[test]
fn the_simulated_server_keeps_to_itself_what_callers_send() {
    let root = tempfile::tempdir().unwrap();
    trm().current_dir(root.path()).args(["init", "--example"]).assert().success();
    fs::write(root.path().join(".env"), format!("MY_KEY={KEY}\nREDIS_URL=redis://:{PASSWORD}@127.0.0.1:1/0\n"))
        .unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_trm"))
        .env_clear()
        .current_dir(root.path())
        .env("TRM_LOG", "trace")
        .args(["--json", "sim", "serve", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut told = Vec::new();
    let mut stdout = child.stdout.take().unwrap();
    let address = loop {
        let mut buffer = [0; 512];
        let count = stdout.read(&mut buffer).unwrap();
        assert!(count > 0, "the server ended: {}", String::from_utf8_lossy(&told));
        told.extend(&buffer[..count]);
        let text = String::from_utf8_lossy(&told).into_owned();
        if let Some((_, rest)) = text.split_once("\"url\": \"http://")
            && let Some((address, _)) = rest.split_once("/v1\"")
        {
            break address.to_owned();
        }
    };
    for (line, body) in [
        (
            "POST /v1/chat/completions",
            json!({"model": "sim-search", "messages": [{"role": "user", "content": "hello"}]}).to_string(),
        ),
        ("POST /v1/chat/completions", "not JSON".to_owned()),
        ("POST /v1/embeddings", json!({"model": "sim-embed", "input": []}).to_string()),
        ("GET /v1/models", String::new()),
        ("GET /nowhere", String::new()),
    ] {
        let mut stream = TcpStream::connect(&address).unwrap();
        let head = format!(
            "{line} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\ncontent-length: \
             {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(body.as_bytes()).unwrap();
        let mut reply = Vec::new();
        stream.read_to_end(&mut reply).unwrap();
        assert!(reply.starts_with(b"HTTP/1.1 "), "{line}");
        assert_clean(&format!("the reply to {line}"), &reply);
    }
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    assert_clean("stdout of trm sim serve", &told);
    assert_clean("stderr of trm sim serve", &output.stderr);
}

#[test]
fn the_tests_of_this_file_find_a_key_where_there_is_one() {
    let caught = |bytes: Vec<u8>| std::panic::catch_unwind(|| assert_clean("x", &bytes)).is_err();
    assert!(caught(format!("a {KEY} b").into_bytes()));
    let packed = zstd::encode_all(format!("{} {KEY} {}", "x".repeat(5000), "y".repeat(5000)).as_bytes(), 3).unwrap();
    let mut hidden = b"before".to_vec();
    hidden.extend(packed);
    hidden.extend(b"after");
    assert!(caught(hidden));
    assert!(!caught(b"nothing".to_vec()));
}
