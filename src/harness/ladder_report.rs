//! The ladder of a task type as its next gate would use it, and what that gate could reach.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::ladder::{GatePools, LadderEntry, LadderError, LadderOrder, LadderSettings};
use super::ladder_store::{gate_pools, ladder_settings};
use crate::config::RunConfig;
use crate::domain::{RunId, TaskType, UnitId};
use crate::evolution::gate::{Flips, best_e_value};
use crate::inspect::{InspectError, config_of, pick_type, training_run};
use crate::store::Snapshot;

/// The ladder of one task type. Case-pack units of the coming step are not known yet and still in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LadderReport {
    /// The run.
    pub run_id: String,
    /// The task type.
    pub task_type: TaskType,
    /// `cold`, `warm` or `hashed`.
    pub order: &'static str,
    /// Units that the ladder knows.
    pub known: usize,
    /// Units that a gate would use at most.
    pub planned: usize,
    /// E if all of these were won.
    pub best_e: f64,
    /// `confirmed`, `provisional` or `none`: the best end that a gate can have.
    pub at_best: &'static str,
    /// In gate order.
    pub units: Vec<LadderUnit>,
    /// Known units that a gate would not use: too easy, too hard, or beyond the limit.
    pub left_out: Vec<LadderUnit>,
}

/// One unit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LadderUnit {
    /// The unit.
    pub unit_id: UnitId,
    /// Probability that the current skill answers it right.
    pub p_hat: f64,
    /// Observations behind it.
    pub observations: u32,
}

/// Why there is no ladder to show.
#[derive(Debug, thiserror::Error)]
pub enum LadderReportError {
    /// It is not there.
    #[error(transparent)]
    Inspect(#[from] InspectError),
    /// It cannot be ordered.
    #[error(transparent)]
    Ladder(#[from] LadderError),
}

impl crate::domain::Fault for LadderReportError {
    fn class(&self) -> crate::domain::ExitClass {
        match self {
            Self::Inspect(error) => error.class(),
            Self::Ladder(error) => error.class(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Inspect(error) => error.code(),
            Self::Ladder(error) => error.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Inspect(error) => error.hint(),
            Self::Ladder(error) => error.hint(),
        }
    }
}

/// The ladders of a run, or of the newest training, by task type; of one type if named by its name or slug.
///
/// # Errors
/// There is no such run or ladder, or its configuration or the store cannot be read.
pub fn ladder_reports(
    snapshot: &Snapshot<'_>,
    run: Option<&RunId>,
    task_type: Option<&str>,
) -> Result<Vec<LadderReport>, LadderReportError> {
    let (run, row) = training_run(snapshot, run)?;
    let config = config_of(&run, &row)?;
    let stored = snapshot.ladders(&run).map_err(InspectError::from)?;
    if stored.is_empty() {
        let hint = "it is built when the pools of a training are cut";
        return Err(InspectError::nothing(format!("the ladder of run {run}"), hint).into());
    }
    let wanted = task_type.map(|name| pick_type(stored.keys(), name, "the ladder")).transpose()?;
    let state = snapshot.checkpoint(&run).map_err(InspectError::from)?;
    let warm = state.is_some_and(|state| state.gate_epoch_observed);
    let settings = ladder_settings(&config, row.seed, warm);
    let pools = gate_pools(&stored);
    let chosen = stored.keys().filter(|name| wanted.as_ref().is_none_or(|wanted| wanted == *name));
    chosen.map(|name| Ok(report(&run, name, &pools, &settings, &config)?)).collect()
}

fn report(
    run: &RunId,
    task_type: &TaskType,
    pools: &GatePools,
    settings: &LadderSettings,
    config: &RunConfig,
) -> Result<LadderReport, LadderError> {
    let order = pools.ladder_for(task_type, &BTreeSet::new(), settings)?;
    let entries = pools.entries.get(task_type).map(Vec::as_slice).unwrap_or_default();
    let by_id: BTreeMap<&UnitId, &LadderEntry> = entries.iter().map(|entry| (&entry.unit_id, entry)).collect();
    let unit = |entry: &LadderEntry| LadderUnit {
        unit_id: entry.unit_id.clone(),
        p_hat: entry.p_hat,
        observations: entry.observations,
    };
    let planned = order.len();
    let in_order: BTreeSet<&UnitId> = order.iter().collect();
    let best_e = best_e_value(Flips::NONE, u64::try_from(planned).unwrap_or(u64::MAX));
    let params = config.gate.params();
    let net_suffices = i64::try_from(planned).is_ok_and(|planned| planned >= params.w_net_min);
    Ok(LadderReport {
        run_id: run.to_string(),
        task_type: task_type.clone(),
        order: match settings.order {
            LadderOrder::Information { warm: false } => "cold",
            LadderOrder::Information { warm: true } => "warm",
            LadderOrder::Hashed => "hashed",
        },
        known: entries.len(),
        planned,
        best_e,
        at_best: if planned > 0 && best_e >= params.e_confirm {
            "confirmed"
        } else if best_e >= params.e_provisional && net_suffices {
            "provisional"
        } else {
            "none"
        },
        units: order.iter().filter_map(|id| by_id.get(id).copied()).map(unit).collect(),
        left_out: entries.iter().filter(|entry| !in_order.contains(&entry.unit_id)).map(unit).collect(),
    })
}
