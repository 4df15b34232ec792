//! The configuration's `llm` group as settings of model access.

use std::path::Path;
use std::time::Duration;

use secrecy::SecretString;

use super::account::{Price, PriceTable};
use super::error::LlmError;
use super::settings::{
    BudgetSettings, CacheBackend, CacheMode, CacheSettings, Limits, LlmSettings, Provider, RetrySettings, RoleSettings,
    Timeouts,
};
use crate::config::{self, BudgetGroup, CacheGroup, RoleGroup, RunConfig, Secrets};
use crate::domain::Role;

/// The name of the simulated model where the configuration gives it none.
const SIMULATED: &str = "simulated";

impl LlmSettings {
    /// The settings that a configuration describes; roles without a model are absent. `cache_file` is the place of the
    /// embedded cache.
    ///
    /// # Errors
    /// A key or address that the configuration refers to is not among the secrets.
    pub fn from_config(config: &RunConfig, secrets: &Secrets, cache_file: &Path) -> Result<Self, LlmError> {
        let mut roles = std::collections::BTreeMap::new();
        for role in Role::ALL {
            let group = config.llm.role(role);
            if group.is_configured() {
                roles.insert(role, role_settings(role, group, secrets)?);
            }
        }
        let BudgetGroup { max_usd, max_tokens, prices } = &config.llm.budget;
        Ok(Self {
            seed: config.run.seed,
            roles,
            cache: cache_settings(&config.llm.cache, secrets, cache_file)?,
            budget: BudgetSettings { max_usd: *max_usd, max_tokens: *max_tokens },
            prices: prices
                .iter()
                .map(|(model, price)| {
                    let (prompt, cached, completion) = (price.prompt, price.cached, price.completion);
                    (model.clone(), Price { prompt, cached, completion })
                })
                .collect::<PriceTable>(),
        })
    }
}

/// The cache that a configuration describes.
///
/// # Errors
/// Redis is asked for and `REDIS_URL` is not set.
pub fn cache_settings(group: &CacheGroup, secrets: &Secrets, cache_file: &Path) -> Result<CacheSettings, LlmError> {
    let file = || CacheBackend::File(cache_file.to_owned());
    let redis = |url: &SecretString| CacheBackend::Redis(url.clone());
    let missing = || LlmError::MissingSecret { variable: "REDIS_URL".to_owned(), key: "llm.cache.backend".to_owned() };
    Ok(CacheSettings {
        backend: match group.backend {
            config::CacheBackend::Auto => secrets.redis_url().map_or_else(file, redis),
            config::CacheBackend::Redb => file(),
            config::CacheBackend::Redis => redis(secrets.redis_url().ok_or_else(missing)?),
            config::CacheBackend::Off => CacheBackend::Off,
        },
        mode: match group.mode {
            config::CacheMode::On => CacheMode::On,
            config::CacheMode::Off => CacheMode::Off,
            config::CacheMode::ReadOnly => CacheMode::ReadOnly,
            config::CacheMode::WriteOnly => CacheMode::WriteOnly,
        },
        ttl: Duration::from_secs(group.ttl_seconds()),
        salt: group.salt.clone(),
    })
}

