//! The groups of the run configuration (design 02, 13), except model access.
//!
//! The doc comments are what `trm config schema` and the reference print.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PoolSize, VersionChoice};
use crate::domain::RunId;
use crate::evolution::gate::GateParams;

/// What identifies the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct RunGroup {
    /// Name of the run, 1 to 64 of `A-Z a-z 0-9 . _ -`. Null: one is made when the run starts.
    #[schemars(with = "Option<String>")]
    pub run_id: Option<RunId>,
    /// All randomness derives from it.
    pub seed: u64,
    /// The folder of the workspace, relative to this file.
    pub workspace: PathBuf,
    /// What the run does; the command sets it.
    pub mode: RunMode,
}

/// What a run does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunMode {
    /// Trains skills and prompts.
    Train,
    /// Answers questions.
    Infer,
    /// Answers questions with one version pair and vouches for the result.
    Eval,
    /// Diagnoses the failures of a run.
    Diagnose,
}

impl Default for RunGroup {
    fn default() -> Self {
        Self { run_id: None, seed: 42, workspace: PathBuf::from("."), mode: RunMode::Train }
    }
}

/// Where the data is; paths are relative to the workspace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct DataGroup {
    /// The questions: JSONL, a JSON array, a folder of JSON arrays, or Parquet.
    pub questions: PathBuf,
    /// The folder with `<video_id>/tree.json` and `<video_id>/frames/`.
    pub videos_dir: PathBuf,
    /// The skill version that the run starts from: v3, or initial (the newest that no run made), current, best.
    pub skills_version: VersionChoice,
    /// The prompt version that the run starts from; as `skills_version`.
    pub prompts_version: VersionChoice,
}

impl Default for DataGroup {
    fn default() -> Self {
        Self {
            questions: PathBuf::from("questions.jsonl"),
            videos_dir: PathBuf::from("videos"),
            skills_version: VersionChoice::Initial,
            prompts_version: VersionChoice::Initial,
        }
    }
}

/// How the agent answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct AgentGroup {
    /// Walk the tree with tools, or read its text in one call.
    pub mode: AgentMode,
    /// Tool calls per question.
    pub max_steps: u32,
    /// Unreadable replies, or invalid calls, in a row before the question ends as a parse error.
    pub max_parse_retries: u32,
    /// How the agent gets its skill: appended to the prompt, read by a tool, or not at all.
    pub skill_mode: SkillMode,
    /// Questions at once; at least 2 where the questions have pairs.
    pub concurrency: usize,
    /// Whether tools answer with a model's extract or with the tree's own text.
    pub tool_summaries: ToolSummaries,
    /// Answers per question; with more than one, the majority counts.
    pub samples: u32,
    /// What `search_similar` ranks nodes by: words, or vectors of the `embed` role.
    pub search_backend: SearchBackend,
}

/// How the agent gets at the video.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentMode {
    /// Walk the tree with tools.
    Tree,
    /// The tree's text, as much as fits, in one call.
    Direct,
}

/// How the agent gets its skill (design 02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SkillMode {
    /// The skill of the task type is part of the system prompt.
    Auto,
    /// The agent sees a catalogue and reads with `read_skill`.
    Manual,
    /// No skill; skills cannot be trained then, since both arms of a gate would be the same agent.
    None,
}

/// What a tool returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ToolSummaries {
    /// A question-conditioned extract, verified by a second call.
    Llm,
    /// Card and subtitle as they are: cheap runs, weak models.
    Raw,
}

/// What `search_similar` ranks nodes by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SearchBackend {
    /// Words (BM25).
    Lexical,
    /// Vectors of the `embed` role.
    Embedding,
}

impl Default for AgentGroup {
    fn default() -> Self {
        Self {
            mode: AgentMode::Tree,
            max_steps: 40,
            max_parse_retries: 3,
            skill_mode: SkillMode::Auto,
            concurrency: 32,
            tool_summaries: ToolSummaries::Llm,
            samples: 1,
            search_backend: SearchBackend::Lexical,
        }
    }
}

