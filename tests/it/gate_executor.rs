//! The executor: real futures on a paused clock give what the scheduler alone gives, and nothing outlives it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use trm::domain::{Arm, StopReason, Unit};
use trm::evolution::gate::GateParams;
use trm::evolution::scheduler::{Answer, ArmRef, Board, GateFailure, GateSettings, GateSpec, RoundRobin, SettledGate};
use trm::harness::gate_executor::{
    ArmLaunch, ArmRecord, ArmReturn, ArmRunner, GateInput, GatePlan, GateRunError, run_gates,
};

/// What a fake arm does: answer after a while, or fail.
#[derive(Debug, Clone, Copy)]
struct Script {
    correct: bool,
    stop_reason: StopReason,
    millis: u64,
}

/// Answers from a script and counts everything.
#[derive(Default)]
struct FakeRunner {
    scripts: BTreeMap<(String, Arm), Script>,
    broken_arm: Option<(String, Arm)>,
    broken_record: Option<(String, Arm)>,
    live: AtomicUsize,
    peak: AtomicUsize,
    started: Mutex<Vec<(ArmRef, usize)>>,
    storing: AtomicUsize,
    stored: Mutex<Vec<(String, Arm, Option<bool>)>>,
    frozen: Mutex<BTreeSet<usize>>,
    started_frozen: AtomicUsize,
}

/// Counts a future as live until it ends or is dropped.
struct Live<'a>(&'a AtomicUsize, usize);

impl Drop for Live<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(self.1, Ordering::SeqCst);
    }
}

impl ArmRunner for FakeRunner {
    type Payload = ();
    type Error = String;

    async fn run(&self, launch: ArmLaunch) -> Result<ArmReturn<()>, String> {
        let questions = launch.unit.question_ids.len();
        let frozen = self.frozen.lock().unwrap().contains(&launch.arm.type_index);
        self.started_frozen.fetch_add(usize::from(frozen), Ordering::SeqCst);
        let live = self.live.fetch_add(questions, Ordering::SeqCst) + questions;
        let _live = Live(&self.live, questions);
        self.peak.fetch_max(live, Ordering::SeqCst);
        self.started.lock().unwrap().push((launch.arm, questions));
        let key = (launch.unit.unit_id.to_string(), launch.arm.arm);
        let script = self.scripts.get(&key).copied().unwrap();
        tokio::time::sleep(Duration::from_millis(script.millis)).await;
        if self.broken_arm.as_ref() == Some(&key) {
            return Err("the budget is spent".into());
        }
        let answer = Answer { correct: script.correct, stop_reason: script.stop_reason };
        Ok(ArmReturn { answers: vec![answer; questions], payload: () })
    }

    async fn record(&self, record: ArmRecord<()>) -> Result<(), String> {
        self.storing.fetch_add(1, Ordering::SeqCst);
        let _storing = Live(&self.storing, 1);
        tokio::time::sleep(Duration::from_millis(7)).await;
        let key = (record.launch.unit.unit_id.to_string(), record.launch.arm.arm);
        if self.broken_record.as_ref() == Some(&key) {
            return Err("the disk is full".into());
        }
        self.stored.lock().unwrap().push((key.0, key.1, record.base_cache));
        Ok(())
    }

    fn observe(&self, board: &Board) {
        let frozen = board.types().iter().enumerate().filter(|(_, run)| run.is_frozen());
        self.frozen.lock().unwrap().extend(frozen.map(|(index, _)| index));
    }
}

/// One type's ladder as (base right, candidate right, INFRA in the candidate's arm, questions).
type Ladder = Vec<(bool, bool, bool, usize)>;

fn gate(name: &str, ladder: &Ladder) -> GateInput {
    let unit = |(rank, (_, _, _, questions)): (usize, &(bool, bool, bool, usize))| Unit {
        unit_id: format!("{name}-{rank}").parse().unwrap(),
        task_type: name.parse().unwrap(),
        video_id: "video".parse().unwrap(),
        question_ids: (0..*questions).map(|part| format!("{name}-{rank}-{part}").parse().unwrap()).collect(),
    };
    let spec = GateSpec {
        task_type: name.parse().unwrap(),
        target_file: format!("{name}.md").parse().unwrap(),
        base_content: "base".into(),
        candidate_content: "candidate".into(),
        units: ladder.iter().enumerate().map(unit).collect(),
        run_prefix: format!("run_e1_s0_gate_{name}"),
    };
    GateInput { spec, base_cached: BTreeMap::new() }
}

