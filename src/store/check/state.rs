//! Training state: pools, ladders, checkpoints, the baseline cache, and the small tables.

use std::collections::{BTreeMap, BTreeSet};

use redb::ReadableTable;

use super::references::{Known, texts};
use super::report::{CheckReport, Invariant};
use crate::domain::{ContentHash, QuestionId, RunId, TaskType, UnitId};
use crate::store::codec::{self, CodecError};
use crate::store::error::StoreError;
use crate::store::keys::Scope;
use crate::store::names::Named;
use crate::store::rows::{BaselineEntry, Checkpoint, Heartbeat, Ladder, Pools, Progress, RunMode, Usage, VersionKind};
use crate::store::schema::{
    BASELINE_CACHE, CHECKPOINTS, HEARTBEATS, LADDERS, META, POOLS, SCHEMA_KEY, TEXT_PREFIX, USAGE,
};
use crate::store::snapshot::{Snapshot, with_table};
use crate::store::text::{SchemaNumber, Text};

/// Which steps of each run are settled, by their number over the run.
pub(super) type SettledSteps = BTreeMap<RunId, BTreeMap<Scope, Option<u32>>>;

pub(super) fn check(
    snapshot: &Snapshot<'_>,
    known: &Known,
    settled: &SettledSteps,
    report: &mut CheckReport,
) -> Result<(), StoreError> {
    let pools: BTreeMap<RunId, Pools> = texts(snapshot, POOLS, "pools", report)?.into_iter().collect();
    for (run, row) in &pools {
        known.needs_run(run, &format!("pools {run}"), report);
        pools_are_disjoint(run, row, report);
    }
    ladders(snapshot, known, &pools, report)?;
    checkpoints(snapshot, known, settled, report)?;
    baseline_cache(snapshot, report)?;
    usage(snapshot, known, report)?;
    for (run, _) in texts::<RunId, Heartbeat>(snapshot, HEARTBEATS, "heartbeats", report)? {
        known.needs_run(&run, &format!("heartbeats {run}"), report);
    }
    meta(snapshot, report)
}

fn pools_are_disjoint(run: &RunId, pools: &Pools, report: &mut CheckReport) {
    let mut seen: BTreeMap<&QuestionId, &str> = BTreeMap::new();
    let mut units: BTreeSet<&UnitId> = BTreeSet::new();
    for (pool, members) in [("test", &pools.test), ("validation", &pools.validation), ("diagnosis", &pools.diagnosis)] {
        for unit in members {
            if !units.insert(&unit.unit_id) {
                report.add(Invariant::Pools, format!("pools {run}"), format!("unit {} is in two places", unit.unit_id));
            }
            for question in &unit.questions {
                if let Some(other) = seen.insert(question, pool) {
                    let found = format!("question {question} is in {other} and in {pool}");
                    report.add(Invariant::Pools, format!("pools {run}"), found);
                }
            }
        }
    }
}