/// How the questions are divided. A size is a count of units (a whole number) or a share of them (a fraction such as 0.2).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct PoolsGroup {
    /// Untouched until the end; natural distribution.
    pub test_size: PoolSize,
    /// For gates and the slow update.
    pub val_size: PoolSize,
    /// For rollouts and diagnosis.
    pub diag_size: PoolSize,
    /// Each task type has at least so many validation units.
    pub eval_min_per_class: usize,
    /// Share of units in validation and diagnosis that the baseline answered right.
    pub correct_ratio: f64,
    /// Keep units together, or whole videos, so that no video is in two pools.
    pub split_by: SplitBy,
}

/// What may not be divided between two pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Units: two pools may share a video.
    Unit,
    /// Videos: no video is in two pools.
    Video,
}

impl Default for PoolsGroup {
    fn default() -> Self {
        Self {
            test_size: PoolSize::Share(0.2),
            val_size: PoolSize::Share(0.4),
            diag_size: PoolSize::Share(0.4),
            eval_min_per_class: 5,
            correct_ratio: 0.5,
            split_by: SplitBy::Unit,
        }
    }
}

/// The mini-batches of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct MinibatchGroup {
    /// Questions per step.
    pub batch_size: usize,
    /// A batch that holds a task type holds at least so many of its questions.
    pub min_class_per_batch: usize,
    /// At most so many steps per epoch; null: all.
    pub max_steps_per_epoch: Option<usize>,
    /// Share of known-correct questions among those of a type that has errors; below 1.
    pub mix_correct_ratio: f64,
}

impl Default for MinibatchGroup {
    fn default() -> Self {
        Self { batch_size: 40, min_class_per_batch: 4, max_steps_per_epoch: None, mix_correct_ratio: 0.3 }
    }
}

/// How far a candidate may depart from what it edits.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct EditsGroup {
    /// Edits per candidate at the first step.
    pub edit_budget_start: u32,
    /// Edits per candidate at the last step, and for prompts.
    pub edit_budget_end: u32,
    /// Notes in a skill's appendix from which they are consolidated.
    pub appendix_consolidate_threshold: usize,
    /// Edit a skill piecewise, or let the writer rewrite it.
    pub skill_update_mode: SkillUpdateMode,
    /// Whether skills are evolved at all; false trains prompts only.
    pub evolve_skills: bool,
    /// A candidate skill longer than this many tokens is rejected.
    pub max_skill_tokens: usize,
    /// Reject candidates that quote questions or options.
    pub leak_lint: bool,
    /// Headings of sections of `system.md` that no edit may touch; compared without regard to case.
    pub frozen_system_headings: Vec<String>,
    /// The same for the prompts of tools.
    pub frozen_tool_headings: Vec<String>,
}

/// How a candidate skill is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SkillUpdateMode {
    /// A few edits, ranked and clipped to the budget.
    Patch,
    /// The whole file; never longer than the original.
    Rewrite,
}

impl Default for EditsGroup {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            edit_budget_start: 6,
            edit_budget_end: 2,
            appendix_consolidate_threshold: 6,
            skill_update_mode: SkillUpdateMode::Patch,
            evolve_skills: true,
            max_skill_tokens: 4000,
            leak_lint: true,
            frozen_system_headings: owned(&[
                "Capabilities",
                "Capability boundaries",
                "Output format",
                "Video tree structure",
                "能力边界",
                "输出格式",
                "视频树结构",
            ]),
            frozen_tool_headings: owned(&["Output format", "输出格式"]),
        }
    }
}

