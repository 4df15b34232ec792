//! Models and their cache, as far as the configuration tells.

use std::time::Duration;

use super::check::{Finding, Subject};
use crate::config::{CacheBackend, Provider};
use crate::domain::{ExitClass, Role};
use crate::llm::RedisCache;

/// A server that takes longer is as good as none.
const REDIS_PATIENCE: Duration = Duration::from_secs(5);

/// Each role: what answers it, and whether its key is there.
pub(super) fn roles(subject: &Subject<'_>) -> Vec<Finding> {
    Role::ALL.into_iter().filter_map(|role| role_finding(subject, role)).collect()
}

fn role_finding(subject: &Subject<'_>, role: Role) -> Option<Finding> {
    let group = subject.loaded.config.llm.role(role);
    let check = format!("role {}", role.name());
    let key = |name: &str| format!("llm.{}.{name}", role.name());
    if group.provider == Provider::Sim {
        return Some(Finding::ok(&check, "simulated model"));
    }
    let Some(model) = &group.model else {
        // Without these, something is not offered; without the others, nothing works.
        return match role {
            Role::Vision | Role::Embed => None,
            Role::Search | Role::Tool | Role::Judge | Role::Evolve => Some(Finding::fail(
                &check,
                ExitClass::Usage,
                "no model",
                format!("set {} and {}, or llm.default for all text roles", key("model"), key("base_urls")),
            )),
        };
    };
    let addresses = group.base_urls.as_slice().join(", ");
    match &group.api_key_env {
        Some(variable) if subject.loaded.secrets.get(variable).is_none() => Some(Finding::fail(
            &check,
            ExitClass::Usage,
            format!("{model} at {addresses}: {variable} is not set"),
            format!("put {variable}=… into .env or the environment, or mend {}", key("api_key_env")),
        )),
        Some(variable) => Some(Finding::ok(&check, format!("{model} at {addresses}, key in {variable}"))),
        None => Some(Finding::ok(&check, format!("{model} at {addresses}, without a key"))),
    }
}

/// The response cache: where it is, and whether it is there.
pub(super) fn cache(subject: &Subject<'_>) -> Vec<Finding> {
    let cache = &subject.loaded.config.llm.cache;
    let url = subject.loaded.secrets.redis_url();
    let file = || Finding::ok("cache", subject.workspace.llm_cache().display().to_string());
    vec![match (cache.backend, url) {
        (CacheBackend::Off, _) => Finding::warn(
            "cache",
            "off: a step that is run again pays again",
            "set llm.cache.backend to auto, unless this is meant",
        ),
        (CacheBackend::Redb, _) | (CacheBackend::Auto, None) => file(),
        (CacheBackend::Redis, None) => Finding::fail(
            "cache",
            ExitClass::Usage,
            "REDIS_URL is not set",
            "put REDIS_URL=redis://127.0.0.1:6379/0 into .env, or set llm.cache.backend to redb",
        ),
        (CacheBackend::Redis | CacheBackend::Auto, Some(url)) => {
            let ttl = Duration::from_secs(cache.ttl_seconds());
            match reach(url, ttl) {
                Ok(address) => Finding::ok("cache", format!("Redis at {address} answers")),
                Err(problem) => Finding::fail(
                    "cache",
                    ExitClass::Endpoint,
                    subject.loaded.secrets.scrub(&problem),
                    "start the server, mend REDIS_URL, or set llm.cache.backend to redb",
                ),
            }
        }
    }]
}

/// The server's address if it answers.
fn reach(url: &secrecy::SecretString, ttl: Duration) -> Result<String, String> {
    block_on(async {
        let cache = RedisCache::open(url, ttl).map_err(|error| error.to_string())?;
        match tokio::time::timeout(REDIS_PATIENCE, cache.ping()).await {
            Ok(Ok(())) => Ok(cache.address().to_owned()),
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err(format!("Redis at {} does not answer", cache.address())),
        }
    })?
}

/// Waits for something asynchronous; an error if the system gives no thread for it.
pub(super) fn block_on<T>(work: impl Future<Output = T>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(|error| error.to_string())?.block_on(work))
}
