//! Asks every endpoint itself, once and directly: whether it is there, has the model, and keeps to a schema.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::error::LlmError;
use super::hub::{HubParts, ModelHub};
use super::openai::{OpenAiEndpoint, connect, public_name};
use super::settings::{BudgetSettings, CacheSettings, LlmSettings, Provider, RetrySettings, RoleSettings};
use super::shape::Shape;
use crate::domain::{CallTag, ChatError, ChatModel, ChatReply, ChatRequest, Message, ResponseFormat, Role, Usage};

/// What one endpoint of one role said.
#[derive(Debug)]
pub struct Probe {
    /// The role.
    pub role: Role,
    /// Its model.
    pub model: String,
    /// The endpoint, without credentials.
    pub endpoint: String,
    /// The answer to a call for one token.
    pub call: Result<Usage, ChatError>,
    /// How long that took.
    pub took: Duration,
    /// The models that the endpoint lists; none if it lists none.
    pub models: Option<Vec<String>>,
    /// Whether a reply under a JSON schema was such JSON; none where no text is asked for, or nothing answers.
    pub json: Option<Result<(), JsonFailure>>,
}

/// Why the JSON mode cannot be relied on.
#[derive(Debug)]
pub enum JsonFailure {
    /// The endpoint refused the request.
    Refused(ChatError),
    /// It answered with something else; its beginning.
    OtherText(String),
}

/// Asks every endpoint of every role that is no simulated one, all at once, with one try each.
///
/// Each costs a call for one token, and for the text roles one for a line of JSON. Neither cache nor budget is touched.
///
/// # Errors
/// Settings that could never work, or no TLS on this machine.
pub async fn probe(settings: &LlmSettings, patience: Duration) -> Result<Vec<Probe>, LlmError> {
    let mut work = Vec::new();
    for (role, settings_of_role) in &settings.roles {
        let Provider::OpenAi { base_urls, api_key } = &settings_of_role.provider else { continue };
        for url in base_urls {
            let mut single = settings_of_role.clone();
            single.provider = Provider::OpenAi { base_urls: vec![url.clone()], api_key: api_key.clone() };
            single.timeouts.connect = single.timeouts.connect.min(patience);
            single.timeouts.first_byte = single.timeouts.first_byte.min(patience);
            single.timeouts.total = single.timeouts.total.min(patience);
            single.retry = RetrySettings { retries: 0, rate_limit_retries: 0, ..single.retry };
            work.push(probe_one(*role, single, url, settings.seed));
        }
    }
    futures::future::try_join_all(work).await
}

async fn probe_one(role: Role, settings: RoleSettings, url: &str, seed: u64) -> Result<Probe, LlmError> {
    let Provider::OpenAi { base_urls, api_key } = &settings.provider else { return Err(LlmError::NoModel { role }) };
    let client = connect(&settings, base_urls)?;
    let endpoint = OpenAiEndpoint::new(client, Arc::new(Shape::new(seed, &settings)), url, api_key.clone(), &settings)?;
    let model = settings.model.clone();
    let alone = LlmSettings {
        seed,
        roles: BTreeMap::from([(role, settings)]),
        cache: CacheSettings::default(),
        budget: BudgetSettings::default(),
        prices: super::PriceTable::default(),
    };
    let hub = ModelHub::open(alone, HubParts::default()).await?;
    let started = tokio::time::Instant::now();
    let call = hub.ping(role).await;
    let took = started.elapsed();
    let models = endpoint.model_names().await;
    let asks_for_text = !matches!(role, Role::Vision | Role::Embed);
    let json = if call.is_ok() && asks_for_text { Some(json_mode(&hub, role).await) } else { None };
    Ok(Probe { role, model, endpoint: public_name(url), call, took, models, json })
}

/// Most tokens of the line of JSON: models that think first need some.
const JSON_TOKENS: u32 = 256;

async fn json_mode(hub: &ModelHub, role: Role) -> Result<(), JsonFailure> {
    let schema = json!({
        "type": "object",
        "properties": {"colour": {"type": "string", "enum": ["red", "green"]}},
        "required": ["colour"],
        "additionalProperties": false,
    });
    let tag = CallTag { purpose: "ping".to_owned(), item: "ping.json".to_owned(), ..CallTag::default() };
    let question = "Which colour has grass? Answer as JSON: {\"colour\": \"red\"} or {\"colour\": \"green\"}.";
    let mut request = ChatRequest::new(role, vec![Message::user(question)], tag);
    request.response_format = ResponseFormat::JsonSchema { name: "ping".to_owned(), schema };
    let most = hub.settings(role).map_or(JSON_TOKENS, |settings| settings.max_tokens);
    request.max_tokens = Some(JSON_TOKENS.min(most));
    let ChatReply { content, .. } = hub.chat(request).await.map_err(JsonFailure::Refused)?;
    match serde_json::from_str::<Value>(content.trim()) {
        Ok(Value::Object(_)) => Ok(()),
        Ok(_) | Err(_) => Err(JsonFailure::OtherText(content.chars().take(80).collect())),
    }
}