/// The statistical test of candidates (design 04, 11).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct GateGroup {
    /// E-value from which a candidate is accepted for good; 1/`e_confirm` bounds the chance of a false accept.
    pub e_confirm: f64,
    /// E-value from which a candidate is accepted on probation when its ladder is used up.
    pub e_provisional: f64,
    /// The least W − L of an accept on probation.
    pub w_net_min: i64,
    /// The least (W − L) / n of a confirmed accept.
    pub delta_min: f64,
    /// Lambda at or below which a candidate is rejected as not going in the right direction; negative.
    pub lambda_dir: f64,
    /// E-value with wins and losses swapped from which probation ends in a rollback.
    pub e_rollback: f64,
    /// Units per task type and gate, at most.
    pub n_max: usize,
    /// Units answered right less often than this carry no information.
    pub p_low: f64,
    /// Units answered right more often than this carry no information.
    pub p_high: f64,
    /// How much of the old estimate of a unit's difficulty an epoch keeps.
    pub ema_gamma: f64,
    /// Every so-manieth place of a ladder is a probe of an unobserved unit; 0: none.
    pub probe_every: usize,
    /// Share of technical failures above which a gate or a run is stopped.
    pub guard_err: f64,
    /// Steps that a task type pauses after a rollback.
    pub cooldown_steps: u32,
    /// In which order pending answers are started. The action is the same.
    pub launch_policy: LaunchPolicy,
    /// What orders a ladder: what is known about the units, or a hash that is blind to outcomes.
    pub ladder_order: LadderOrder,
    /// `expected_need` starts only answers that are needed with at least this probability.
    pub need_tau: f64,
}

/// In which order pending answers of a gate are started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LaunchPolicy {
    /// Rank by rank over all task types.
    RoundRobin,
    /// What is most probably needed first; fewer wasted answers.
    ExpectedNeed,
}

/// What orders a ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LadderOrder {
    /// What is known about the units.
    Information,
    /// A hash, blind to outcomes.
    Hashed,
}

impl Default for GateGroup {
    fn default() -> Self {
        let GateParams { e_confirm, e_provisional, w_net_min, delta_min, lambda_dir, e_rollback } =
            GateParams::default();
        Self {
            e_confirm,
            e_provisional,
            w_net_min,
            delta_min,
            lambda_dir,
            e_rollback,
            n_max: 40,
            p_low: 0.1,
            p_high: 0.9,
            ema_gamma: 0.7,
            probe_every: 8,
            guard_err: 0.10,
            cooldown_steps: 2,
            launch_policy: LaunchPolicy::RoundRobin,
            ladder_order: LadderOrder::Information,
            need_tau: 0.3,
        }
    }
}

impl GateGroup {
    /// The thresholds, as the kernel takes them.
    #[must_use]
    pub fn params(&self) -> GateParams {
        GateParams {
            e_confirm: self.e_confirm,
            e_provisional: self.e_provisional,
            w_net_min: self.w_net_min,
            delta_min: self.delta_min,
            lambda_dir: self.lambda_dir,
            e_rollback: self.e_rollback,
        }
    }
}

/// How long the training goes on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct EpochsGroup {
    /// Passes over the diagnosis pool.
    pub epochs: u32,
    /// Epochs without a better validation accuracy after which training ends.
    pub early_stop_patience_epochs: u32,
}

impl Default for EpochsGroup {
    fn default() -> Self {
        Self { epochs: 3, early_stop_patience_epochs: 2 }
    }
}

/// The slow update at the end of an epoch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct SlowGroup {
    /// Questions on which the skills of the epoch's start and end are compared.
    pub momentum_sample: usize,
    /// Evolve the system prompt.
    pub system: bool,
    /// Evolve the tools' prompts.
    pub tools: bool,
    /// Record which versions would be best by the mixed score; observation only.
    pub shadow_gate: bool,
    /// Evaluate start and end of the epoch on the test pool; observation only.
    pub holdout: bool,
}

impl Default for SlowGroup {
    fn default() -> Self {
        Self { momentum_sample: 20, system: true, tools: true, shadow_gate: true, holdout: true }
    }
}
