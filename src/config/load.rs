//! From sources to one checked configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::docs::{Form, KeyDoc, key_docs};
use super::document::{self, Placed};
use super::layers::{Assigned, Assignments, Layer, variable_origin};
use super::names::Names;
use super::secrets::REDIS_URL;
use super::tree::insert;
use super::validate::{self, Violation};
use super::{ConfigError, Origin, RunConfig, Secrets, dot_env};
use crate::domain::{Problem, Role};

/// Where to load from. Nothing is read from the process itself, so that tests and embedding programs decide.
#[derive(Debug, Clone, Default)]
pub struct LoadRequest {
    /// The YAML file; none for defaults.
    pub file: Option<PathBuf>,
    /// The `.env` file; need not exist.
    pub dot_env: Option<PathBuf>,
    /// The environment: keys as `TRM_<GROUP>__<KEY>`, API keys, `REDIS_URL`, `REDIS_CACHE_TTL`.
    pub environment: BTreeMap<String, String>,
    /// What the command line sets, in order.
    pub overrides: Vec<Override>,
}

/// One key set on the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// Dotted path.
    pub key: String,
    /// The value as text.
    pub value: String,
    /// The flag that set it, such as `--set`.
    pub flag: String,
}

/// A checked configuration with all that belongs to it.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The configuration.
    pub config: RunConfig,
    /// Where each key's value is from.
    pub origins: BTreeMap<String, Origin>,
    /// The secrets that the configuration refers to.
    pub secrets: Secrets,
    /// What works and is probably not meant.
    pub warnings: Vec<Problem>,
}

/// Loads and checks a configuration.
///
/// # Errors
/// A file that cannot be read or parsed; else [`ConfigError::Invalid`] with everything that is wrong.
pub fn load(request: &LoadRequest) -> Result<Loaded, ConfigError> {
    let yaml = match &request.file {
        Some(path) => {
            let text =
                std::fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.clone(), source })?;
            let name = shown_name(path);
            Some((document::parse(&text, &name)?, name))
        }
        None => None,
    };
    let dot_env = match &request.dot_env {
        Some(path) => dot_env::read(path)?,
        None => BTreeMap::new(),
    };
    resolve(yaml.as_ref().map(|(root, name)| (root, name.as_str())), &dot_env, request)
}

impl RunConfig {
    /// A checked configuration from YAML text alone; `name` is shown as the file's name.
    ///
    /// # Errors
    /// As [`load`].
    pub fn from_yaml(text: &str, name: &str) -> Result<Self, ConfigError> {
        let root = document::parse(text, name)?;
        Ok(resolve(Some((&root, name)), &BTreeMap::new(), &LoadRequest::default())?.config)
    }
}

fn resolve(
    yaml: Option<(&Placed, &str)>,
    dot_env: &BTreeMap<String, String>,
    request: &LoadRequest,
) -> Result<Loaded, ConfigError> {
    let mut assignments = Assignments::new(Names::all(), key_docs());
    if let Some((root, name)) = yaml {
        assignments.yaml(root, name);
    }
    for (variables, layer) in [(dot_env, Layer::DotEnv), (&request.environment, Layer::Environment)] {
        assignments.variables(variables, layer);
        if let Some(seconds) = variables.get("REDIS_CACHE_TTL").filter(|text| !text.is_empty()) {
            assignments.cache_ttl(seconds, layer);
        }
    }
    assignments.overrides(&request.overrides);
    let Assignments { values, mut problems, .. } = assignments;

    let config = merge(&values, key_docs(), &mut problems)?;
    let secrets = gather_secrets(&config, dot_env, &request.environment, &mut problems);
    problems.extend(values.iter().filter_map(|(key, assigned)| leaked_secret(key, assigned, &secrets)));

    let origins: BTreeMap<String, Origin> = config
        .keys()
        .into_iter()
        .map(|row| (values.get(&row.key).map_or(Origin::Default, |assigned| assigned.origin.clone()), row.key))
        .map(|(origin, key)| (key, origin))
        .collect();
    problems.extend(place_all(validate::all(&config), &origins));
    if !problems.is_empty() {
        problems.sort();
        problems.dedup();
        return Err(ConfigError::Invalid { problems });
    }
    let warnings = place_all(validate::warnings(&config), &origins).collect();
    Ok(Loaded { config, origins, secrets, warnings })
}

