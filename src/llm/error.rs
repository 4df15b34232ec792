//! Failures of setting up model access; failures of single calls are [`ChatError`](crate::domain::ChatError)s.

use std::path::PathBuf;

use crate::domain::{ExitClass, Fault, Role};

/// Model access could not be set up, or its cache not be maintained.
#[derive(Debug, thiserror::Error)]
pub enum LlmError {
    /// A setting that could never work.
    #[error("use the setting {key}: {problem}")]
    Setting {
        /// Such as `llm.judge.base_url`.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// A key or address that the configuration refers to is not in the environment.
    #[error("find {variable}, which {key} refers to, in the environment or .env")]
    MissingSecret {
        /// The variable.
        variable: String,
        /// Such as `llm.judge.api_key_env`.
        key: String,
    },
    /// A cap in dollars needs a price for every model.
    #[error("cap the spending of the {} role: no price is known for the model {model:?}", role.name())]
    NoPrice {
        /// The role.
        role: Role,
        /// Its model.
        model: String,
    },
    /// The role has no settings.
    #[error("find a model for the {} role", role.name())]
    NoModel {
        /// The role.
        role: Role,
    },
    /// The HTTP client could not be built (usually: no certificates of authorities on this machine).
    #[error("set up the HTTP client")]
    Http(#[source] reqwest::Error),
    /// The cache file could not be used.
    #[error("use the response cache {path}: {problem}", path = path.display())]
    CacheFile {
        /// The file.
        path: PathBuf,
        /// What happened.
        problem: String,
    },
    /// Redis could not be used.
    #[error("use the response cache in Redis at {address}: {problem}")]
    Redis {
        /// Host and port, without a password.
        address: String,
        /// What happened.
        problem: String,
    },
}

impl LlmError {
    pub(super) fn setting(key: impl Into<String>, problem: impl Into<String>) -> Self {
        Self::Setting { key: key.into(), problem: problem.into() }
    }
}

impl Fault for LlmError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Setting { .. } | Self::MissingSecret { .. } | Self::NoPrice { .. } | Self::NoModel { .. } => {
                ExitClass::Usage
            }
            Self::Http(_) | Self::Redis { .. } => ExitClass::Endpoint,
            Self::CacheFile { .. } => ExitClass::Store,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Setting { .. } => "llm.setting",
            Self::MissingSecret { .. } => "llm.missing_secret",
            Self::NoPrice { .. } => "llm.no_price",
            Self::NoModel { .. } => "llm.no_model",
            Self::Http(_) => "llm.http",
            Self::CacheFile { .. } => "llm.cache_file",
            Self::Redis { .. } => "llm.redis",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Setting { .. } => None,
            Self::MissingSecret { variable, .. } => Some(format!("set {variable} in the environment or in .env")),
            Self::NoPrice { model, .. } => {
                Some(format!("add {model:?} to llm.budget.prices (US dollars per million tokens), or remove max_usd"))
            }
            Self::NoModel { role } => Some(format!("set llm.{}.base_url and llm.{}.model", role.name(), role.name())),
            Self::Http(_) => Some("install the package ca-certificates, or use http addresses only".to_owned()),
            Self::CacheFile { path, .. } => {
                Some(format!("{} may be deleted at any time; that costs repeated calls, nothing else", path.display()))
            }
            Self::Redis { .. } => Some("check REDIS_URL and that the server answers to `redis-cli ping`".to_owned()),
        }
    }
}
