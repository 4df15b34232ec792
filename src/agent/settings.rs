//! Plain settings of the agent; the configuration layer converts its own groups into these.

use serde::{Deserialize, Serialize};

/// How the agent answers (design 02, group `agent`; the token figures from the roles' settings).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentSettings {
    /// Walk the tree with tools, or read its text in one call.
    pub mode: AgentMode,
    /// How the agent gets its skill.
    pub skill_mode: SkillMode,
    /// Whether tools answer with a model's extract or with the tree's own text.
    pub tool_summaries: ToolSummaries,
    /// What `search_similar` ranks nodes by.
    pub search_backend: SearchBackend,
    /// Tool calls per question, `submit_answer` included; at least 1.
    pub max_steps: u32,
    /// Unreadable replies in a row, and invalid calls in a row, that end the question; at least 1.
    pub max_parse_retries: u32,
    /// In which form the `search` role's replies are asked for.
    pub reply_form: ReplyForm,
    /// Context of the `search` role, in tokens.
    pub context_tokens: u32,
    /// The `search` role's longest reply, in tokens: kept free in the context.
    pub reply_tokens: u32,
    /// Context of the `tool` role, in tokens.
    pub tool_context_tokens: u32,
    /// Whether a vision model is configured: without one, `observe_frame` is not offered.
    pub vision: bool,
}

impl Default for AgentSettings {
    fn default() -> Self {
        Self {
            mode: AgentMode::Tree,
            skill_mode: SkillMode::Auto,
            tool_summaries: ToolSummaries::Llm,
            search_backend: SearchBackend::Lexical,
            max_steps: 40,
            max_parse_retries: 3,
            reply_form: ReplyForm::Auto,
            context_tokens: 32_768,
            reply_tokens: 2_048,
            tool_context_tokens: 32_768,
            vision: false,
        }
    }
}

/// How the agent gets at the video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AgentMode {
    /// Walk the tree with tools.
    Tree,
    /// The tree's text, as much as fits, in one call: the baseline.
    Direct,
}

/// How the agent gets its skill (design 02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SkillMode {
    /// The task type's skill is part of the system prompt.
    Auto,
    /// The agent sees a catalogue and reads with `read_skill`.
    Manual,
    /// No task skill and no catalogue; skills marked `always` stay.
    None,
}

/// What a tool returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ToolSummaries {
    /// A question-conditioned extract, verified by a second call.
    Llm,
    /// Card and subtitle as they are: cheap runs, weak models.
    Raw,
}

/// What `search_similar` ranks nodes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchBackend {
    /// Words (BM25).
    Lexical,
    /// Vectors of the `embed` role.
    Embedding,
}

/// In which form replies are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ReplyForm {
    /// Try once and remember.
    Auto,
    /// Plain text that holds a JSON object.
    Text,
    /// A JSON object by schema.
    JsonSchema,
    /// Native tool calls.
    Tools,
}

impl AgentSettings {
    /// Room for the messages of the `search` role: its context without the reply, which gets at most half of it.
    #[must_use]
    pub fn message_tokens(&self) -> usize {
        let reply = self.reply_tokens.min(self.context_tokens / 2);
        to_usize(self.context_tokens - reply)
    }

    /// The longest result of a tool: a quarter of the room for messages, between 150 and 3,000 tokens.
    #[must_use]
    pub fn result_tokens(&self) -> usize {
        (self.message_tokens() / 4).clamp(150, 3_000)
    }

    /// The longest source of a summary: half of the `tool` role's context.
    #[must_use]
    pub fn source_tokens(&self) -> usize {
        to_usize(self.tool_context_tokens / 2).max(100)
    }
}

fn to_usize(tokens: u32) -> usize {
    usize::try_from(tokens).unwrap_or(usize::MAX)
}
