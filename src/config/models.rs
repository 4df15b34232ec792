//! The `llm` group: which models answer, under which limits, with which cache and budget (design 06).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::BaseUrls;
use crate::domain::Role;

/// Model access. `llm.default` gives settings to the four text roles (search, tool, judge, evolve) at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct LlmGroup {
    /// The agent's own turns.
    pub search: RoleGroup,
    /// Extract and verify calls inside tools.
    pub tool: RoleGroup,
    /// Diagnosis.
    pub judge: RoleGroup,
    /// Writing and ranking edits.
    pub evolve: RoleGroup,
    /// Reading frames; without a model, `observe_frame` is not offered.
    pub vision: RoleGroup,
    /// Embeddings.
    pub embed: RoleGroup,
    /// The response cache.
    pub cache: CacheGroup,
    /// Caps on what may be spent.
    pub budget: BudgetGroup,
}

impl Default for LlmGroup {
    fn default() -> Self {
        Self {
            search: RoleGroup::for_role(Role::Search),
            tool: RoleGroup::for_role(Role::Tool),
            judge: RoleGroup::for_role(Role::Judge),
            evolve: RoleGroup::for_role(Role::Evolve),
            vision: RoleGroup::for_role(Role::Vision),
            embed: RoleGroup::for_role(Role::Embed),
            cache: CacheGroup::default(),
            budget: BudgetGroup::default(),
        }
    }
}

impl LlmGroup {
    /// The settings of a role.
    #[must_use]
    pub fn role(&self, role: Role) -> &RoleGroup {
        match role {
            Role::Search => &self.search,
            Role::Tool => &self.tool,
            Role::Judge => &self.judge,
            Role::Evolve => &self.evolve,
            Role::Vision => &self.vision,
            Role::Embed => &self.embed,
        }
    }
}

/// One role: which model, where, under which limits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct RoleGroup {
    /// Who answers: an OpenAI-compatible endpoint, or the simulated model in this process.
    pub provider: Provider,
    /// Addresses up to and including `/v1`; calls are balanced between them. One address may be written without a list.
    pub base_urls: BaseUrls,
    /// Name of the group of addresses in the cache's keys. Null: the addresses themselves. With a name, replicas come
    /// and go without losing the cache.
    pub endpoint_group: Option<String>,
    /// The model, as the endpoint calls it. Null: the role is not configured.
    pub model: Option<String>,
    /// Name of the environment variable that holds the API key; never the key itself.
    pub api_key_env: Option<String>,
    /// Seconds until the last byte of a reply.
    pub timeout_s: f64,
    /// Seconds until a connection stands.
    pub connect_timeout_s: f64,
    /// Seconds until the first byte of a reply. Null: as `timeout_s`, since most endpoints send nothing before the reply
    /// is complete.
    pub first_byte_timeout_s: Option<f64>,
    /// The longest reply, in tokens.
    pub max_tokens: u32,
    /// The model's context, in tokens; what does not fit is trimmed by a stated rule.
    pub context_tokens: u32,
    /// Sampling temperature. Null: the endpoint's own. The default differs by role.
    pub temperature: Option<f64>,
    /// Fields merged into each request last, such as thinking switches; a null removes a field.
    pub extra_body: Map<String, Value>,
    /// In which form replies are asked for; `auto` tries once and remembers.
    pub response_format: ReplyForm,
    /// Whether requests carry a `seed`.
    pub send_seed: bool,
    /// Requests a minute, over all addresses. Null: unlimited.
    pub rpm: Option<u32>,
    /// Tokens a minute, over all addresses. Null: unlimited.
    pub tpm: Option<u32>,
    /// Requests in flight.
    pub max_concurrency: usize,
    /// Tries after the first, for failures of the endpoint.
    pub retries: u32,
}

/// Who answers a role's calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// An OpenAI-compatible endpoint.
    Openai,
    /// The simulated model in this process.
    Sim,
}

/// In which form replies are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplyForm {
    /// Try once and remember.
    Auto,
    /// Plain text.
    Text,
    /// A JSON object by schema.
    JsonSchema,
    /// Native tool calls.
    Tools,
}

impl RoleGroup {
    /// The defaults of a role.
    #[must_use]
    pub fn for_role(role: Role) -> Self {
        let (max_tokens, temperature) = match role {
            Role::Search => (2048, Some(0.7)),
            Role::Tool | Role::Vision => (2048, Some(0.2)),
            Role::Judge => (4096, Some(0.0)),
            Role::Evolve => (8192, Some(0.7)),
            Role::Embed => (2048, None),
        };
        Self {
            provider: Provider::Openai,
            base_urls: BaseUrls::default(),
            endpoint_group: None,
            model: None,
            api_key_env: None,
            timeout_s: 300.0,
            connect_timeout_s: 10.0,
            first_byte_timeout_s: None,
            max_tokens,
            context_tokens: 32_768,
            temperature,
            extra_body: Map::new(),
            response_format: ReplyForm::Auto,
            send_seed: true,
            rpm: None,
            tpm: None,
            max_concurrency: 32,
            retries: 5,
        }
    }

    /// Whether calls of this role can be made: simulated, or a model is named.
    #[must_use]
    pub fn is_configured(&self) -> bool {
        match self.provider {
            Provider::Sim => true,
            Provider::Openai => self.model.is_some(),
        }
    }
}

impl Default for RoleGroup {
    fn default() -> Self {
        Self::for_role(Role::Search)
    }
}

/// The response cache. Its address is no setting: `REDIS_URL` in the environment or `.env`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct CacheGroup {
    /// Where replies are kept: the Redis server of `REDIS_URL` if that is set and else a file of the workspace (`auto`),
    /// or one of them (`redis`, `redb`), or nowhere (`off`).
    pub backend: CacheBackend,
    /// What may be done with it.
    pub mode: CacheMode,
    /// Days that a reply is kept; `REDIS_CACHE_TTL` (seconds) overrides it.
    pub ttl_days: f64,
    /// Part of every key: another salt is another cache.
    pub salt: String,
}

/// Where replies are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheBackend {
    /// The server of `REDIS_URL` if that is set, else a file of the workspace.
    Auto,
    /// A file of the workspace.
    Redb,
    /// The server of `REDIS_URL`.
    Redis,
    /// Nowhere.
    Off,
}

/// What may be done with the response cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheMode {
    /// Read and write.
    On,
    /// Neither.
    Off,
    /// Replay only.
    ReadOnly,
    /// Keep new replies, never replay.
    WriteOnly,
}

impl CacheGroup {
    /// Seconds that a reply is kept.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "validated to be positive and finite; a float cast saturates"
    )]
    pub fn ttl_seconds(&self) -> u64 {
        (self.ttl_days * 86_400.0).round() as u64
    }
}

impl Default for CacheGroup {
    fn default() -> Self {
        Self { backend: CacheBackend::Auto, mode: CacheMode::On, ttl_days: 7.0, salt: String::new() }
    }
}

/// Caps on what a run may spend, what earlier sessions of it spent included.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct BudgetGroup {
    /// US dollars; every model then needs a price. Null: no cap.
    pub max_usd: Option<f64>,
    /// Tokens, read and written. Null: no cap.
    pub max_tokens: Option<u64>,
    /// What a model costs, by its name.
    pub prices: BTreeMap<String, PriceGroup>,
}

/// US dollars per million tokens.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PriceGroup {
    /// Read.
    pub prompt: f64,
    /// Read from the endpoint's own prompt cache. Null or absent: as `prompt`.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Written.
    pub completion: f64,
}
