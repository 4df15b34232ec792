//! The ladder: in which pre-declared order the units of a task type are tested (design 04, 12).

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};

use super::correctness::{Correctness, unit_correct};
use crate::domain::{ContentHash, ExitClass, Fault, Hasher, TaskType, Unit, UnitId, seeded_rng};

/// What is known about one unit: how likely the current skill answers it right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LadderEntry {
    /// The unit.
    pub unit_id: UnitId,
    /// Probability in (0, 1) that the current skill answers it right.
    pub p_hat: f64,
    /// How many answers that estimate has seen; INFRA is none.
    pub observations: u32,
}

/// The ladder state of all task types, in storage order; ordering happens on reading.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct GatePools {
    /// Entries per task type.
    pub entries: BTreeMap<TaskType, Vec<LadderEntry>>,
}

/// In which way the main order of a ladder arises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LadderOrder {
    /// By what is known about the units: cold before the first refresh, warm after it.
    Information {
        /// Whether an epoch has been observed (persisted as `gate_epoch_observed`).
        warm: bool,
    },
    /// By a hash of seed, type and unit: blind to outcomes (design 11, trap 2).
    Hashed,
}

/// The settings of a ladder (design 02, group `gate`).
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LadderSettings {
    /// Main order.
    pub order: LadderOrder,
    /// Units below this estimate carry no information when warm.
    pub p_low: f64,
    /// Units above this estimate carry no information when warm.
    pub p_high: f64,
    /// Every so-manieth place is a probe; 0 for none.
    pub probe_every: usize,
    /// The ladder is cut to this length.
    pub n_max: usize,
    /// The run's seed.
    pub seed: u64,
}

/// A ladder was asked about a unit or type that it does not hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LadderError {
    /// The type has no entries at all.
    #[error("order the ladder of {0}: the gate pools hold no such task type")]
    UnknownType(TaskType),
    /// An observation names a unit that is in no ladder.
    #[error("refresh the ladder: unit {0} is in no gate pool")]
    UnknownUnit(UnitId),
    /// The ladder names a unit that the questions do not make.
    #[error("order the ladder: there is no question of its unit {0}")]
    LostUnit(UnitId),
}

impl Fault for LadderError {
    fn class(&self) -> ExitClass {
        ExitClass::Data
    }

    fn code(&self) -> &'static str {
        match self {
            Self::UnknownType(_) => "ladder.unknown_type",
            Self::UnknownUnit(_) => "ladder.unknown_unit",
            Self::LostUnit(_) => "ladder.lost_unit",
        }
    }

    fn hint(&self) -> Option<String> {
        Some("the questions changed since the pools were cut: start a new run with --fresh".to_owned())
    }
}

impl GatePools {
    /// One Beta(1,1)-smoothed seed observation per unit: wrong → 1/3, right → 2/3, unseen → 1/2.
    ///
    /// `units` are those of the validation and diagnosis pools, never of the test pool.
    #[must_use]
    pub fn from_baseline<'a>(units: impl IntoIterator<Item = &'a Unit>, baseline: &Correctness) -> Self {
        let mut pools = Self::default();
        for unit in units {
            let (p_hat, observations) = match unit_correct(unit, baseline) {
                Some(true) => (2.0 / 3.0, 1),
                Some(false) => (1.0 / 3.0, 1),
                None => (0.5, 0),
            };
            let entry = LadderEntry { unit_id: unit.unit_id.clone(), p_hat, observations };
            pools.entries.entry(unit.task_type.clone()).or_default().push(entry);
        }
        pools
    }

    /// The ladder of one task type, best unit first, without the excluded units, cut to `n_max`.
    ///
    /// # Errors
    /// The pools hold no such task type.
    pub fn ladder_for(
        &self,
        task_type: &TaskType,
        excluded: &BTreeSet<UnitId>,
        settings: &LadderSettings,
    ) -> Result<Vec<UnitId>, LadderError> {
        let entries = self.entries.get(task_type).ok_or_else(|| LadderError::UnknownType(task_type.clone()))?;
        let entries: Vec<&LadderEntry> = entries.iter().filter(|entry| !excluded.contains(&entry.unit_id)).collect();
        let mut ladder = match settings.order {
            LadderOrder::Information { warm: false } => cold(&entries, task_type, settings),
            LadderOrder::Information { warm: true } => warm(&entries, task_type, settings),
            LadderOrder::Hashed => hashed(&entries, task_type, settings.seed),
        };
        ladder.truncate(settings.n_max);
        Ok(ladder)
    }

    /// p̂ ← γ·p̂ + (1 − γ)·observed, where `observed` is the mean of the unit's answers in this epoch.
    ///
    /// The caller passes answers of phases that [`crate::domain::Phase::feeds_ladder`] admits and of units in these
    /// pools; INFRA answers are no observation and are not passed.
    ///
    /// # Errors
    /// An observation of a unit that no ladder holds; nothing is changed then.
    pub fn refresh(&mut self, observed: &BTreeMap<UnitId, Vec<bool>>, gamma: f64) -> Result<(), LadderError> {
        let known: BTreeSet<&UnitId> = self.entries.values().flatten().map(|entry| &entry.unit_id).collect();
        if let Some(unknown) = observed.keys().find(|unit| !known.contains(unit)) {
            return Err(LadderError::UnknownUnit(unknown.clone()));
        }
        for entry in self.entries.values_mut().flatten() {
            let Some(answers) = observed.get(&entry.unit_id).filter(|answers| !answers.is_empty()) else { continue };
            let count = u32::try_from(answers.len()).unwrap_or(u32::MAX);
            let right = u32::try_from(answers.iter().filter(|right| **right).count()).unwrap_or(u32::MAX);
            entry.p_hat = gamma * entry.p_hat + (1.0 - gamma) * (f64::from(right) / f64::from(count));
            entry.observations = entry.observations.saturating_add(count);
        }
        Ok(())
    }
}

