//! Wall-clock of a step's gates: real against virtual time, the scheduler against gates in series, and what launching by
//! need saves.
//!
//! `cargo bench --bench gate_wall`. 6 types × 40 units × 2 arms, 32 slots, lognormal latencies (median 20 ms, sigma 0.8).
//! A type is null (half of them), helpful (+0.20, three in ten) or harmful (−0.15, two in ten); 15 % of the units flip each
//! way without any effect. `TRM_BENCH_WORKLOADS` (20) and `TRM_BENCH_RUNS` (2,400) may be set.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::indexing_slicing,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a benchmark prints, and fails loudly; its numbers are small"
)]

mod common;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rand::RngExt;
use rand_distr::{Distribution, LogNormal};
use trm::domain::{Arm, ExitClass, Fault, StopReason, seeded_rng};
use trm::evolution::gate::{GateAction, GateParams};
use trm::evolution::scheduler::{
    Answer, ArmRef, ExpectedNeed, GateSettings, LaunchPolicy, RoundRobin, Scheduler, ScriptedArm, SettledGate,
    VirtualReport, play,
};
use trm::harness::gate_executor::{ArmLaunch, ArmRecord, ArmReturn, ArmRunner, GateInput, GatePlan, run_gates};
use trm::harness::gate_simulation::effect_chances;

use common::specs;

const TYPES: usize = 6;
const UNITS: usize = 40;
const SLOTS: usize = 32;
const BLOCK: usize = 8;
const NOISE: f64 = 0.15;
/// How often both arms are right, where they agree.
const BOTH_RIGHT: f64 = 0.5;

fn setting(name: &str, default: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// One step: what each arm answers and how long it takes (microseconds), and which base answers are cached.
#[derive(Clone)]
struct Workload {
    answers: Vec<Vec<(bool, bool)>>,
    durations: Vec<Vec<(u64, u64)>>,
    cached: Vec<Vec<bool>>,
}

impl Workload {
    fn draw(number: usize, cached: f64) -> Self {
        let mut rng = seeded_rng(2_024, &["gate wall", &number.to_string()]);
        let latency = LogNormal::new(20_000.0_f64.ln(), 0.8).unwrap();
        let mut work = Self { answers: Vec::new(), durations: Vec::new(), cached: Vec::new() };
        for _ in 0..TYPES {
            let kind: f64 = rng.random();
            let gain = if kind < 0.5 {
                0.0
            } else if kind < 0.8 {
                0.2
            } else {
                -0.15
            };
            let (win, loss) = effect_chances(NOISE, gain);
            let pair = |drawn: f64, right: f64| {
                if drawn < win {
                    (false, true)
                } else if drawn < win + loss {
                    (true, false)
                } else {
                    (right < BOTH_RIGHT, right < BOTH_RIGHT)
                }
            };
            work.answers.push((0..UNITS).map(|_| pair(rng.random(), rng.random())).collect());
            let mut time = || latency.sample(&mut rng).round() as u64;
            work.durations.push((0..UNITS).map(|_| (time(), time())).collect());
            work.cached.push((0..UNITS).map(|_| rng.random::<f64>() < cached).collect());
        }
        work
    }

    fn correct(&self, arm: ArmRef) -> bool {
        let (base, cand) = self.answers[arm.type_index][arm.rank];
        if arm.arm == Arm::Base { base } else { cand }
    }

    fn micros(&self, arm: ArmRef) -> u64 {
        let (base, cand) = self.durations[arm.type_index][arm.rank];
        if arm.arm == Arm::Base { base } else { cand }
    }

    fn play(&self, policy: Box<dyn LaunchPolicy>) -> VirtualReport {
        let cached = self.cached.iter().enumerate().flat_map(|(type_index, row)| {
            let hits = row.iter().enumerate().filter(|(_, hit)| **hit);
            hits.map(move |(rank, _)| (type_index, rank, self.answers[type_index][rank].0))
        });
        let scheduler = Scheduler::new(specs(TYPES, UNITS), settings(), policy).unwrap();
        play(scheduler, cached, |arm| ScriptedArm {
            answers: vec![answer(self.correct(arm))],
            duration: self.micros(arm),
        })
    }

    /// The arms that the sequential verdict needs, over the slots: nothing that consumes them all can be faster.
    fn bound(&self, settled: &[SettledGate]) -> f64 {
        let of_type = |(type_index, gate): (usize, &SettledGate)| -> u64 {
            let ranks = 0..gate.outcome.n_used as usize;
            let base =
                |rank: &usize| if self.cached[type_index][*rank] { 0 } else { self.durations[type_index][*rank].0 };
            ranks.map(|rank| base(&rank) + self.durations[type_index][rank].1).sum()
        };
        settled.iter().enumerate().map(of_type).sum::<u64>() as f64 / SLOTS as f64
    }

    /// Types in series, blocks of eight units, first the base arms and then the candidates', eight in flight.
    fn in_series(&self, settled: &[SettledGate]) -> u64 {
        let of_type = |(type_index, gate): (usize, &SettledGate)| -> u64 {
            let blocks = (gate.outcome.n_used as usize).div_ceil(BLOCK);
            let block = |block: usize| {
                let rows = &self.durations[type_index][block * BLOCK..((block + 1) * BLOCK).min(UNITS)];
                rows.iter().map(|row| row.0).max().unwrap_or(0) + rows.iter().map(|row| row.1).max().unwrap_or(0)
            };
            (0..blocks).map(block).sum()
        };
        settled.iter().enumerate().map(of_type).sum()
    }
}

fn answer(correct: bool) -> Answer {
    Answer { correct, stop_reason: StopReason::Finished }
}

fn settings() -> GateSettings {
    GateSettings { params: GateParams::default(), guard_err: 0.1, concurrency: SLOTS }
}

/// Arms that take as long as the workload says, on the real clock.
struct Sleeping<'a> {
    work: &'a Workload,
    decided: std::sync::Mutex<Option<Instant>>,
}

