//! Configuration from the command line: schema, origins, problems.

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use serde_json::Value;
use trm::config::{PoolSize, RunConfig};

use crate::support::trm;

/// A folder that is a workspace with this configuration and nothing else.
fn workspace(yaml: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("trm.yaml"), yaml).unwrap();
    folder
}

fn stdout(command: &mut assert_cmd::Command) -> String {
    String::from_utf8(command.assert().success().get_output().stdout.clone()).unwrap()
}

#[test]
fn the_schema_is_printed_as_it_is_kept() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/run-config.schema.json");
    assert_eq!(stdout(trm().args(["config", "schema"])), fs::read_to_string(file).unwrap());
}

#[test]
fn each_value_is_shown_with_its_origin() {
    let folder = workspace("gate:\n  n_max: 20\n");
    fs::write(folder.path().join(".env"), "TRM_GATE__P_LOW=0.2\n").unwrap();
    let mut command = trm();
    command.current_dir(folder.path()).env("TRM_GATE__P_HIGH", "0.8");
    let shown = stdout(command.args(["config", "show", "gate", "--set", "gate.need_tau=0.5"]));
    let line =
        |key: &str| shown.lines().find(|line| line.starts_with(key)).unwrap().split_whitespace().collect::<Vec<_>>();
    assert_eq!(line("gate.n_max"), ["gate.n_max", "20", "trm.yaml:2"]);
    assert_eq!(line("gate.p_low"), ["gate.p_low", "0.2", ".env", "TRM_GATE__P_LOW"]);
    assert_eq!(line("gate.p_high"), ["gate.p_high", "0.8", "environment", "TRM_GATE__P_HIGH"]);
    assert_eq!(line("gate.need_tau"), ["gate.need_tau", "0.5", "command", "line", "--set"]);
    assert_eq!(line("gate.e_confirm"), ["gate.e_confirm", "20.0", "default"]);
    assert!(!shown.contains("run.seed"), "only the group that was asked for");
}

#[test]
fn shown_as_json_every_key_has_value_origin_class_and_text() {
    let folder = workspace("");
    let shown = stdout(trm().arg("-C").arg(folder.path()).args(["config", "show", "--json"]));
    let keys: Vec<Value> = serde_json::from_str(&shown).unwrap();
    assert_eq!(keys.len(), RunConfig::default().keys().len());
    for key in &keys {
        assert_eq!(key["origin"]["kind"], "default", "{key}");
        assert!(matches!(key["class"].as_str(), Some("structural" | "decision")), "{key}");
        assert!(key["text"].as_str().unwrap().len() > 5, "{key}");
    }
}

#[test]
fn a_narrow_terminal_gets_narrow_lines() {
    let folder = workspace("");
    let mut command = trm();
    command.current_dir(folder.path()).env("COLUMNS", "50").args(["config", "show", "llm.search"]);
    let shown = stdout(&mut command);
    assert!(shown.lines().all(|line| line.chars().count() <= 50), "{shown}");
}

#[test]
fn problems_come_together_with_exit_code_2() {
    let folder = workspace("gate:\n  e_confrim: 20\n  lambda_dir: 1\nagent: {max_steps: 0}\n");
    let command = |json: &[&str]| {
        let mut command = trm();
        command.current_dir(folder.path()).args(["config", "validate"]).args(json);
        let output = command.assert().code(2).get_output().clone();
        assert!(output.stdout.is_empty());
        String::from_utf8(output.stderr).unwrap()
    };
    insta::assert_snapshot!(command(&[]), @r"
    error: use the configuration: 3 problems [config.invalid]
      trm.yaml:2: gate.e_confrim is no key (did you mean gate.e_confirm?)
      trm.yaml:3: gate.lambda_dir must be below 0 (it is the lambda at which a candidate is rejected: at 0 or above, before any loss was seen)
      trm.yaml:4: agent.max_steps must be above 0
    hint: 'trm config show' lists every key with its value and origin
    ");
    let json: Value = serde_json::from_str(&command(&["--json"])).unwrap();
    assert_eq!((json["code"].as_str(), json["exit_code"].as_u64()), (Some("config.invalid"), Some(2)));
    assert_eq!(json["problems"].as_array().unwrap().len(), 3);
    assert_eq!(json["problems"][0]["place"], "trm.yaml:2");
}

#[test]
fn outside_of_a_workspace_the_remedy_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = trm().current_dir(folder.path()).args(["config", "show"]).assert().code(2).get_output().clone();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("[workspace.not_found]") && text.contains("trm init"), "{text}");
    let output = trm().arg("-C").arg(folder.path()).args(["config", "show"]).assert().code(2).get_output().clone();
    assert!(String::from_utf8(output.stderr).unwrap().contains("[workspace.not_one]"));
}