/// Wrong, wrong, right, wrong, wrong, right, … from two shuffled queues; never-observed units as probes, the
/// rest of them at the end.
fn cold(entries: &[&LadderEntry], task_type: &TaskType, settings: &LadderSettings) -> Vec<UnitId> {
    let queue = |name: &str, belongs: &dyn Fn(&LadderEntry) -> bool| {
        let chosen = entries.iter().copied().filter(|entry| belongs(entry));
        shuffled(chosen, task_type, name, settings.seed)
    };
    let mut wrong = queue("wrong", &|entry| entry.observations > 0 && entry.p_hat < 0.5);
    let mut right = queue("right", &|entry| entry.observations > 0 && entry.p_hat >= 0.5);
    let mut unseen = queue("unseen", &|entry| entry.observations == 0);
    let mut main = VecDeque::with_capacity(entries.len());
    while !wrong.is_empty() && !right.is_empty() {
        main.extend(wrong.drain(..wrong.len().min(2)));
        main.extend(right.pop_front());
    }
    main.extend(wrong);
    main.extend(right);
    let mut ladder = with_probes(main, &mut unseen, settings.probe_every);
    ladder.extend(unseen);
    ladder
}

/// Observed units inside [p_low, p_high] by p̂(1 − p̂) descending, ties by unit id; the never observed, then the
/// dropped as probes, so that a unit can come back.
fn warm(entries: &[&LadderEntry], task_type: &TaskType, settings: &LadderSettings) -> Vec<UnitId> {
    let informative =
        |entry: &LadderEntry| entry.observations > 0 && (settings.p_low..=settings.p_high).contains(&entry.p_hat);
    let mut main: Vec<&LadderEntry> = entries.iter().copied().filter(|entry| informative(entry)).collect();
    let information = |entry: &LadderEntry| entry.p_hat * (1.0 - entry.p_hat);
    main.sort_by(|a, b| information(b).total_cmp(&information(a)).then_with(|| a.unit_id.cmp(&b.unit_id)));
    let main = main.into_iter().map(|entry| entry.unit_id.clone()).collect();
    let unseen = entries.iter().copied().filter(|entry| entry.observations == 0);
    let dropped = entries.iter().copied().filter(|entry| entry.observations > 0 && !informative(entry));
    let mut probes = shuffled(unseen, task_type, "unseen", settings.seed);
    probes.extend(shuffled(dropped, task_type, "dropped", settings.seed));
    with_probes(main, &mut probes, settings.probe_every)
}

fn hashed(entries: &[&LadderEntry], task_type: &TaskType, seed: u64) -> Vec<UnitId> {
    let key = |entry: &LadderEntry| -> ContentHash {
        Hasher::new("trm.ladder")
            .part(seed.to_le_bytes())
            .part(task_type.as_str())
            .part(entry.unit_id.as_str())
            .finish()
    };
    let mut order: Vec<&LadderEntry> = entries.to_vec();
    order.sort_by_key(|entry| key(entry));
    order.into_iter().map(|entry| entry.unit_id.clone()).collect()
}

/// Every `every`-th place (counting from 1) is a probe while there are any.
fn with_probes(mut main: VecDeque<UnitId>, probes: &mut VecDeque<UnitId>, every: usize) -> Vec<UnitId> {
    let mut ladder = Vec::with_capacity(main.len() + probes.len());
    while !main.is_empty() {
        let is_probe = every > 0 && (ladder.len() + 1) % every == 0;
        let next = if is_probe { probes.pop_front().or_else(|| main.pop_front()) } else { main.pop_front() };
        ladder.extend(next);
    }
    ladder
}

