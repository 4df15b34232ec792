//! Launching what is most probably needed, and stopping when the verdict is certain (design 11).

use std::cmp::Ordering;

use super::arm::{ArmRef, ArmState};
use super::board::Board;
use super::policy::LaunchPolicy;
use super::type_run::TypeRun;
use crate::domain::Arm;
use crate::evolution::gate::{Boundaries, Flips};

/// Pseudo-counts of win, loss, right twice and wrong twice before any pair was seen (design 11).
const PRIOR: [f64; 4] = [1.0, 1.0, 4.8, 3.2];

/// Ways to a unit that are less likely than this are left out of its need.
const NEGLIGIBLE: f64 = 1e-6;

/// Launches the pending arm with the highest probability that its gate gets that far.
///
/// The probability is that of "not stopped before this unit", by a forward dynamic program over
/// (W, L) from what is known, with flip probabilities learnt from the pairs seen. It only
/// orders the work and delays what is unlikely to be needed: verdicts come from the prefix and from
/// curtailment, and are the same under any policy.
#[derive(Debug)]
pub struct ExpectedNeed {
    tau: f64,
    types: Vec<TypeNeed>,
}

/// What was derived for one type, valid for one revision of it, and extended along the ladder on demand.
#[derive(Debug, Default)]
struct TypeNeed {
    revision: Option<u64>,
    /// First rank that may have a pending arm.
    cursor: usize,
    learnt: [f64; 4],
    /// The rank that the next four speak of: the gate reaches it in these states, with these chances.
    rank: usize,
    ways: Vec<(Flips, f64)>,
    n_used: u32,
    n_excluded: u32,
}

impl ExpectedNeed {
    /// A policy that starts only arms needed with probability ≥ `tau`, 0 to 1; .3 is a good choice.
    #[must_use]
    pub fn new(tau: f64) -> Self {
        Self { tau: tau.clamp(0.0, 1.0), types: Vec::new() }
    }
}

impl LaunchPolicy for ExpectedNeed {
    fn next(&mut self, board: &Board, boundaries: &Boundaries) -> Option<ArmRef> {
        self.types.resize_with(board.types().len(), TypeNeed::default);
        let mut best: Option<(f64, ArmRef)> = None;
        for (type_index, (run, known)) in board.types().iter().zip(&mut self.types).enumerate() {
            if run.is_settled() {
                continue;
            }
            // Need falls along the ladder, so that the first pending arm of a type is its best.
            let Some((rank, arm)) = known.first_pending(run) else { continue };
            let need = known.need_of(rank, run, boundaries);
            let candidate = ArmRef { type_index, rank, arm };
            if need >= self.tau && best.is_none_or(|best| comes_first(&(need, candidate), &best)) {
                best = Some((need, candidate));
            }
        }
        best.map(|(_, arm)| arm)
    }

    fn curtails(&self) -> bool {
        true
    }
}

/// Higher need first; among equals the lower rank, then the order of the types.
fn comes_first(one: &(f64, ArmRef), other: &(f64, ArmRef)) -> bool {
    match one.0.total_cmp(&other.0) {
        Ordering::Greater => true,
        Ordering::Less => false,
        Ordering::Equal => (one.1.rank, one.1.type_index) < (other.1.rank, other.1.type_index),
    }
}

impl TypeNeed {
    fn first_pending(&mut self, run: &TypeRun) -> Option<(usize, Arm)> {
        self.cursor = self.cursor.max(run.pointer());
        while self.cursor < run.n_plan() {
            let pending = |arm: &Arm| run.arm_state(self.cursor, *arm) == Some(ArmState::Pending);
            if let Some(arm) = [Arm::Base, Arm::Cand].into_iter().find(pending) {
                return Some((self.cursor, arm));
            }
            self.cursor = self.cursor.saturating_add(1);
        }
        None
    }

    /// The probability that the gate is still open when it reaches this rank.
    fn need_of(&mut self, rank: usize, run: &TypeRun, boundaries: &Boundaries) -> f64 {
        if self.revision != Some(run.revision()) {
            self.revision = Some(run.revision());
            self.learnt = learnt_chances(run);
            self.rank = run.pointer();
            self.ways = vec![(run.flips(), 1.0)];
            (self.n_used, self.n_excluded) = (run.n_used(), run.n_excluded());
        }
        while self.rank < rank && !self.ways.is_empty() {
            self.extend(run, boundaries);
        }
        self.ways.iter().map(|(_, way)| way).sum()
    }

