//! The three pools: test, then validation, then diagnosis; frozen once cut (design 07).

use std::collections::{BTreeMap, BTreeSet};

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::correctness::{Correctness, unit_correct};
use crate::domain::{ExitClass, Fault, TaskType, Unit, UnitId, VideoId, seeded_rng};

/// How large a pool shall be, in units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PoolSize {
    /// So many units.
    Count(usize),
    /// This share of all units, 0 to 1.
    Share(f64),
}

impl PoolSize {
    /// The size in units for a set of `total` units.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share of a count lies between 0 and that count"
    )]
    pub fn of(self, total: usize) -> usize {
        match self {
            Self::Count(count) => count.min(total),
            Self::Share(share) => ((total as f64 * share.clamp(0.0, 1.0)).round() as usize).min(total),
        }
    }
}

/// What may not be divided between two pools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitBy {
    /// Units: two pools may share a video.
    Unit,
    /// Videos: no video is in two pools.
    Video,
}

/// How to cut the pools (design 02, group `pools`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PoolSettings {
    /// Untouched until the end; natural distribution.
    pub test: PoolSize,
    /// Gates and the slow update.
    pub validation: PoolSize,
    /// Rollouts and diagnosis.
    pub diagnosis: PoolSize,
    /// Each task type has at least so many validation units, where it has that many.
    pub min_per_type: usize,
    /// Aimed share of baseline-right units in validation and diagnosis.
    pub correct_ratio: f64,
    /// What is kept together.
    pub split_by: SplitBy,
    /// The run's seed.
    pub seed: u64,
}

/// The three pools; unit ids sorted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Pools {
    /// Untouched until the end.
    pub test: BTreeSet<UnitId>,
    /// Gates and the slow update.
    pub validation: BTreeSet<UnitId>,
    /// Rollouts and diagnosis.
    pub diagnosis: BTreeSet<UnitId>,
}

/// Why pools cannot be cut.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PoolError {
    /// The sizes add up to more units than there are.
    #[error("cut pools of {asked} units from {available}")]
    TooLarge {
        /// Sum of the three sizes.
        asked: usize,
        /// Units in the set.
        available: usize,
    },
    /// A pool would be empty.
    #[error("cut the {pool} pool: it would hold no unit")]
    Empty {
        /// `test`, `validation` or `diagnosis`.
        pool: &'static str,
    },
    /// The validation pool cannot hold the minimum of each task type.
    #[error("cut the validation pool: {size} units are fewer than {min_per_type} for each of {types} task types")]
    ValidationTooSmall {
        /// Its size.
        size: usize,
        /// The minimum per type.
        min_per_type: usize,
        /// Task types in the set.
        types: usize,
    },
}

impl Fault for PoolError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        match self {
            Self::TooLarge { .. } => "pools.too_large",
            Self::Empty { .. } => "pools.empty",
            Self::ValidationTooSmall { .. } => "pools.validation_too_small",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::TooLarge { .. } => "lower pools.test_size, pools.val_size or pools.diag_size".to_owned(),
            Self::Empty { pool } => format!("raise the size of the {pool} pool, or import more questions"),
            Self::ValidationTooSmall { min_per_type, types, .. } => format!(
                "set pools.val_size to at least {}, or lower pools.eval_min_per_class",
                min_per_type.saturating_mul(*types)
            ),
        })
    }
}

