//! Curtailment: stopping when every completion of what is unknown ends with the same action.
//!
//! Results beyond the prefix are not counted, but they restrict the futures: with ties known
//! for most of the rest, not even wins everywhere else may reach an accept (design 11).

use std::collections::BTreeSet;

use super::arm::ArmState;
use super::type_run::TypeRun;
use crate::domain::Arm;
use crate::evolution::gate::{Boundaries, Flips, GateAction, GateStop, e_value};

/// States looked at before giving up. Giving up is safe: the prefix decides later.
const MAX_STATES: usize = 50_000;

/// A verdict that nothing unknown can change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Foregone {
    pub(super) stop: GateStop,
    pub(super) e_min: f64,
}

/// What can become of a unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Future {
    Win,
    Loss,
    Tie,
    Excluded,
}

/// A place on a way to the end of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    flips: Flips,
    n_used: u32,
    n_excluded: u32,
}

/// The verdict of every completion, if it is one action only.
///
/// An unknown arm may also fail technically, which excludes its unit. Before the first consumed
/// unit nothing is foregone: every unit could still be excluded, and that is an error.
pub(super) fn foregone(run: &TypeRun, boundaries: &Boundaries) -> Option<Foregone> {
    if run.is_settled() || run.n_used() == 0 {
        return None;
    }
    let futures: Vec<&[Future]> = (run.pointer()..run.n_plan()).map(|rank| futures(run, rank)).collect();
    // Four ways through the unknown tell apart nearly everything that is still open, at little cost.
    let mut seen = Seen::default();
    for order in PREFERENCES {
        let way = futures.iter().map(|open| order.iter().find(|future| open.contains(future)));
        if !walk(run, boundaries, way, &mut seen) {
            return None;
        }
    }
    if !explore(run, boundaries, &futures, &mut seen) {
        return None;
    }
    seen.foregone()
}

/// Best, worst, quietest and emptiest completion.
const PREFERENCES: [[Future; 4]; 4] = [
    [Future::Win, Future::Tie, Future::Excluded, Future::Loss],
    [Future::Loss, Future::Excluded, Future::Tie, Future::Win],
    [Future::Tie, Future::Excluded, Future::Win, Future::Loss],
    [Future::Excluded, Future::Tie, Future::Loss, Future::Win],
];

/// What can become of the unit at this rank, given what is known of its arms.
fn futures(run: &TypeRun, rank: usize) -> &'static [Future] {
    let state = |arm| run.arm_state(rank, arm).unwrap_or(ArmState::Pending);
    let (base, cand) = (state(Arm::Base), state(Arm::Cand));
    if base == ArmState::Infra || cand == ArmState::Infra {
        return &[Future::Excluded];
    }
    match (base.answer(), cand.answer()) {
        (Some(false), Some(true)) => &[Future::Win],
        (Some(true), Some(false)) => &[Future::Loss],
        (Some(_), Some(_)) => &[Future::Tie],
        (Some(false), None) | (None, Some(true)) => &[Future::Win, Future::Tie, Future::Excluded],
        (Some(true), None) | (None, Some(false)) => &[Future::Loss, Future::Tie, Future::Excluded],
        (None, None) => &[Future::Win, Future::Loss, Future::Tie, Future::Excluded],
    }
}

/// The ends that were reached.
#[derive(Debug, Default)]
struct Seen {
    stops: BTreeSet<GateStop>,
    e_min: Option<f64>,
}

impl Seen {
    /// Notes an end; false if the action is not that of the others.
    fn add(&mut self, stop: GateStop, state: State) -> bool {
        self.stops.insert(stop);
        let e = e_value(state.flips);
        self.e_min = Some(self.e_min.map_or(e, |least| least.min(e)));
        self.stops.iter().map(|stop| stop.action()).collect::<BTreeSet<GateAction>>().len() == 1
    }

    fn foregone(&self) -> Option<Foregone> {
        let first = *self.stops.first()?;
        // Rejects for several reasons have in common that no completion reaches an accept.
        let stop = if self.stops.len() == 1 { first } else { GateStop::Futility };
        Some(Foregone { stop, e_min: self.e_min? })
    }
}

impl State {
    fn of(run: &TypeRun) -> Self {
        Self { flips: run.flips(), n_used: run.n_used(), n_excluded: run.n_excluded() }
    }

    /// The state after one more unit, and the exit if the gate stops there.
    fn after(self, future: Future, n_plan: u32, boundaries: &Boundaries) -> (Self, Option<GateStop>) {
        let mut next = self;
        match future {
            Future::Win => next.flips = next.flips.after(false, true),
            Future::Loss => next.flips = next.flips.after(true, false),
            Future::Tie | Future::Excluded => {}
        }
        if future == Future::Excluded {
            next.n_excluded = next.n_excluded.saturating_add(1);
        } else {
            next.n_used = next.n_used.saturating_add(1);
        }
        let remaining = n_plan.saturating_sub(next.n_excluded).saturating_sub(next.n_used);
        (next, GateStop::of(boundaries.decide(next.flips, next.n_used, remaining)))
    }
}

