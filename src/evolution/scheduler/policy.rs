//! Which arm starts next.

use std::fmt::Debug;

use super::arm::{ArmRef, ArmState};
use super::board::Board;
use crate::domain::Arm;
use crate::evolution::gate::Boundaries;

/// Decides which arm starts next; it can delay a verdict, never change it.
///
/// A policy must offer the unresolved arms at a type's prefix pointer sooner or later:
/// if nothing runs and it offers nothing while a gate is open, the step fails.
pub trait LaunchPolicy: Debug + Send {
    /// The arm to launch next: [`ArmState::Pending`], of a type that is not frozen. Asked again after
    /// each launch and each event; the arm it names waits until its slots are free.
    fn next(&mut self, board: &Board, boundaries: &Boundaries) -> Option<ArmRef>;

    /// Whether a gate may stop as soon as its verdict is certain, before its prefix reaches it.
    fn curtails(&self) -> bool {
        false
    }
}

/// Rank 0 of every type, rank 1 of every type, …; base before candidate (design 04).
///
/// No type starves another, and each ladder's head starts first, where the verdict is made.
#[derive(Debug, Default)]
pub struct RoundRobin {
    /// Everything before this place of the order is launched, cached or frozen.
    cursor: Cursor,
}

#[derive(Debug, Clone, Copy, Default)]
struct Cursor {
    rank: usize,
    type_index: usize,
    cand: bool,
}

impl LaunchPolicy for RoundRobin {
    fn next(&mut self, board: &Board, _boundaries: &Boundaries) -> Option<ArmRef> {
        let longest = board.types().iter().map(super::TypeRun::n_plan).max().unwrap_or(0);
        while self.cursor.rank < longest {
            let Cursor { rank, type_index, cand } = self.cursor;
            let arm = if cand { Arm::Cand } else { Arm::Base };
            let Some(run) = board.get(type_index) else {
                self.cursor = Cursor { rank: rank.saturating_add(1), ..Cursor::default() };
                continue;
            };
            if !run.is_frozen() && run.arm_state(rank, arm) == Some(ArmState::Pending) {
                return Some(ArmRef { type_index, rank, arm });
            }
            self.cursor = if cand {
                Cursor { rank, type_index: type_index.saturating_add(1), cand: false }
            } else {
                Cursor { rank, type_index, cand: true }
            };
        }
        None
    }
}
