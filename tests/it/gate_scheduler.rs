//! The scheduler's rules under arbitrary orders of arrival, against a sequential reference.
#![expect(clippy::indexing_slicing, reason = "a ladder of another shape shall fail its test")]

use std::collections::BTreeSet;

use proptest::prelude::*;
use trm::domain::{Arm, StopReason, Unit};
use trm::evolution::gate::{Decision, Flips, GateParams, GateStop, e_value, gate_decision};
use trm::evolution::scheduler::{
    Answer, ArmRef, Command, Event, ExpectedNeed, GateFailure, GateSettings, GateSpec, LaunchPolicy, RoundRobin,
    Scheduler, SettledGate,
};

/// How one question ends in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Right,
    Wrong,
    Infra,
}

/// One unit: both arms of each question, and whether the base answer is cached.
#[derive(Debug, Clone)]
struct Line {
    questions: Vec<(End, End)>,
    cached: bool,
}

type Ladder = Vec<Line>;

impl Line {
    fn ends(&self, arm: Arm) -> impl Iterator<Item = End> {
        self.questions.iter().map(move |(base, cand)| if arm == Arm::Base { *base } else { *cand })
    }

    /// Right, wrong, or none for a technical failure.
    fn unit(&self, arm: Arm) -> Option<bool> {
        if self.ends(arm).any(|end| end == End::Infra) {
            return None;
        }
        Some(self.ends(arm).all(|end| end == End::Right))
    }

    /// A base arm that failed cannot be in the cache.
    fn is_cached(&self) -> bool {
        self.cached && self.unit(Arm::Base).is_some()
    }
}

fn single(base: End, cand: End) -> Line {
    Line { questions: vec![(base, cand)], cached: false }
}

fn win() -> Line {
    single(End::Wrong, End::Right)
}

fn tie() -> Line {
    single(End::Right, End::Right)
}

fn infra() -> Line {
    single(End::Right, End::Infra)
}

fn spec(index: usize, ladder: &Ladder) -> GateSpec {
    let unit = |(rank, line): (usize, &Line)| Unit {
        unit_id: format!("t{index}-u{rank}").parse().unwrap(),
        task_type: format!("Type {index}").parse().unwrap(),
        video_id: "video".parse().unwrap(),
        question_ids: (0..line.questions.len())
            .map(|part| format!("t{index}-u{rank}-q{part}").parse().unwrap())
            .collect(),
    };
    GateSpec {
        task_type: format!("Type {index}").parse().unwrap(),
        target_file: format!("type-{index}.md").parse().unwrap(),
        base_content: "".into(),
        candidate_content: "".into(),
        units: ladder.iter().enumerate().map(unit).collect(),
        run_prefix: format!("r_e1_s0_gate_type-{index}"),
    }
}

fn settings(concurrency: usize, guard_err: f64) -> GateSettings {
    GateSettings { params: GateParams::default(), guard_err, concurrency }
}

fn scheduler(ladders: &[Ladder], settings: GateSettings) -> Result<Scheduler, GateFailure> {
    scheduler_with(ladders, settings, Box::new(RoundRobin::default()))
}

fn scheduler_with(
    ladders: &[Ladder],
    settings: GateSettings,
    policy: Box<dyn LaunchPolicy>,
) -> Result<Scheduler, GateFailure> {
    let specs = ladders.iter().enumerate().map(|(index, ladder)| spec(index, ladder)).collect();
    Scheduler::new(specs, settings, policy)
}

fn answers(line: &Line, arm: Arm) -> Vec<Answer> {
    let answer = |end| Answer {
        correct: end == End::Right,
        stop_reason: if end == End::Infra { StopReason::Error } else { StopReason::Finished },
    };
    line.ends(arm).map(answer).collect()
}

/// Everything a played step did.
#[derive(Debug, Default)]
struct Trace {
    launched: Vec<ArmRef>,
    recorded: Vec<(ArmRef, Option<bool>)>,
    frozen: BTreeSet<usize>,
    running: Vec<ArmRef>,
    cancelled: bool,
    result: Option<Result<Vec<SettledGate>, GateFailure>>,
}

