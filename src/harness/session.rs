//! A workspace opened for work: store, data, models, the texts of versions.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::evaluation::FrozenConfig;
use super::inference::{Bench, StopSignal, StoreSink};
use super::kernel_error::TemplatesError;
use super::reply_form::{Formed, KernelForms};
use super::templates::Templates;
use super::versions::{VersionedPrompts, VersionedSkills, VersionsError};
use super::workspace::{Workspace, WorkspaceError};
use crate::agent::{
    AgentMode, AgentSettings, AgentTextError, AgentTexts, ReplyForm, SearchBackend, SkillMode, ToolSummaries,
};
use crate::config::{self, Loaded, Provider, RunConfig};
use crate::data::{DataError, QuestionSet, TreeSet, load_questions};
use crate::domain::{ChatModel, ContentHash, EmbedModel, ExitClass, Fault, Hasher, Problem, Role, RunId};
use crate::evolution::evolve::LeakIndex;
use crate::llm::{CallSink, HubParts, LlmError, LlmSettings, ModelHub, Money};
use crate::sim::model::{SimModel, SimSettings, SimTruth};
use crate::sim::world::{TRUTH_FILE, Truth};
use crate::store::rows::VersionPair;
use crate::store::{OpenOptions, Snapshot, Store, StoreError};

/// An opened workspace.
#[derive(Debug)]
pub struct Session {
    /// Where everything lies.
    pub workspace: Workspace,
    /// The configuration.
    pub config: RunConfig,
    /// The questions.
    pub questions: Arc<QuestionSet>,
    /// Store, models, trees.
    pub bench: Bench,
    /// Fingerprint of all that answers depend on beside skill and prompts.
    pub environment: ContentHash,
    /// What judge and writer are asked.
    pub templates: Templates,
    /// Made when it is first needed.
    leaks: OnceLock<LeakIndex>,
    /// What was found out about the endpoints of judge and writer.
    forms: KernelForms,
}

