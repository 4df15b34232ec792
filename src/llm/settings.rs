//! Plain settings of model access; the configuration layer converts its own groups into these.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;
use serde_json::{Map, Value};

use super::account::PriceTable;
use super::error::LlmError;
use crate::domain::Role;

/// Everything that [`ModelHub::open`](super::ModelHub::open) needs to know.
#[derive(Debug, Clone, Default)]
pub struct LlmSettings {
    /// The configuration's seed: enters the `seed` field of every call and the jitter of retries.
    pub seed: u64,
    /// The roles that have a model; a call for any other is a configuration error.
    pub roles: BTreeMap<Role, RoleSettings>,
    /// The response cache.
    pub cache: CacheSettings,
    /// Caps on what may be spent.
    pub budget: BudgetSettings,
    /// What tokens cost.
    pub prices: PriceTable,
}

/// One role: which model, where, under which limits (design 06).
#[derive(Debug, Clone)]
pub struct RoleSettings {
    /// Who answers.
    pub provider: Provider,
    /// Name of the group of endpoints in the cache's keys. `None`: the sorted base URLs, so that another
    /// address is another model; a name lets replicas come and go without losing the cache.
    pub endpoint_group: Option<String>,
    /// The model's name, as the endpoint knows it.
    pub model: String,
    /// The longest completion, in tokens; the budget's worst case.
    pub max_tokens: u32,
    /// Sampling temperature; `None` leaves it to the endpoint.
    pub temperature: Option<f32>,
    /// Whether requests carry a `seed`, which makes servers that know it draw the same again for the same place.
    pub send_seed: bool,
    /// Merged into the request body last; a null removes a field (thinking switches, `max_completion_tokens`, …).
    pub extra_body: Map<String, Value>,
    /// How fast and how many at once.
    pub limits: Limits,
    /// How long.
    pub timeouts: Timeouts,
    /// How often again.
    pub retry: RetrySettings,
    /// A reply larger than this many bytes is refused while it is read; embeddings get 16 times as much.
    pub max_reply_bytes: usize,
}

impl RoleSettings {
    /// A role with default limits at one OpenAI-compatible endpoint without a key.
    #[must_use]
    pub fn at(base_url: impl Into<String>, model: impl Into<String>) -> Self {
        Self::new(Provider::OpenAi { base_urls: vec![base_url.into()], api_key: None }, model)
    }

    /// A role with default limits.
    #[must_use]
    pub fn new(provider: Provider, model: impl Into<String>) -> Self {
        Self {
            provider,
            endpoint_group: None,
            model: model.into(),
            max_tokens: 2048,
            temperature: None,
            send_seed: true,
            extra_body: Map::new(),
            limits: Limits::default(),
            timeouts: Timeouts::default(),
            retry: RetrySettings::default(),
            max_reply_bytes: 4 << 20,
        }
    }

    /// The name that stands for the endpoints in the cache's keys.
    #[must_use]
    pub fn group(&self) -> String {
        match (&self.endpoint_group, &self.provider) {
            (Some(name), _) => name.clone(),
            (None, Provider::Sim) => "sim".to_owned(),
            (None, Provider::OpenAi { base_urls, .. }) => {
                let mut urls: Vec<&str> = base_urls.iter().map(|url| url.trim_end_matches('/')).collect();
                urls.sort_unstable();
                urls.join(" ")
            }
        }
    }
}

/// Who answers a role's calls.
#[derive(Debug, Clone)]
pub enum Provider {
    /// OpenAI-compatible endpoints that serve the same model; calls are balanced between them.
    OpenAi {
        /// Each up to and including `/v1`, http or https.
        base_urls: Vec<String>,
        /// Sent as bearer token.
        api_key: Option<SecretString>,
    },
    /// The simulated model in this process.
    Sim,
}

