//! Operating characteristics of a configured gate, before a cent is spent: exact, and by
//! playing the real scheduler on drawn answers.

use rand::RngExt;
use rand_distr::{Distribution, LogNormal};
use serde::Serialize;

use crate::domain::{self, Arm, FileName, SeedRng, StopReason, TaskType, Unit, seeded_rng};
use crate::evolution::gate::{
    Boundaries, Characteristics, Flips, GateAction, GateError, GateParams, GateTree, units_to_reach, wins_to_reach,
};
use crate::evolution::scheduler::{
    Answer, ArmRef, GateFailure, GateSettings, GateSpec, LaunchPolicy, Scheduler, ScriptedArm, play,
};

/// True gains for which the power is told.
pub const GAINS: [f64; 6] = [0.05, 0.10, 0.15, 0.20, 0.25, 0.30];

/// What to simulate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SimulationSettings {
    /// The thresholds.
    pub params: GateParams,
    /// Units per ladder.
    pub n_max: u32,
    /// Share of units that flip each way although nothing improved, 0 to 0.5: the noise of
    /// answering twice. `trm gate calibrate` measures it.
    pub noise: f64,
    /// Questions per unit: 1, or up to 2 with pairs.
    pub questions_per_unit: f64,
}

/// How a gate with one true effect ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EffectRow {
    /// The true gain in accuracy: P(win) − P(loss).
    pub gain: f64,
    /// Probability of a win per unit.
    pub p_win: f64,
    /// Probability of a loss per unit.
    pub p_loss: f64,
    /// Probability of `accept_confirmed`.
    pub accept_confirmed: f64,
    /// Probability of `accept_provisional`.
    pub accept_provisional: f64,
    /// Probability of `reject_directional`.
    pub reject_directional: f64,
    /// Probability of `reject_futility`.
    pub reject_futility: f64,
    /// Probability of `reject_inertia`.
    pub reject_inertia: f64,
    /// Mean number of consumed units.
    pub expected_units: f64,
    /// Mean number of questions for them, both arms, nothing cached.
    pub expected_questions: f64,
}

/// The exact operating characteristics of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Simulation {
    /// Thresholds.
    pub params: GateParams,
    /// Units per ladder.
    pub n_max: u32,
    /// The noise that was assumed.
    pub noise: f64,
    /// The least number of units with which a candidate can be confirmed at all.
    pub units_to_confirm: Option<u32>,
    /// The least number of units with which it can be accepted on probation.
    pub units_to_provisional: Option<u32>,
    /// Wins needed to be confirmed against 0, 1, 2, 3 and 4 losses.
    pub wins_to_confirm: Vec<Option<u32>>,
    /// No effect at several noise levels: what accepts here is false.
    pub no_effect: Vec<EffectRow>,
    /// True gains of −0.10 and −0.05, then +0.05 to +0.30, at the configured noise.
    pub effects: Vec<EffectRow>,
    /// What a person should know before spending money.
    pub warnings: Vec<String>,
}

/// Computes the exact operating characteristics.
///
/// # Errors
/// Those of the thresholds ([`GateParams::check`]).
pub fn simulate(settings: &SimulationSettings) -> Result<Simulation, GateError> {
    settings.params.check()?;
    let tree = GateTree::new(settings.n_max, &settings.params)?;
    let row = |p_win: f64, p_loss: f64| EffectRow::new(settings, &tree.characteristics(p_win, p_loss), p_win, p_loss);
    let mut noises = vec![0.05, 0.10, 0.20];
    if !noises.iter().any(|noise| (noise - settings.noise).abs() < 1e-9) {
        noises.push(settings.noise);
        noises.sort_by(f64::total_cmp);
    }
    let effect = |gain: &f64| {
        let (p_win, p_loss) = effect_chances(settings.noise, *gain);
        row(p_win, p_loss)
    };
    let mut simulation = Simulation {
        params: settings.params,
        n_max: settings.n_max,
        noise: settings.noise,
        units_to_confirm: units_to_confirm(&settings.params),
        units_to_provisional: units_to_provisional(&settings.params),
        wins_to_confirm: (0..=4).map(|losses| wins_to_reach(settings.params.e_confirm, losses)).collect(),
        no_effect: noises.into_iter().map(|noise| row(noise, noise)).collect(),
        effects: [-0.10, -0.05].iter().chain(&GAINS).map(effect).collect(),
        warnings: Vec::new(),
    };
    simulation.warnings = warnings(&simulation);
    Ok(simulation)
}