/// Plays a step; `order` picks which running arm returns next, `cancel_after` events it is cancelled.
///
/// Checks what must hold at every moment.
fn play(
    ladders: &[Ladder],
    settings: GateSettings,
    order: &[usize],
    cancel_after: Option<usize>,
) -> Result<Trace, GateFailure> {
    play_on(scheduler(ladders, settings)?, ladders, settings, order, cancel_after)
}

fn play_on(
    mut scheduler: Scheduler,
    ladders: &[Ladder],
    settings: GateSettings,
    order: &[usize],
    cancel_after: Option<usize>,
) -> Result<Trace, GateFailure> {
    let mut trace = Trace::default();
    let mut events = Vec::new();
    for (type_index, ladder) in ladders.iter().enumerate() {
        for (rank, line) in ladder.iter().enumerate().filter(|(_, line)| line.is_cached()) {
            events.push(Event::BaseCached { type_index, rank, correct: line.unit(Arm::Base).unwrap() });
        }
    }
    for event in events {
        assert!(scheduler.on_event(event).is_empty(), "a cached answer launches nothing");
    }
    let mut commands = scheduler.on_event(Event::Start);
    let mut turn = 0;
    loop {
        for command in commands.drain(..) {
            trace.take(command);
        }
        let questions: usize = trace.running.iter().map(|arm| ladders[arm.type_index][arm.rank].questions.len()).sum();
        assert!(questions <= settings.concurrency, "{questions} questions on {} slots", settings.concurrency);
        if trace.result.is_some() {
            assert!(trace.running.is_empty(), "a result while {:?} run", trace.running);
            assert!(scheduler.on_event(Event::Cancelled).is_empty(), "commands after the result");
            return Ok(trace);
        }
        let event = if cancel_after == Some(turn) {
            Event::Cancelled
        } else {
            assert!(!trace.running.is_empty(), "nothing runs, and there is no result");
            let arm = trace.running.remove(order[turn % order.len()] % trace.running.len());
            if trace.cancelled {
                Event::ArmCancelled(arm)
            } else {
                Event::ArmDone { arm, answers: answers(&ladders[arm.type_index][arm.rank], arm.arm) }
            }
        };
        turn += 1;
        commands = scheduler.on_event(event);
    }
}

impl Trace {
    fn take(&mut self, command: Command) {
        assert!(self.result.is_none(), "{command:?} after the result");
        match command {
            Command::Launch(arm) => {
                assert!(!self.frozen.contains(&arm.type_index), "{arm:?} starts after its verdict");
                assert!(!self.cancelled, "{arm:?} starts after the cancellation");
                assert!(!self.launched.contains(&arm), "{arm:?} starts twice");
                self.launched.push(arm);
                self.running.push(arm);
            }
            Command::Record { arm, base_cache } => {
                let late = self.frozen.contains(&arm.type_index);
                assert!(!(late && base_cache.is_some()), "{arm:?} returned after the verdict and is cached");
                self.recorded.push((arm, base_cache));
            }
            Command::Freeze { type_index } => assert!(self.frozen.insert(type_index), "{type_index} freezes twice"),
            Command::CancelAll => self.cancelled = true,
            Command::Finish(settled) => self.result = Some(Ok(settled)),
            Command::Abort(failure) => self.result = Some(Err(failure)),
        }
    }

    fn settled(self) -> Vec<SettledGate> {
        self.result.unwrap().unwrap()
    }
}

/// What one unit after the other, one at a time, would decide.
#[derive(Debug, PartialEq)]
struct Sequential {
    stop: GateStop,
    flips: Flips,
    n_used: u32,
    n_excluded: u32,
    ranks: Vec<u32>,
}

fn sequential(ladder: &Ladder) -> Option<Sequential> {
    let (mut flips, mut n_used, mut n_excluded, mut ranks) = (Flips::NONE, 0, 0, Vec::new());
    for (rank, line) in ladder.iter().enumerate() {
        match line.unit(Arm::Base).zip(line.unit(Arm::Cand)) {
            Some((base, cand)) => {
                flips = flips.after(base, cand);
                n_used += 1;
                ranks.push(u32::try_from(rank).unwrap());
            }
            None => n_excluded += 1,
        }
        if n_used > 0 {
            let remaining = ladder.len() as u64 - n_excluded - n_used;
            let decision = gate_decision(flips, n_used, remaining, &GateParams::default()).unwrap().decision;
            if let Some(stop) = GateStop::of(decision) {
                let count = |number: u64| u32::try_from(number).unwrap();
                return Some(Sequential { stop, flips, n_used: count(n_used), n_excluded: count(n_excluded), ranks });
            }
        }
    }
    None
}

