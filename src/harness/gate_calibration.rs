//! The noise of answering twice, from what a workspace has stored, and what it means for the gate (design 04, 11).
//!
//! Two answers to a unit by one skill text and one set of prompts, asked in different phases, differ by noise alone: every
//! training has such pairs (baseline and rollout, base arms and re-runs). Answers of one phase path in two runs are asked
//! with the same seed and are no two measurements, hence not paired.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::gate_simulation::{EffectRow, SimulationSettings, effect_chances, simulate};
use super::intervals::{Interval, share};
use super::versions::{DEFAULT_SKILL, skill_fields};
use crate::config::RunConfig;
use crate::domain::{ContentHash, ExitClass, Fault, Hasher, Phase, QuestionId, RunId, TaskType, UnitId, VersionName};
use crate::evolution::gate::{GateError, GateTree};
use crate::store::rows::{Prediction, Run, RunMode, VersionKind};
use crate::store::{Snapshot, StoreError};

/// Ladder lengths that are tried for the units needed.
const LENGTHS: [u32; 10] = [10, 20, 30, 40, 60, 80, 120, 160, 240, 320];
/// The power that counts as enough.
const ENOUGH: f64 = 0.8;

/// The result.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Calibration {
    /// Runs whose answers were used.
    pub runs: Vec<String>,
    /// All task types together.
    pub total: Noise,
    /// By task type.
    pub by_type: BTreeMap<TaskType, TypeCalibration>,
}

/// What two answers of the same skill differ by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Noise {
    /// Pairs of answers to a unit.
    pub pairs: u64,
    /// Wrong, then right.
    pub gained: u64,
    /// Right, then wrong.
    pub lost: u64,
    /// Share of pairs that agree.
    pub ties: Option<f64>,
    /// Share of units that flip each way: half the share that differs; with its 95 % interval.
    pub noise: Option<Interval>,
}

/// One task type.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TypeCalibration {
    /// Its noise.
    #[serde(flatten)]
    pub noise: Noise,
    /// Units of its gates: of the newest training's ladder, else as configured.
    pub n_max: u32,
    /// A gate without an effect at this noise: each accept is false.
    pub no_effect: Option<EffectRow>,
    /// A true gain of 10 and of 20 points.
    pub gains: Vec<EffectRow>,
    /// The least ladder with which such a gain is confirmed in 80 % of gates; null: none up to 320 units.
    pub units_needed: Vec<Option<u32>>,
}

/// Why there is no calibration.
#[derive(Debug, thiserror::Error)]
pub enum CalibrationError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The thresholds.
    #[error(transparent)]
    Gate(#[from] GateError),
    /// No unit was answered twice by the same skill.
    #[error("calibrate the gate: no unit was answered twice by the same skill and prompts in different phases")]
    NoPairs,
}

impl Fault for CalibrationError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Gate(error) => error.class(),
            Self::NoPairs => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Gate(error) => error.code(),
            Self::NoPairs => "gate.no_pairs",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Gate(error) => error.hint(),
            Self::NoPairs => {
                Some("'trm eval' and 'trm infer' on the same versions give two answers to each question; a training gives them by itself".into())
            }
        }
    }
}

/// Which answers may be compared: task type, skill text, prompts, unit.
type Same = (TaskType, ContentHash, ContentHash, UnitId);
/// Phase path and answers per question, in order of asking.
type Answers = Vec<(String, BTreeMap<QuestionId, bool>)>;