/// Win and loss chances of a true gain on top of the noise; together at most 1.
///
/// A gain adds wins and leaves the losses that noise causes; a harm adds losses.
#[must_use]
pub fn effect_chances(noise: f64, gain: f64) -> (f64, f64) {
    let (p_win, p_loss) = if gain >= 0.0 { (noise + gain, noise) } else { (noise, noise - gain) };
    let excess = (p_win + p_loss - 1.0).max(0.0) / 2.0;
    (p_win - excess, p_loss - excess)
}

/// With wins only the observed gain is 1, so that `delta_min` matters only above 1.
fn units_to_confirm(params: &GateParams) -> Option<u32> {
    units_to_reach(params.e_confirm).map(|units| units.max(1)).filter(|_| params.delta_min <= 1.0)
}

fn units_to_provisional(params: &GateParams) -> Option<u32> {
    let by_net = u32::try_from(params.w_net_min.max(1)).ok()?;
    units_to_reach(params.e_provisional).map(|units| units.max(by_net))
}

impl EffectRow {
    fn new(settings: &SimulationSettings, exact: &Characteristics, p_win: f64, p_loss: f64) -> Self {
        Self {
            gain: p_win - p_loss,
            p_win,
            p_loss,
            accept_confirmed: exact.accept_confirmed,
            accept_provisional: exact.accept_provisional,
            reject_directional: exact.reject_directional,
            reject_futility: exact.reject_futility,
            reject_inertia: exact.reject_inertia,
            expected_units: exact.expected_n_used,
            expected_questions: exact.expected_n_used * 2.0 * settings.questions_per_unit,
        }
    }
}

fn warnings(simulation: &Simulation) -> Vec<String> {
    let n_max = simulation.n_max;
    let mut warnings = Vec::new();
    match (simulation.units_to_confirm, simulation.units_to_provisional) {
        (_, Some(least)) if n_max < least => warnings.push(format!(
            "a ladder of {n_max} units can never end in an accept: on probation takes at least {least} units"
        )),
        (Some(least), _) if n_max < least => warnings.push(format!(
            "a ladder of {n_max} units can only be accepted on probation: confirming takes at least {least} units, \
             all of them won"
        )),
        (None, _) => warnings.push("with these thresholds nothing can ever be confirmed".into()),
        _ => {}
    }
    let power = |gain: f64| simulation.effects.iter().find(|row| (row.gain - gain).abs() < 1e-9);
    if let Some(row) = power(0.10).filter(|row| row.accept_confirmed < 0.5) {
        warnings.push(format!(
            "a true gain of 10 points is confirmed in {:.0} % of gates only; longer ladders find more",
            row.accept_confirmed * 100.0
        ));
    }
    let worst = simulation.no_effect.iter().map(|row| row.accept_provisional).fold(0.0, f64::max);
    if worst > 0.02 {
        warnings.push(format!(
            "up to {:.1} % of gates without any effect end in an accept on probation: that bar is no proof",
            worst * 100.0
        ));
    }
    warnings
}

/// How to play the real scheduler.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MonteCarloSettings {
    /// What to simulate.
    pub simulation: SimulationSettings,
    /// Steps to play.
    pub repetitions: u32,
    /// Task types gated in each step.
    pub types: u32,
    /// Question slots.
    pub concurrency: usize,
    /// Share of base answers that the baseline cache holds, 0 to 1.
    pub cached: f64,
    /// How many times longer a wrong answer takes.
    pub wrong_factor: f64,
    /// Draws answers and latencies.
    pub seed: u64,
}

