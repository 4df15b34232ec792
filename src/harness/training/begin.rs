//! Which run a command trains: the unfinished one, or a new one.

use super::TrainError;
use crate::config::{KeyClass, RunConfig, diff_snapshot};
use crate::domain::{EpochStep, RunId};
use crate::harness::inference::now_ms;
use crate::harness::session::Session;
use crate::harness::versions::resolve;
use crate::store::rows::{Pointer, PointerName, Run, RunEvent, RunMode, RunState, VersionKind, VersionPair};
use crate::store::{Batch, Snapshot};

use super::story::{TrainEvent, TrainReport};

/// How the run is chosen.
#[derive(Debug, Clone, Default)]
pub struct RunChoice {
    /// A name of the user's choice.
    pub run_id: Option<RunId>,
    /// There must be an unfinished run.
    pub resume: bool,
    /// Begin a new run; unfinished ones are given up.
    pub fresh: bool,
}

/// The run that a command would go on with, and whether it exists. Reads only: the spend of the run is needed before models
/// are opened.
///
/// # Errors
/// `resume` without an unfinished run; a name that is taken by something else.
pub fn chosen_run(
    snapshot: &Snapshot<'_>,
    config: &RunConfig,
    choice: &RunChoice,
) -> Result<(RunId, bool), TrainError> {
    let runs = snapshot.runs()?;
    let named = choice.run_id.clone().or_else(|| config.run.run_id.clone());
    if let Some(run) = named.filter(|_| !choice.fresh) {
        return match runs.iter().find(|(id, _)| *id == run) {
            None if choice.resume => Err(TrainError::NothingToResume),
            None => Ok((run, false)),
            Some((_, row)) if row.mode != RunMode::Train => Err(TrainError::RunTaken { run, why: "it is no training" }),
            Some((_, row)) if row.state == RunState::Abandoned => {
                Err(TrainError::RunTaken { run, why: "it was given up for a fresh one" })
            }
            Some((_, row)) if row.state == RunState::Finished && choice.resume => Err(TrainError::NothingToResume),
            Some(_) => Ok((run, true)),
        };
    }
    let trainings = || runs.iter().filter(|(_, row)| row.mode == RunMode::Train);
    if !choice.fresh {
        if let Some((run, _)) = trainings().rev().find(|(_, row)| row.state == RunState::Unfinished) {
            return Ok((run.clone(), true));
        }
        if choice.resume {
            return Err(TrainError::NothingToResume);
        }
        if let Some((run, _)) = trainings().next_back() {
            return Ok((run.clone(), true));
        }
    }
    if let Some(run) = choice.run_id.clone().or_else(|| config.run.run_id.clone()) {
        return match runs.iter().any(|(id, _)| *id == run) {
            true => Err(TrainError::RunTaken { run, why: "a run has this name already" }),
            false => Ok((run, false)),
        };
    }
    let taken = |run: &RunId| runs.iter().any(|(id, _)| id == run);
    let mut number = trainings().count() + 1;
    loop {
        let run = RunId::new(format!("train{number}"))?;
        if !taken(&run) {
            return Ok((run, false));
        }
        number += 1;
    }
}