/// How fast and how many at once; `None` is unlimited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Requests a minute, over all endpoints of the role.
    pub rpm: Option<u32>,
    /// Tokens a minute (prompt and completion), over all endpoints of the role.
    pub tpm: Option<u32>,
    /// Requests in flight; at least 1.
    pub max_concurrency: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rpm: None, tpm: None, max_concurrency: 32 }
    }
}

/// Bounds of one try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until the connection stands.
    pub connect: Duration,
    /// Until the first byte of the reply's head, connecting and waiting for the model included. Without streaming most
    /// endpoints send it when the reply is complete.
    pub first_byte: Duration,
    /// Until the last byte.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), first_byte: Duration::from_secs(300), total: Duration::from_secs(300) }
    }
}

/// The one retry loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// Tries after the first, for failures of the endpoint.
    pub retries: u32,
    /// Tries after the first while the endpoint says 429: being told to wait is no failure.
    pub rate_limit_retries: u32,
    /// Upper end of the first random delay; doubles with each try (full jitter).
    pub base_delay: Duration,
    /// Upper end of any random delay.
    pub max_delay: Duration,
    /// A longer Retry-After counts as this much.
    pub retry_after_cap: Duration,
    /// Consecutive failures that open an endpoint's circuit.
    pub circuit_failures: u32,
    /// How long a circuit stays open at first; doubles while the probe fails, up to 16 times.
    pub circuit_cooldown: Duration,
    /// How long a call waits for any circuit of the role to let it through.
    pub circuit_wait: Duration,
}

impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            retries: 5,
            rate_limit_retries: 20,
            base_delay: Duration::from_millis(500),
            max_delay: Duration::from_secs(30),
            retry_after_cap: Duration::from_secs(60),
            circuit_failures: 8,
            circuit_cooldown: Duration::from_secs(5),
            circuit_wait: Duration::from_secs(60),
        }
    }
}

/// Where replies are kept, and for how long.
#[derive(Debug, Clone)]
pub struct CacheSettings {
    /// The place.
    pub backend: CacheBackend,
    /// What may be done with it.
    pub mode: CacheMode,
    /// How long an entry lives (604,800 s by default; `REDIS_CACHE_TTL`).
    pub ttl: Duration,
    /// Part of every key: another salt is another cache.
    pub salt: String,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            backend: CacheBackend::Off,
            mode: CacheMode::On,
            ttl: Duration::from_secs(super::cache::DEFAULT_TTL_SECONDS),
            salt: String::new(),
        }
    }
}

/// The place of the response cache.
#[derive(Debug, Clone)]
pub enum CacheBackend {
    /// None.
    Off,
    /// An embedded database file; created when absent.
    File(PathBuf),
    /// A Redis server, `redis://[user:password@]host:port/db`: may hold a password, hence secret.
    Redis(SecretString),
}

/// What may be done with the response cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CacheMode {
    /// Read and write.
    #[default]
    On,
    /// Neither.
    Off,
    /// Replay only; new replies are not kept.
    ReadOnly,
    /// Keep new replies, never replay: a fresh run that leaves a cache.
    WriteOnly,
}

impl CacheMode {
    /// Whether entries may be replayed.
    #[must_use]
    pub fn reads(self) -> bool {
        match self {
            Self::On | Self::ReadOnly => true,
            Self::Off | Self::WriteOnly => false,
        }
    }

    /// Whether new replies are kept.
    #[must_use]
    pub fn writes(self) -> bool {
        match self {
            Self::On | Self::WriteOnly => true,
            Self::Off | Self::ReadOnly => false,
        }
    }
}

/// Caps on what may be spent in total, what earlier sessions of the run spent included.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct BudgetSettings {
    /// In US dollars.
    pub max_usd: Option<f64>,
    /// In tokens, prompt and completion.
    pub max_tokens: Option<u64>,
}