/// Follows one completion to its end; false if its action is not that of the others.
fn walk<'a>(
    run: &TypeRun,
    boundaries: &Boundaries,
    way: impl Iterator<Item = Option<&'a Future>>,
    seen: &mut Seen,
) -> bool {
    let n_plan = u32::try_from(run.n_plan()).unwrap_or(u32::MAX);
    let mut state = State::of(run);
    for future in way.flatten() {
        let (next, stop) = state.after(*future, n_plan, boundaries);
        if let Some(stop) = stop {
            return seen.add(stop, next);
        }
        state = next;
    }
    // A ladder that is used up is decided, so that this is not reached; nothing is foregone then.
    false
}

/// Follows all completions, level by level; false if they differ or are too many.
fn explore(run: &TypeRun, boundaries: &Boundaries, futures: &[&[Future]], seen: &mut Seen) -> bool {
    let n_plan = u32::try_from(run.n_plan()).unwrap_or(u32::MAX);
    let mut open = BTreeSet::from([State::of(run)]);
    let mut looked_at = 0_usize;
    for options in futures {
        let mut next_open = BTreeSet::new();
        for state in &open {
            for future in *options {
                looked_at = looked_at.saturating_add(1);
                if looked_at > MAX_STATES {
                    return false;
                }
                let (next, stop) = state.after(*future, n_plan, boundaries);
                match stop {
                    Some(stop) if !seen.add(stop, next) => return false,
                    Some(_) => {}
                    None => {
                        next_open.insert(next);
                    }
                }
            }
        }
        open = next_open;
    }
    open.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::StopReason;
    use crate::evolution::gate::GateParams;
    use crate::evolution::scheduler::{Answer, GateSpec};

    /// A gate of twenty units in which these pairs are known: (rank, base, candidate).
    fn gate(known: &[(usize, Option<bool>, Option<bool>)]) -> (TypeRun, Boundaries) {
        let unit = |rank: usize| crate::domain::Unit {
            unit_id: format!("u{rank}").parse().unwrap(),
            task_type: "Counting".parse().unwrap(),
            video_id: "video".parse().unwrap(),
            question_ids: vec![format!("u{rank}").parse().unwrap()],
        };
        let spec = GateSpec {
            task_type: "Counting".parse().unwrap(),
            target_file: "counting.md".parse().unwrap(),
            base_content: "".into(),
            candidate_content: "".into(),
            units: (0..20).map(unit).collect(),
            run_prefix: "r_gate_counting".into(),
        };
        let mut run = TypeRun::new(spec);
        let boundaries = Boundaries::new(20, &GateParams::default()).unwrap();
        for (rank, base, cand) in known {
            for (arm, correct) in [(Arm::Base, base), (Arm::Cand, cand)] {
                if let Some(correct) = *correct {
                    run.arrive(*rank, arm, vec![Answer { correct, stop_reason: StopReason::Finished }]);
                }
            }
        }
        run.advance(&boundaries);
        (run, boundaries)
    }

    fn ties(ranks: std::ops::Range<usize>) -> Vec<(usize, Option<bool>, Option<bool>)> {
        ranks.map(|rank| (rank, Some(true), Some(true))).collect()
    }

    #[test]
    fn known_ties_beyond_the_prefix_make_a_reject_certain() {
        // One tie consumed, rank 1 and 2 unknown, ties after that: two wins at most, E = 2.33 < 3.
        let (run, boundaries) = gate(&[ties(0..1), ties(3..20)].concat());
        let foregone = foregone(&run, &boundaries).unwrap();
        assert_eq!(foregone.stop.action(), GateAction::Reject);
        // The least E of all completions: both unknown units lost.
        assert!(foregone.e_min <= 0.5, "{foregone:?}");
    }

    #[test]
    fn one_unit_more_in_the_dark_keeps_the_gate_open() {
        let (run, boundaries) = gate(&[ties(0..1), ties(4..20)].concat());
        assert_eq!(foregone(&run, &boundaries), None);
    }

    #[test]
    fn known_wins_make_an_accept_certain_even_if_the_unknown_arm_fails() {
        let win = |rank: usize| (rank, Some(false), Some(true));
        let known: Vec<_> = (0..3).map(win).chain([(3, Some(false), None)]).chain((4..8).map(win)).collect();
        let (run, boundaries) = gate(&known);
        assert_eq!(run.n_used(), 3);
        let foregone = foregone(&run, &boundaries).unwrap();
        assert_eq!(foregone.stop, GateStop::Confirmed);
        assert!((foregone.e_min - 31.875).abs() < 1e-12);
    }

    #[test]
    fn nothing_is_foregone_before_the_first_consumed_unit() {
        let (run, boundaries) = gate(&ties(1..20));
        assert_eq!(run.n_used(), 0);
        assert_eq!(foregone(&run, &boundaries), None);
    }
}
