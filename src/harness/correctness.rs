//! What is known about which question the current agent answers right.

use std::collections::BTreeMap;

use crate::domain::{QuestionId, Unit};

/// Right or wrong per question; a question without entry is unknown (never answered, or INFRA only).
pub type Correctness = BTreeMap<QuestionId, bool>;

/// Whether a unit is right: all its questions are. None if any of them is unknown.
#[must_use]
pub fn unit_correct(unit: &Unit, correctness: &Correctness) -> Option<bool> {
    unit.question_ids.iter().map(|id| correctness.get(id).copied()).try_fold(true, |all, one| one.map(|one| all && one))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_right_only_if_both_are() {
        let unit = Unit {
            unit_id: "p".parse().unwrap(),
            task_type: "T".parse().unwrap(),
            video_id: "v".parse().unwrap(),
            question_ids: vec!["a".parse().unwrap(), "b".parse().unwrap()],
        };
        let known = |entries: &[(&str, bool)]| -> Correctness {
            entries.iter().map(|(id, right)| (id.parse().unwrap(), *right)).collect()
        };
        assert_eq!(unit_correct(&unit, &known(&[("a", true), ("b", true)])), Some(true));
        assert_eq!(unit_correct(&unit, &known(&[("a", true), ("b", false)])), Some(false));
        assert_eq!(unit_correct(&unit, &known(&[("a", false)])), None, "unknown is neither right nor wrong");
    }
}