fn ladders(
    snapshot: &Snapshot<'_>,
    known: &Known,
    pools: &BTreeMap<RunId, Pools>,
    report: &mut CheckReport,
) -> Result<(), StoreError> {
    with_table!(snapshot, LADDERS, |table| {
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let (run, task_type) = key.value();
            let place = format!("ladders {run} {task_type:?}");
            let (Ok(run), Ok(task_type)) = (run.parse::<RunId>(), task_type.parse::<TaskType>()) else {
                report.add(Invariant::Key, place, "nothing writes such a key");
                continue;
            };
            known.needs_run(&run, &place, report);
            match codec::decode::<Ladder>(value.value()) {
                Ok(ladder) => ladder_is_sound(&ladder, &task_type, pools.get(&run), &place, report),
                Err(error) => report.add(Invariant::Value, place, error.to_string()),
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn ladder_is_sound(
    ladder: &Ladder,
    task_type: &TaskType,
    pools: Option<&Pools>,
    place: &str,
    report: &mut CheckReport,
) {
    let Some(pools) = pools else {
        report.add(Invariant::Ladder, place, "its run has no pools");
        return;
    };
    if ladder.data_fingerprint != pools.data_fingerprint {
        report.add(Invariant::Ladder, place, "it belongs to another question set than the pools");
    }
    let allowed: BTreeSet<&UnitId> = pools
        .validation
        .iter()
        .chain(&pools.diagnosis)
        .filter(|unit| unit.task_type == *task_type)
        .map(|unit| &unit.unit_id)
        .collect();
    let mut seen = BTreeSet::new();
    for entry in &ladder.entries {
        if !seen.insert(&entry.unit_id) {
            report.add(Invariant::Ladder, place, format!("unit {} stands in it twice", entry.unit_id));
        }
        if !allowed.contains(&entry.unit_id) {
            let found = format!("unit {} is no validation or diagnosis unit of the type", entry.unit_id);
            report.add(Invariant::Ladder, place, found);
        }
        if !(0.0..=1.0).contains(&entry.p_hat) {
            report.add(Invariant::Ladder, place, format!("the probability of {} is {}", entry.unit_id, entry.p_hat));
        }
    }
}

fn checkpoints(
    snapshot: &Snapshot<'_>,
    known: &Known,
    settled: &SettledSteps,
    report: &mut CheckReport,
) -> Result<(), StoreError> {
    let mut current = BTreeSet::new();
    with_table!(snapshot, CHECKPOINTS, |table| {
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let (run, slot) = key.value();
            let place = format!("checkpoints {run} {slot}");
            let (Ok(run), 0 | 1) = (run.parse::<RunId>(), slot) else {
                report.add(Invariant::Key, place, "nothing writes such a key");
                continue;
            };
            known.needs_run(&run, &place, report);
            if slot == 1 && !current.contains(&run) {
                report.add(Invariant::Checkpoint, &place, "there is a previous state, and no current one");
            }
            match codec::decode::<Checkpoint>(value.value()) {
                Ok(checkpoint) => {
                    checkpoint_is_sound(&checkpoint, known, &run, &place, report);
                    if slot == 0 {
                        progress_is_sound(&checkpoint, settled.get(&run), &place, report);
                    }
                }
                Err(error) => report.add(Invariant::Value, place, error.to_string()),
            }
            if slot == 0 {
                current.insert(run);
            }
        }
        Ok(())
    })?;
    for (run, steps) in settled {
        let trains = known.runs.get(run).is_some_and(|row| row.mode == RunMode::Train);
        if trains && !current.contains(run) && steps.keys().any(|scope| matches!(scope, Scope::Step(_))) {
            report.add(Invariant::Checkpoint, format!("checkpoints {run}"), "steps are settled, and there is no state");
        }
    }
    Ok(())
}

fn checkpoint_is_sound(checkpoint: &Checkpoint, known: &Known, run: &RunId, place: &str, report: &mut CheckReport) {
    let same_data = known.runs.get(run).is_none_or(|row| row.data_fingerprint == checkpoint.data_fingerprint);
    if !same_data {
        report.add(Invariant::Checkpoint, place, "it belongs to another question set than its run");
    }
    known.needs_version(VersionKind::Skills, checkpoint.baseline_skills_version, place, report);
    known.needs_version(VersionKind::Prompts, checkpoint.baseline_prompts_version, place, report);
    known.needs_version(VersionKind::Skills, checkpoint.epoch_start_skills_version, place, report);
    known.needs_texts(&checkpoint.epoch_start_skills, place, report);
    for (task_type, probation) in &checkpoint.probations {
        let place = format!("{place} probation {task_type:?}");
        known.needs_version(VersionKind::Skills, probation.anchor_skills_version, &place, report);
    }
    let mut seen = BTreeSet::new();
    for question in checkpoint.batches.iter().flatten().filter(|question| !seen.insert(*question)) {
        report.add(Invariant::Checkpoint, place, format!("question {question} is in the epoch's batches twice"));
    }
}

/// What is settled and what the state says are one transaction, so neither can be ahead of the other.
fn progress_is_sound(
    checkpoint: &Checkpoint,
    settled: Option<&BTreeMap<Scope, Option<u32>>>,
    place: &str,
    report: &mut CheckReport,
) {
    let (last_step, last_scope) = match checkpoint.progress {
        Progress::Prepared => (None, None),
        Progress::InEpoch { step, global_step } => (Some(global_step), Some(Scope::Step(step))),
        Progress::Slow { global_step, .. } | Progress::EpochDone { global_step, .. } => (Some(global_step), None),
    };
    let steps = || settled.into_iter().flatten().filter(|(scope, _)| matches!(scope, Scope::Step(_)));
    if let Some(scope) = last_scope
        && !steps().any(|(settled, _)| *settled == scope)
    {
        report.add(Invariant::Checkpoint, place, format!("it follows {scope}, which is not settled"));
    }
    for (scope, number) in steps() {
        if *number > last_step {
            report.add(Invariant::Checkpoint, place, format!("{scope} is settled, and the state does not know it"));
        }
    }
}

fn baseline_cache(snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<(), StoreError> {
    with_table!(snapshot, BASELINE_CACHE, |table| {
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let (environment, task_type, skills, prompts, unit) = key.value();
            let hash = |bytes: &[u8; 32]| ContentHash::from_bytes(*bytes).short();
            let place =
                format!("baseline_cache {} {task_type:?} {} v{prompts} {unit:?}", hash(environment), hash(skills));
            if task_type.parse::<TaskType>().is_err() || unit.parse::<UnitId>().is_err() || prompts == 0 {
                report.add(Invariant::Key, &place, "nothing writes such a key");
            }
            match codec::decode::<BaselineEntry>(value.value()) {
                Ok(entry) => {
                    let questions: BTreeSet<_> = entry.correct.iter().map(|(question, _)| question).collect();
                    if questions.is_empty() || questions.len() != entry.correct.len() {
                        report.add(Invariant::BaselineCache, place, "it answers no question, or one twice");
                    }
                }
                Err(error) => report.add(Invariant::Value, place, error.to_string()),
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn usage(snapshot: &Snapshot<'_>, known: &Known, report: &mut CheckReport) -> Result<(), StoreError> {
    with_table!(snapshot, USAGE, |table| {
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let (run, stage, epoch, part, number, phase, role) = key.value();
            let place = format!("usage {run:?} {:?} {phase:?} {role:?}", (stage, epoch, part, number));
            let scope = Scope::from_columns((stage, epoch, part, number));
            let role = <crate::domain::Role as Named>::from_stable_name(role);
            match (run.parse::<RunId>(), scope, role) {
                (Ok(run), Some(_), Some(_)) => known.needs_run(&run, &place, report),
                _ => report.add(Invariant::Key, &place, "nothing writes such a key"),
            }
            if let Err(error) = codec::decode::<Usage>(value.value()) {
                report.add(Invariant::Value, place, error.to_string());
            }
        }
        Ok(())
    })?;
    Ok(())
}

fn meta(snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<(), StoreError> {
    with_table!(snapshot, META, |table| {
        for entry in table.iter().map_err(|error| snapshot.redb_error(error))? {
            let (key, value) = entry.map_err(|error| snapshot.redb_error(error))?;
            report.rows += 1;
            let place = format!("meta {:?}", key.value());
            let decoded: Result<(), CodecError> = match key.value() {
                SCHEMA_KEY => codec::decode::<SchemaNumber>(value.value()).map(|_| ()),
                name if name.starts_with(TEXT_PREFIX) => codec::decode::<Text>(value.value()).map(|_| ()),
                _ => {
                    report.add(Invariant::Key, &place, "nothing writes such a key");
                    Ok(())
                }
            };
            if let Err(error) = decoded {
                report.add(Invariant::Value, place, error.to_string());
            }
        }
        Ok(())
    })?;
    Ok(())
}