/// What playing the scheduler gave for one effect.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct MonteCarloRow {
    /// The true gain.
    pub gain: f64,
    /// Gates played.
    pub gates: u32,
    /// Share of gates confirmed.
    pub accept_confirmed: f64,
    /// Its standard error.
    pub accept_confirmed_se: f64,
    /// Share of gates accepted on probation.
    pub accept_provisional: f64,
    /// Its standard error.
    pub accept_provisional_se: f64,
    /// Mean number of consumed units.
    pub mean_units: f64,
    /// Its standard error.
    pub mean_units_se: f64,
    /// Questions run beyond those that one unit at a time would have needed, relative to these;
    /// curtailment can bring it below 0.
    pub waste: f64,
    /// Mean virtual time to the last verdict of a step over the least that the needed questions take.
    pub decided_ratio: f64,
    /// Mean virtual time to the last return of a step over the least that those needed questions take on these slots.
    pub wall_ratio: f64,
}

/// Mean run time of a right answer in virtual milliseconds, and the standard deviation of its
/// logarithm (design 11: 60 s, 0.8).
const RUN_TIME_MEAN_MS: f64 = 60_000.0;
const RUN_TIME_SIGMA: f64 = 0.8;

/// Plays steps of gates that all have this effect through the real scheduler in virtual time.
///
/// # Errors
/// Those of the scheduler; with drawn answers that never fail technically, only settings that
/// cannot be run.
pub fn monte_carlo(
    settings: &MonteCarloSettings,
    gain: f64,
    mut policy: impl FnMut() -> Box<dyn LaunchPolicy>,
) -> Result<MonteCarloRow, GateFailure> {
    let world = World::new(settings, gain)?;
    let mut tally = Tally::default();
    for repetition in 0..settings.repetitions {
        let labels = [&format!("{gain:.4}"), &repetition.to_string()];
        let mut rng = seeded_rng(settings.seed, &["gate", "monte-carlo", labels[0], labels[1]]);
        world.play_step(&mut rng, policy(), &mut tally)?;
    }
    Ok(tally.row(gain))
}

struct World {
    specs: Vec<GateSpec>,
    gate: GateSettings,
    chances: (f64, f64),
    cached: f64,
    wrong_factor: f64,
    run_time: LogNormal<f64>,
    boundaries: Boundaries,
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    base: bool,
    cand: bool,
    cached: bool,
    /// Virtual milliseconds of both arms.
    durations: [u64; 2],
}

impl World {
    fn new(settings: &MonteCarloSettings, gain: f64) -> Result<Self, GateFailure> {
        let broken = |error: &dyn std::fmt::Display| GateFailure::Protocol(error.to_string());
        // The mean of a lognormal is exp(mu + sigma²/2).
        let mu = RUN_TIME_MEAN_MS.ln() - RUN_TIME_SIGMA * RUN_TIME_SIGMA / 2.0;
        let run_time = LogNormal::new(mu, RUN_TIME_SIGMA).map_err(|error| broken(&error))?;
        let specs = (0..settings.types).map(|index| spec(index, settings.simulation.n_max));
        Ok(Self {
            specs: specs.collect::<Result<_, domain::IdError>>().map_err(|error| broken(&error))?,
            gate: GateSettings {
                params: settings.simulation.params,
                guard_err: 1.0,
                concurrency: settings.concurrency,
            },
            chances: effect_chances(settings.simulation.noise, gain),
            cached: settings.cached,
            wrong_factor: settings.wrong_factor,
            run_time,
            boundaries: Boundaries::new(settings.simulation.n_max, &settings.simulation.params)?,
        })
    }

