//! `trm doctor`: one line per check, with remedies.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::trm;

fn doctor(folder: &Path, environment: &[(&str, &str)]) -> (i32, Value) {
    let mut command = trm();
    command.current_dir(folder).envs(environment.iter().copied()).args(["doctor", "--json"]);
    let output = command.assert().get_output().clone();
    (output.status.code().unwrap(), serde_json::from_slice(&output.stdout).unwrap())
}

fn check<'a>(report: &'a Value, name: &str) -> &'a Value {
    report["checks"].as_array().unwrap().iter().find(|check| check["check"] == name).unwrap_or(&Value::Null)
}

fn workspace() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    trm().current_dir(root.path()).arg("init").assert().success();
    root
}

#[test]
fn every_failed_check_has_a_remedy_and_the_first_gives_the_exit_code() {
    let root = workspace();
    let (code, report) = doctor(root.path(), &[]);
    assert_eq!((code, report["status"].as_str()), (3, Some("fail")), "questions are missing: {report:#}");
    for name in ["questions", "videos"] {
        assert_eq!(check(&report, name)["status"], "fail");
    }
    for name in
        ["workspace", "configuration", "permissions", "disk space", "store", "skills", "prompts", "clock", "cache"]
    {
        assert_ne!(check(&report, name)["status"], "fail", "{name}: {report:#}");
        assert_ne!(check(&report, name), &Value::Null, "{name}");
    }
    for check in report["checks"].as_array().unwrap() {
        assert_eq!(check["status"] == "ok", check["remedy"].is_null(), "{check}");
    }
}

#[test]
fn the_bundled_example_is_in_order() {
    let root = tempfile::tempdir().unwrap();
    trm().current_dir(root.path()).args(["init", "--example"]).assert().success();
    let (code, report) = doctor(root.path(), &[]);
    assert_eq!((code, report["status"].as_str()), (0, Some("ok")), "{report:#}");
    assert!(check(&report, "questions")["detail"].as_str().unwrap().contains("of 12 task types"), "{report:#}");

    fs::remove_dir_all(fs::read_dir(root.path().join("videos")).unwrap().next().unwrap().unwrap().path()).unwrap();
    let (code, report) = doctor(root.path(), &[]);
    assert_eq!((code, check(&report, "videos")["status"].as_str()), (0, Some("warn")), "{report:#}");

    fs::write(root.path().join("questions.jsonl"), "{}\n").unwrap();
    let (code, report) = doctor(root.path(), &[]);
    assert_eq!((code, check(&report, "questions")["status"].as_str()), (3, Some("fail")), "{report:#}");
}

#[test]
fn keys_that_are_missing_or_open_to_others_are_told() {
    use std::os::unix::fs::PermissionsExt;
    let root = workspace();
    let config = "llm: {default: {base_url: 'http://h/v1', model: m, api_key_env: MY_KEY}}\n";
    fs::write(root.path().join("trm.yaml"), config).unwrap();
    let (_, report) = doctor(root.path(), &[]);
    assert!(check(&report, "role judge")["remedy"].as_str().unwrap().contains("MY_KEY="), "{report:#}");
    let env = root.path().join(".env");
    fs::write(&env, "MY_KEY=sk-canary-1234\n").unwrap();
    fs::set_permissions(&env, fs::Permissions::from_mode(0o644)).unwrap();
    let (_, report) = doctor(root.path(), &[]);
    assert_eq!(check(&report, "role judge")["status"], "ok");
    assert_eq!(check(&report, ".env")["remedy"], "chmod 600 .env");
}

#[test]
fn a_redis_that_does_not_answer_is_a_failed_check() {
    let root = workspace();
    let (_, report) = doctor(root.path(), &[("REDIS_URL", "redis://:sk-canary-5678@127.0.0.1:1/0")]);
    let cache = check(&report, "cache");
    assert_eq!(cache["status"], "fail");
    assert!(cache["detail"].as_str().unwrap().contains("127.0.0.1:1"), "{cache}");
    assert!(!report.to_string().contains("canary"));
}

#[test]
fn a_broken_configuration_is_told_problem_by_problem() {
    let root = workspace();
    fs::write(root.path().join("trm.yaml"), "gate: {n_max: 0, x: 1}\n").unwrap();
    let (code, report) = doctor(root.path(), &[]);
    assert_eq!((code, report["checks"].as_array().unwrap().len()), (2, 3), "{report:#}");
}

#[test]
fn a_damaged_store_is_told() {
    let root = workspace();
    fs::write(root.path().join("trm.redb"), "no store at all").unwrap();
    let (_, report) = doctor(root.path(), &[]);
    assert_eq!(check(&report, "store")["status"], "fail");
}
