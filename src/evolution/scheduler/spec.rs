//! What a gate is to test, and within which limits.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::GateFailure;
use crate::domain::{self, FileName, TaskType, Unit};
use crate::evolution::gate::{GateParams, MAX_UNITS};

/// What the run id prefix of every gate contains: answers under it never feed the ladder.
const RUN_PREFIX_MARK: &str = "_gate_";

/// One task type's gate: a candidate against the current skill along a ladder (design 04).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateSpec {
    /// The task type.
    pub task_type: TaskType,
    /// The skill file that the candidate would replace.
    pub target_file: FileName,
    /// The current text of that file.
    pub base_content: Arc<str>,
    /// The candidate's text.
    pub candidate_content: Arc<str>,
    /// The units in ladder order: case-pack units excluded, cut to `gate_n_max`.
    pub units: Vec<Unit>,
    /// The start of both arms' run ids; contains `_gate_`.
    pub run_prefix: String,
}

impl GateSpec {
    /// The run id of an arm's answers: the prefix, `_`, and `base` or `cand`.
    #[must_use]
    pub fn arm_run_id(&self, arm: domain::Arm) -> String {
        format!("{}_{}", self.run_prefix, arm.name())
    }
}

/// The limits all gates of a step share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct GateSettings {
    /// The thresholds.
    pub params: GateParams,
    /// The INFRA share above which the step is aborted, 0 to 1.
    pub guard_err: f64,
    /// How many questions may run at the same time, over all task types; at least 1.
    pub concurrency: usize,
}

/// Refuses what cannot be run, before anything starts.
///
/// An empty ladder comes before a unit that is too large, each in the order of the specs.
pub(super) fn check_specs(specs: &[GateSpec], settings: &GateSettings) -> Result<(), GateFailure> {
    settings.params.check_finite()?;
    if settings.concurrency == 0 {
        return Err(GateFailure::NoSlots);
    }
    let mut seen = BTreeSet::new();
    for spec in specs {
        if !seen.insert(&spec.task_type) {
            return Err(GateFailure::TypeTwice { task_type: spec.task_type.clone() });
        }
        if !spec.run_prefix.contains(RUN_PREFIX_MARK) {
            return Err(GateFailure::RunPrefix {
                task_type: spec.task_type.clone(),
                prefix: spec.run_prefix.chars().take(80).collect(),
            });
        }
        if spec.units.is_empty() {
            return Err(GateFailure::EmptyLadder { task_type: spec.task_type.clone() });
        }
        if spec.units.len() as u64 > MAX_UNITS {
            return Err(GateFailure::LadderTooLong { task_type: spec.task_type.clone(), units: spec.units.len() });
        }
    }
    specs.iter().try_for_each(|spec| check_units(spec, settings.concurrency))
}

fn check_units(spec: &GateSpec, slots: usize) -> Result<(), GateFailure> {
    let mut units = BTreeSet::new();
    let mut questions = BTreeSet::new();
    for unit in &spec.units {
        let count = unit.question_ids.len();
        if count > slots {
            return Err(GateFailure::UnitTooLarge {
                task_type: spec.task_type.clone(),
                unit: unit.unit_id.clone(),
                questions: count,
                slots,
            });
        }
        let fresh = units.insert(&unit.unit_id) && unit.question_ids.iter().all(|id| questions.insert(id));
        if count == 0 || !fresh {
            return Err(GateFailure::BadUnit { task_type: spec.task_type.clone(), unit: unit.unit_id.clone() });
        }
    }
    Ok(())
}