    /// One unit further.
    fn extend(&mut self, run: &TypeRun, boundaries: &Boundaries) {
        let chances = unit_chances(run, self.rank, &self.learnt);
        self.rank = self.rank.saturating_add(1);
        let Some(chances) = chances else {
            self.n_excluded = self.n_excluded.saturating_add(1);
            return;
        };
        self.n_used = self.n_used.saturating_add(1);
        let n_plan = u32::try_from(run.n_plan()).unwrap_or(u32::MAX);
        let (used, remaining) = (self.n_used, n_plan.saturating_sub(self.n_excluded).saturating_sub(self.n_used));
        self.ways = step(&self.ways, chances);
        self.ways.retain(|(flips, way)| *way > NEGLIGIBLE && !boundaries.decide(*flips, used, remaining).is_final());
    }
}

/// Each way splits into win, loss and tie.
///
/// The states are ordered by (W, L), and stay so under each of the three steps: merging three
/// ordered lists adds up the ways that meet.
fn step(ways: &[(Flips, f64)], [win, loss, tie]: [f64; 3]) -> Vec<(Flips, f64)> {
    let mut next: Vec<(Flips, f64)> = Vec::with_capacity(ways.len().saturating_mul(2));
    let (mut ties, mut losses, mut wins) = (ways, ways, ways);
    loop {
        let heads = [
            ties.first().map(|(flips, _)| *flips),
            losses.first().map(|(flips, _)| flips.after(true, false)),
            wins.first().map(|(flips, _)| flips.after(false, true)),
        ];
        let Some(least) = heads.into_iter().flatten().min() else { return next };
        let mut meeting = 0.0;
        for (head, (list, chance)) in heads.into_iter().zip([(&mut ties, tie), (&mut losses, loss), (&mut wins, win)]) {
            if head == Some(least)
                && let Some(((_, way), rest)) = list.split_first()
            {
                meeting += way * chance;
                *list = rest;
            }
        }
        if meeting > 0.0 {
            next.push((least, meeting));
        }
    }
}

/// Posterior means of win, loss, right twice and wrong twice, from all pairs that are back.
fn learnt_chances(run: &TypeRun) -> [f64; 4] {
    let mut counts = PRIOR;
    for rank in 0..run.n_plan() {
        let answer = |arm| run.arm_state(rank, arm).and_then(ArmState::answer);
        let place = match (answer(Arm::Base), answer(Arm::Cand)) {
            (Some(false), Some(true)) => 0,
            (Some(true), Some(false)) => 1,
            (Some(true), Some(true)) => 2,
            (Some(false), Some(false)) => 3,
            _ => continue,
        };
        if let Some(count) = counts.get_mut(place) {
            *count += 1.0;
        }
    }
    let total: f64 = counts.iter().sum();
    counts.map(|count| count / total)
}

/// Chances of win, loss and tie of one unit given what is known of its arms; none if it is excluded.
fn unit_chances(run: &TypeRun, rank: usize, learnt: &[f64; 4]) -> Option<[f64; 3]> {
    let state = |arm| run.arm_state(rank, arm).unwrap_or(ArmState::Pending);
    let (base, cand) = (state(Arm::Base), state(Arm::Cand));
    if base == ArmState::Infra || cand == ArmState::Infra {
        return None;
    }
    let [win, loss, right, wrong] = *learnt;
    Some(match (base.answer(), cand.answer()) {
        (Some(false), Some(true)) => [1.0, 0.0, 0.0],
        (Some(true), Some(false)) => [0.0, 1.0, 0.0],
        (Some(_), Some(_)) => [0.0, 0.0, 1.0],
        (Some(false), None) => [win / (win + wrong), 0.0, wrong / (win + wrong)],
        (Some(true), None) => [0.0, loss / (loss + right), right / (loss + right)],
        (None, Some(true)) => [win / (win + right), 0.0, right / (win + right)],
        (None, Some(false)) => [0.0, loss / (loss + wrong), wrong / (loss + wrong)],
        (None, None) => [win, loss, right + wrong],
    })
}
