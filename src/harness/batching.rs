//! Mini-batches of an epoch: small task types whole, large ones spread, errors mixed with successes (design 07, 12).

use std::collections::BTreeMap;

use rand::seq::SliceRandom;

use super::correctness::{Correctness, unit_correct};
use crate::domain::{ExitClass, Fault, QuestionId, TaskType, Unit, seeded_rng};

/// How to cut an epoch into batches (design 02, group `minibatch`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BatchSettings {
    /// Questions per batch.
    pub batch_size: usize,
    /// Each batch holds at least so many questions of each type it holds, where the type has that many.
    pub min_class_per_batch: usize,
    /// At most so many batches; none for no bound.
    pub max_steps_per_epoch: Option<usize>,
    /// Share of known-correct questions among those of a type, 0 ≤ share < 1.
    pub mix_correct_ratio: f64,
    /// The run's seed.
    pub seed: u64,
}

/// The settings contradict each other.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("make batches of {batch_size} questions that hold at least {min_class_per_batch} of each task type")]
pub struct BatchError {
    batch_size: usize,
    min_class_per_batch: usize,
}

impl Fault for BatchError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "batches.min_class"
    }

    fn hint(&self) -> Option<String> {
        Some("minibatch.min_class_per_batch must be above 0 and below minibatch.batch_size".to_owned())
    }
}

/// The batches of one epoch, each a list of question ids; a unit's questions stay together.
///
/// Per task type with at least one wrong unit: all wrong units and so many known-correct ones that they
/// make up `mix_correct_ratio`. Unknown correctness is neither. Types of fewer than 2 × `min_class_per_batch`
/// questions are packed whole, first-fit decreasing; larger ones are dealt in runs of `min_class_per_batch`,
/// the remainder with the last run, round robin over the batches with one pointer for all types. A type whose last
/// run would not fit any batch opens one, even when that run is longer than `batch_size`.
///
/// # Errors
/// `min_class_per_batch` is 0 or not below `batch_size`.
pub fn build_batches(
    units: &[&Unit],
    correctness: &Correctness,
    epoch: u32,
    settings: &BatchSettings,
) -> Result<Vec<Vec<QuestionId>>, BatchError> {
    let BatchSettings { batch_size, min_class_per_batch, .. } = *settings;
    if min_class_per_batch == 0 || min_class_per_batch >= batch_size {
        return Err(BatchError { batch_size, min_class_per_batch });
    }
    let groups = mixed_groups(units, correctness, epoch, settings);
    let total: usize = groups.values().map(|group| questions_in(group)).sum();
    let mut batches: Vec<Vec<&Unit>> = vec![Vec::new(); total.div_ceil(batch_size)];
    let (mut small, large): (Vec<_>, Vec<_>) =
        groups.into_iter().partition(|(_, group)| questions_in(group) < 2 * min_class_per_batch);
    small.sort_by(|(a_name, a), (b_name, b)| questions_in(b).cmp(&questions_in(a)).then(a_name.cmp(b_name)));
    for (_, group) in small {
        place(&mut batches, &mut 0, group, batch_size);
    }
    let mut pointer = 0;
    for (_, group) in large {
        for run in runs(group, min_class_per_batch) {
            place(&mut batches, &mut pointer, run, batch_size);
            pointer += 1;
        }
    }
    let mut batches: Vec<Vec<QuestionId>> = batches
        .into_iter()
        .filter(|batch| !batch.is_empty())
        .map(|batch| batch.into_iter().flat_map(|unit| unit.question_ids.clone()).collect())
        .collect();
    batches.truncate(settings.max_steps_per_epoch.unwrap_or(usize::MAX));
    Ok(batches)
}

/// Wrong units and their admixture of right ones, per type, shuffled.
fn mixed_groups<'a>(
    units: &[&'a Unit],
    correctness: &Correctness,
    epoch: u32,
    settings: &BatchSettings,
) -> BTreeMap<&'a TaskType, Vec<&'a Unit>> {
    let mut groups: BTreeMap<&TaskType, (Vec<&Unit>, Vec<&Unit>)> = BTreeMap::new();
    for unit in units {
        let (wrong, right) = groups.entry(&unit.task_type).or_default();
        match unit_correct(unit, correctness) {
            Some(false) => wrong.push(*unit),
            Some(true) => right.push(*unit),
            None => {}
        }
    }
    groups.retain(|_, (wrong, _)| !wrong.is_empty());
    let epoch = epoch.to_string();
    groups
        .into_iter()
        .map(|(task_type, (mut group, mut right))| {
            let mut rng = seeded_rng(settings.seed, &["batches", &epoch, task_type.as_str()]);
            right.shuffle(&mut rng);
            right.truncate(admixture(group.len(), settings.mix_correct_ratio));
            group.extend(right);
            group.shuffle(&mut rng);
            (task_type, group)
        })
        .collect()
}

/// How many right units make up the share `ratio` beside `wrong` wrong ones: wrong · ratio / (1 − ratio), rounded.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a float-to-integer cast saturates, and the caller truncates to what there is"
)]
fn admixture(wrong: usize, ratio: f64) -> usize {
    let ratio = ratio.clamp(0.0, 0.99);
    (wrong as f64 * ratio / (1.0 - ratio)).round() as usize
}

fn questions_in(units: &[&Unit]) -> usize {
    units.iter().map(|unit| unit.question_ids.len()).sum()
}