/// The defaults with every assignment that fits its key; the others become problems.
fn merge(
    values: &BTreeMap<String, Assigned>,
    docs: &BTreeMap<String, KeyDoc>,
    problems: &mut Vec<Problem>,
) -> Result<RunConfig, ConfigError> {
    let defaults = RunConfig::default().to_value();
    let mut merged = defaults.clone();
    for (key, assigned) in values {
        let checked = assigned.value.to_json().ok_or(None).and_then(|value| {
            let mut alone = defaults.clone();
            insert(&mut alone, key, value.clone());
            serde_json::from_value::<RunConfig>(alone).map(|_| value).map_err(Some)
        });
        match checked {
            Ok(value) => insert(&mut merged, key, value),
            Err(error) => problems.push(wrong_value(key, assigned, docs.get(key), error.as_ref())),
        }
    }
    serde_json::from_value(merged).map_err(ConfigError::Snapshot)
}

fn wrong_value(key: &str, assigned: &Assigned, doc: Option<&KeyDoc>, error: Option<&serde_json::Error>) -> Problem {
    let kind = assigned.value.kind();
    let expected = doc.map_or_else(|| "another value".to_owned(), KeyDoc::expected);
    let mut hint = None;
    let message = match (doc.map(|doc| &doc.form), kind, error) {
        (Some(Form::OneOf(words)), "text", _) => {
            hint = nearest_word(&assigned.value, words).map(|word| format!("did you mean {word}?"));
            format!("{key} must be {expected}")
        }
        (Some(Form::Whole), "a whole number", _) => format!("{key} must be a whole number of at least 0 that fits"),
        // Ids and tables explain themselves better than "text" does.
        (Some(Form::Text), "text", Some(error)) => format!("{key}: {error}"),
        (Some(Form::Table), "a table", Some(error)) => format!("{key}: {error}"),
        _ => format!("{key} must be {expected}, not {kind}"),
    };
    Problem { place: Some(assigned.origin.to_string()), message, hint }
}

fn nearest_word<'a>(value: &Placed, words: &'a [String]) -> Option<&'a String> {
    let text = value.to_json()?.as_str()?.to_lowercase();
    words.iter().find(|word| strsim::damerau_levenshtein(&text.replace('-', "_"), word) <= 2)
}

/// The variables that the configuration names. The environment beats `.env`.
fn gather_secrets(
    config: &RunConfig,
    dot_env: &BTreeMap<String, String>,
    environment: &BTreeMap<String, String>,
    problems: &mut Vec<Problem>,
) -> Secrets {
    let roles = Role::ALL.into_iter().filter_map(|role| config.llm.role(role).api_key_env.clone());
    let found = roles.chain([REDIS_URL.to_owned()]).filter_map(|name| {
        let set = |variables: &BTreeMap<String, String>| variables.get(&name).filter(|v| !v.trim().is_empty()).cloned();
        let (value, layer) = match set(environment) {
            Some(value) => (value, Layer::Environment),
            None => (set(dot_env)?, Layer::DotEnv),
        };
        if name == REDIS_URL && !is_redis_url(&value) {
            problems.push(Problem {
                place: Some(variable_origin(&name, layer).to_string()),
                message: "REDIS_URL must be an address of a Redis server".to_owned(),
                hint: Some("such as redis://127.0.0.1:6379/0, with rediss:// for TLS".to_owned()),
            });
        }
        Some((name, value))
    });
    let found: Vec<_> = found.collect();
    Secrets::new(found)
}

fn is_redis_url(text: &str) -> bool {
    let text = text.trim();
    text.starts_with("redis+unix://")
        || text.starts_with("unix://")
        || url::Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "redis" | "rediss") && url.has_host())
}

/// A key or password that was written into a setting as well would be stored and shown with it.
fn leaked_secret(key: &str, assigned: &Assigned, secrets: &Secrets) -> Option<Problem> {
    let value: Value = assigned.value.to_json()?;
    let name = secrets.found_in(&value.to_string())?;
    Some(Problem {
        place: Some(assigned.origin.to_string()),
        message: format!("{key} holds the value of {name}, and settings are stored and shown"),
        hint: Some("take the secret out of it; only its variable may hold it".to_owned()),
    })
}

