//! Records as schema 1 wrote them; only read, and turned into today's.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::answer::{Outcome, Prediction, SpanKind, Tokens, TraceSpan};
use super::gate::{GateStop, StepAction, StepReport};
use super::slow::VersionPair;
use super::version::Seed;
use crate::domain::{ContentHash, FileName, QuestionId, RunId, StopReason, TaskType, UnitId, VersionName, VideoId};
use crate::store::names;

/// Without how the answer was read and how many samples it stands for.
#[derive(Deserialize)]
pub(super) struct PredictionV1 {
    task_type: TaskType,
    video_id: VideoId,
    unit_id: UnitId,
    answer: Option<String>,
    outcome: Outcome,
    #[serde(with = "names")]
    stop_reason: StopReason,
    raw_answer: String,
    evidence: String,
    reasoning: String,
    confidence: Option<f64>,
    graded_credit: Option<f64>,
    steps: u32,
    max_steps: u32,
    spans: u32,
    calls: u32,
    cached_calls: u32,
    tokens: Tokens,
    latency_ms: u64,
    skills_version: VersionName,
    prompts_version: VersionName,
    error: Option<String>,
    finished_ms: i64,
}

impl From<PredictionV1> for Prediction {
    fn from(old: PredictionV1) -> Self {
        Self {
            task_type: old.task_type,
            video_id: old.video_id,
            unit_id: old.unit_id,
            answer: old.answer,
            read_by: None,
            outcome: old.outcome,
            stop_reason: old.stop_reason,
            raw_answer: old.raw_answer,
            evidence: old.evidence,
            reasoning: old.reasoning,
            confidence: old.confidence,
            graded_credit: old.graded_credit,
            samples: 1,
            steps: old.steps,
            max_steps: old.max_steps,
            spans: old.spans,
            calls: old.calls,
            cached_calls: old.cached_calls,
            tokens: old.tokens,
            latency_ms: old.latency_ms,
            skills_version: old.skills_version,
            prompts_version: old.prompts_version,
            error: old.error,
            finished_ms: old.finished_ms,
        }
    }
}

/// With the plan inside the thought, and without counts of calls.
#[derive(Deserialize)]
pub(super) struct TraceSpanV1 {
    kind: SpanKind,
    sample: u32,
    step: u32,
    thought: String,
    tool: Option<String>,
    args: Option<String>,
    output: String,
    raw: Vec<u8>,
    tokens: Tokens,
    cached: bool,
    latency_ms: u64,
    error: Option<String>,
}

impl From<TraceSpanV1> for TraceSpan {
    fn from(old: TraceSpanV1) -> Self {
        Self {
            kind: old.kind,
            sample: old.sample,
            step: old.step,
            thought: old.thought,
            plan: String::new(),
            tool: old.tool,
            args: old.args,
            output: old.output,
            raw: old.raw,
            calls: None,
            cached_calls: None,
            tokens: old.tokens,
            cached: old.cached,
            latency_ms: old.latency_ms,
            error: old.error,
        }
    }
}

/// Without the cost of what was launched in vain.
#[derive(Deserialize)]
pub(super) struct StepReportV1 {
    global_step: u32,
    action: StepAction,
    stop_reason: Option<GateStop>,
    note: Option<String>,
    baseline_acc: Option<f64>,
    candidate_acc: Option<f64>,
    wins: Option<u32>,
    losses: Option<u32>,
    e_value: Option<f64>,
    lambda: Option<f64>,
    delta_hat: Option<f64>,
    delta_shrunk: Option<f64>,
    n_plan: Option<u32>,
    n_used: Option<u32>,
    n_excluded: Option<u32>,
    errors: Option<u32>,
    inferences: Option<u32>,
    edit_budget: Option<u32>,
    clipped: Option<bool>,
    source_version: VersionName,
    new_version: Option<VersionName>,
    target_file: Option<FileName>,
}

impl From<StepReportV1> for StepReport {
    fn from(old: StepReportV1) -> Self {
        Self {
            global_step: old.global_step,
            action: old.action,
            stop_reason: old.stop_reason,
            note: old.note,
            baseline_acc: old.baseline_acc,
            candidate_acc: old.candidate_acc,
            wins: old.wins,
            losses: old.losses,
            e_value: old.e_value,
            lambda: old.lambda,
            delta_hat: old.delta_hat,
            delta_shrunk: old.delta_shrunk,
            n_plan: old.n_plan,
            n_used: old.n_used,
            n_excluded: old.n_excluded,
            errors: old.errors,
            inferences: old.inferences,
            wasted_runs: None,
            wall_ms: None,
            edit_budget: old.edit_budget,
            clipped: old.clipped,
            source_version: old.source_version,
            new_version: old.new_version,
            target_file: old.target_file,
        }
    }
}

/// With the predictions of its time.
#[derive(Deserialize)]
pub(super) struct SeedV1 {
    skills: BTreeMap<FileName, ContentHash>,
    prompts: BTreeMap<FileName, ContentHash>,
    data_fingerprint: ContentHash,
    environment_fingerprint: ContentHash,
    eval_run: RunId,
    eval_versions: VersionPair,
    predictions: Vec<(QuestionId, PredictionV1)>,
    created_ms: i64,
}

impl From<SeedV1> for Seed {
    fn from(old: SeedV1) -> Self {
        Self {
            skills: old.skills,
            prompts: old.prompts,
            data_fingerprint: old.data_fingerprint,
            environment_fingerprint: old.environment_fingerprint,
            eval_run: old.eval_run,
            eval_versions: old.eval_versions,
            predictions: old.predictions.into_iter().map(|(question, row)| (question, row.into())).collect(),
            created_ms: old.created_ms,
        }
    }
}
