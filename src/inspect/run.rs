//! Runs: a line each, and one whole.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde::Serialize;

use super::training::{TrainingView, training};
use crate::domain::RunId;
use crate::store::rows::{Outcome, Prediction, Run, RunEvent, RunMode, Usage};
use crate::store::{AnswerKey, PhaseKey, Scope, Snapshot, StoreError};

/// One run in a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunView {
    /// Its id.
    pub run_id: String,
    /// `train`, `infer`, `eval` or `diagnose`.
    pub mode: &'static str,
    /// `unfinished`, `finished` or `abandoned`.
    pub state: &'static str,
    /// Skills it began with.
    pub skills_version: String,
    /// Prompts it began with.
    pub prompts_version: String,
    /// When it began, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it ended.
    pub finished_ms: Option<i64>,
}

/// One run whole.
#[derive(Debug, Clone, Serialize)]
pub struct RunDetail {
    /// What the list shows.
    #[serde(flatten)]
    pub run: RunView,
    /// Fingerprint of the question set.
    pub data_fingerprint: String,
    /// Hash of its structural configuration.
    pub config_fingerprint: String,
    /// Seed.
    pub seed: u64,
    /// The program that began it.
    pub program_version: String,
    /// Starts, resumes, stops, changes of configuration.
    pub history: Vec<EventView>,
    /// Answers by phase.
    pub phases: Vec<PhaseView>,
    /// Model use by role.
    pub usage: Vec<UsageView>,
    /// The result, once finished.
    pub summary: Option<serde_json::Value>,
    /// Steps, epochs and verdicts, for a training.
    pub training: Option<TrainingView>,
}

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EventView {
    /// In milliseconds since 1970.
    pub at_ms: i64,
    /// What.
    pub what: String,
    /// Details.
    pub note: String,
}

/// The answers of one phase.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PhaseView {
    /// The part of the run, such as `e1 s0`.
    pub scope: String,
    /// The phase.
    pub phase: String,
    /// Right.
    pub correct: u64,
    /// Wrong, unparsed ones included.
    pub wrong: u64,
    /// Of the wrong ones, those from which no option could be read.
    pub unparsed: u64,
    /// Technical failures.
    pub infra: u64,
}

/// Model use of one role.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct UsageView {
    /// The role.
    pub role: &'static str,
    /// Calls, cached ones included.
    pub calls: u64,
    /// Of these, answered by the response cache.
    pub cached_calls: u64,
    /// Of these, failed.
    pub failed_calls: u64,
    /// Tries beyond the first.
    pub retries: u64,
    /// Tokens read and paid for.
    pub prompt_tokens: u64,
    /// Tokens written and paid for.
    pub completion_tokens: u64,
    /// US dollars.
    pub cost_usd: f64,
}

/// All runs, newest first.
///
/// # Errors
/// The store cannot be read.
pub fn runs(snapshot: &Snapshot<'_>) -> Result<Vec<RunView>, StoreError> {
    let mut all: Vec<RunView> = snapshot.runs()?.iter().map(|(id, row)| view(id, row)).collect();
    all.reverse();
    Ok(all)
}

/// One run whole; none if there is no such run.
///
/// # Errors
/// The store cannot be read.
pub fn run_detail(snapshot: &Snapshot<'_>, run: &RunId) -> Result<Option<RunDetail>, StoreError> {
    let Some(row) = snapshot.run(run)? else { return Ok(None) };
    let mut phases = Vec::new();
    for scope in snapshot.scopes(run)? {
        phases.extend(phases_of(snapshot, run, scope)?);
    }
    Ok(Some(RunDetail {
        run: view(run, &row),
        data_fingerprint: row.data_fingerprint.to_string(),
        config_fingerprint: row.config_fingerprint.to_string(),
        seed: row.seed,
        program_version: row.program_version.clone(),
        history: row.history.iter().map(event).collect(),
        phases,
        usage: usage(snapshot, run)?,
        summary: row.summary.as_deref().and_then(|text| serde_json::from_str(text).ok()),
        training: if row.mode == RunMode::Train { Some(training(snapshot, run, &row)?) } else { None },
    }))
}

fn view(id: &RunId, row: &Run) -> RunView {
    RunView {
        run_id: id.to_string(),
        mode: row.mode.name(),
        state: row.state.name(),
        skills_version: row.versions.skills.to_string(),
        prompts_version: row.versions.prompts.to_string(),
        created_ms: row.created_ms,
        finished_ms: row.finished_ms,
    }
}

fn event(event: &RunEvent) -> EventView {
    EventView { at_ms: event.at_ms, what: event.what.clone(), note: event.note.clone() }
}

fn phases_of(snapshot: &Snapshot<'_>, run: &RunId, scope: Scope) -> Result<Vec<PhaseView>, StoreError> {
    let mut phases: BTreeMap<PhaseKey, PhaseView> = BTreeMap::new();
    snapshot.visit::<Prediction>(run, scope, |AnswerKey { phase, .. }, row| {
        let label = phase.to_string();
        let view = phases.entry(phase).or_insert_with(|| PhaseView {
            scope: scope.to_string(),
            phase: label,
            correct: 0,
            wrong: 0,
            unparsed: 0,
            infra: 0,
        });
        match row.outcome {
            Outcome::Correct => view.correct += 1,
            Outcome::Wrong => view.wrong += 1,
            Outcome::Unparsed => {
                view.wrong += 1;
                view.unparsed += 1;
            }
            Outcome::Infra => view.infra += 1,
        }
        ControlFlow::Continue(())
    })?;
    Ok(phases.into_values().collect())
}

fn usage(snapshot: &Snapshot<'_>, run: &RunId) -> Result<Vec<UsageView>, StoreError> {
    let mut by_role: BTreeMap<crate::domain::Role, Usage> = BTreeMap::new();
    for (key, row) in snapshot.usage(run)? {
        by_role.entry(key.role).or_default().add(&row);
    }
    Ok(usage_views(by_role))
}

pub(super) fn usage_views(by_role: BTreeMap<crate::domain::Role, Usage>) -> Vec<UsageView> {
    let views = by_role.into_iter().map(|(role, usage)| UsageView {
        role: role.name(),
        calls: usage.calls,
        cached_calls: usage.cached_calls,
        failed_calls: usage.failed_calls,
        retries: usage.retries,
        prompt_tokens: usage.tokens.prompt,
        completion_tokens: usage.tokens.completion,
        cost_usd: usage.cost_usd,
    });
    views.collect()
}
