//! Training state: the checkpoint, pools, ladders and the baseline cache.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::run::MadeBy;
use super::slow::VersionPair;
use super::{record, step_row};
use crate::domain::{ContentHash, EpochStep, FileName, QuestionId, RunId, TaskType, UnitId, VersionName};
use crate::store::codec::Form;

/// How far a training is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Progress {
    /// Pools, ladder and correctness stand; no step is settled yet.
    Prepared,
    /// This step is settled; the epoch goes on.
    InEpoch {
        /// The settled step.
        step: EpochStep,
        /// From 0 over the run.
        global_step: u32,
    },
    /// This sub-step of the epoch's slow update is done.
    Slow {
        /// From 1.
        epoch: u32,
        /// The sub-step that is done; 0: all steps are, none of the sub-steps.
        sub_step: u32,
        /// Of the last step.
        global_step: u32,
    },
    /// The epoch is done.
    EpochDone {
        /// From 1.
        epoch: u32,
        /// Of the last step.
        global_step: u32,
    },
}

/// Edits that were applied to a candidate which the gate then refused.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RejectedEdit {
    /// What is shown to the writer: the edits, or the neutral sentence.
    pub summary: String,
    /// The version the edits were applied to.
    pub source_version: VersionName,
    /// The step, by its number over the run.
    pub global_step: u32,
    /// `directional`, `rollback` …
    pub reason: String,
    /// Wins; none for a rollback.
    pub wins: Option<u32>,
    /// Losses; none for a rollback.
    pub losses: Option<u32>,
    /// E(W, L); none for a rollback.
    pub e_value: Option<f64>,
}

/// A provisionally accepted skill until it is confirmed or rolled back (design 12).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Probation {
    /// The last confirmed version.
    pub anchor_skills_version: VersionName,
    /// The file that is reverted on a rollback.
    pub target_file: FileName,
    /// Correctness of the type's questions before the acceptance merged its own.
    pub correctness_snapshot: BTreeMap<QuestionId, bool>,
    /// The same per unit.
    pub unit_snapshot: BTreeMap<UnitId, bool>,
    /// Number over the run of the step that opened it.
    pub opened_step: u32,
    /// The chain of edits that a rollback moves to the rejected memory.
    pub pending_edits: Vec<RejectedEdit>,
}

/// The training state: exactly what a crash may not lose (design 07). A missing field is corruption.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Hash of the structural configuration it belongs to.
    pub config_fingerprint: ContentHash,
    /// Fingerprint of the question set it belongs to.
    pub data_fingerprint: ContentHash,
    /// How far the training is.
    pub progress: Progress,
    /// Correctness per question.
    pub correctness: BTreeMap<QuestionId, bool>,
    /// Correctness per unit, for the statistics.
    pub unit_correctness: BTreeMap<UnitId, bool>,
    /// Validation accuracy of the previous evaluation.
    pub eval_prev_acc: Option<f64>,
    /// Textual run id of the previous evaluation.
    pub eval_prev_run_id: Option<String>,
    /// Skills of the baseline.
    pub baseline_skills_version: VersionName,
    /// Prompts of the baseline.
    pub baseline_prompts_version: VersionName,
    /// Steps since the best pointer moved.
    pub steps_since_best_improved: u32,
    /// Skill files at the epoch's start.
    pub epoch_start_skills: BTreeMap<FileName, ContentHash>,
    /// The version those files belong to.
    pub epoch_start_skills_version: VersionName,
    /// Task types whose skill changed in this epoch, sorted.
    pub changed_task_types: Vec<TaskType>,
    /// Rejected-edit memory per task type.
    pub rejected_edits: BTreeMap<TaskType, Vec<RejectedEdit>>,
    /// System packs of this epoch's steps, JSON text each.
    pub system_packs: Vec<String>,
    /// Tool packs of this epoch's steps per tool, JSON text each.
    pub tool_packs: BTreeMap<String, Vec<String>>,
    /// At most one per task type.
    pub probations: BTreeMap<TaskType, Probation>,
    /// Steps left per resting task type.
    pub gate_cooldown: BTreeMap<TaskType, u32>,
    /// Whether a ladder refresh has happened: false = cold order, true = warm.
    pub gate_epoch_observed: bool,
    /// The mini-batches of the epoch.
    pub batches: Vec<Vec<QuestionId>>,
}

record!(Checkpoint, "checkpoint", FORM = Form::Zstd);

/// The thresholds of a step's gates: they may change between two sessions of a run, so each step keeps its own.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct GateThresholds {
    /// E-value of a confirmed accept.
    pub e_confirm: f64,
    /// E-value of an accept on probation.
    pub e_provisional: f64,
    /// The least W − L of an accept on probation.
    pub w_net_min: i64,
    /// The least (W − L) / n of a confirmed accept.
    pub delta_min: f64,
    /// Lambda at or below which a candidate is rejected.
    pub lambda_dir: f64,
    /// E-value with wins and losses swapped that ends a probation in a rollback.
    pub e_rollback: f64,
}

/// What a step or a slow update began with: a step can be run again from here.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StartState {
    /// The training state.
    pub state: Checkpoint,
    /// What `current` named.
    pub current: VersionPair,
    /// What `best` named.
    pub best: VersionPair,
    /// The validation accuracy of `best`.
    pub best_val_acc: Option<f64>,
    /// The ladders.
    pub ladders: BTreeMap<TaskType, Ladder>,
    /// What its gates decide by.
    pub thresholds: GateThresholds,
}

step_row!(StartState, StartState, (), FORM = Form::Zstd);

/// A unit of a pool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolUnit {
    /// The unit.
    pub unit_id: UnitId,
    /// Its task type.
    pub task_type: TaskType,
    /// Its questions.
    pub questions: Vec<QuestionId>,
}

/// The three pools of a run, frozen once built.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pools {
    /// The question set they were cut from.
    pub data_fingerprint: ContentHash,
    /// The run whose baseline answers stratified them.
    pub baseline_run: RunId,
    /// Never trained on, never gated on.
    pub test: Vec<PoolUnit>,
    /// Gates and re-runs.
    pub validation: Vec<PoolUnit>,
    /// Mini-batches.
    pub diagnosis: Vec<PoolUnit>,
}

record!(Pools, "pools", FORM = Form::Zstd);

/// What is known of one unit's difficulty.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LadderEntry {
    /// The unit.
    pub unit_id: UnitId,
    /// Probability that the current skill answers it right, 0 to 1.
    pub p_hat: f64,
    /// Observations so far.
    pub observations: u32,
}

/// The ladder of one task type, in storage order: ordering happens on reading.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ladder {
    /// The question set it belongs to.
    pub data_fingerprint: ContentHash,
    /// All units of the type in the validation and diagnosis pools.
    pub entries: Vec<LadderEntry>,
}

record!(Ladder, "ladder");

/// What a base arm's answer to a unit depends on (design 03, 12).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BaselineKey {
    /// Search, tool, vision and embed models and sampling, agent settings, trees, questions.
    pub environment: ContentHash,
    /// The task type.
    pub task_type: TaskType,
    /// All skill text that the agent of this type can load.
    pub skill_hash: ContentHash,
    /// The prompts.
    pub prompts_version: VersionName,
    /// The unit.
    pub unit_id: UnitId,
}

/// A base arm's answer to a unit. Never INFRA.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BaselineEntry {
    /// Correctness per question of the unit.
    pub correct: Vec<(QuestionId, bool)>,
    /// Which run and step answered: provenance, not a reference, since rows outlive deleted predictions.
    pub answered_by: Option<MadeBy>,
}

record!(BaselineEntry, "baseline cache entry");