#[derive(Debug, thiserror::Error)]
#[error("never")]
struct Never;

impl Fault for Never {
    fn class(&self) -> ExitClass {
        ExitClass::Internal
    }

    fn code(&self) -> &'static str {
        "bench.never"
    }
}

impl ArmRunner for Sleeping<'_> {
    type Payload = ();
    type Error = Never;

    async fn run(&self, launch: ArmLaunch) -> Result<ArmReturn<()>, Never> {
        let end = Instant::now() + Duration::from_micros(self.work.micros(launch.arm));
        // The timer's ticks are milliseconds long; the rest is waited out exactly.
        if let Some(early) = end.checked_sub(Duration::from_millis(2)) {
            tokio::time::sleep_until(early.into()).await;
        }
        while Instant::now() < end {
            tokio::task::yield_now().await;
        }
        Ok(ArmReturn { answers: vec![answer(self.work.correct(launch.arm))], payload: () })
    }

    async fn record(&self, _record: ArmRecord<()>) -> Result<(), Never> {
        Ok(())
    }

    fn observe(&self, board: &trm::evolution::scheduler::Board) {
        let mut decided = self.decided.lock().unwrap();
        if decided.is_none() && !board.types().is_empty() && board.types().iter().all(|run| run.is_frozen()) {
            *decided = Some(Instant::now());
        }
    }
}