    fn play_step(
        &self,
        rng: &mut SeedRng,
        policy: Box<dyn LaunchPolicy>,
        tally: &mut Tally,
    ) -> Result<(), GateFailure> {
        let ladders: Vec<Vec<Pair>> =
            self.specs.iter().map(|spec| spec.units.iter().map(|_| self.draw_pair(rng)).collect()).collect();
        let pair = |type_index: usize, rank: usize| ladders.get(type_index).and_then(|ladder| ladder.get(rank));
        let cached = ladders.iter().enumerate().flat_map(|(type_index, ladder)| {
            let hits = ladder.iter().enumerate().filter(|(_, pair)| pair.cached);
            hits.map(move |(rank, pair)| (type_index, rank, pair.base))
        });
        let script = |arm: ArmRef| {
            let (correct, duration) = match (pair(arm.type_index, arm.rank), arm.arm) {
                (Some(Pair { base, durations: [duration, _], .. }), Arm::Base) => (*base, *duration),
                (Some(Pair { cand, durations: [_, duration], .. }), Arm::Cand) => (*cand, *duration),
                (None, _) => (false, 0),
            };
            ScriptedArm { answers: vec![Answer { correct, stop_reason: StopReason::Finished }], duration }
        };
        let scheduler = Scheduler::new(self.specs.clone(), self.gate, policy)?;
        let report = play(scheduler, cached, script);
        let (mut needed_time, mut needed, mut run) = (0, 0, 0);
        for (settled, ladder) in report.result?.iter().zip(&ladders) {
            tally.add(settled);
            run += u64::from(settled.effort.questions_launched);
            for pair in ladder.iter().take(self.needed_units(ladder)) {
                let base = if pair.cached { 0 } else { pair.durations[0] };
                needed_time += base + pair.durations[1];
                needed += if pair.cached { 1 } else { 2 };
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "milliseconds and slots are far below 2^53")]
        let ratio = |time: u64| time as f64 * self.gate.concurrency as f64 / needed_time as f64;
        tally.add_step([needed, run], [ratio(report.decided_at), ratio(report.makespan)]);
        Ok(())
    }

    /// How many units one at a time, in ladder order, would have decided: the same for every policy.
    fn needed_units(&self, ladder: &[Pair]) -> usize {
        let mut flips = Flips::NONE;
        let n_plan = u32::try_from(ladder.len()).unwrap_or(u32::MAX);
        for (used, pair) in (1..=n_plan).zip(ladder) {
            flips = flips.after(pair.base, pair.cand);
            if self.boundaries.decide(flips, used, n_plan.saturating_sub(used)).is_final() {
                return used as usize;
            }
        }
        ladder.len()
    }

    fn draw_pair(&self, rng: &mut SeedRng) -> Pair {
        let (p_win, p_loss) = self.chances;
        let draw: f64 = rng.random();
        // What does not flip is right twice as often as wrong, as in design 11.
        let (base, cand) = if draw < p_win {
            (false, true)
        } else if draw < p_win + p_loss {
            (true, false)
        } else {
            let right = rng.random::<f64>() < 2.0 / 3.0;
            (right, right)
        };
        let cached = rng.random::<f64>() < self.cached;
        Pair { base, cand, cached, durations: [self.draw_duration(rng, base), self.draw_duration(rng, cand)] }
    }

    fn draw_duration(&self, rng: &mut SeedRng, correct: bool) -> u64 {
        let factor = if correct { 1.0 } else { self.wrong_factor };
        let millis = (self.run_time.sample(rng) * factor).clamp(1.0, 1e12);
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 1 to 1e12")]
        let millis = millis as u64;
        millis
    }
}

/// The ladder of one drawn type.
fn spec(index: u32, units: u32) -> Result<GateSpec, domain::IdError> {
    let task_type = TaskType::new(format!("Type {index:02}"))?;
    let video_id = domain::VideoId::new("drawn")?;
    let unit = |rank: u32| -> Result<Unit, domain::IdError> {
        let question = domain::QuestionId::new(format!("{index}-{rank}"))?;
        Ok(Unit {
            unit_id: question.clone().into(),
            task_type: task_type.clone(),
            video_id: video_id.clone(),
            question_ids: vec![question],
        })
    };
    Ok(GateSpec {
        units: (0..units).map(unit).collect::<Result<_, _>>()?,
        target_file: FileName::new(format!("type-{index}.md"))?,
        base_content: "".into(),
        candidate_content: "".into(),
        run_prefix: format!("simulation_gate_{index}"),
        task_type,
    })
}

#[derive(Debug, Default)]
struct Tally {
    gates: u32,
    confirmed: u32,
    provisional: u32,
    units: f64,
    units_squared: f64,
    needed: u64,
    run: u64,
    steps: u32,
    decided_ratio: f64,
    wall_ratio: f64,
}

