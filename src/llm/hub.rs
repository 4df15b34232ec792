//! All models of a run behind one door.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::watch;

use super::account::{CallSink, Ledger, LlmStatus, Money, UsageRow};
use super::backend::{Answer, Ask, Backend, ModelBackend, NamedBackend};
use super::cache::Cache;
use super::error::LlmError;
use super::governor::{Amount, Budget, Endpoints, Governed, Surroundings};
use super::openai::{OpenAiEndpoint, connect, public_name};
use super::settings::{LlmSettings, Provider, RoleSettings};
use super::shape::Shape;
use crate::domain::{
    CallTag, ChatError, ChatErrorKind, ChatFuture, ChatModel, ChatReply, ChatRequest, EmbedFuture, EmbedModel,
    EmbedReply, EmbedRequest, Message, Role, Usage,
};

/// Texts in one embedding request; longer lists are cut, which servers that limit them ask for.
const EMBED_BATCH: usize = 64;

/// What a hub is given beside its settings.
#[derive(Default, Clone)]
pub struct HubParts {
    /// Answers the roles whose provider is `sim`.
    pub sim_chat: Option<Arc<dyn ChatModel>>,
    /// Answers the embed role if its provider is `sim`.
    pub sim_embed: Option<Arc<dyn EmbedModel>>,
    /// Endpoints by role, with the names that may be shown, in the place of those of the settings: fakes, other protocols.
    pub backends: BTreeMap<Role, Vec<NamedBackend>>,
    /// Keeps the record of every call.
    pub sink: Option<Arc<dyn CallSink>>,
    /// Spent by earlier sessions of the run: counts against the budget.
    pub spent: Money,
    /// Tokens used by earlier sessions of the run.
    pub spent_tokens: u64,
}

impl std::fmt::Debug for HubParts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubParts").field("spent", &self.spent).finish_non_exhaustive()
    }
}

/// All models of a run. As a [`ChatModel`] it sends each request to the role that it names.
///
/// Dropping a call's future at any time is safe: what it reserved is released, who waited for the same answer takes
/// over, and what an endpoint may have worked meanwhile counts as spent.
pub struct ModelHub {
    roles: BTreeMap<Role, Governed>,
    cache: Arc<Cache>,
    budget: Arc<Budget>,
    ledger: Arc<Ledger>,
    stop: watch::Sender<bool>,
}

impl std::fmt::Debug for ModelHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelHub").field("roles", &self.roles.keys()).finish_non_exhaustive()
    }
}

impl ModelHub {
    /// Checks the settings, opens the cache and prepares every role; contacts no endpoint.
    ///
    /// # Errors
    /// Settings that could never work (see [`LlmSettings::validate`]), a role with provider `sim` without a simulated
    /// model, or no TLS on this machine. A cache that cannot be used is a warning.
    pub async fn open(settings: LlmSettings, parts: HubParts) -> Result<Self, LlmError> {
        settings.validate()?;
        let (stop, stopped) = watch::channel(false);
        let spent = Amount { cost: parts.spent, tokens: parts.spent_tokens };
        let around = Surroundings {
            cache: Arc::new(Cache::open(&settings.cache).await),
            cache_salt: settings.cache.salt.clone(),
            budget: Arc::new(Budget::new(settings.budget, spent)),
            ledger: Arc::default(),
            sink: parts.sink.clone(),
            stop: stopped,
        };
        let mut roles = BTreeMap::new();
        for (role, role_settings) in settings.roles {
            let shape = Arc::new(Shape::new(settings.seed, &role_settings));
            let backends = backends(role, &role_settings, &shape, &parts)?;
            let endpoints = Endpoints::new(backends, role_settings.retry);
            let price = settings.prices.of(&role_settings.model);
            roles.insert(role, Governed::new(role, role_settings, shape, price, endpoints, around.clone()));
        }
        let Surroundings { cache, budget, ledger, .. } = around;
        Ok(Self { roles, cache, budget, ledger, stop })
    }

    /// Whether a role has a model.
    #[must_use]
    pub fn has(&self, role: Role) -> bool {
        self.roles.contains_key(&role)
    }

    /// The settings of a role.
    #[must_use]
    pub fn settings(&self, role: Role) -> Option<&RoleSettings> {
        self.roles.get(&role).map(Governed::settings)
    }

    /// What is going on right now.
    #[must_use]
    pub fn status(&self) -> LlmStatus {
        LlmStatus {
            roles: self.roles.values().map(Governed::status).collect(),
            budget: self.budget.status(),
            cache: self.cache.status(),
            totals: self.ledger.total(),
        }
    }

    /// The sums of this session by role, phase and purpose.
    #[must_use]
    pub fn usage(&self) -> Vec<UsageRow> {
        self.ledger.rows()
    }

