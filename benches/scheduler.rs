//! The gate scheduler alone, without inference: unit-arms per second, against the obvious alternative.
//!
//! The alternative is how one would write it first: a task per unit-arm, a semaphore for the
//! slots, and all state behind a lock. Both decide the same ladders with the same mathematics.
//!
//! `cargo bench --bench scheduler`
#![expect(clippy::unwrap_used, clippy::panic, reason = "a benchmark that fails shall stop")]

mod common;

use std::hint::black_box;
use std::sync::{Arc, Mutex};

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use trm::domain::{Arm, StopReason};
use trm::evolution::gate::{Decision, Flips, GateParams, gate_decision};
use trm::evolution::scheduler::{Answer, ArmRef, GateSettings, GateSpec, RoundRobin, Scheduler, ScriptedArm, play};

use common::specs;

const SLOTS: usize = 32;

/// A spread of run times without a generator.
fn duration(arm: ArmRef) -> u64 {
    let side = if arm.arm == Arm::Base { 17 } else { 91 };
    (arm.rank as u64 * 7_919 + arm.type_index as u64 * 104_729 + side) % 997 + 1
}

/// The event-driven core on a virtual clock. Both arms are right, and ties stop the gate two units before the end: nearly
/// every arm runs.
fn event_driven(specs: &[GateSpec]) -> usize {
    let settings = GateSettings { params: GateParams::default(), guard_err: 0.1, concurrency: SLOTS };
    let scheduler = Scheduler::new(specs.to_vec(), settings, Box::new(RoundRobin::default())).unwrap();
    let script = |arm| ScriptedArm {
        answers: vec![Answer { correct: true, stop_reason: StopReason::Finished }],
        duration: duration(arm),
    };
    let report = play(scheduler, [], script);
    report.result.unwrap().iter().map(|gate| gate.effort.arms_launched as usize).sum()
}

/// One type of the alternative: arrivals, prefix, counts.
struct Locked {
    arrived: Vec<[Option<bool>; 2]>,
    pointer: usize,
    flips: Flips,
    frozen: bool,
}

impl Locked {
    fn advance(&mut self, params: &GateParams) {
        while !self.frozen {
            let Some([Some(base), Some(cand)]) = self.arrived.get(self.pointer).copied() else { return };
            self.pointer += 1;
            self.flips = self.flips.after(base, cand);
            let remaining = (self.arrived.len() - self.pointer) as u64;
            let verdict = gate_decision(self.flips, self.pointer as u64, remaining, params).unwrap();
            self.frozen = verdict.decision != Decision::Continue;
        }
    }
}

/// A task per unit-arm, a semaphore, a lock.
async fn task_per_arm(specs: &[GateSpec]) -> usize {
    let slots = Arc::new(Semaphore::new(SLOTS));
    let state = |spec: &GateSpec| Locked {
        arrived: vec![[None; 2]; spec.units.len()],
        pointer: 0,
        flips: Flips::NONE,
        frozen: false,
    };
    let types: Vec<_> = specs.iter().map(|spec| Arc::new(Mutex::new(state(spec)))).collect();
    let longest = specs.iter().map(|spec| spec.units.len()).max().unwrap_or(0);
    let mut tasks = JoinSet::new();
    for rank in 0..longest {
        for (locked, spec) in types.iter().zip(specs).filter(|(_, spec)| rank < spec.units.len()) {
            for side in 0..2_usize {
                let (slots, locked) = (Arc::clone(&slots), Arc::clone(locked));
                let questions = u32::try_from(spec.units.get(rank).unwrap().question_ids.len()).unwrap();
                tasks.spawn(async move {
                    let _permit = slots.acquire_many(questions).await.unwrap();
                    if locked.lock().unwrap().frozen {
                        return 0;
                    }
                    // Inference would be here; the others get their turn.
                    tokio::task::yield_now().await;
                    let mut locked = locked.lock().unwrap();
                    if !locked.frozen {
                        *locked.arrived.get_mut(rank).and_then(|pair| pair.get_mut(side)).unwrap() = Some(true);
                        locked.advance(&GateParams::default());
                    }
                    1
                });
            }
        }
    }
    let mut ran = 0;
    while let Some(done) = tasks.join_next().await {
        ran += done.unwrap();
    }
    ran
}

fn schedule(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let mut group = criterion.benchmark_group("gates of a step");
    for (types, units) in [(6, 40), (12, 400)] {
        let specs = specs(types, units);
        let arms = event_driven(&specs);
        let alternative = runtime.block_on(task_per_arm(&specs));
        if arms.abs_diff(alternative) > 2 * SLOTS {
            panic!("the contestants did different work: {arms} and {alternative} arms");
        }
        group.throughput(Throughput::Elements(arms as u64));
        let label = format!("{types} types x {units} units");
        group.bench_function(BenchmarkId::new("event-driven core", &label), |bencher| {
            bencher.iter(|| event_driven(black_box(&specs)));
        });
        group.bench_function(BenchmarkId::new("task per arm and a lock", &label), |bencher| {
            bencher.iter(|| runtime.block_on(task_per_arm(black_box(&specs))));
        });
    }
    group.finish();
}

/// The mathematics alone: one decision far from a threshold, and one on it.
fn decide(criterion: &mut Criterion) {
    let params = GateParams::default();
    let mut group = criterion.benchmark_group("gate decision");
    let far = Flips::new(6, 3).unwrap();
    group.bench_function("decided by doubles, 40 units", |bencher| {
        bencher.iter(|| gate_decision(black_box(far), 20, 20, &params).unwrap());
    });
    // E(7, 0) is 31.875 exactly: a threshold on it needs big integers.
    let exact = GateParams { e_confirm: 31.875, ..params };
    let near = Flips::new(7, 0).unwrap();
    group.bench_function("decided by big integers, 40 units", |bencher| {
        bencher.iter(|| gate_decision(black_box(near), 20, 20, &exact).unwrap());
    });
    group.finish();
}

criterion_group!(benches, schedule, decide);
criterion_main!(benches);