/// Cuts test, then validation, then diagnosis, each stratified by task type and from what is left.
///
/// `baseline` is the correctness of the first versions on all questions; test ignores it, the other
/// two aim at `correct_ratio` of right units. Equal inputs give equal pools.
///
/// # Errors
/// [`PoolError`] when the sizes do not fit the set.
pub fn cut_pools(units: &[Unit], baseline: &Correctness, settings: &PoolSettings) -> Result<Pools, PoolError> {
    let total = units.len();
    let sizes = [settings.test, settings.validation, settings.diagnosis].map(|size| size.of(total));
    let [test, validation, diagnosis] = sizes;
    let asked = test + validation + diagnosis;
    // Three rounded shares of 100 % may ask for one or two units more than there are: diagnosis yields.
    let rounding = matches!(settings.diagnosis, PoolSize::Share(_)) && asked <= total + 2;
    if asked > total && !rounding {
        return Err(PoolError::TooLarge { asked, available: total });
    }
    let types: BTreeSet<&TaskType> = units.iter().map(|unit| &unit.task_type).collect();
    if validation < settings.min_per_type.saturating_mul(types.len()) {
        return Err(PoolError::ValidationTooSmall {
            size: validation,
            min_per_type: settings.min_per_type,
            types: types.len(),
        });
    }
    let mut left: Vec<&Unit> = units.iter().collect();
    let mut take = |name: &'static str, size: usize, min_per_type: usize, ratio: Option<f64>| {
        let request = PoolRequest { name, size, min_per_type, correct_ratio: ratio, seed: settings.seed };
        let chosen = match settings.split_by {
            SplitBy::Unit => choose_units(&left, baseline, &request),
            SplitBy::Video => choose_videos(&left, &request),
        };
        left.retain(|unit| !chosen.contains(&unit.unit_id));
        if chosen.is_empty() { Err(PoolError::Empty { pool: name }) } else { Ok(chosen) }
    };
    let ratio = Some(settings.correct_ratio);
    Ok(Pools {
        test: take("test", test, 0, None)?,
        validation: take("validation", validation, settings.min_per_type, ratio)?,
        diagnosis: take("diagnosis", diagnosis, 0, ratio)?,
    })
}

struct PoolRequest {
    name: &'static str,
    size: usize,
    min_per_type: usize,
    correct_ratio: Option<f64>,
    seed: u64,
}

fn choose_units(left: &[&Unit], baseline: &Correctness, request: &PoolRequest) -> BTreeSet<UnitId> {
    let mut by_type: BTreeMap<&TaskType, Vec<&Unit>> = BTreeMap::new();
    for unit in left {
        by_type.entry(&unit.task_type).or_default().push(unit);
    }
    let available: BTreeMap<&TaskType, usize> = by_type.iter().map(|(name, list)| (*name, list.len())).collect();
    let quotas = allocate(&available, request.size, request.min_per_type);
    let mut chosen = BTreeSet::new();
    for (task_type, mut list) in by_type {
        let quota = quotas.get(task_type).copied().unwrap_or(0);
        list.shuffle(&mut seeded_rng(request.seed, &["pools", request.name, task_type.as_str()]));
        let picked = match request.correct_ratio {
            None => list.into_iter().take(quota).collect(),
            Some(ratio) => mix(list, baseline, quota, ratio),
        };
        chosen.extend(picked.into_iter().map(|unit| unit.unit_id.clone()));
    }
    chosen
}

/// Takes `quota` units, of which the share `ratio` is right at the baseline; what one side lacks, the
/// other fills, and units of unknown correctness come last.
fn mix<'a>(list: Vec<&'a Unit>, baseline: &Correctness, quota: usize, ratio: f64) -> Vec<&'a Unit> {
    let (mut right, mut wrong, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for unit in list {
        match unit_correct(unit, baseline) {
            Some(true) => right.push(unit),
            Some(false) => wrong.push(unit),
            None => unknown.push(unit),
        }
    }
    let wanted_right = PoolSize::Share(ratio).of(quota).min(right.len());
    let wanted_wrong = (quota - wanted_right).min(wrong.len());
    let wanted_right = (quota - wanted_wrong).min(right.len());
    right.truncate(wanted_right);
    wrong.truncate(wanted_wrong);
    unknown.truncate(quota - wanted_right - wanted_wrong);
    right.into_iter().chain(wrong).chain(unknown).collect()
}

