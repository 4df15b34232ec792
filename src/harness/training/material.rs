//! What is trained on: the questions that have a video, in units.

use std::collections::BTreeMap;

use super::TrainError;
use crate::domain::{Question, QuestionId, TaskType, Unit, UnitId, build_units};
use crate::harness::correctness::{Correctness, unit_correct};
use crate::harness::session::Session;
use crate::store::rows::{PoolUnit, Pools};

/// Questions and units, by id.
#[derive(Debug)]
pub(super) struct Material {
    pub(super) questions: BTreeMap<QuestionId, Question>,
    pub(super) units: BTreeMap<UnitId, Unit>,
    unit_of: BTreeMap<QuestionId, UnitId>,
    /// Questions left out because their video has no tree.
    pub(super) without_tree: usize,
}

impl Material {
    /// # Errors
    /// Pairs that are none.
    pub(super) fn of(session: &Session) -> Result<Self, TrainError> {
        let all = &session.questions.questions;
        let with_tree: Vec<Question> =
            all.iter().filter(|question| session.bench.trees.contains(&question.video_id)).cloned().collect();
        let without_tree = all.len() - with_tree.len();
        let units = build_units(&with_tree).map_err(|errors| match errors.into_iter().next() {
            Some(error) => TrainError::Units(error),
            None => TrainError::NothingToTrain { needed: 1 },
        })?;
        let unit_of = units
            .iter()
            .flat_map(|unit| unit.question_ids.iter().map(|question| (question.clone(), unit.unit_id.clone())))
            .collect();
        Ok(Self {
            questions: with_tree.into_iter().map(|question| (question.question_id.clone(), question)).collect(),
            units: units.into_iter().map(|unit| (unit.unit_id.clone(), unit)).collect(),
            unit_of,
            without_tree,
        })
    }

    /// The questions of these ids, in their order; ids without a question are left out.
    pub(super) fn questions_of<'a>(&self, ids: impl IntoIterator<Item = &'a QuestionId>) -> Vec<Question> {
        ids.into_iter().filter_map(|id| self.questions.get(id).cloned()).collect()
    }

    /// The unit of a question.
    pub(super) fn unit_of(&self, question: &QuestionId) -> Option<&Unit> {
        self.units.get(self.unit_of.get(question)?)
    }

    /// All task types, sorted.
    pub(super) fn task_types(&self) -> Vec<TaskType> {
        let types: std::collections::BTreeSet<&TaskType> = self.units.values().map(|unit| &unit.task_type).collect();
        types.into_iter().cloned().collect()
    }
}

/// The question ids of a pool, in order of its units.
pub(super) fn pool_questions(pool: &[PoolUnit]) -> Vec<QuestionId> {
    pool.iter().flat_map(|unit| unit.questions.iter().cloned()).collect()
}

/// The validation questions of one task type.
pub(super) fn validation_of<'a>(pools: &'a Pools, task_type: &'a TaskType) -> impl Iterator<Item = &'a QuestionId> {
    pools.validation.iter().filter(move |unit| unit.task_type == *task_type).flat_map(|unit| &unit.questions)
}

/// Share of right ones among the questions whose correctness is known; none without any.
#[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
pub(super) fn accuracy<'a>(
    questions: impl IntoIterator<Item = &'a QuestionId>,
    correctness: &Correctness,
) -> Option<f64> {
    let known: Vec<bool> = questions.into_iter().filter_map(|question| correctness.get(question).copied()).collect();
    let right = known.iter().filter(|right| **right).count();
    (!known.is_empty()).then(|| right as f64 / known.len() as f64)
}

/// The correctness of units whose questions all have one.
pub(super) fn per_unit<'a>(
    units: impl IntoIterator<Item = &'a Unit>,
    correctness: &Correctness,
) -> BTreeMap<UnitId, bool> {
    units.into_iter().filter_map(|unit| Some((unit.unit_id.clone(), unit_correct(unit, correctness)?))).collect()
}