fn of(settled: &SettledGate) -> Sequential {
    let outcome = &settled.outcome;
    Sequential {
        stop: outcome.stop_reason,
        flips: Flips::new(outcome.w.into(), outcome.l.into()).unwrap(),
        n_used: outcome.n_used,
        n_excluded: outcome.n_excluded,
        ranks: outcome.evidence.iter().filter(|row| row.is_consumed()).map(|row| row.ladder_rank).collect(),
    }
}

fn end() -> impl Strategy<Value = End> {
    prop_oneof![5 => Just(End::Right), 5 => Just(End::Wrong), 1 => Just(End::Infra)]
}

fn line() -> impl Strategy<Value = Line> {
    (prop::collection::vec((end(), end()), 1..=2), prop::bool::weighted(0.3))
        .prop_map(|(questions, cached)| Line { questions, cached })
}

fn ladders() -> impl Strategy<Value = Vec<Ladder>> {
    prop::collection::vec(prop::collection::vec(line(), 1..24), 1..4)
}

fn order() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(0..64_usize, 16..64)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Any order of arrival and any number of slots: the outcome is the sequential one, whole.
    #[test]
    fn the_outcome_does_not_depend_on_the_order_of_arrival(
        ladders in ladders(),
        orders in (order(), order()),
        slots in (2..40_usize, 2..6_usize),
    ) {
        let one = play(&ladders, settings(slots.0, 1.0), &orders.0, None).unwrap();
        let other = play(&ladders, settings(slots.1, 1.0), &orders.1, None).unwrap();
        let expected: Vec<_> = ladders.iter().map(sequential).collect();
        match expected.iter().position(Option::is_none) {
            Some(index) => {
                let failure = GateFailure::AllExcluded { task_type: format!("Type {index}").parse().unwrap() };
                prop_assert_eq!(&one.result.unwrap().unwrap_err(), &failure);
                prop_assert_eq!(&other.result.unwrap().unwrap_err(), &failure);
            }
            None => {
                let (one, other) = (one.settled(), other.settled());
                for ((one, other), expected) in one.iter().zip(&other).zip(expected) {
                    prop_assert_eq!(&one.outcome, &other.outcome);
                    prop_assert_eq!(of(one), expected.unwrap());
                }
            }
        }
    }

    /// Every launched arm returns and is stored; none twice; cached base arms never run.
    #[test]
    fn every_launched_arm_is_accounted_for(ladders in ladders(), order in order(), slots in 2..40_usize) {
        let trace = play(&ladders, settings(slots, 1.0), &order, None).unwrap();
        let recorded: BTreeSet<_> = trace.recorded.iter().map(|(arm, _)| *arm).collect();
        let launched: BTreeSet<_> = trace.launched.iter().copied().collect();
        prop_assert_eq!(&recorded, &launched);
        prop_assert_eq!(trace.recorded.len(), launched.len());
        for (arm, base_cache) in &trace.recorded {
            let line = &ladders[arm.type_index][arm.rank];
            prop_assert!(arm.arm == Arm::Cand || !line.is_cached());
            if let Some(correct) = base_cache {
                prop_assert_eq!((arm.arm, Some(*correct)), (Arm::Base, line.unit(Arm::Base)));
            }
        }
        if let Some(Ok(settled)) = trace.result {
            for (index, gate) in settled.iter().enumerate() {
                let own = launched.iter().filter(|arm| arm.type_index == index);
                let questions: usize = own.map(|arm| ladders[index][arm.rank].questions.len()).sum();
                prop_assert_eq!(gate.effort.questions_launched as usize, questions);
                prop_assert!(gate.effort.questions_late as usize <= slots, "{:?}", gate.effort);
                let told = gate.effort.questions_consumed + gate.effort.questions_wasted();
                prop_assert_eq!(told, gate.effort.questions_launched);
            }
        }
    }

    /// Rank by rank over all types, base before candidate: no type starves another.
    #[test]
    fn launches_follow_the_declared_order(ladders in ladders(), order in order(), slots in 2..40_usize) {
        let trace = play(&ladders, settings(slots, 1.0), &order, None).unwrap();
        let places: Vec<_> = trace.launched.iter().map(|arm| (arm.rank, arm.type_index, arm.arm)).collect();
        prop_assert!(places.is_sorted(), "{places:?}");
    }

    /// Cancelled at any event: everything is drained, then reported.
    #[test]
    fn cancellation_drains(ladders in ladders(), order in order(), slots in 2..40_usize, after in 0..60_usize) {
        let trace = play(&ladders, settings(slots, 1.0), &order, Some(after)).unwrap();
        if trace.cancelled {
            prop_assert_eq!(trace.result.unwrap().unwrap_err(), GateFailure::Cancelled);
        }
    }

    /// Launching by need and stopping when the verdict is certain: the action is the sequential one,
    /// E is no more than it would have been, and what was consumed is a prefix of it.
    #[test]
    fn curtailment_never_changes_an_action(
        ladders in ladders(),
        order in order(),
        slots in 2..40_usize,
        tau in 0.0..1.0_f64,
    ) {
        let settings = settings(slots, 1.0);
        let scheduler = scheduler_with(&ladders, settings, Box::new(ExpectedNeed::new(tau))).unwrap();
        let trace = play_on(scheduler, &ladders, settings, &order, None).unwrap();
        let expected: Vec<_> = ladders.iter().map(sequential).collect();
        match trace.result.unwrap() {
            Err(failure) => prop_assert!(expected.contains(&None), "{failure}"),
            Ok(settled) => {
                for (gate, expected) in settled.iter().zip(expected) {
                    let expected = expected.unwrap();
                    prop_assert_eq!(gate.outcome.action, expected.stop.action());
                    match gate.outcome.curtailment {
                        None => prop_assert_eq!(of(gate), expected),
                        Some(curtailment) => {
                            prop_assert!(curtailment.units > 0 && gate.outcome.n_used <= expected.n_used);
                            prop_assert!(curtailment.e_min <= e_value(expected.flips) * (1.0 + 1e-12));
                            let mut rows = gate.outcome.evidence.iter().filter(|row| row.is_consumed());
                            let told: Vec<_> = rows.clone().map(|row| row.curtailed).filter(|units| *units > 0).collect();
                            prop_assert_eq!(told, [curtailment.units]);
                            prop_assert_eq!(rows.next_back().and_then(|row| row.stop_reason), Some(gate.outcome.stop_reason));
                        }
                    }
                }
            }
        }
    }

    /// With a guard, whatever it says, no order leaves a gate undecided or an arm behind.
    #[test]
    fn a_guard_abort_drains_too(ladders in ladders(), order in order(), slots in 2..40_usize) {
        let trace = play(&ladders, settings(slots, 0.1), &order, None).unwrap();
        if let Err(failure) = trace.result.unwrap() {
            let known = matches!(failure, GateFailure::InfraGuard(_) | GateFailure::AllExcluded { .. });
            prop_assert!(known, "{failure}");
        }
    }
}

