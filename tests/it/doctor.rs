//! `trm doctor`: one line per check, with remedies.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::llm_support::{Act, Hostile, completion};
use crate::sim_server::SimServer;
use crate::support::trm;

fn doctor(folder: &Path, environment: &[(&str, &str)]) -> (i32, Value) {
    doctor_with(folder, environment, &["--offline"])
}

/// With calls to the models.
fn asking(folder: &Path, arguments: &[String]) -> (i32, Value) {
    doctor_with(folder, &[("MY_KEY", "sk-canary-9999")], &arguments.iter().map(String::as_str).collect::<Vec<_>>())
}

fn doctor_with(folder: &Path, environment: &[(&str, &str)], arguments: &[&str]) -> (i32, Value) {
    let mut command = trm();
    command.current_dir(folder).envs(environment.iter().copied()).args(["doctor", "--json"]).args(arguments);
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

#[test]
fn every_configured_role_is_asked_for_a_token_and_text_roles_for_json() {
    let root = example();
    let server = SimServer::start(root.path(), &[]);
    let mut settings = server.settings(&["search", "tool", "judge", "evolve", "vision", "embed"]);
    let (code, report) = asking(root.path(), &settings);
    assert_eq!(code, 0, "{report:#}");
    for role in ["search", "tool", "judge", "evolve", "vision", "embed"] {
        let call = check(&report, &format!("call {role}"));
        assert_eq!(call["status"], "ok", "{role}: {report:#}");
        assert!(call["detail"].as_str().unwrap().contains(&format!("sim-{role} at {}", server.url)), "{call}");
    }
    for role in ["search", "tool", "judge", "evolve"] {
        assert_ne!(check(&report, &format!("JSON {role}")), &Value::Null, "{role}");
    }
    assert_eq!(check(&report, "JSON vision"), &Value::Null);

    // A name that the endpoint takes and does not list; and offline nobody is asked.
    settings.extend(["--set".into(), "llm.judge.model=my-judge".into()]);
    let (code, report) = asking(root.path(), &settings);
    let call = check(&report, "call judge");
    assert_eq!((code, call["status"].as_str()), (0, Some("warn")), "{call}");
    assert!(call["remedy"].as_str().unwrap().contains("sim-judge, "), "the likeliest name comes first: {call}");
    settings.push("--offline".into());
    assert_eq!(check(&asking(root.path(), &settings).1, "call judge"), &Value::Null);
}

fn example() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    trm().current_dir(root.path()).args(["init", "--example"]).assert().success();
    root
}

fn judge_at(url: &str) -> Vec<String> {
    let settings =
        ["provider=openai".to_owned(), format!("base_urls={url}"), "model=m".into(), "api_key_env=MY_KEY".into()];
    settings.iter().flat_map(|setting| ["--set".to_owned(), format!("llm.judge.{setting}")]).collect()
}

#[test]
fn a_dead_port_is_a_failed_check_with_a_remedy() {
    let root = example();
    let (code, report) = asking(root.path(), &judge_at("http://127.0.0.1:1/v1"));
    let call = check(&report, "call judge");
    assert_eq!((code, call["status"].as_str()), (4, Some("fail")), "{report:#}");
    assert!(call["remedy"].as_str().unwrap().contains("start the server"), "{call}");
    assert_eq!(check(&report, "JSON judge"), &Value::Null, "nothing answers there");
}

/// A server that answers a request by its text, for as long as the value lives.
fn serving(act: impl Fn(&str) -> Act + Send + Sync + 'static) -> (tokio::runtime::Runtime, Hostile) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let server = runtime.block_on(Hostile::start(move |_, request| act(&String::from_utf8_lossy(request))));
    (runtime, server)
}

#[test]
fn what_an_endpoint_refuses_has_a_remedy_of_its_own() {
    let root = example();
    let reply = |status, body: &str| Act::Reply(status, vec![("content-type", "application/json".into())], body.into());
    let models = Act::ok(r#"{"data": [{"id": "large"}, {"id": "m2"}]}"#);
    let cases = [
        (401, r#"{"error": {"message": "no such key: sk-canary-9999"}}"#, "llm.judge.api_key_env"),
        (404, r#"{"error": {"message": "no such model"}}"#, "to one of: m2, large"),
        (500, "{}", "to one of: m2, large"),
        (200, "<html>hello</html>", "to one of: m2, large"),
    ];
    for (status, body, remedy) in cases {
        let (list, answer) = (models.clone(), reply(status, body));
        let (_runtime, server) =
            serving(move |request| if request.starts_with("GET") { list.clone() } else { answer.clone() });
        let (code, report) = asking(root.path(), &judge_at(&server.url));
        let call = check(&report, "call judge");
        assert_eq!((code, call["status"].as_str()), (4, Some("fail")), "{status}: {report:#}");
        assert!(call["remedy"].as_str().unwrap().contains(remedy), "{status}: {call}");
        assert!(!report.to_string().contains("canary"), "{report:#}");
    }
    // An endpoint that answers, lists nothing, and knows no response_format.
    let (_runtime, server) = serving(move |request| {
        if request.starts_with("GET") {
            return Act::status(404);
        }
        let refused = reply(400, r#"{"error": {"message": "what is response_format?"}}"#);
        if request.contains("json_schema") { refused } else { Act::ok(completion("ok")) }
    });
    let (code, report) = asking(root.path(), &judge_at(&server.url));
    assert_eq!(check(&report, "call judge")["status"], "ok", "{report:#}");
    assert!(check(&report, "call judge")["detail"].as_str().unwrap().contains("lists no models"), "{report:#}");
    let json = check(&report, "JSON judge");
    assert_eq!((code, json["status"].as_str()), (4, Some("fail")), "{json}");
    assert!(json["detail"].as_str().unwrap().contains("what is response_format?"), "{json}");
    // One that answers a schema with prose works in the end, tolerantly.
    let (_runtime, server) = serving(|_| Act::ok(completion("It is green.")));
    let (code, report) = asking(root.path(), &judge_at(&server.url));
    assert_eq!((code, check(&report, "JSON judge")["status"].as_str()), (0, Some("warn")), "{report:#}");
}

#[test]
fn a_cap_without_a_price_is_told_before_anything_runs() {
    let root = example();
    let mut settings = judge_at("http://127.0.0.1:1/v1");
    settings.extend(["--set".into(), "llm.budget.max_usd=3".into()]);
    let (code, report) = asking(root.path(), &settings);
    assert_eq!(code, 2, "{report:#}");
    let told = |check: &Value| check["status"] == "fail" && check["detail"].to_string().contains("llm.budget.prices");
    assert!(report["checks"].as_array().unwrap().iter().any(told), "{report:#}");
}