/// Measures the noise and tells what it means for this configuration.
///
/// # Errors
/// [`CalibrationError`].
pub fn calibrate(snapshot: &Snapshot<'_>, config: &RunConfig) -> Result<Calibration, CalibrationError> {
    let runs = comparable_runs(snapshot)?;
    let mut texts = Texts { snapshot, skills: BTreeMap::new(), prompts: BTreeMap::new() };
    let mut answers: BTreeMap<Same, Answers> = BTreeMap::new();
    for (run, _) in &runs {
        add_answers(snapshot, run, &mut texts, &mut answers)?;
    }
    let mut counts: BTreeMap<TaskType, (u64, u64, u64)> = BTreeMap::new();
    for ((task_type, ..), asked) in &answers {
        let whole = asked.iter().map(|(_, questions)| questions.len()).max().unwrap_or(0);
        let complete: Vec<_> = asked.iter().filter(|(_, questions)| questions.len() == whole).collect();
        for (first, second) in complete.iter().zip(complete.iter().skip(1)).filter(|(a, b)| a.0 != b.0) {
            let right = |one: &BTreeMap<QuestionId, bool>| one.values().all(|right| *right);
            let (pairs, gained, lost) = counts.entry(task_type.clone()).or_default();
            *pairs += 1;
            *gained += u64::from(!right(&first.1) && right(&second.1));
            *lost += u64::from(right(&first.1) && !right(&second.1));
        }
    }
    if counts.is_empty() {
        return Err(CalibrationError::NoPairs);
    }
    let sum = counts.values().fold((0, 0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1, sum.2 + one.2));
    let lengths = ladder_lengths(snapshot, &runs, config)?;
    let params = config.gate.params();
    params.check()?;
    let trees = LENGTHS.iter().map(|length| Ok((*length, GateTree::new(*length, &params)?)));
    let trees = trees.collect::<Result<Vec<_>, GateError>>()?;
    let configured = u32::try_from(config.gate.n_max).unwrap_or(u32::MAX).min(5_000);
    let mut by_type = BTreeMap::new();
    for (task_type, counted) in counts {
        let n_max = lengths.get(&task_type).copied().unwrap_or(configured);
        let calibrated = of_type(noise(counted), n_max, config, &trees)?;
        by_type.insert(task_type, calibrated);
    }
    Ok(Calibration { runs: runs.iter().map(|(run, _)| run.to_string()).collect(), total: noise(sum), by_type })
}

/// The newest training or run, and every other that was asked in the same environment.
fn comparable_runs(snapshot: &Snapshot<'_>) -> Result<Vec<(RunId, Run)>, StoreError> {
    let mut runs = snapshot.runs()?;
    let newest = runs.iter().rev().find(|(_, row)| row.mode == RunMode::Train).or_else(|| runs.last());
    let Some(environment) = newest.map(|(_, row)| row.environment_fingerprint) else { return Ok(Vec::new()) };
    runs.retain(|(_, row)| row.environment_fingerprint == environment);
    Ok(runs)
}

/// Hashes of what an agent could read, by version.
struct Texts<'a> {
    snapshot: &'a Snapshot<'a>,
    skills: BTreeMap<(VersionName, TaskType), Option<ContentHash>>,
    prompts: BTreeMap<VersionName, Option<ContentHash>>,
}

impl Texts<'_> {
    /// The type's own skill, or the default strategy, and what every type reads; none for a version that is gone.
    fn skill(&mut self, version: VersionName, task_type: &TaskType) -> Result<Option<ContentHash>, StoreError> {
        let key = (version, task_type.clone());
        if let Some(known) = self.skills.get(&key) {
            return Ok(*known);
        }
        let hash = match self.snapshot.version(VersionKind::Skills, version)? {
            None => None,
            Some(row) => {
                let own = task_type.skill_file();
                let target = if row.files.contains_key(&own) { own.as_str() } else { DEFAULT_SKILL };
                let mut hasher = Hasher::new("trm.calibration.skill");
                for (file, hash) in &row.files {
                    let always = || -> Result<bool, StoreError> {
                        let text = self.snapshot.content(hash)?.unwrap_or_default();
                        Ok(skill_fields(&text).and_then(|mut fields| fields.remove("always")).as_deref()
                            == Some("true"))
                    };
                    if file.as_str() == target || always()? {
                        hasher.part(file.as_str()).part(hash.as_bytes());
                    }
                }
                Some(hasher.finish())
            }
        };
        self.skills.insert(key, hash);
        Ok(hash)
    }

    fn prompts(&mut self, version: VersionName) -> Result<Option<ContentHash>, StoreError> {
        if let Some(known) = self.prompts.get(&version) {
            return Ok(*known);
        }
        let hash = self.snapshot.version(VersionKind::Prompts, version)?.map(|row| {
            let mut hasher = Hasher::new("trm.calibration.prompts");
            for (file, hash) in &row.files {
                hasher.part(file.as_str()).part(hash.as_bytes());
            }
            hasher.finish()
        });
        self.prompts.insert(version, hash);
        Ok(hash)
    }
}