/// Records that the run begins or goes on. Refuses a run whose structural configuration or data differ (design 02), and to
/// give up an unfinished training that nobody said to give up.
pub(super) async fn begin(
    session: &Session,
    choice: &RunChoice,
    rerun: Option<EpochStep>,
    report: &dyn TrainReport,
) -> Result<Run, TrainError> {
    let snapshot = session.bench.store.snapshot()?;
    let (run, exists) = chosen_run(&snapshot, &session.config, choice)?;
    let unfinished =
        |(other, row): &(RunId, Run)| *other != run && row.mode == RunMode::Train && row.state == RunState::Unfinished;
    if let Some(step) = rerun {
        if !exists {
            return Err(TrainError::NoRerun { step, why: "there is no such training" });
        }
        if snapshot.runs()?.iter().any(unfinished) {
            return Err(TrainError::NoRerun { step, why: "another training is unfinished, and it goes on first" });
        }
    } else if !exists
        && !choice.fresh
        && let Some((other, _)) = snapshot.runs()?.into_iter().find(unfinished)
    {
        return Err(TrainError::OtherUnfinished { run, other });
    }
    let mut batch = Batch::new();
    batch.label("begin training");
    let row = if exists {
        let mut row =
            snapshot.run(&run)?.ok_or_else(|| TrainError::Missing { run: run.clone(), what: "its row".to_owned() })?;
        if row.state == RunState::Finished && rerun.is_none() {
            return Ok(row);
        }
        let changes = check_same(session, &run, &row, report)?;
        row.history.push(event("resumed", String::new()));
        row.history.extend(changes.iter().map(|text| event("config_changed", text.clone())));
        batch.put_run(&run, &row);
        row
    } else {
        for (other, mut row) in snapshot.runs()? {
            if row.mode == RunMode::Train && row.state == RunState::Unfinished {
                row.state = RunState::Abandoned;
                row.history.push(event("abandoned", format!("for {run}")));
                batch.put_run(&other, &row);
            }
        }
        let row = new_run(session, &snapshot)?;
        batch.create_run(&run, row.clone());
        // Training moves `current`; it begins where the configuration says.
        let pointer = Pointer { versions: row.versions, val_acc: None, moved_by: None };
        batch.put_pointer(PointerName::Current, &pointer);
        row
    };
    drop(snapshot);
    session.bench.store.write(batch).await?;
    report.event(&TrainEvent::Began { run, resumed: exists });
    Ok(row)
}

fn new_run(session: &Session, snapshot: &Snapshot<'_>) -> Result<Run, TrainError> {
    let frozen = session.frozen();
    let versions = VersionPair {
        skills: resolve(snapshot, VersionKind::Skills, session.config.data.skills_version)?,
        prompts: resolve(snapshot, VersionKind::Prompts, session.config.data.prompts_version)?,
    };
    Ok(Run {
        sequence: 0,
        mode: RunMode::Train,
        state: RunState::Unfinished,
        config: frozen.snapshot,
        config_fingerprint: frozen.structural,
        data_fingerprint: frozen.data,
        environment_fingerprint: frozen.environment,
        seed: frozen.seed,
        versions,
        program_version: env!("CARGO_PKG_VERSION").to_owned(),
        created_ms: now_ms(),
        finished_ms: None,
        history: vec![event("started", String::new())],
        summary: None,
    })
}

/// Structural keys and data must be those of the run; other keys may differ from those with which it began, and that is
/// told. The run keeps its first configuration, each step its thresholds.
fn check_same(session: &Session, run: &RunId, row: &Run, report: &dyn TrainReport) -> Result<Vec<String>, TrainError> {
    let frozen = session.frozen();
    let (structural, others): (Vec<_>, Vec<_>) = diff_snapshot(&row.config, &session.config)?
        .into_iter()
        .partition(|change| change.class == KeyClass::Structural);
    if !structural.is_empty() {
        return Err(TrainError::ConfigChanged { run: run.clone(), changes: structural });
    }
    let differs = [
        (row.data_fingerprint != frozen.data, "the questions"),
        (row.environment_fingerprint != frozen.environment, "the videos, or what a model is asked with,"),
    ];
    if let Some((_, what)) = differs.into_iter().find(|(differs, _)| *differs) {
        return Err(TrainError::DataChanged { run: run.clone(), what });
    }
    let mut told = Vec::new();
    for change in others {
        let (old, new) = (change.old.to_string(), change.new.to_string());
        told.push(format!("{} {old} → {new}", change.key));
        report.event(&TrainEvent::ConfigChanged { key: change.key, old, new });
    }
    Ok(told)
}

/// An entry of the run's history.
pub(super) fn event(what: &str, note: String) -> RunEvent {
    RunEvent { at_ms: now_ms(), what: what.to_owned(), note }
}