    /// Counts what earlier sessions of the run spent against the budget; for runs that are known only once the hub is open.
    pub fn count_spent(&self, cost: Money, tokens: u64) {
        self.budget.count_spent(Amount { cost, tokens });
    }

    /// Ends every call, now and later, with [`ChatErrorKind::Cancelled`].
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Asks the role's endpoint itself for a token, past the cache: whether address, key and model are right.
    ///
    /// # Errors
    /// Those of a call.
    pub async fn ping(&self, role: Role) -> Result<Usage, ChatError> {
        let tag = CallTag { purpose: "ping".to_owned(), item: "ping".to_owned(), ..CallTag::default() };
        let ask = if role == Role::Embed {
            Ask::Embed(EmbedRequest { texts: vec!["ping".to_owned()], tag })
        } else {
            let mut request = ChatRequest::new(role, vec![Message::user("Answer with the word: ok")], tag);
            request.max_tokens = Some(1);
            Ask::Chat(request)
        };
        self.role(role)?.ask_afresh(ask).await.map(|answer| answer.usage())
    }

    fn role(&self, role: Role) -> Result<&Governed, ChatError> {
        let missing = || ChatError {
            kind: ChatErrorKind::Configuration,
            role,
            message: format!("no model is configured for it (set llm.{}.model)", role.name()),
        };
        self.roles.get(&role).ok_or_else(missing)
    }

    async fn embed_batch(&self, texts: &[String], tag: &CallTag) -> Result<EmbedReply, ChatError> {
        let request = EmbedRequest { texts: texts.to_vec(), tag: tag.clone() };
        match self.role(Role::Embed)?.ask(Ask::Embed(request)).await? {
            Answer::Embed(reply) => Ok(reply),
            Answer::Chat(_) => Err(wrong_kind(Role::Embed)),
        }
    }

    async fn embed_all(&self, request: EmbedRequest) -> Result<EmbedReply, ChatError> {
        let batches = request.texts.chunks(EMBED_BATCH).map(|texts| self.embed_batch(texts, &request.tag));
        let replies = futures::future::try_join_all(batches).await?;
        let mut all = EmbedReply { vectors: Vec::new(), usage: Usage::default(), cached: true, latency_ms: 0 };
        for reply in replies {
            all.vectors.extend(reply.vectors);
            all.usage.prompt_tokens += reply.usage.prompt_tokens;
            all.usage.cached_tokens += reply.usage.cached_tokens;
            all.usage.completion_tokens += reply.usage.completion_tokens;
            all.usage.estimated |= reply.usage.estimated;
            all.cached &= reply.cached;
            all.latency_ms = all.latency_ms.max(reply.latency_ms);
        }
        Ok(all)
    }

    async fn chat_once(&self, request: ChatRequest) -> Result<ChatReply, ChatError> {
        let role = request.role;
        match self.role(role)?.ask(Ask::Chat(request)).await? {
            Answer::Chat(reply) => Ok(reply),
            Answer::Embed(_) => Err(wrong_kind(role)),
        }
    }
}

impl ChatModel for ModelHub {
    fn chat(&self, request: ChatRequest) -> ChatFuture<'_> {
        Box::pin(self.chat_once(request))
    }
}

impl EmbedModel for ModelHub {
    /// Long lists are asked in several requests; the reply is one.
    fn embed(&self, request: EmbedRequest) -> EmbedFuture<'_> {
        Box::pin(self.embed_all(request))
    }
}

fn wrong_kind(role: Role) -> ChatError {
    ChatError {
        kind: ChatErrorKind::Malformed,
        role,
        message: "the answer is of another kind than the question".to_owned(),
    }
}

/// The endpoints of a role, with the names that may be shown.
fn backends(
    role: Role,
    settings: &RoleSettings,
    shape: &Arc<Shape>,
    parts: &HubParts,
) -> Result<Vec<NamedBackend>, LlmError> {
    if let Some(backends) = parts.backends.get(&role) {
        return Ok(backends.clone());
    }
    match &settings.provider {
        Provider::Sim => {
            let chat = parts.sim_chat.clone().ok_or(LlmError::NoModel { role })?;
            let backend = ModelBackend::new(chat, parts.sim_embed.clone());
            Ok(vec![("simulated model".to_owned(), Arc::new(backend))])
        }
        Provider::OpenAi { base_urls, api_key } => {
            let client = connect(settings, base_urls)?;
            let endpoint = |url: &String| {
                let endpoint = OpenAiEndpoint::new(client.clone(), Arc::clone(shape), url, api_key.clone(), settings)?;
                Ok((public_name(url), Arc::new(endpoint) as Arc<dyn Backend>))
            };
            base_urls.iter().map(endpoint).collect()
        }
    }
}