fn add_answers(
    snapshot: &Snapshot<'_>,
    run: &RunId,
    texts: &mut Texts<'_>,
    answers: &mut BTreeMap<Same, Answers>,
) -> Result<(), StoreError> {
    for scope in snapshot.scopes(run)? {
        for (key, row) in snapshot.rows::<Prediction>(run, scope)? {
            // A candidate's text is no version's.
            let Some(right) = row.outcome.correctness().filter(|_| key.phase.phase() != Phase::GateCand) else {
                continue;
            };
            let skill = texts.skill(row.skills_version, &row.task_type)?;
            let (Some(skill), Some(prompts)) = (skill, texts.prompts(row.prompts_version)?) else { continue };
            let path = key.phase.path(scope);
            let asked = answers.entry((row.task_type, skill, prompts, row.unit_id)).or_default();
            match asked.iter_mut().find(|(known, _)| *known == path) {
                // The second question of a pair; a repeated path of another run changes nothing.
                Some((_, questions)) => drop(questions.entry(key.question).or_insert(right)),
                None => asked.push((path, BTreeMap::from([(key.question, right)]))),
            }
        }
    }
    Ok(())
}

fn noise((pairs, gained, lost): (u64, u64, u64)) -> Noise {
    let differs = share(gained + lost, pairs);
    Noise {
        pairs,
        gained,
        lost,
        ties: differs.map(|differs| 1.0 - differs.estimate),
        noise: differs.map(|one| Interval { estimate: one.estimate / 2.0, low: one.low / 2.0, high: one.high / 2.0 }),
    }
}

/// Units per gate of each type: what its ladder has, at most `gate.n_max`.
fn ladder_lengths(
    snapshot: &Snapshot<'_>,
    runs: &[(RunId, Run)],
    config: &RunConfig,
) -> Result<BTreeMap<TaskType, u32>, StoreError> {
    let Some((run, _)) = runs.iter().rev().find(|(_, row)| row.mode == RunMode::Train) else {
        return Ok(BTreeMap::new());
    };
    let units = |count: usize| u32::try_from(count.min(config.gate.n_max)).unwrap_or(u32::MAX).clamp(1, 5_000);
    Ok(snapshot.ladders(run)?.into_iter().map(|(name, ladder)| (name, units(ladder.entries.len()))).collect())
}

fn of_type(
    noise: Noise,
    n_max: u32,
    config: &RunConfig,
    trees: &[(u32, GateTree)],
) -> Result<TypeCalibration, GateError> {
    let flips = noise.noise.map_or(0.1, |noise| noise.estimate).clamp(0.0, 0.5);
    let settings = SimulationSettings { params: config.gate.params(), n_max, noise: flips, questions_per_unit: 1.0 };
    let simulated = simulate(&settings)?;
    let wanted = [0.10, 0.20];
    let power = |tree: &GateTree, gain: f64| {
        let (p_win, p_loss) = effect_chances(flips, gain);
        tree.characteristics(p_win, p_loss).accept_confirmed
    };
    let gains: BTreeSet<usize> = wanted
        .iter()
        .filter_map(|gain| simulated.effects.iter().position(|row| (row.gain - gain).abs() < 1e-9))
        .collect();
    Ok(TypeCalibration {
        noise,
        n_max,
        no_effect: simulated.no_effect.iter().find(|row| (row.p_win - flips).abs() < 1e-9).copied(),
        gains: gains.into_iter().filter_map(|place| simulated.effects.get(place).copied()).collect(),
        units_needed: wanted
            .iter()
            .map(|gain| trees.iter().find(|(_, tree)| power(tree, *gain) >= ENOUGH).map(|(length, _)| *length))
            .collect(),
    })
}