impl LlmSettings {
    /// Checks what types cannot: addresses, positive limits, prices for everything a cap in dollars covers.
    ///
    /// # Errors
    /// The first problem found, with the role and the key.
    pub fn validate(&self) -> Result<(), LlmError> {
        if self.budget.max_usd.is_some_and(|cap| !cap.is_finite() || cap < 0.0) {
            return Err(LlmError::setting("budget.max_usd", "must be a number of at least 0"));
        }
        for (role, settings) in &self.roles {
            settings.validate(*role)?;
            let free = matches!(settings.provider, Provider::Sim);
            if self.budget.max_usd.is_some() && !free && self.prices.of(&settings.model).is_none() {
                return Err(LlmError::NoPrice { role: *role, model: settings.model.clone() });
            }
        }
        Ok(())
    }
}

impl RoleSettings {
    fn validate(&self, role: Role) -> Result<(), LlmError> {
        let wrong = |key: &str, what: &str| Err(LlmError::setting(format!("llm.{}.{key}", role.name()), what));
        if let Provider::OpenAi { base_urls, .. } = &self.provider {
            if base_urls.is_empty() {
                return wrong("base_url", "needs at least one address");
            }
            for url in base_urls {
                let parsed = reqwest::Url::parse(url);
                if !parsed.is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()) {
                    return wrong("base_url", "must be an http or https address");
                }
            }
        }
        if self.model.trim().is_empty() {
            return wrong("model", "must name a model");
        }
        if self.max_tokens == 0 {
            return wrong("max_tokens", "must be at least 1");
        }
        if self.limits.max_concurrency == 0 || self.limits.max_concurrency > tokio::sync::Semaphore::MAX_PERMITS {
            return wrong("max_concurrency", "must be at least 1");
        }
        if self.limits.rpm == Some(0) || self.limits.tpm == Some(0) {
            return wrong("rpm", "a rate of 0 would never let a call through");
        }
        if self.temperature.is_some_and(|value| !value.is_finite() || value < 0.0) {
            return wrong("temperature", "must be a number of at least 0");
        }
        if self.timeouts.total.is_zero() || self.timeouts.first_byte.is_zero() || self.timeouts.connect.is_zero() {
            return wrong("timeout_s", "must be more than 0");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_address_is_another_group_unless_it_is_named() {
        let mut role = RoleSettings::at("http://b/v1/", "m");
        assert_eq!(role.group(), "http://b/v1");
        role.provider = Provider::OpenAi { base_urls: vec!["http://b/v1".into(), "http://a/v1".into()], api_key: None };
        assert_eq!(role.group(), "http://a/v1 http://b/v1");
        role.endpoint_group = Some("cluster".into());
        assert_eq!(role.group(), "cluster");
    }

    #[test]
    fn a_model_without_a_price_is_refused_under_a_cap_in_dollars() {
        let mut settings = LlmSettings::default();
        settings.roles.insert(Role::Search, RoleSettings::at("http://localhost/v1", "m"));
        settings.validate().unwrap();
        settings.budget.max_usd = Some(1.0);
        assert!(matches!(settings.validate(), Err(LlmError::NoPrice { role: Role::Search, .. })));
        settings.prices.insert("m", crate::llm::Price { prompt: 1.0, cached: None, completion: 2.0 });
        settings.validate().unwrap();
    }

    #[test]
    fn settings_that_could_never_work_are_refused_by_name() {
        let refused = |change: fn(&mut RoleSettings)| {
            let mut role = RoleSettings::at("http://localhost/v1", "m");
            change(&mut role);
            let settings = LlmSettings { roles: [(Role::Judge, role)].into(), ..LlmSettings::default() };
            settings.validate().unwrap_err().to_string()
        };
        assert!(
            refused(|role| role.provider = RoleSettings::at("ftp://x", "m").provider).contains("llm.judge.base_url")
        );
        assert!(refused(|role| role.model = " ".into()).contains("llm.judge.model"));
        assert!(refused(|role| role.limits.rpm = Some(0)).contains("llm.judge.rpm"));
        assert!(refused(|role| role.limits.max_concurrency = 0).contains("llm.judge.max_concurrency"));
        assert!(refused(|role| role.temperature = Some(f32::NAN)).contains("llm.judge.temperature"));
    }
}
