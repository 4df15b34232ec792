//! A planted key appears nowhere: no output, no log at any level, no file of the workspace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::trm;

const IN_DOT_ENV: &str = "sk-canary-dotenv-7f3a91";
const IN_ENVIRONMENT: &str = "sk-canary-environ-52bd08";
const IN_REDIS: &str = "canary-redis-1c66e0";
const MISPLACED: &str = "sk-canary-misplaced-90aa17";

const CANARIES: [&str; 4] = [IN_DOT_ENV, IN_ENVIRONMENT, IN_REDIS, MISPLACED];

pub(crate) fn all_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found
}

fn assert_clean(what: &str, bytes: &[u8]) {
    for canary in CANARIES {
        let found = bytes.windows(canary.len()).any(|window| window == canary.as_bytes());
        assert!(!found, "{what} shows {canary}:\n{}", String::from_utf8_lossy(bytes));
    }
}

/// Runs a command with keys in the environment and every log line on; its output must be clean whatever it does.
fn run(folder: &Path, arguments: &[&str]) {
    let mut command = trm();
    command
        .current_dir(folder)
        .env("TRM_LOG", "trace")
        .env("MY_KEY", IN_ENVIRONMENT)
        .env("REDIS_URL", format!("redis://user:{IN_REDIS}@127.0.0.1:1/0"))
        .args(arguments);
    let output = command.assert().get_output().clone();
    let shown: Vec<&str> = arguments.iter().filter(|argument| !argument.contains("canary")).copied().collect();
    assert_clean(&format!("stdout of {shown:?}"), &output.stdout);
    assert_clean(&format!("stderr of {shown:?}"), &output.stderr);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("panicked"), "{shown:?}");
}

fn workspace() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    trm().current_dir(root.path()).arg("init").assert().success();
    fs::write(root.path().join(".env"), format!("OTHER_KEY={IN_DOT_ENV}\n")).unwrap();
    fs::write(
        root.path().join("trm.yaml"),
        "llm:\n  default: {base_url: 'http://127.0.0.1:1/v1', model: m, api_key_env: MY_KEY}\n  judge: {api_key_env: \
         OTHER_KEY}\n",
    )
    .unwrap();
    fs::write(
        root.path().join("questions.jsonl"),
        r#"{"question_id":"q","video_id":"v","task_type":"T","question":"Which?","options":["a","b"],"answer":"A"}"#,
    )
    .unwrap();
    fs::create_dir_all(root.path().join("videos/v")).unwrap();
    fs::write(
        root.path().join("videos/v/tree.json"),
        r#"{"videoID":"v","duration_seconds":9,"nodes":{"v_1":{"level":1,"time_range":[0,9],"card":{"scene_summary":"s"}}}}"#,
    )
    .unwrap();
    root
}

#[test]
fn no_command_shows_or_stores_a_key() {
    let root = workspace();
    let path = root.path();
    for arguments in [
        &["config", "show"][..],
        &["config", "show", "--json"],
        &["config", "show", "--yaml"],
        &["config", "validate"],
        &["config", "validate", "--json"],
        &["config", "schema"],
        &["doctor"],
        &["doctor", "--json"],
        &["init"],
        &["skills", "list"],
        &["skills", "list", "--json"],
        &["skills", "show", "v1"],
        &["skills", "checkout", "v1", "skills"],
        &["skills", "import", "skills"],
        &["skills", "scaffold", "--task-type", "Causal Why"],
        &["skills", "diff", "v1", "v2"],
        &["eval", "--json"],
        &["infer"],
        &["status"],
        &["status", "--json"],
        &["inspect", "llm"],
        &["inspect", "run"],
        &["export", "--jsonl", "exported"],
        &["cache", "stats"],
        &["import", "questions", "trm.yaml"],
        &["gate", "simulate"],
        &["store", "check"],
        &["store", "stats", "--json"],
        &["store", "digest"],
        &["store", "compact"],
    ] {
        run(path, arguments);
    }
    for file in all_files(path) {
        if file.file_name().is_some_and(|name| name == ".env") {
            continue;
        }
        assert_clean(&file.display().to_string(), &fs::read(&file).unwrap());
    }
}

#[test]
fn a_misplaced_key_is_refused_and_not_repeated() {
    let root = workspace();
    let path = root.path();
    for setting in [
        format!("llm.search.api_key={MISPLACED}"),
        format!("llm.search.api_key_env={MISPLACED}"),
        format!("llm.search.base_urls=http://user:{MISPLACED}@host/v1"),
        format!("llm.search.base_urls=http://host/v1?api_key={MISPLACED}"),
        format!("llm.search.extra_body={{api_key: {MISPLACED}}}"),
        format!("llm.search.rpm={MISPLACED}"),
        format!("run.mode={MISPLACED}"),
        MISPLACED.to_owned(),
    ] {
        run(path, &["config", "show", "--set", &setting]);
        run(path, &["doctor", "--json", "--set", &setting]);
    }
    for yaml in [
        format!("llm: {{search: {{api_key: {MISPLACED}}}}}\n"),
        format!("api_key: \"{MISPLACED}\n"),
        format!("llm:\n search:\n\tapi_key: {MISPLACED}\n"),
        format!("llm: {{cache: {{salt: {IN_ENVIRONMENT}}}, search: {{api_key_env: MY_KEY}}}}\n"),
        format!("llm: {{search: {{api_key_env: MY_KEY, model: x-{IN_ENVIRONMENT}-y, base_url: 'http://h/v1'}}}}\n"),
        format!("redis_url: redis://:{MISPLACED}@host\n"),
    ] {
        fs::write(path.join("trm.yaml"), yaml).unwrap();
        run(path, &["config", "validate"]);
        run(path, &["config", "show", "--json"]);
    }
    fs::write(path.join("trm.yaml"), "").unwrap();
    fs::write(path.join(".env"), format!("{MISPLACED}\n")).unwrap();
    run(path, &["config", "show"]);
    fs::write(path.join(".env"), format!("TRM_LLM__SEARCH__API_KEY={MISPLACED}\nTRM_AGENT__MODE={MISPLACED}\n"))
        .unwrap();
    run(path, &["config", "show"]);
}