/// Divides `size` among the types in proportion to what they have (largest remainder, Hamilton's
/// method), with at least `min_per_type` for each that has that many.
fn allocate<'a>(
    available: &BTreeMap<&'a TaskType, usize>,
    size: usize,
    min_per_type: usize,
) -> BTreeMap<&'a TaskType, usize> {
    let total: usize = available.values().sum();
    let size = size.min(total);
    let mut quotas: BTreeMap<&TaskType, usize> =
        available.iter().map(|(name, count)| (*name, min_per_type.min(*count))).collect();
    let mut assigned: usize = quotas.values().sum();
    while assigned < size {
        // The type that is furthest below its proportional share gets the next unit; ties by name.
        let next = quotas
            .iter()
            .filter_map(|(name, quota)| {
                let count = available.get(name).copied().unwrap_or(0);
                // deficit × total, in integers: size·count − quota·total
                let deficit = size as i128 * count as i128 - *quota as i128 * total as i128;
                (*quota < count).then_some((deficit, *name))
            })
            .max_by(|(a, a_name), (b, b_name)| a.cmp(b).then(b_name.cmp(a_name)));
        let Some((_, name)) = next else { break };
        *quotas.entry(name).or_default() += 1;
        assigned += 1;
    }
    quotas
}

/// Whole videos, each time the one that brings the pool's task types closest to their shares.
fn choose_videos(left: &[&Unit], request: &PoolRequest) -> BTreeSet<UnitId> {
    let mut videos: BTreeMap<&VideoId, Vec<&Unit>> = BTreeMap::new();
    let mut available: BTreeMap<&TaskType, usize> = BTreeMap::new();
    for unit in left {
        videos.entry(&unit.video_id).or_default().push(unit);
        *available.entry(&unit.task_type).or_default() += 1;
    }
    let mut deficit: BTreeMap<&TaskType, i64> = allocate(&available, request.size, request.min_per_type)
        .into_iter()
        .map(|(name, quota)| (name, i64::try_from(quota).unwrap_or(i64::MAX)))
        .collect();
    let mut order: Vec<(&VideoId, Vec<&Unit>)> = videos.into_iter().collect();
    order.shuffle(&mut seeded_rng(request.seed, &["pools", request.name, "videos"]));
    let mut chosen = BTreeSet::new();
    while let Some(place) = best_video(&order, &deficit) {
        let (_, units) = order.remove(place);
        for unit in units {
            *deficit.entry(&unit.task_type).or_default() -= 1;
            chosen.insert(unit.unit_id.clone());
        }
    }
    chosen
}

