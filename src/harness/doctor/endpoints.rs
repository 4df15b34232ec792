//! What the endpoints of the models say when they are asked.

use std::time::Duration;

use super::check::{Finding, Subject};
use super::models::block_on;
use crate::config::ReplyForm;
use crate::domain::{ChatError, ChatErrorKind, ExitClass, Role};
use crate::llm::{JsonFailure, LlmError, LlmSettings, Probe, probe};

/// A local model on a slow machine may have to be loaded first; longer nobody waits for a check.
const PATIENCE: Duration = Duration::from_secs(60);

/// A call for one token to every endpoint of every role, and what it says about its model and its JSON mode.
pub(super) fn answers(subject: &Subject<'_>) -> Vec<Finding> {
    if !subject.online {
        return Vec::new();
    }
    let loaded = subject.loaded;
    let settings = match LlmSettings::from_config(&loaded.config, &loaded.secrets, &subject.workspace.llm_cache()) {
        Ok(settings) => settings,
        // A key that is not set is told by the check of the roles.
        Err(LlmError::MissingSecret { .. }) => return Vec::new(),
        Err(error) => return vec![Finding::fault("models", &error)],
    };
    let mut findings: Vec<Finding> = settings.validate().err().iter().map(|e| Finding::fault("models", e)).collect();
    let probes = match block_on(probe(&settings, PATIENCE)) {
        Ok(Ok(probes)) => probes,
        Ok(Err(error)) => return vec![Finding::fault("models", &error)],
        Err(problem) => return vec![Finding::fail("models", ExitClass::Internal, problem, "")],
    };
    findings.extend(probes.iter().flat_map(|probe| of_probe(subject, probe)));
    for finding in &mut findings {
        finding.detail = loaded.secrets.scrub(&finding.detail);
    }
    findings
}

fn of_probe(subject: &Subject<'_>, probe: &Probe) -> Vec<Finding> {
    let Probe { role, model, endpoint, call, took, models, json } = probe;
    let check = format!("call {}", role.name());
    let listed = models.as_ref().map(|models| models.iter().any(|known| known == model));
    let error = match call {
        Ok(_) => {
            let milliseconds = took.as_millis();
            let mut findings = vec![match listed {
                Some(false) => Finding::warn(
                    &check,
                    format!("{model} at {endpoint} answers ({milliseconds} ms), though its list does not name it"),
                    format!(
                        "if that is not meant, take one of: {}",
                        some(models.as_deref().unwrap_or_default(), model)
                    ),
                ),
                Some(true) => Finding::ok(&check, format!("{model} at {endpoint} answers ({milliseconds} ms)")),
                None => {
                    let detail = format!("{model} at {endpoint} answers ({milliseconds} ms); it lists no models");
                    Finding::ok(&check, detail)
                }
            }];
            findings.extend(json.as_ref().map(|json| json_finding(subject, *role, json)));
            return findings;
        }
        Err(error) => error,
    };
    let key = |name: &str| format!("llm.{}.{name}", role.name());
    let detail = format!("{model} at {endpoint}: {}", error.message);
    if let (Some(false), Some(models)) = (listed, models)
        && error.kind != ChatErrorKind::Unauthorized
    {
        let remedy = format!("the endpoint has no such model: set {} to one of: {}", key("model"), some(models, model));
        return vec![Finding::fail(&check, ExitClass::Endpoint, detail, remedy)];
    }
    if error.kind == ChatErrorKind::RateLimited {
        return vec![Finding::warn(&check, detail, format!("it is there; set {} and {}", key("rpm"), key("tpm")))];
    }
    vec![Finding::fail(&check, ExitClass::Endpoint, detail, remedy(error, &key))]
}

fn remedy(error: &ChatError, key: &dyn Fn(&str) -> String) -> String {
    match error.kind {
        ChatErrorKind::Connection => format!("start the server, or mend {}", key("base_urls")),
        ChatErrorKind::Timeout => {
            format!(
                "see whether the server is overloaded or still loading the model; {} bounds the wait",
                key("timeout_s")
            )
        }
        ChatErrorKind::Unauthorized => {
            format!("see that {} names the right key, and that the account has credit", key("api_key_env"))
        }
        ChatErrorKind::NotFound => {
            format!("see that {} ends with /v1 or as the provider says, and {}", key("base_urls"), key("model"))
        }
        ChatErrorKind::BadRequest | ChatErrorKind::Refused | ChatErrorKind::ContextOverflow => {
            format!("take out of {} what the endpoint refuses; null removes a field", key("extra_body"))
        }
        ChatErrorKind::Malformed => format!("see that {} is an OpenAI-compatible API", key("base_urls")),
        ChatErrorKind::Server | ChatErrorKind::RateLimited | ChatErrorKind::CircuitOpen => {
            "look into the log of the server, or wait and try again".to_owned()
        }
        ChatErrorKind::Budget | ChatErrorKind::Cancelled | ChatErrorKind::Configuration => {
            "'trm config show' shows what is configured".to_owned()
        }
    }
}

/// Judge and writer are always asked under a schema; the agent only if it is told to.
fn json_finding(subject: &Subject<'_>, role: Role, json: &Result<(), JsonFailure>) -> Finding {
    let check = format!("JSON {}", role.name());
    let needed = match role {
        Role::Judge | Role::Evolve => true,
        Role::Search | Role::Tool | Role::Vision | Role::Embed => {
            subject.loaded.config.llm.role(role).response_format == ReplyForm::JsonSchema
        }
    };
    match json {
        Ok(()) => Finding::ok(&check, "replies keep to a JSON schema"),
        Err(JsonFailure::Refused(error)) => {
            let detail = format!("a reply under a JSON schema is refused: {}", error.message);
            let remedy = "use a server that knows response_format with json_schema (vLLM, llama.cpp, Ollama, OpenAI)";
            if needed {
                Finding::fail(&check, ExitClass::Endpoint, detail, remedy)
            } else {
                Finding::warn(&check, detail, remedy)
            }
        }
        Err(JsonFailure::OtherText(text)) => Finding::warn(
            &check,
            format!("the model answered a JSON schema with {text:?}"),
            "replies will be read tolerantly and asked again; a larger model does better",
        ),
    }
}

/// Up to eight names, those that are most like the wanted one first.
fn some(models: &[String], wanted: &str) -> String {
    const SHOWN: usize = 8;
    let mut names: Vec<&str> = models.iter().map(String::as_str).collect();
    names.sort_by_cached_key(|name| (strsim::damerau_levenshtein(name, wanted), (*name).to_owned()));
    let more = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    if names.is_empty() { "nothing (its list is empty)".to_owned() } else { names.join(", ") + more }
}