fn place_all(violations: Vec<Violation>, origins: &BTreeMap<String, Origin>) -> impl Iterator<Item = Problem> {
    violations.into_iter().map(|violation| Problem {
        place: origins.get(&violation.key).filter(|origin| **origin != Origin::Default).map(Origin::to_string),
        message: format!("{} {}", violation.key, violation.message),
        hint: violation.hint,
    })
}

fn shown_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(pairs: &[(&str, &str)], sets: &[(&str, &str)]) -> LoadRequest {
        LoadRequest {
            environment: pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            overrides: sets
                .iter()
                .map(|(key, value)| Override {
                    key: (*key).to_owned(),
                    value: (*value).to_owned(),
                    flag: "--set".to_owned(),
                })
                .collect(),
            ..LoadRequest::default()
        }
    }

    fn resolve_all(yaml: &str, dot_env: &[(&str, &str)], request: &LoadRequest) -> Result<Loaded, ConfigError> {
        let root = document::parse(yaml, "trm.yaml")?;
        let dot_env = dot_env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        resolve(Some((&root, "trm.yaml")), &dot_env, request)
    }

    fn problems(yaml: &str, request: &LoadRequest) -> Vec<String> {
        match resolve_all(yaml, &[], request) {
            Err(ConfigError::Invalid { problems }) => problems.iter().map(Problem::to_string).collect(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_strongest_source_wins_and_is_named() {
        let yaml = "gate:\n  n_max: 1\n";
        let dot_env = [("TRM_GATE__N_MAX", "2")];
        let origin = |loaded: &Loaded| (loaded.config.gate.n_max, loaded.origins["gate.n_max"].to_string());
        let environment = request(&[("TRM_GATE__N_MAX", "3")], &[]);
        let everything = request(&[("TRM_GATE__N_MAX", "3")], &[("gate.n_max", "4"), ("gate_n_max", "5")]);
        let none = LoadRequest::default();
        assert_eq!(origin(&resolve_all("", &[], &none).unwrap()), (40, "default".to_owned()));
        assert_eq!(origin(&resolve_all(yaml, &[], &none).unwrap()), (1, "trm.yaml:2".to_owned()));
        assert_eq!(origin(&resolve_all(yaml, &dot_env, &none).unwrap()), (2, ".env TRM_GATE__N_MAX".to_owned()));
        let loaded = resolve_all(yaml, &dot_env, &environment).unwrap();
        assert_eq!(origin(&loaded), (3, "environment TRM_GATE__N_MAX".to_owned()));
        assert_eq!(origin(&resolve_all(yaml, &dot_env, &everything).unwrap()), (5, "command line --set".to_owned()));
    }

    #[test]
    fn everything_wrong_is_told_at_once_with_its_place() {
        let yaml = "gate:\n  e_confrim: 20\n  gate_block: 8\n  n_max: many\nagent: 3\nagnet:\n  max_steps: 4\nslow:\n  \
                    holdout: .inf\nminibatch:\n  batch_size: 4\n";
        let found = problems(yaml, &request(&[("TRM_AGENT__SKILL_MODE", "atuo")], &[("pools.val_size", "-1")]));
        let expected = [
            "minibatch.min_class_per_batch (4) must be below minibatch.batch_size (4)",
            "command line --set: pools.val_size must be a number, not a whole number",
            "environment TRM_AGENT__SKILL_MODE: agent.skill_mode must be one of auto, manual, none (did you mean auto?)",
            "trm.yaml:2: gate.e_confrim is no key (did you mean gate.e_confirm?)",
            "trm.yaml:3: gate.gate_block is no key any more (removed: the gate now decides after every pair along the ladder)",
            "trm.yaml:4: gate.n_max must be a whole number, not text",
            "trm.yaml:5: agent is a group and must be a table of keys, not a whole number",
            "trm.yaml:6: agnet is no key (did you mean agent?)",
            "trm.yaml:9: slow.holdout must be true or false, not a number that is not finite",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn secrets_in_settings_are_refused_without_being_repeated() {
        let yaml = "llm:\n  search:\n    api_key: sk-canary-1\n    api_key_env: sk-canary-2\n    base_urls: \
                    http://u:canary-3@h/v1\n    extra_body: {headers: {Authorization: canary-4}}\n    model: x canary-5-long\nredis_url: \
                    redis://:canary-6@h\n";
        let found = problems(
            yaml,
            &request(&[("REDIS_URL", "http://canary-7"), ("canary", "x")], &[("llm.tool.api_key", "canary-8")]),
        );
        assert_eq!(found.len(), 7, "{found:#?}");
        assert!(!found.join("\n").contains("canary"), "{found:#?}");
    }

    #[test]
    fn a_setting_that_holds_the_value_of_a_secret_is_refused() {
        let yaml =
            "llm:\n  search: {api_key_env: MY_KEY, model: m, base_url: http://h/v1}\n  cache: {salt: sk-canary-42}\n";
        let found = problems(yaml, &request(&[("MY_KEY", "sk-canary-42")], &[]));
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("holds the value of MY_KEY") && !found[0].contains("canary"), "{found:?}");
    }

    #[test]
    fn secrets_come_from_environment_before_dot_env() {
        use secrecy::ExposeSecret;
        let yaml =
            "llm:\n  default: {api_key_env: KEY_A, model: m, base_url: http://h/v1}\n  judge: {api_key_env: KEY_B}\n";
        let dot_env = [("KEY_A", "from-file"), ("KEY_B", "b"), ("OTHER", "unused"), ("REDIS_URL", "redis://:pw@h:1/0")];
        let loaded = resolve_all(yaml, &dot_env, &request(&[("KEY_A", "from-env")], &[])).unwrap();
        assert_eq!(loaded.secrets.get("KEY_A").unwrap().expose_secret(), "from-env");
        assert_eq!(loaded.secrets.get("KEY_B").unwrap().expose_secret(), "b");
        assert!(loaded.secrets.get("OTHER").is_none(), "what nothing refers to is not kept");
        assert!(loaded.secrets.redis_url().is_some());
        let shown = format!("{loaded:?}") + &loaded.config.snapshot() + &loaded.config.to_yaml().unwrap();
        assert!(!shown.contains("from-env") && !shown.contains("pw@"));
    }

    #[test]
    fn the_default_role_is_weaker_than_a_role_and_a_stronger_source_is_stronger_than_both() {
        let yaml = "llm:\n  search: {model: own}\n  default: {model: all, base_url: http://h/v1}\n";
        let loaded = resolve_all(yaml, &[], &LoadRequest::default()).unwrap();
        let model = |loaded: &Loaded, role| loaded.config.llm.role(role).model.clone();
        assert_eq!(model(&loaded, Role::Search).as_deref(), Some("own"));
        assert_eq!(model(&loaded, Role::Judge).as_deref(), Some("all"));
        assert_eq!(model(&loaded, Role::Vision), None, "a text model is no vision model");
        let stronger = request(&[("TRM_LLM__DEFAULT__MODEL", "env")], &[]);
        assert_eq!(model(&resolve_all(yaml, &[], &stronger).unwrap(), Role::Search).as_deref(), Some("env"));
    }

    #[test]
    fn the_cache_lives_as_long_as_the_variable_says() {
        let ttl = |dot_env: &[(&str, &str)], environment: &[(&str, &str)]| {
            let yaml = "llm: {cache: {ttl_days: 3}}";
            resolve_all(yaml, dot_env, &request(environment, &[])).unwrap().config.llm.cache.ttl_seconds()
        };
        assert_eq!(RunConfig::default().llm.cache.ttl_seconds(), 604_800);
        assert_eq!(ttl(&[], &[]), 259_200);
        assert_eq!(ttl(&[("REDIS_CACHE_TTL", "3601")], &[]), 3601);
        assert_eq!(ttl(&[("REDIS_CACHE_TTL", "3601")], &[("REDIS_CACHE_TTL", "1")]), 1);
        let found = problems("", &request(&[("REDIS_CACHE_TTL", "7 days")], &[]));
        assert!(found[0].contains("REDIS_CACHE_TTL must be a whole number"), "{found:?}");
    }

    #[test]
    fn two_spellings_of_one_key_are_a_contradiction() {
        let found = problems("gate_n_max: 3\ngate: {n_max: 4}\n", &LoadRequest::default());
        assert_eq!(found, ["trm.yaml:2: gate.n_max is given twice (also at trm.yaml:1)"]);
    }
}
