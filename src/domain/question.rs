//! Questions, their options, and the units the statistics count.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ids::{NodeId, PairId, QuestionId, TaskType, UnitId, VideoId};

/// One answer option: its letter and its text without the letter.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// `A` to `Z`, by position.
    pub letter: char,
    /// The text, without a letter prefix.
    pub text: String,
}

/// One multiple-choice question on one video, normalised (design 02).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// Unique in the set.
    pub question_id: QuestionId,
    /// The video it is about.
    pub video_id: VideoId,
    /// Its category.
    pub task_type: TaskType,
    /// The question text.
    pub question: String,
    /// 2 to 26 options, lettered by position.
    pub options: Vec<Choice>,
    /// The letter of the right option.
    pub answer: char,
    /// Shared by exactly two questions that are right only together.
    pub pair_id: Option<PairId>,
    /// Nodes from which it can be answered, where known.
    pub source_nodes: Vec<NodeId>,
    /// A free label such as `medium`.
    pub difficulty: Option<String>,
}

impl Question {
    /// The text of the right option; none if the answer is not among the options.
    #[must_use]
    pub fn answer_text(&self) -> Option<&str> {
        self.options.iter().find(|choice| choice.letter == self.answer).map(|choice| choice.text.as_str())
    }

    /// The unit this question belongs to: its pair, else itself.
    #[must_use]
    pub fn unit_id(&self) -> UnitId {
        match &self.pair_id {
            Some(pair) => pair.clone().into(),
            None => self.question_id.clone().into(),
        }
    }
}

/// What the statistics count: one question, or two that are right only if both are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// The question id of a single, the pair id of a pair.
    pub unit_id: UnitId,
    /// The task type of all its questions.
    pub task_type: TaskType,
    /// The video of all its questions.
    pub video_id: VideoId,
    /// One or two question ids, in order of the set.
    pub question_ids: Vec<QuestionId>,
}

/// A pair that cannot be a unit.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not exactly two questions.
    #[error("make a unit of pair {pair}: it has {count} questions, not two")]
    PairSize {
        /// The pair.
        pair: PairId,
        /// How many questions carry its id.
        count: usize,
    },
    /// Its two questions differ in task type or video.
    #[error("make a unit of pair {pair}: its questions differ in {what}")]
    PairDiffers {
        /// The pair.
        pair: PairId,
        /// `task type` or `video`.
        what: &'static str,
    },
    /// The pair id is also a question id, so that unit ids would collide.
    #[error("make a unit of pair {pair}: a question has the same id")]
    PairNamedLikeQuestion {
        /// The pair.
        pair: PairId,
    },
}

/// Groups questions into units, each where its earliest member stands (design 04).
///
/// # Errors
/// Every pair that is not exactly two questions of one task type and one video, or whose id is a question id.
pub fn build_units(questions: &[Question]) -> Result<Vec<Unit>, Vec<UnitError>> {
    let mut units: Vec<Unit> = Vec::with_capacity(questions.len());
    let mut pairs: BTreeMap<&PairId, usize> = BTreeMap::new();
    let mut errors = Vec::new();
    for question in questions {
        let known = question.pair_id.as_ref().and_then(|pair| pairs.get(pair)).and_then(|place| units.get_mut(*place));
        let Some(unit) = known else {
            if let Some(pair) = &question.pair_id {
                pairs.insert(pair, units.len());
            }
            units.push(Unit {
                unit_id: question.unit_id(),
                task_type: question.task_type.clone(),
                video_id: question.video_id.clone(),
                question_ids: vec![question.question_id.clone()],
            });
            continue;
        };
        unit.question_ids.push(question.question_id.clone());
        if let Some(pair) = &question.pair_id {
            if unit.task_type != question.task_type {
                errors.push(UnitError::PairDiffers { pair: pair.clone(), what: "task type" });
            }
            if unit.video_id != question.video_id {
                errors.push(UnitError::PairDiffers { pair: pair.clone(), what: "video" });
            }
        }
    }
    let question_ids: BTreeSet<&str> = questions.iter().map(|question| question.question_id.as_str()).collect();
    for (pair, place) in pairs {
        let count = units.get(place).map_or(0, |unit| unit.question_ids.len());
        if count != 2 {
            errors.push(UnitError::PairSize { pair: pair.clone(), count });
        }
        if question_ids.contains(pair.as_str()) {
            errors.push(UnitError::PairNamedLikeQuestion { pair: pair.clone() });
        }
    }
    if errors.is_empty() { Ok(units) } else { Err(errors) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn question(id: &str, task_type: &str, pair: Option<&str>) -> Question {
        Question {
            question_id: id.parse().unwrap(),
            video_id: "video".parse().unwrap(),
            task_type: task_type.parse().unwrap(),
            question: "Which?".into(),
            options: vec![Choice { letter: 'A', text: "one".into() }, Choice { letter: 'B', text: "two".into() }],
            answer: 'B',
            pair_id: pair.map(|pair| pair.parse().unwrap()),
            source_nodes: vec![],
            difficulty: None,
        }
    }

    #[test]
    fn a_pair_stands_where_its_first_member_stands() {
        let set = [question("q1", "T", Some("p")), question("q2", "T", None), question("q3", "T", Some("p"))];
        let units = build_units(&set).unwrap();
        let ids: Vec<_> = units.iter().map(|unit| (unit.unit_id.as_str(), unit.question_ids.len())).collect();
        assert_eq!(ids, [("p", 2), ("q2", 1)]);
    }

    #[test]
    fn every_broken_pair_is_named() {
        let set = [
            question("q1", "T", Some("one")),
            question("q2", "T", Some("three")),
            question("q3", "T", Some("three")),
            question("q4", "T", Some("three")),
            question("q5", "T", Some("mixed")),
            question("q6", "U", Some("mixed")),
            question("q7", "T", Some("q1")),
            question("q8", "T", Some("q1")),
        ];
        let errors = build_units(&set).unwrap_err();
        assert_eq!(errors.len(), 4, "{errors:?}");
    }
}