/// Why a workspace cannot be worked with.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The workspace.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Questions or trees.
    #[error(transparent)]
    Data(#[from] DataError),
    /// Model access.
    #[error(transparent)]
    Models(#[from] LlmError),
    /// Versions.
    #[error(transparent)]
    Versions(#[from] VersionsError),
    /// The workspace's own judge or writer templates.
    #[error(transparent)]
    Templates(#[from] TemplatesError),
    /// Skills or prompts that the agent cannot use.
    #[error(transparent)]
    Texts(#[from] AgentTextError),
    /// The simulated model is asked for, and its truth file is missing or unreadable.
    #[error("open the simulated model: read {}", path.display())]
    Truth {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

impl Fault for SessionError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Workspace(error) => error.class(),
            Self::Store(error) => error.class(),
            Self::Data(error) => error.class(),
            Self::Models(error) => error.class(),
            Self::Versions(error) => error.class(),
            Self::Templates(error) => error.class(),
            Self::Texts(error) => error.class(),
            Self::Truth { .. } => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Workspace(error) => error.code(),
            Self::Store(error) => error.code(),
            Self::Data(error) => error.code(),
            Self::Models(error) => error.code(),
            Self::Versions(error) => error.code(),
            Self::Templates(error) => error.code(),
            Self::Texts(error) => error.code(),
            Self::Truth { .. } => "sim.truth",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Workspace(error) => error.hint(),
            Self::Store(error) => error.hint(),
            Self::Data(error) => error.hint(),
            Self::Models(error) => error.hint(),
            Self::Versions(error) => error.hint(),
            Self::Templates(error) => error.hint(),
            Self::Texts(error) => error.hint(),
            Self::Truth { .. } => Some(
                "the simulated model knows generated worlds only: make one with 'trm init DIR --example', \
                 or set llm.*.provider to openai"
                    .into(),
            ),
        }
    }

    fn problems(&self) -> &[Problem] {
        match self {
            Self::Workspace(error) => error.problems(),
            Self::Store(error) => error.problems(),
            Self::Data(error) => error.problems(),
            Self::Models(error) => error.problems(),
            Self::Versions(error) => error.problems(),
            Self::Texts(error) => error.problems(),
            Self::Templates(_) | Self::Truth { .. } => &[],
        }
    }
}

impl Session {
    /// Opens store, questions and models of a workspace whose configuration is loaded.
    ///
    /// # Errors
    /// [`SessionError`]; no endpoint is contacted yet.
    pub async fn open(workspace: Workspace, loaded: Loaded, spent: (Money, u64)) -> Result<Self, SessionError> {
        let Loaded { config, secrets, .. } = loaded;
        let templates = Templates::load(&workspace.templates())?;
        let store = Store::open(workspace.store(), &OpenOptions::default())?;
        let questions = Arc::new(load_questions(&workspace.questions(&config))?);
        let trees = Arc::new(TreeSet::new(workspace.videos(&config)));
        let settings = LlmSettings::from_config(&config, &secrets, &workspace.llm_cache())?;
        let sim = if uses_sim(&config) {
            Some(Arc::new(open_sim(workspace.root(), &questions, config.sim.clone(), config.run.seed)?))
        } else {
            None
        };
        let sink = Arc::new(StoreSink::default());
        let parts = HubParts {
            sim_chat: sim.clone().map(|model| model as Arc<dyn ChatModel>),
            sim_embed: sim.map(|model| model as Arc<dyn EmbedModel>),
            sink: Some(Arc::clone(&sink) as Arc<dyn CallSink>),
            spent: spent.0,
            spent_tokens: spent.1,
            ..HubParts::default()
        };
        let hub = Arc::new(ModelHub::open(settings, parts).await?);
        let environment = environment(&config, &questions, &trees)?;
        let bench = Bench {
            store,
            sink,
            trees,
            agent: agent_settings(&config, hub.has(Role::Vision)),
            concurrency: config.agent.concurrency,
            samples: config.agent.samples,
            indexes: Arc::default(),
            forms: Arc::default(),
            stop: StopSignal::default(),
            hub,
        };
        Ok(Self {
            workspace,
            config,
            questions,
            bench,
            environment,
            templates,
            leaks: OnceLock::new(),
            forms: KernelForms::default(),
        })
    }

    /// The texts of a version pair.
    ///
    /// # Errors
    /// A version is unknown, or lacks a file that the agent needs.
    pub fn texts(&self, versions: VersionPair) -> Result<Arc<AgentTexts>, SessionError> {
        let snapshot = self.bench.store.snapshot()?;
        let skills = VersionedSkills::load(&snapshot, versions.skills)?;
        let prompts = VersionedPrompts::load(&snapshot, versions.prompts)?;
        Ok(Arc::new(AgentTexts::load(&skills, &prompts)?))
    }

    /// All questions and options, which no skill or prompt may quote; empty if `edits.leak_lint` is off.
    #[must_use]
    pub fn leaks(&self) -> &LeakIndex {
        self.leaks.get_or_init(|| match self.config.edits.leak_lint {
            true => LeakIndex::new(&self.questions.questions),
            false => LeakIndex::default(),
        })
    }

    /// The model of the judge or the writer, asked in the form that its endpoint knows.
    pub(super) fn kernel_model(&self, role: Role) -> Formed<'_> {
        self.forms.of(role, self.config.llm.role(role), self.bench.hub.as_ref())
    }

    /// What a run row keeps of this configuration.
    #[must_use]
    pub fn frozen(&self) -> FrozenConfig {
        FrozenConfig {
            snapshot: self.config.snapshot(),
            structural: self.config.structural_fingerprint(),
            data: self.questions.fingerprint,
            environment: self.environment,
            seed: self.config.run.seed,
            guard_err: self.config.gate.guard_err,
        }
    }
}

/// What earlier sessions of a run spent: it counts against the budget.
///
/// # Errors
/// The store cannot be read.
pub fn spent_before(store: &Store, run: &RunId) -> Result<(Money, u64), StoreError> {
    spent_of(&store.snapshot()?, run)
}

/// The same from a snapshot.
///
/// # Errors
/// The store cannot be read.
pub fn spent_of(snapshot: &Snapshot<'_>, run: &RunId) -> Result<(Money, u64), StoreError> {
    let rows = snapshot.usage(run)?;
    let usd: f64 = rows.iter().map(|(_, usage)| usage.cost_usd).sum();
    let tokens = rows.iter().map(|(_, usage)| usage.tokens.prompt + usage.tokens.completion).sum();
    Ok((Money::from_usd(usd), tokens))
}

fn uses_sim(config: &RunConfig) -> bool {
    Role::ALL.into_iter().any(|role| config.llm.role(role).provider == Provider::Sim)
}

/// The simulated model of a generated workspace.
///
/// # Errors
/// Its truth file is missing or unreadable.
pub fn open_sim(
    root: &Path,
    questions: &QuestionSet,
    settings: SimSettings,
    seed: u64,
) -> Result<SimModel, SessionError> {
    let path = root.join(TRUTH_FILE);
    let failed = |source| SessionError::Truth { path: path.clone(), source };
    let text = std::fs::read_to_string(&path).map_err(failed)?;
    let truth: Truth = serde_json::from_str(&text).map_err(std::io::Error::from).map_err(failed)?;
    let truth = Arc::new(SimTruth::of_world(&questions.questions, &truth));
    Ok(SimModel::new(truth, settings, seed))
}

/// The hash of everything that an answer depends on beside skills and prompts (design 12). The same model at another
/// address gives the same answers.
fn environment(config: &RunConfig, questions: &QuestionSet, trees: &TreeSet) -> Result<ContentHash, DataError> {
    let mut hasher = Hasher::new("trm.environment.v2");
    hasher.part(questions.fingerprint.as_bytes());
    hasher.part(trees.fingerprint(questions.videos().keys().copied())?.as_bytes());
    for role in [Role::Search, Role::Tool, Role::Vision, Role::Embed] {
        let group = config.llm.role(role);
        let shape = serde_json::json!([
            group.provider,
            group.model,
            group.temperature,
            group.max_tokens,
            group.context_tokens,
            group.extra_body,
            group.response_format,
            group.send_seed,
        ]);
        hasher.part(role.name()).part(shape.to_string());
    }
    let agent = &config.agent;
    let shape = serde_json::json!([
        agent.mode,
        agent.max_steps,
        agent.max_parse_retries,
        agent.skill_mode,
        agent.tool_summaries,
        agent.samples,
        agent.search_backend,
        config.run.seed,
    ]);
    hasher.part(shape.to_string());
    Ok(hasher.finish())
}

fn agent_settings(config: &RunConfig, vision: bool) -> AgentSettings {
    let agent = &config.agent;
    AgentSettings {
        mode: match agent.mode {
            config::AgentMode::Tree => AgentMode::Tree,
            config::AgentMode::Direct => AgentMode::Direct,
        },
        skill_mode: match agent.skill_mode {
            config::SkillMode::Auto => SkillMode::Auto,
            config::SkillMode::Manual => SkillMode::Manual,
            config::SkillMode::None => SkillMode::None,
        },
        tool_summaries: match agent.tool_summaries {
            config::ToolSummaries::Llm => ToolSummaries::Llm,
            config::ToolSummaries::Raw => ToolSummaries::Raw,
        },
        search_backend: match agent.search_backend {
            config::SearchBackend::Lexical => SearchBackend::Lexical,
            config::SearchBackend::Embedding => SearchBackend::Embedding,
        },
        max_steps: agent.max_steps,
        max_parse_retries: agent.max_parse_retries,
        reply_form: match config.llm.search.response_format {
            config::ReplyForm::Auto => ReplyForm::Auto,
            config::ReplyForm::Text => ReplyForm::Text,
            config::ReplyForm::JsonSchema => ReplyForm::JsonSchema,
            config::ReplyForm::Tools => ReplyForm::Tools,
        },
        context_tokens: config.llm.search.context_tokens,
        reply_tokens: config.llm.search.max_tokens,
        tool_context_tokens: config.llm.tool.context_tokens,
        vision,
    }
}