/// The outcome of one ladder in order of launch.
fn outcome(ladder: Ladder) -> Sequential {
    of(&play(&[ladder], settings(4, 1.0), &[0], None).unwrap().settled()[0])
}

#[test]
fn the_golden_gates_of_the_design() {
    let twelve = outcome(vec![win(); 12]);
    assert_eq!((twelve.stop, twelve.n_used), (GateStop::Confirmed, 7));
    let ties = outcome(vec![tie(); 3]);
    assert_eq!((ties.stop, ties.n_used), (GateStop::Futility, 1));
    let mut one_lost = vec![infra()];
    one_lost.extend(vec![win(); 5]);
    let lost = outcome(one_lost);
    assert_eq!((lost.stop, lost.n_excluded, lost.n_used), (GateStop::Provisional, 1, 5));
    let tail = outcome(vec![win(), tie(), infra(), infra()]);
    assert_eq!((tail.stop, tail.n_used), (GateStop::Futility, 2));
    assert_eq!(outcome(vec![win(); 4]).stop, GateStop::Provisional);
}

#[test]
fn a_ladder_that_ends_in_technical_failures_is_decided() {
    for wins in 1..7 {
        let mut ladder = vec![win(); wins];
        ladder.extend(vec![infra(); 12]);
        let decided = outcome(ladder);
        let expected = match wins {
            // With one unit left a second win would not do; with none left, two are not enough.
            1 => GateStop::Futility,
            2 => GateStop::Inertia,
            _ => GateStop::Provisional,
        };
        assert_eq!(decided.stop, expected, "{wins} wins");
    }
}

