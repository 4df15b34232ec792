//! The whole configuration of a run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::groups::{
    AgentGroup, DataGroup, EditsGroup, EpochsGroup, GateGroup, MinibatchGroup, PoolsGroup, RunGroup, SlowGroup,
};
use super::models::LlmGroup;
use crate::sim::model::SimSettings;

/// The configuration of a run, frozen once loaded (design 02). It holds no secret.
///
/// Reading one from JSON demands every key: what is absent is an error, never a default. Partial
/// sources go through [`load`](super::load).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(default)]
pub struct RunConfig {
    /// What identifies the run.
    pub run: RunGroup,
    /// Where the data is.
    pub data: DataGroup,
    /// How the agent answers.
    pub agent: AgentGroup,
    /// How the questions are divided.
    pub pools: PoolsGroup,
    /// The mini-batches of an epoch.
    pub minibatch: MinibatchGroup,
    /// How far a candidate may depart from what it edits.
    pub edits: EditsGroup,
    /// The statistical test of candidates.
    pub gate: GateGroup,
    /// How long the training goes on.
    pub epochs: EpochsGroup,
    /// The slow update at the end of an epoch.
    pub slow: SlowGroup,
    /// Model access.
    pub llm: LlmGroup,
    /// The simulated model, for roles whose provider is `sim`.
    pub sim: SimSettings,
}