impl Tally {
    fn add(&mut self, settled: &crate::evolution::scheduler::SettledGate) {
        self.gates += 1;
        match settled.outcome.action {
            GateAction::AcceptConfirmed => self.confirmed += 1,
            GateAction::AcceptProvisional => self.provisional += 1,
            GateAction::Reject => {}
        }
        let units = f64::from(settled.outcome.n_used);
        self.units += units;
        self.units_squared += units * units;
    }

    fn add_step(&mut self, [needed, run]: [u64; 2], [decided_ratio, wall_ratio]: [f64; 2]) {
        self.steps += 1;
        self.needed += needed;
        self.run += run;
        self.decided_ratio += decided_ratio;
        self.wall_ratio += wall_ratio;
    }

    #[expect(clippy::cast_precision_loss, reason = "questions of a simulation are far below 2^53")]
    fn row(&self, gain: f64) -> MonteCarloRow {
        let gates = f64::from(self.gates.max(1));
        let share = |count: u32| f64::from(count) / gates;
        let share_se = |count: u32| (share(count) * (1.0 - share(count)) / gates).sqrt();
        let mean = self.units / gates;
        MonteCarloRow {
            gain,
            gates: self.gates,
            accept_confirmed: share(self.confirmed),
            accept_confirmed_se: share_se(self.confirmed),
            accept_provisional: share(self.provisional),
            accept_provisional_se: share_se(self.provisional),
            mean_units: mean,
            mean_units_se: ((self.units_squared / gates - mean * mean).max(0.0) / gates).sqrt(),
            waste: self.run as f64 / self.needed.max(1) as f64 - 1.0,
            decided_ratio: self.decided_ratio / f64::from(self.steps.max(1)),
            wall_ratio: self.wall_ratio / f64::from(self.steps.max(1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolution::scheduler::RoundRobin;

    fn settings(n_max: u32) -> SimulationSettings {
        SimulationSettings { params: GateParams::default(), n_max, noise: 0.1, questions_per_unit: 1.0 }
    }

    #[test]
    fn chances_stay_chances() {
        for gain in [-0.9, -0.1, 0.0, 0.3, 0.9] {
            let (p_win, p_loss) = effect_chances(0.3, gain);
            assert!(p_win + p_loss <= 1.0 + 1e-12 && p_win >= 0.0 && p_loss >= 0.0, "{gain}: {p_win} {p_loss}");
            assert!((p_win - p_loss - gain).abs() < 1e-12, "{gain}");
        }
    }

    #[test]
    fn short_ladders_are_warned_about() {
        let warned = |n_max: u32, words: &str| {
            simulate(&settings(n_max)).unwrap().warnings.iter().any(|warning| warning.contains(words))
        };
        assert!(warned(2, "never end in an accept"));
        assert!(warned(6, "only be accepted on probation"));
        assert!(!warned(7, "only be accepted on probation"));
    }

    #[test]
    fn playing_the_scheduler_agrees_with_the_exact_numbers() {
        let exact = simulate(&settings(20)).unwrap();
        let monte_carlo_settings = MonteCarloSettings {
            simulation: settings(20),
            repetitions: 400,
            types: 3,
            concurrency: 16,
            cached: 0.3,
            wrong_factor: 3.0,
            seed: 7,
        };
        for gain in [0.05, 0.2] {
            let row = exact.effects.iter().find(|row| (row.gain - gain).abs() < 1e-9).unwrap();
            let drawn = monte_carlo(&monte_carlo_settings, gain, || Box::new(RoundRobin::default())).unwrap();
            assert_eq!(drawn.gates, 1_200);
            let off = |drawn: f64, exact: f64, se: f64| (drawn - exact).abs() > 4.0 * se.max(1e-3);
            assert!(!off(drawn.accept_confirmed, row.accept_confirmed, drawn.accept_confirmed_se), "{drawn:?}");
            assert!(!off(drawn.accept_provisional, row.accept_provisional, drawn.accept_provisional_se), "{drawn:?}");
            assert!(!off(drawn.mean_units, row.expected_units, drawn.mean_units_se), "{drawn:?} {row:?}");
        }
    }
}