fn runner(types: &[(&str, Ladder)], latency: impl Fn(usize) -> u64) -> FakeRunner {
    let mut scripts = BTreeMap::new();
    for (name, ladder) in types {
        for (rank, (base, cand, infra, _)) in ladder.iter().enumerate() {
            let place = scripts.len();
            let stop_reason = if *infra { StopReason::ParseError } else { StopReason::Finished };
            let unit = format!("{name}-{rank}");
            let base = Script { correct: *base, stop_reason: StopReason::Finished, millis: latency(place) };
            scripts.insert((unit.clone(), Arm::Base), base);
            let cand = Script { correct: *cand, stop_reason, millis: latency(place + 1) };
            scripts.insert((unit, Arm::Cand), cand);
        }
    }
    FakeRunner { scripts, ..FakeRunner::default() }
}

fn plan(types: &[(&str, Ladder)], concurrency: usize) -> GatePlan {
    GatePlan {
        gates: types.iter().map(|(name, ladder)| gate(name, ladder)).collect(),
        settings: GateSettings { params: GateParams::default(), guard_err: 0.9, concurrency },
        policy: Box::new(RoundRobin::default()),
    }
}

/// Runs on a paused clock, cancelled after `cancel_after` virtual milliseconds if given.
fn run(
    runner: &FakeRunner,
    plan: GatePlan,
    cancel_after: Option<u64>,
) -> Result<Vec<SettledGate>, GateRunError<String>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let cancel = async {
            match cancel_after {
                Some(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                None => std::future::pending().await,
            }
        };
        let deadline = Duration::from_secs(3_600);
        tokio::time::timeout(deadline, run_gates(plan, runner, cancel)).await.unwrap()
    })
}

fn nothing_runs(runner: &FakeRunner) {
    assert_eq!(runner.live.load(Ordering::SeqCst), 0, "an arm outlived its step");
    assert_eq!(runner.storing.load(Ordering::SeqCst), 0, "a record outlived its step");
    assert_eq!(runner.started_frozen.load(Ordering::SeqCst), 0, "an arm began after its type's verdict");
}

const WIN: (bool, bool, bool, usize) = (false, true, false, 1);
const TIE: (bool, bool, bool, usize) = (true, true, false, 1);

#[test]
fn twelve_wins_confirm_after_seven_and_everything_that_ran_is_stored() {
    let types = [("Counting", vec![WIN; 12])];
    let fake = runner(&types, |place| 10 + (place as u64 * 7) % 13);
    let settled = run(&fake, plan(&types, 4), None).unwrap();
    assert_eq!(settled[0].outcome.action.name(), "accept_confirmed");
    assert_eq!(settled[0].outcome.n_used, 7);
    nothing_runs(&fake);
    assert_eq!(fake.stored.lock().unwrap().len(), fake.started.lock().unwrap().len());
    assert!(settled[0].effort.questions_late <= 4);
}

#[test]
fn a_base_answer_after_the_verdict_is_stored_without_a_cache_row() {
    // Three ties are futile at the first; the base arms of the others return later.
    let types = [("Counting", vec![TIE; 3])];
    let fake = runner(&types, |place| if place < 2 { 1 } else { 100 });
    let settled = run(&fake, plan(&types, 6), None).unwrap();
    assert_eq!((settled[0].outcome.stop_reason.name(), settled[0].outcome.n_used), ("futility", 1));
    let stored = fake.stored.lock().unwrap();
    let cached: BTreeMap<_, _> =
        stored.iter().filter(|row| row.1 == Arm::Base).map(|row| (row.0.as_str(), row.2)).collect();
    assert_eq!(cached["Counting-0"], Some(true));
    assert_eq!(cached["Counting-2"], None);
    assert_eq!(stored.len(), 6);
}

#[test]
fn an_arm_that_was_launched_but_not_begun_is_skipped_at_the_verdict() {
    // All arms of the first two units end at the same instant: the first return launches unit 2,
    // the fourth settles the type before unit 2 is polled for the first time.
    let types = [("Counting", vec![(true, false, false, 1); 12])];
    let fake = runner(&types, |_| 10);
    let settled = run(&fake, plan(&types, 4), None).unwrap();
    assert_eq!(settled[0].outcome.stop_reason.name(), "directional");
    assert_eq!(fake.started.lock().unwrap().len(), 4);
    assert!(settled[0].effort.arms_launched > 4, "{:?}", settled[0].effort);
    assert_eq!(settled[0].effort.questions_late, 0);
    nothing_runs(&fake);
}