fn role_settings(role: Role, group: &RoleGroup, secrets: &Secrets) -> Result<RoleSettings, LlmError> {
    let key = |variable: &String| {
        let missing =
            || LlmError::MissingSecret { variable: variable.clone(), key: format!("llm.{}.api_key_env", role.name()) };
        secrets.get(variable).cloned().ok_or_else(missing)
    };
    let provider = match group.provider {
        config::Provider::Sim => Provider::Sim,
        config::Provider::Openai => Provider::OpenAi {
            base_urls: group.base_urls.as_slice().to_vec(),
            api_key: group.api_key_env.as_ref().map(key).transpose()?,
        },
    };
    let seconds = |name: &str, value: f64| {
        let wrong = |_| LlmError::setting(format!("llm.{}.{name}", role.name()), "must be a number of seconds above 0");
        Duration::try_from_secs_f64(value).map_err(wrong)
    };
    let model = group.model.clone().unwrap_or_else(|| SIMULATED.to_owned());
    Ok(RoleSettings {
        endpoint_group: group.endpoint_group.clone(),
        max_tokens: group.max_tokens,
        temperature: group.temperature.map(single),
        send_seed: group.send_seed,
        extra_body: group.extra_body.clone(),
        limits: Limits { rpm: group.rpm, tpm: group.tpm, max_concurrency: group.max_concurrency },
        timeouts: Timeouts {
            connect: seconds("connect_timeout_s", group.connect_timeout_s)?,
            first_byte: seconds("first_byte_timeout_s", group.first_byte_timeout_s.unwrap_or(group.timeout_s))?,
            total: seconds("timeout_s", group.timeout_s)?,
        },
        retry: RetrySettings { retries: group.retries, ..RetrySettings::default() },
        ..RoleSettings::new(provider, model)
    })
}

#[expect(clippy::cast_possible_truncation, reason = "temperatures are small numbers of few digits")]
fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;
    use crate::domain::Fault;

    fn settings(yaml: &str, secrets: &[(&str, &str)]) -> Result<LlmSettings, LlmError> {
        let config = RunConfig::from_yaml(yaml, "test").unwrap();
        let secrets = secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        LlmSettings::from_config(&config, &Secrets::new(secrets), Path::new("cache.redb"))
    }

    const ONE_ROLE: &str =
        "llm:\n  search: {base_url: http://h/v1, model: m, api_key_env: MY_KEY, rpm: 60, temperature: 0.7}\n";

    #[test]
    fn a_role_is_carried_over_with_its_key_and_roles_without_a_model_are_absent() {
        let settings = settings(ONE_ROLE, &[("MY_KEY", "sk-1")]).unwrap();
        assert_eq!(settings.roles.keys().collect::<Vec<_>>(), [&Role::Search]);
        let role = &settings.roles[&Role::Search];
        assert_eq!((role.model.as_str(), role.limits.rpm, role.temperature), ("m", Some(60), Some(0.7)));
        let Provider::OpenAi { base_urls, api_key } = &role.provider else { panic!("an endpoint") };
        assert_eq!(base_urls, &["http://h/v1"]);
        assert_eq!(api_key.as_ref().unwrap().expose_secret(), "sk-1");
        settings.validate().unwrap();
    }

    #[test]
    fn a_key_that_is_not_set_is_named() {
        let error = settings(ONE_ROLE, &[]).unwrap_err();
        assert_eq!(error.code(), "llm.missing_secret");
        assert!(
            error.to_string().contains("MY_KEY") && error.to_string().contains("llm.search.api_key_env"),
            "{error}"
        );
    }

    #[test]
    fn redis_is_used_when_its_address_is_set_and_nothing_else_is_said() {
        let backend =
            |yaml: &str, secrets: &[(&str, &str)]| settings(yaml, secrets).map(|s| format!("{:?}", s.cache.backend));
        let redis = [("REDIS_URL", "redis://h/0")];
        assert!(backend("", &[]).unwrap().contains("cache.redb"));
        assert!(backend("", &redis).unwrap().starts_with("Redis"));
        assert!(backend("llm: {cache: {backend: redb}}", &redis).unwrap().contains("cache.redb"));
        assert!(backend("llm: {cache: {backend: redis}}", &redis).unwrap().starts_with("Redis"));
        assert_eq!(backend("llm: {cache: {backend: redis}}", &[]).unwrap_err().code(), "llm.missing_secret");
        assert_eq!(backend("llm: {cache: {backend: off}}", &redis).unwrap(), "Off");
    }

    #[test]
    fn the_simulated_model_needs_no_address() {
        let settings = settings("llm: {default: {provider: sim}}", &[]).unwrap();
        let names: Vec<_> = settings.roles.values().map(|role| role.model.as_str()).collect();
        assert_eq!(names, ["simulated"; 4]);
        settings.validate().unwrap();
    }
}
