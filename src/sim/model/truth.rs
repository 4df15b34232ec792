//! What the simulated model knows: every question with its answer and the strategies it needs.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde::{Deserialize, Serialize};

use crate::domain::{Question, QuestionId, TaskType};
use crate::sim::world::{Strategy, Truth, question_fingerprint};

/// One question and what it takes to answer it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TruthQuestion {
    /// The question with its answer and source nodes.
    pub question: Question,
    /// The strategies without which the answer is luck.
    pub strategies: BTreeSet<Strategy>,
}

/// All questions of a world, found by their text.
#[derive(Debug, Default)]
pub struct SimTruth {
    questions: Vec<TruthQuestion>,
    by_text: HashMap<String, Vec<usize>>,
    by_id: BTreeMap<QuestionId, usize>,
}

impl SimTruth {
    /// Indexes the questions.
    #[must_use]
    pub fn new(questions: Vec<TruthQuestion>) -> Self {
        let mut truth = Self::default();
        for (place, known) in questions.iter().enumerate() {
            truth.by_text.entry(known.question.question.trim().to_owned()).or_default().push(place);
            truth.by_id.insert(known.question.question_id.clone(), place);
        }
        truth.questions = questions;
        truth
    }

    /// The questions of a generated world with what its truth file says of them. Questions that the truth does not
    /// know, or knows under another wording, are left out.
    #[must_use]
    pub fn of_world(questions: &[Question], truth: &Truth) -> Self {
        let known = questions.iter().filter_map(|question| {
            let told = truth.questions.get(&question.question_id)?;
            let same = told.fingerprint == question_fingerprint(question);
            same.then(|| TruthQuestion { question: question.clone(), strategies: told.strategies.clone() })
        });
        Self::new(known.collect())
    }

    /// The first question of which `text` holds the wording on a line of its own (after a label such as
    /// `Question:`), and all options: several videos may share a wording.
    pub(super) fn find_in(&self, text: &str) -> Option<&TruthQuestion> {
        self.all_in(text).into_iter().next()
    }

    /// All questions of which `text` holds the wording, in order of appearance.
    pub(super) fn all_in(&self, text: &str) -> Vec<&TruthQuestion> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for line in text.lines() {
            let bare = line.trim().trim_start_matches(['-', '*', '>', ' ']);
            let unlabelled = bare.split_once(": ").map_or("", |(_, rest)| rest.trim());
            for wording in [bare, unlabelled] {
                let places = self.by_text.get(wording).map(Vec::as_slice).unwrap_or_default();
                for place in self.matching(places, text) {
                    if seen.insert(place) {
                        found.extend(self.questions.get(place));
                    }
                }
            }
        }
        found
    }

    /// Of several questions of one wording, those whose options the text shows; all of them if it shows none.
    fn matching(&self, places: &[usize], text: &str) -> Vec<usize> {
        let shown = |place: &&usize| {
            self.questions
                .get(**place)
                .is_some_and(|known| known.question.options.iter().all(|choice| text.contains(choice.text.as_str())))
        };
        let matching: Vec<usize> = places.iter().filter(shown).copied().collect();
        if matching.is_empty() { places.to_vec() } else { matching }
    }

    /// A question by its id.
    #[must_use]
    pub fn get(&self, id: &QuestionId) -> Option<&TruthQuestion> {
        self.by_id.get(id).and_then(|place| self.questions.get(*place))
    }

    /// Every strategy that some question of this type needs.
    pub(super) fn strategies_of(&self, task_type: &TaskType) -> BTreeSet<Strategy> {
        let of_type = self.questions.iter().filter(|known| known.question.task_type == *task_type);
        of_type.flat_map(|known| known.strategies.iter().copied()).collect()
    }

    /// All task types.
    pub(super) fn task_types(&self) -> BTreeSet<&TaskType> {
        self.questions.iter().map(|known| &known.question.task_type).collect()
    }
}