/// Runs of at least `length` questions; what is left over stays with the last run.
fn runs(group: Vec<&Unit>, length: usize) -> Vec<Vec<&Unit>> {
    let mut runs: Vec<Vec<&Unit>> = Vec::new();
    let mut run = Vec::new();
    for unit in group {
        run.push(unit);
        if questions_in(&run) >= length {
            runs.push(std::mem::take(&mut run));
        }
    }
    match runs.last_mut() {
        Some(last) => last.extend(run),
        None => runs.push(run),
    }
    runs
}

/// Puts the run into the first batch with room from `pointer` on, cyclically; opens a batch if none has.
fn place<'a>(batches: &mut Vec<Vec<&'a Unit>>, pointer: &mut usize, run: Vec<&'a Unit>, batch_size: usize) {
    let size = questions_in(&run);
    let count = batches.len();
    let place = (0..count)
        .map(|offset| (*pointer + offset) % count)
        .find(|place| batches.get(*place).is_some_and(|batch| questions_in(batch) + size <= batch_size));
    match place.and_then(|place| batches.get_mut(place).map(|batch| (place, batch))) {
        Some((place, batch)) => {
            batch.extend(run);
            *pointer = place;
        }
        None => {
            *pointer = count;
            batches.push(run);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    const SETTINGS: BatchSettings = BatchSettings {
        batch_size: 40,
        min_class_per_batch: 4,
        max_steps_per_epoch: None,
        mix_correct_ratio: 0.3,
        seed: 42,
    };

    /// Units `t-i` of each type; the first `wrong` are wrong, the next `right` right, the rest unknown.
    fn world(counts: &[(&str, usize, usize, usize)]) -> (Vec<Unit>, Correctness) {
        let (mut units, mut correctness) = (Vec::new(), Correctness::new());
        for (task_type, wrong, right, unknown) in counts {
            for index in 0..wrong + right + unknown {
                let id: QuestionId = format!("{task_type}-{index:03}").parse().unwrap();
                if index < wrong + right {
                    correctness.insert(id.clone(), index >= *wrong);
                }
                units.push(Unit {
                    unit_id: id.clone().into(),
                    task_type: task_type.parse().unwrap(),
                    video_id: "v".parse().unwrap(),
                    question_ids: vec![id],
                });
            }
        }
        (units, correctness)
    }

    fn batches(counts: &[(&str, usize, usize, usize)], settings: &BatchSettings) -> Vec<Vec<QuestionId>> {
        let (units, correctness) = world(counts);
        build_batches(&units.iter().collect::<Vec<_>>(), &correctness, 1, settings).unwrap()
    }

    fn count(batch: &[QuestionId], task_type: &str) -> usize {
        batch.iter().filter(|id| id.as_str().starts_with(&format!("{task_type}-"))).count()
    }

    #[test]
    fn errors_are_mixed_with_known_successes_only() {
        let all = batches(&[("A", 14, 50, 20), ("B", 0, 30, 0)], &SETTINGS);
        assert_eq!(all.iter().map(Vec::len).sum::<usize>(), 20, "14 wrong and 6 right; B has no errors");
    }

    #[test]
    fn small_types_stay_whole_and_large_ones_spread() {
        let all = batches(&[("A", 70, 60, 0), ("B", 5, 0, 0), ("C", 4, 0, 0)], &SETTINGS);
        assert_eq!(all.iter().filter(|batch| count(batch, "B") > 0).count(), 1);
        assert_eq!(all.iter().filter(|batch| count(batch, "C") > 0).count(), 1);
        assert!(all.iter().all(|batch| count(batch, "A") >= 4), "{all:?}");
    }

    #[test]
    fn contradictory_settings_are_refused() {
        let (units, correctness) = world(&[("A", 5, 0, 0)]);
        let units: Vec<_> = units.iter().collect();
        for min in [0, 40, 41] {
            let settings = BatchSettings { min_class_per_batch: min, ..SETTINGS };
            assert!(build_batches(&units, &correctness, 1, &settings).is_err());
        }
    }

    #[test]
    fn the_epoch_changes_the_batches_and_nothing_else_does() {
        let (units, correctness) = world(&[("A", 60, 60, 0)]);
        let units: Vec<_> = units.iter().collect();
        let build = |epoch| build_batches(&units, &correctness, epoch, &SETTINGS).unwrap();
        assert_eq!(build(1), build(1));
        assert_ne!(build(1), build(2));
    }

    proptest! {
        #[test]
        fn no_question_twice_no_wrong_one_lost_and_sizes_hold(
            counts in prop::collection::vec((0_usize..90, 0_usize..40, 0_usize..5), 1..6), min in 1_usize..12
        ) {
            let names = ["A", "B", "C", "D", "E", "F"];
            let counts: Vec<_> = counts.iter().zip(names).map(|((w, r, u), name)| (name, *w, *r, *u)).collect();
            let settings = BatchSettings { min_class_per_batch: min, ..SETTINGS };
            let all = batches(&counts, &settings);
            let flat: Vec<_> = all.iter().flatten().collect();
            prop_assert_eq!(flat.len(), flat.iter().collect::<BTreeSet<_>>().len());
            for (name, wrong, _, _) in &counts {
                let ids = (0..*wrong).map(|index| format!("{name}-{index:03}"));
                prop_assert!(ids.into_iter().all(|id| flat.iter().any(|known| known.as_str() == id)));
                let total = flat.iter().filter(|id| id.as_str().starts_with(&format!("{name}-"))).count();
                for batch in &all {
                    let held = count(batch, name);
                    prop_assert!(held == 0 || held >= min.min(total), "{} of {} in a batch", held, name);
                }
            }
            prop_assert!(all.iter().all(|batch| batch.len() <= 40));
        }
    }
}