#[test]
fn excluded_units_have_rows_and_the_reason_stands_on_the_last_consumed_one() {
    let ladder = vec![win(), infra(), single(End::Infra, End::Infra), win(), win(), infra()];
    let settled = play(&[ladder], settings(4, 1.0), &[3, 1, 2], None).unwrap().settled();
    let rows = &settled[0].outcome.evidence;
    let ranks: Vec<_> = rows.iter().map(|row| row.ladder_rank).collect();
    assert_eq!(ranks, [0, 1, 2, 3, 4, 5]);
    let excluded: Vec<_> = rows.iter().map(|row| row.excluded.map(|arm| format!("{arm:?}"))).collect();
    assert_eq!(excluded[1].as_deref(), Some("Cand"));
    assert_eq!(excluded[2].as_deref(), Some("Both"));
    assert_eq!((rows[1].baseline_correct, rows[1].candidate_correct), (None, None));
    assert_eq!((rows[1].w, rows[1].n_used, rows[1].n_remaining), (1, 1, 4));
    let reasons: Vec<_> = rows.iter().filter_map(|row| Some((row.ladder_rank, row.stop_reason?))).collect();
    assert_eq!(reasons, [(4, GateStop::Provisional)]);
}

#[test]
fn a_unit_that_fails_in_both_arms_counts_once() {
    let mut ladder = vec![single(End::Infra, End::Infra)];
    ladder.extend(vec![tie(); 11]);
    // One failing unit in the first ten inferences: exactly the limit, which is tolerated.
    let trace = play(&[ladder.clone()], settings(24, 0.1), &[0], None).unwrap();
    assert!(trace.result.unwrap().is_ok());
    ladder[1] = single(End::Right, End::Infra);
    let trace = play(&[ladder], settings(24, 0.1), &[0], None).unwrap();
    let Some(Err(GateFailure::InfraGuard(report))) = trace.result else { panic!("no guard") };
    assert_eq!((report.errors, report.inferences, report.base.error, report.cand.error), (2, 10, 1, 2));
}

#[test]
fn technical_failures_after_the_verdict_change_nothing() {
    // Two losses settle the type; all that follows fails, but was in flight at the verdict.
    let mut ladder = vec![single(End::Right, End::Wrong), single(End::Right, End::Wrong)];
    ladder.extend(vec![single(End::Infra, End::Infra); 10]);
    let settled = play(&[ladder], settings(24, 0.1), &[0], None).unwrap().settled();
    let gate = &settled[0];
    assert_eq!((gate.outcome.stop_reason, gate.outcome.n_used), (GateStop::Directional, 2));
    assert_eq!((gate.effort.errors, gate.effort.inferences, gate.effort.questions_late), (0, 4, 20));
}