#[test]
fn cached_base_arms_are_not_run() {
    let types = [("Counting", vec![WIN; 8])];
    let fake = runner(&types, |_| 5);
    let mut plan = plan(&types, 4);
    plan.gates[0].base_cached = (0..8).map(|rank| (format!("Counting-{rank}").parse().unwrap(), false)).collect();
    let settled = run(&fake, plan, None).unwrap();
    assert_eq!(settled[0].effort.base_cached, 8);
    assert!(fake.started.lock().unwrap().iter().all(|(arm, _)| arm.arm == Arm::Cand));
}

#[test]
fn an_arm_that_fails_ends_the_step_with_its_own_cause() {
    let types = [("Counting", vec![WIN; 12]), ("Reading", vec![TIE; 12])];
    let mut fake = runner(&types, |place| 10 + place as u64);
    fake.broken_arm = Some(("Reading-0".into(), Arm::Cand));
    let error = run(&fake, plan(&types, 8), None).unwrap_err();
    assert!(matches!(&error, GateRunError::Arm { source, .. } if source == "the budget is spent"), "{error:?}");
    assert_eq!(error.to_string(), "gate Reading: run the cand arm of unit Reading-0");
    nothing_runs(&fake);
}

#[test]
fn an_answer_that_cannot_be_stored_ends_the_step() {
    let types = [("Counting", vec![WIN; 12])];
    let mut fake = runner(&types, |_| 10);
    fake.broken_record = Some(("Counting-1".into(), Arm::Base));
    let error = run(&fake, plan(&types, 4), None).unwrap_err();
    assert!(matches!(&error, GateRunError::Record { source, .. } if source == "the disk is full"), "{error:?}");
    nothing_runs(&fake);
}

#[test]
fn a_broken_last_record_is_not_lost_behind_the_verdict() {
    let types = [("Counting", vec![WIN; 3])];
    let mut fake = runner(&types, |place| 10 + place as u64);
    fake.broken_record = Some(("Counting-2".into(), Arm::Cand));
    assert!(matches!(run(&fake, plan(&types, 6), None), Err(GateRunError::Record { .. })));
}

#[test]
fn no_gates_give_no_outcomes() {
    assert!(run(&FakeRunner::default(), plan(&[], 4), None).unwrap().is_empty());
}

fn ladder() -> impl Strategy<Value = Ladder> {
    let unit = (any::<bool>(), any::<bool>(), prop::bool::weighted(0.1), 1..=2_usize);
    prop::collection::vec(unit, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Real futures, any latency and width: the outcome is that of the slowest, one at a time.
    #[test]
    fn outcomes_do_not_depend_on_timing(
        one in ladder(),
        two in ladder(),
        latencies in prop::collection::vec(1..200_u64, 40),
        width in 2..12_usize,
    ) {
        let types = [("Counting", one), ("Reading", two)];
        let alone = run(&runner(&types, |_| 1), plan(&types, 2), None);
        let fake = runner(&types, |place| latencies[place % latencies.len()]);
        let together = run(&fake, plan(&types, width), None);
        match (alone, together) {
            (Ok(alone), Ok(together)) => {
                let outcomes = |settled: Vec<SettledGate>| {
                    settled.into_iter().map(|gate| gate.outcome).collect::<Vec<_>>()
                };
                prop_assert_eq!(outcomes(alone), outcomes(together));
            }
            (Err(GateRunError::Gate(alone)), Err(GateRunError::Gate(together))) => prop_assert_eq!(alone, together),
            (alone, together) => prop_assert!(false, "{:?} but {:?}", alone, together),
        }
        prop_assert!(fake.peak.load(Ordering::SeqCst) <= width);
        nothing_runs(&fake);
        let started: BTreeSet<_> = fake.started.lock().unwrap().iter().map(|(arm, _)| *arm).collect();
        prop_assert_eq!(started.len(), fake.started.lock().unwrap().len());
    }

    /// Cancelled at any moment, nothing runs on and the step says so.
    #[test]
    fn cancellation_at_any_moment_drains(one in ladder(), after in 0..2_000_u64, width in 2..8_usize) {
        let types = [("Counting", one)];
        let fake = runner(&types, |place| 20 + (place as u64 * 37) % 90);
        match run(&fake, plan(&types, width), Some(after)) {
            Ok(_) => {}
            Err(GateRunError::Gate(failure)) => {
                let expected = [GateFailure::Cancelled, GateFailure::AllExcluded { task_type: "Counting".parse().unwrap() }];
                prop_assert!(expected.contains(&failure), "{failure:?}");
            }
            Err(other) => prop_assert!(false, "{other:?}"),
        }
        nothing_runs(&fake);
    }
}