#[test]
fn a_malformed_setting_is_refused_without_being_repeated() {
    let folder = workspace("");
    let output = trm()
        .current_dir(folder.path())
        .args(["config", "show", "--set", "sk-canary-123456"])
        .assert()
        .code(2)
        .get_output()
        .clone();
    assert!(!String::from_utf8(output.stderr).unwrap().contains("canary"));
}

#[test]
fn what_validates_tells_its_warnings() {
    let folder = workspace("llm: {search: {temperature: 0}}\n");
    let text = stdout(trm().current_dir(folder.path()).args(["config", "validate"]));
    assert!(text.starts_with("warning: trm.yaml:1: llm.search.temperature is 0"), "{text}");
    assert!(text.contains("the configuration is valid: 1 of"), "{text}");
}

/// Configurations with other values than the defaults in fields of every form.
fn configs() -> impl Strategy<Value = RunConfig> {
    let words = "[a-zA-Z0-9 _:#'\"\\\\/.,{}\\[\\]&*!|>%@`~^-]{1,12}";
    let texts = (words, "\\PC{1,10}", prop::option::of("[a-z0-9][a-zA-Z0-9._-]{0,10}"));
    let sizes = prop_oneof![(5_usize..9999).prop_map(PoolSize::Count), (0.001_f64..0.3).prop_map(PoolSize::Share),];
    let numbers = (any::<u64>(), 1.01_f64..1e12, -1e3_f64..-1e-9, 0.0_f64..0.99, 2_usize..100_000);
    (texts, sizes, numbers, any::<bool>(), prop::option::of(1_u32..u32::MAX)).prop_map(
        |((word, text, run_id), size, (seed, e, lambda, ratio, count), flag, rate)| {
            let mut config = RunConfig::default();
            config.run.seed = seed;
            config.run.run_id = run_id.and_then(|id| id.parse().ok());
            config.data.questions = word.trim().to_owned().into();
            if config.data.questions.as_os_str().is_empty() {
                config.data.questions = "q".into();
            }
            config.pools.val_size = size;
            config.pools.test_size = size;
            config.gate.e_confirm = e + 100.0;
            config.gate.lambda_dir = lambda;
            config.minibatch.mix_correct_ratio = ratio;
            config.minibatch.batch_size = count + 4;
            config.minibatch.max_steps_per_epoch = flag.then_some(count);
            config.slow.holdout = flag;
            config.edits.frozen_tool_headings = vec![format!("x{text}"), "off".into(), "~".into(), "1.0".into()];
            config.llm.search.model = Some(format!("m{word}"));
            config.llm.search.base_urls = trm::config::BaseUrls::new(vec!["http://127.0.0.1:1/v1".into()]);
            config.llm.search.rpm = rate;
            config.llm.search.temperature = flag.then_some(ratio);
            config.llm.judge.extra_body.insert(text.clone(), serde_json::json!({"a": [1, 2.5, null, word], "": {}}));
            config.llm.cache.salt = text;
            config
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_configuration_survives_yaml_and_json(config in configs()) {
        let yaml = config.to_yaml().unwrap();
        let again = RunConfig::from_yaml(&yaml, "trm.yaml");
        prop_assert!(again.is_ok(), "{:?}\n{}", again, yaml);
        prop_assert_eq!(&again.unwrap(), &config, "{}", yaml);
        let again = RunConfig::from_snapshot(&config.snapshot()).unwrap();
        prop_assert_eq!(again.fingerprint(), config.fingerprint());
    }

    #[test]
    fn any_text_is_a_configuration_or_an_error(text in "\\PC{0,80}", key in "[a-z_.]{0,20}", value in "\\PC{0,20}") {
        let _either = RunConfig::from_yaml(&text, "trm.yaml");
        let _either = RunConfig::from_yaml(&format!("{key}: {value}\n"), "trm.yaml");
    }
}
