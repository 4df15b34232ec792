//! The run configuration: layered sources, origins, validation, schema.
//!
//! One frozen [`RunConfig`] per run, from command line > environment > `.env` > YAML > default, with the
//! [`Origin`] of each value. Secrets never enter it: see [`Secrets`].

mod docs;
mod document;
mod dot_env;
mod error;
mod groups;
mod keys;
mod layers;
mod load;
mod models;
mod names;
mod origin;
mod run_config;
mod schema;
mod secrets;
mod size;
mod snapshot;
mod text;
mod tree;
mod urls;
pub mod validate;
mod version_choice;
mod yaml;

pub use docs::{Form, KeyDoc, key_docs};
pub use error::ConfigError;
pub use groups::{
    AgentGroup, AgentMode, DataGroup, EditsGroup, EpochsGroup, GateGroup, LadderOrder, LaunchPolicy, MinibatchGroup,
    PoolsGroup, RunGroup, RunMode, SearchBackend, SkillMode, SkillUpdateMode, SlowGroup, SplitBy, ToolSummaries,
};
pub use keys::{KeyClass, KeyRow};
pub use load::{LoadRequest, Loaded, Override, load};
pub use models::{
    BudgetGroup, CacheBackend, CacheGroup, CacheMode, LlmGroup, PriceGroup, Provider, ReplyForm, RoleGroup,
};
pub use origin::Origin;
pub use run_config::RunConfig;
pub use schema::{config_schema, config_schema_text};
pub use secrets::Secrets;
pub use size::PoolSize;
pub use snapshot::{Change, diff, diff_snapshot};
pub use urls::{BaseUrls, REDACTED, check_base_url, names_a_secret, redact_urls};
pub use validate::Violation;
pub use version_choice::VersionChoice;