#[test]
fn what_cannot_run_is_refused_before_anything_starts() {
    let pair = Line { questions: vec![(End::Right, End::Right); 2], cached: true };
    let refused = |ladders: &[Ladder], slots| scheduler(ladders, settings(slots, 0.1)).unwrap_err();
    assert!(matches!(
        refused(&[vec![tie(), pair.clone()]], 1),
        GateFailure::UnitTooLarge { questions: 2, slots: 1, .. }
    ));
    assert!(matches!(refused(&[vec![pair], vec![]], 1), GateFailure::EmptyLadder { .. }));
    assert!(matches!(refused(&[vec![tie()]], 0), GateFailure::NoSlots));
    let twice = vec![spec(0, &vec![tie()]), spec(0, &vec![tie()])];
    let policy = || Box::new(RoundRobin::default());
    let result = Scheduler::new(twice, settings(4, 0.1), policy());
    assert!(matches!(result, Err(GateFailure::TypeTwice { .. })));
    let unmarked = GateSpec { run_prefix: "r_e1_s0".into(), ..spec(0, &vec![tie()]) };
    assert!(matches!(Scheduler::new(vec![unmarked], settings(4, 0.1), policy()), Err(GateFailure::RunPrefix { .. })));
    let settled = play(&[], settings(4, 0.1), &[0], None).unwrap().settled();
    assert!(settled.is_empty());
}

#[test]
fn an_answer_that_is_missing_is_a_bug_and_not_wrong() {
    let mut scheduler = scheduler(&[vec![win(); 5]], settings(2, 0.1)).unwrap();
    let commands = scheduler.on_event(Event::Start);
    let Command::Launch(arm) = commands[0] else { panic!("{commands:?}") };
    let commands = scheduler.on_event(Event::ArmDone { arm, answers: vec![] });
    assert_eq!(commands, [Command::CancelAll]);
    let Command::Launch(other) = Command::Launch(ArmRef { arm: Arm::Cand, ..arm }) else { unreachable!() };
    let commands = scheduler.on_event(Event::ArmCancelled(other));
    assert!(matches!(commands.as_slice(), [Command::Abort(GateFailure::MissingAnswers { answers: 0, .. })]));
}

#[test]
fn events_that_cannot_happen_are_bugs_and_not_ignored() {
    let mut scheduler = scheduler(&[vec![win(); 5]], settings(2, 0.1)).unwrap();
    let arm = ArmRef { type_index: 0, rank: 3, arm: Arm::Cand };
    let commands = scheduler.on_event(Event::ArmDone { arm, answers: vec![] });
    assert!(matches!(commands.as_slice(), [Command::Abort(GateFailure::Protocol(_))]), "{commands:?}");
}

/// A gate that decides only after blocks of eight units, as it was done before: exit and used units.
fn in_blocks_of_eight(ladder: &Ladder) -> (Decision, u64) {
    let mut flips = Flips::NONE;
    for (used, line) in (1_u64..).zip(ladder) {
        flips = flips.after(line.unit(Arm::Base).unwrap(), line.unit(Arm::Cand).unwrap());
        let remaining = ladder.len() as u64 - used;
        if used.is_multiple_of(8) || remaining == 0 {
            let decision = gate_decision(flips, used, remaining, &GateParams::default()).unwrap().decision;
            if decision.is_final() {
                return (decision, used);
            }
        }
    }
    unreachable!("a gate that is used up is decided")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Deciding after every unit stops no later than deciding in blocks, and where they stop at
    /// the same unit they agree.
    #[test]
    fn blocks_of_eight_only_stop_later(pairs in prop::collection::vec((any::<bool>(), any::<bool>()), 40)) {
        let end = |right: bool| if right { End::Right } else { End::Wrong };
        let ladder: Ladder = pairs.into_iter().map(|(base, cand)| single(end(base), end(cand))).collect();
        let (decision, used) = in_blocks_of_eight(&ladder);
        let own = outcome(ladder);
        prop_assert!(u64::from(own.n_used) <= used);
        if u64::from(own.n_used) == used {
            prop_assert_eq!(own.stop.decision(), decision);
        }
    }

    /// A clear effect is judged in the same direction by both.
    #[test]
    fn blocks_of_eight_agree_in_direction(flips in prop::collection::vec(prop::bool::weighted(0.4), 40), good: bool) {
        let flip = if good { win() } else { single(End::Right, End::Wrong) };
        let ladder: Ladder = flips.into_iter().map(|flips| if flips { flip.clone() } else { tie() }).collect();
        let (decision, _) = in_blocks_of_eight(&ladder);
        let accepted = matches!(decision, Decision::AcceptConfirmed | Decision::AcceptProvisional);
        prop_assert_eq!(outcome(ladder).stop.action().is_accept(), accepted);
    }
}