/// Microseconds from the start to the last verdict, on the real clock.
async fn real(work: &Workload, policy: Box<dyn LaunchPolicy>) -> f64 {
    let gates = specs(TYPES, UNITS).into_iter().map(|spec| GateInput { spec, base_cached: BTreeMap::new() }).collect();
    let runner = Sleeping { work, decided: std::sync::Mutex::default() };
    let started = Instant::now();
    let plan = GatePlan { gates, settings: settings(), policy };
    run_gates(plan, &runner, std::future::pending()).await.unwrap();
    let decided = runner.decided.lock().unwrap().unwrap_or_else(Instant::now);
    decided.duration_since(started).as_secs_f64() * 1e6
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn round_robin() -> Box<dyn LaunchPolicy> {
    Box::new(RoundRobin::default())
}

fn need(tau: f64) -> Box<dyn LaunchPolicy> {
    Box::new(ExpectedNeed::new(tau))
}

fn actions(report: &VirtualReport) -> Vec<GateAction> {
    report.result.as_ref().unwrap().iter().map(|gate| gate.outcome.action).collect()
}

fn questions_run(report: &VirtualReport) -> f64 {
    report.result.as_ref().unwrap().iter().map(|gate| f64::from(gate.effort.questions_launched)).sum()
}

fn on_the_clock() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (mut over, mut robin, mut needed, mut bound) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for number in 0..setting("TRM_BENCH_WORKLOADS", 20) {
        let work = Workload::draw(number, 0.0);
        let virtual_robin = work.play(round_robin());
        let settled = virtual_robin.result.as_ref().unwrap();
        let series = work.in_series(settled) as f64;
        let real_robin = runtime.block_on(real(&work, round_robin()));
        let real_need = runtime.block_on(real(&work, need(0.3)));
        over.push(real_robin / virtual_robin.decided_at as f64);
        robin.push(series / real_robin);
        needed.push(series / real_need);
        bound.push(real_need / work.bound(settled));
    }
    println!("## Wall-clock of a step's gates, medians over {} workloads\n", over.len());
    println!("| | |\n|---|---|");
    println!("| round_robin, real ÷ virtual time | {:.3} |", median(over));
    println!("| gates in series ÷ round_robin | {:.1} |", median(robin));
    println!("| gates in series ÷ expected_need | {:.1} |", median(needed));
    println!("| expected_need ÷ the bound sum(needed) / {SLOTS} | {:.2} |\n", median(bound));
}

fn by_policy() {
    let runs = setting("TRM_BENCH_RUNS", 2_400) / 2;
    println!("## Launch policies in virtual time, {runs} steps of {TYPES} gates a row\n");
    println!(
        "| cached base answers | policy | wall ÷ bound | wasted runs | wall against round_robin | runs against it | other actions |"
    );
    println!("|---|---|---|---|---|---|---|");
    for cached in [0.0, 0.5] {
        let works: Vec<Workload> = (0..runs).map(|number| Workload::draw(10_000 + number, cached)).collect();
        let base: Vec<VirtualReport> = works.iter().map(|work| work.play(round_robin())).collect();
        for tau in [None, Some(0.0), Some(0.3), Some(0.8)] {
            let (mut wall, mut waste, mut ratio, mut run_ratio, mut other) = (0.0, 0.0, 0.0, 0.0, 0);
            for (work, robin) in works.iter().zip(&base) {
                let report = tau.map_or_else(|| work.play(round_robin()), |tau| work.play(need(tau)));
                let settled = robin.result.as_ref().unwrap();
                wall += report.decided_at as f64 / work.bound(settled);
                let consumed: f64 = settled.iter().map(|gate| f64::from(gate.effort.questions_consumed)).sum();
                waste += questions_run(&report) / consumed - 1.0;
                ratio += report.decided_at as f64 / robin.decided_at as f64 - 1.0;
                run_ratio += questions_run(&report) / questions_run(robin) - 1.0;
                other += usize::from(actions(&report) != actions(robin));
            }
            let n = runs as f64;
            let name = tau.map_or_else(|| "round_robin".to_owned(), |tau| format!("expected_need, tau {tau}"));
            println!(
                "| {cached} | {name} | {:.2} | {:.0} % | {:+.0} % | {:+.0} % | {other} |",
                wall / n,
                waste / n * 100.0,
                ratio / n * 100.0,
                run_ratio / n * 100.0
            );
        }
    }
}

fn main() {
    on_the_clock();
    by_policy();
}