fn shuffled<'a>(
    entries: impl Iterator<Item = &'a LadderEntry>,
    task_type: &TaskType,
    queue: &str,
    seed: u64,
) -> VecDeque<UnitId> {
    let mut units: Vec<UnitId> = entries.map(|entry| entry.unit_id.clone()).collect();
    units.shuffle(&mut seeded_rng(seed, &["ladder", task_type.as_str(), queue]));
    units.into()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings(warm: bool) -> LadderSettings {
        LadderSettings {
            order: LadderOrder::Information { warm },
            p_low: 0.1,
            p_high: 0.9,
            probe_every: 8,
            n_max: 40,
            seed: 42,
        }
    }

    fn pools(entries: &[(&str, f64, u32)]) -> GatePools {
        let entry = |(id, p_hat, observations): &(&str, f64, u32)| LadderEntry {
            unit_id: id.parse().unwrap(),
            p_hat: *p_hat,
            observations: *observations,
        };
        GatePools { entries: [("T".parse().unwrap(), entries.iter().map(entry).collect())].into() }
    }

    fn ladder(pools: &GatePools, settings: &LadderSettings) -> Vec<String> {
        let ladder = pools.ladder_for(&"T".parse().unwrap(), &BTreeSet::new(), settings).unwrap();
        ladder.into_iter().map(String::from).collect()
    }

    fn many(wrong: usize, right: usize, unseen: usize) -> GatePools {
        let names: Vec<(String, f64, u32)> = (0..wrong)
            .map(|index| (format!("w{index}"), 1.0 / 3.0, 1))
            .chain((0..right).map(|index| (format!("r{index}"), 2.0 / 3.0, 1)))
            .chain((0..unseen).map(|index| (format!("u{index}"), 0.5, 0)))
            .collect();
        pools(&names.iter().map(|(id, p, n)| (id.as_str(), *p, *n)).collect::<Vec<_>>())
    }

    fn kinds(ladder: &[String]) -> String {
        ladder.iter().map(|id| id.chars().next().unwrap()).collect()
    }

    #[test]
    fn cold_order_is_two_wrong_one_right_with_probes() {
        assert_eq!(kinds(&ladder(&many(8, 3, 2), &settings(false))), "wwrwwrwuwrwwu");
        assert_eq!(kinds(&ladder(&many(1, 4, 0), &settings(false))), "wrrrr");
        assert_eq!(kinds(&ladder(&many(0, 0, 3), &settings(false))), "uuu");
    }

    #[test]
    fn warm_order_is_by_information_and_brings_dropped_units_back_as_probes() {
        let mut entries = vec![("low", 0.05, 3), ("new", 0.5, 0), ("half", 0.5, 2), ("also-half", 0.5, 2)];
        let names: Vec<String> = (0..6).map(|index| format!("m{index}")).collect();
        entries.extend(names.iter().map(|name| (name.as_str(), 0.7, 2)));
        let ladder = ladder(&pools(&entries), &settings(true));
        assert_eq!(ladder[..2], ["also-half", "half"], "ties by unit id");
        assert_eq!(ladder[7], "new", "the eighth place probes, the never observed first");
        assert!(!ladder.contains(&"low".to_owned()), "nine places hold one probe");
    }

    #[test]
    fn hashed_order_ignores_outcomes() {
        let hashed = LadderSettings { order: LadderOrder::Hashed, ..settings(true) };
        let one = ladder(&pools(&[("a", 0.1, 1), ("b", 0.9, 5), ("c", 0.5, 0)]), &hashed);
        let other = ladder(&pools(&[("a", 0.8, 2), ("b", 0.2, 1), ("c", 0.3, 9)]), &hashed);
        assert_eq!(one, other);
    }

    #[test]
    fn refresh_is_a_moving_average_of_epoch_means() {
        let mut pools = pools(&[("a", 0.5, 1), ("b", 0.5, 1)]);
        let observed = [("a".parse().unwrap(), vec![true, true, false])].into();
        pools.refresh(&observed, 0.7).unwrap();
        let entries = &pools.entries[&"T".parse().unwrap()];
        assert!((entries[0].p_hat - (0.35 + 0.3 * 2.0 / 3.0)).abs() < 1e-12);
        assert_eq!(entries[0].observations, 4);
        assert_eq!((entries[1].p_hat, entries[1].observations), (0.5, 1));
        let unknown = [("zz".parse().unwrap(), vec![true])].into();
        assert_eq!(pools.refresh(&unknown, 0.7), Err(LadderError::UnknownUnit("zz".parse().unwrap())));
    }

    #[test]
    fn excluded_units_leave_before_the_cut() {
        let pools = many(50, 0, 0);
        let all = ladder(&pools, &settings(false));
        assert_eq!(all.len(), 40);
        let excluded: BTreeSet<UnitId> = [all[0].parse().unwrap()].into();
        let rest = pools.ladder_for(&"T".parse().unwrap(), &excluded, &settings(false)).unwrap();
        assert_eq!(rest.len(), 40);
        assert!(!rest.contains(&all[0].parse().unwrap()));
    }

    proptest! {
        #[test]
        fn a_cold_ladder_holds_every_unit_once(wrong in 0_usize..30, right in 0_usize..30, unseen in 0_usize..30) {
            let settings = LadderSettings { n_max: 1000, ..settings(false) };
            let ladder = ladder(&many(wrong, right, unseen), &settings);
            prop_assert_eq!(ladder.len(), wrong + right + unseen);
            prop_assert_eq!(ladder.iter().collect::<BTreeSet<_>>().len(), ladder.len());
        }
    }
}