/// The place of the video that lowers the distance to the quotas most; none if each would raise it.
fn best_video(order: &[(&VideoId, Vec<&Unit>)], deficit: &BTreeMap<&TaskType, i64>) -> Option<usize> {
    let gain = |units: &[&Unit]| {
        let mut taken: BTreeMap<&TaskType, i64> = BTreeMap::new();
        for unit in units {
            *taken.entry(&unit.task_type).or_default() += 1;
        }
        taken
            .iter()
            .map(|(name, count)| {
                let before = deficit.get(name).copied().unwrap_or(0);
                before.abs() - (before - count).abs()
            })
            .sum::<i64>()
    };
    order
        .iter()
        .enumerate()
        .map(|(place, (_, units))| (gain(units), std::cmp::Reverse(place)))
        .filter(|(gain, _)| *gain > 0)
        .max()
        .map(|(_, std::cmp::Reverse(place))| place)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(counts: &[(&str, usize)]) -> Vec<Unit> {
        let mut units = Vec::new();
        for (task_type, count) in counts {
            for index in 0..*count {
                let id = format!("{task_type}-{index:03}");
                units.push(Unit {
                    unit_id: id.parse().unwrap(),
                    task_type: task_type.parse().unwrap(),
                    video_id: format!("video{}", index % 7).parse().unwrap(),
                    question_ids: vec![id.parse().unwrap()],
                });
            }
        }
        units
    }

    fn baseline(units: &[Unit], right_every: usize) -> Correctness {
        units.iter().enumerate().map(|(index, unit)| (unit.question_ids[0].clone(), index % right_every == 0)).collect()
    }

    fn settings() -> PoolSettings {
        PoolSettings {
            test: PoolSize::Share(0.2),
            validation: PoolSize::Share(0.4),
            diagnosis: PoolSize::Share(0.4),
            min_per_type: 5,
            correct_ratio: 0.5,
            split_by: SplitBy::Unit,
            seed: 42,
        }
    }

    fn of_type<'a>(pool: &'a BTreeSet<UnitId>, task_type: &'a str) -> impl Iterator<Item = &'a UnitId> {
        pool.iter().filter(move |id| id.as_str().starts_with(task_type))
    }

    #[test]
    fn pools_are_disjoint_and_stratified() {
        let units = units(&[("A", 100), ("B", 50), ("C", 15)]);
        let pools = cut_pools(&units, &baseline(&units, 3), &settings()).unwrap();
        assert_eq!((pools.test.len(), pools.validation.len(), pools.diagnosis.len()), (33, 66, 66));
        assert_eq!(of_type(&pools.test, "A").count(), 20);
        assert_eq!(of_type(&pools.test, "B").count(), 10);
        assert!(of_type(&pools.validation, "C").count() >= 5);
        let all: BTreeSet<_> = pools.test.iter().chain(&pools.validation).chain(&pools.diagnosis).collect();
        assert_eq!(all.len(), 165);
    }

    #[test]
    fn validation_aims_at_the_correct_ratio_and_test_does_not() {
        let units = units(&[("A", 400)]);
        let known = baseline(&units, 4);
        let pools = cut_pools(&units, &known, &settings()).unwrap();
        let right = |pool: &BTreeSet<UnitId>| {
            units.iter().filter(|unit| pool.contains(&unit.unit_id) && known[&unit.question_ids[0]]).count()
        };
        assert!(right(&pools.test).abs_diff(20) < 12, "natural share is a quarter");
        assert_eq!(right(&pools.validation), 80, "half of 160, all of them still there");
    }

    #[test]
    fn splitting_by_video_never_divides_one() {
        let units = units(&[("A", 70), ("B", 70)]);
        let video_split = PoolSettings { split_by: SplitBy::Video, ..settings() };
        let pools = cut_pools(&units, &baseline(&units, 2), &video_split).unwrap();
        let videos = |pool: &BTreeSet<UnitId>| -> BTreeSet<&VideoId> {
            units.iter().filter(|unit| pool.contains(&unit.unit_id)).map(|unit| &unit.video_id).collect()
        };
        assert!(videos(&pools.test).is_disjoint(&videos(&pools.validation)));
        assert!(videos(&pools.validation).is_disjoint(&videos(&pools.diagnosis)));
        assert!(!pools.diagnosis.is_empty());
    }

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let units = units(&[("A", 20)]);
        let known = Correctness::new();
        let too_large = PoolSettings { test: PoolSize::Count(15), ..settings() };
        assert!(matches!(cut_pools(&units, &known, &too_large), Err(PoolError::TooLarge { .. })));
        let none = PoolSettings { test: PoolSize::Count(0), ..settings() };
        assert!(matches!(cut_pools(&units, &known, &none), Err(PoolError::Empty { pool: "test" })));
        let small = PoolSettings { validation: PoolSize::Count(4), ..settings() };
        assert!(matches!(cut_pools(&units, &known, &small), Err(PoolError::ValidationTooSmall { .. })));
    }

    proptest! {
        #[test]
        fn equal_inputs_give_equal_pools_whatever_the_sizes(
            a in 12_usize..120, b in 12_usize..60, seed in any::<u64>(), ratio in 0.0_f64..=1.0
        ) {
            let units = units(&[("A", a), ("B", b)]);
            let known = baseline(&units, 3);
            let settings = PoolSettings { seed, correct_ratio: ratio, min_per_type: 2, ..settings() };
            let pools = cut_pools(&units, &known, &settings).unwrap();
            prop_assert_eq!(&pools, &cut_pools(&units, &known, &settings).unwrap());
            prop_assert!(pools.test.is_disjoint(&pools.validation));
            prop_assert!(pools.test.is_disjoint(&pools.diagnosis));
            prop_assert!(pools.validation.is_disjoint(&pools.diagnosis));
        }
    }
}
