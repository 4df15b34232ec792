//! The pools of a training: their sizes, that they do not overlap, and how right the baseline was in each.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::found::{InspectError, training_run};
use crate::domain::{QuestionId, RunId, TaskType};
use crate::store::rows::{PoolUnit, Prediction};
use crate::store::{Scope, Snapshot, StoreError};

/// The pools.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolsView {
    /// The run.
    pub run_id: String,
    /// The run whose answers stratified them.
    pub baseline_run: String,
    /// The question set they were cut from.
    pub data_fingerprint: String,
    /// Questions that are in two pools; always empty.
    pub overlaps: Vec<String>,
    /// Test, validation, diagnosis.
    pub pools: Vec<PoolView>,
}

/// One pool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PoolView {
    /// `test`, `validation` or `diagnosis`.
    pub pool: &'static str,
    /// All types.
    pub total: PoolCounts,
    /// By task type.
    pub by_type: BTreeMap<TaskType, PoolCounts>,
}

/// Units of a pool.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct PoolCounts {
    /// Units.
    pub units: u32,
    /// Questions.
    pub questions: u32,
    /// Units that the baseline answered right: all their questions.
    pub right: u32,
    /// Units with a wrong answer.
    pub wrong: u32,
    /// Units that the baseline could not answer for technical reasons.
    pub unknown: u32,
}

impl PoolCounts {
    /// Share of right units among the known ones.
    #[must_use]
    pub fn right_share(&self) -> Option<f64> {
        let known = f64::from(self.right) + f64::from(self.wrong);
        (known > 0.0).then(|| f64::from(self.right) / known)
    }

    fn add(&mut self, unit: &PoolUnit, right: Option<bool>) {
        self.units += 1;
        self.questions += u32::try_from(unit.questions.len()).unwrap_or(u32::MAX);
        match right {
            Some(true) => self.right += 1,
            Some(false) => self.wrong += 1,
            None => self.unknown += 1,
        }
    }
}

/// The pools of a run, or of the newest training.
///
/// # Errors
/// There is no such run, it has no pools yet, or the store cannot be read.
pub fn pools(snapshot: &Snapshot<'_>, run: Option<&RunId>) -> Result<PoolsView, InspectError> {
    let (run, _) = training_run(snapshot, run)?;
    let Some(row) = snapshot.pools(&run)? else {
        let hint = "they are cut when the baseline of a training is answered";
        return Err(InspectError::nothing(format!("the pools of run {run}"), hint));
    };
    let correct = baseline(snapshot, &row.baseline_run)?;
    let (mut seen, mut overlaps) = (BTreeSet::new(), Vec::new());
    let mut views = Vec::new();
    for (pool, units) in [("test", &row.test), ("validation", &row.validation), ("diagnosis", &row.diagnosis)] {
        let mut view = PoolView { pool, total: PoolCounts::default(), by_type: BTreeMap::new() };
        for unit in units {
            overlaps.extend(unit.questions.iter().filter(|question| !seen.insert(*question)).map(ToString::to_string));
            let mut right = unit.questions.iter().map(|question| correct.get(question).copied());
            let right = right.try_fold(true, |all, one| one.map(|one| all && one));
            view.total.add(unit, right);
            view.by_type.entry(unit.task_type.clone()).or_default().add(unit, right);
        }
        views.push(view);
    }
    Ok(PoolsView {
        run_id: run.to_string(),
        baseline_run: row.baseline_run.to_string(),
        data_fingerprint: row.data_fingerprint.to_string(),
        overlaps,
        pools: views,
    })
}

/// Correctness by the answers that the pools were cut by: a training's baseline, or an evaluation that vouched for it.
fn baseline(snapshot: &Snapshot<'_>, run: &RunId) -> Result<BTreeMap<QuestionId, bool>, StoreError> {
    let mut correct = BTreeMap::new();
    for scope in [Scope::Eval, Scope::Baseline] {
        for (key, row) in snapshot.rows::<Prediction>(run, scope)? {
            correct.extend(row.outcome.correctness().map(|right| (key.question, right)));
        }
    }
    Ok(correct)
}
