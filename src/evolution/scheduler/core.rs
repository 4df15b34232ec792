//! The scheduler itself: one event in, the commands it causes out.

use super::arm::{Answer, ArmRef, ArmState, Command, Event};
use super::board::Board;
use super::failure::GateFailure;
use super::policy::LaunchPolicy;
use super::spec::{GateSettings, GateSpec, check_specs};
use crate::domain::Arm;
use crate::evolution::gate::Boundaries;

/// The gates of one step, driven by events (design 04).
///
/// Invariants, each with a test: in flight ≤ slots at all times; every launched arm is
/// reported back exactly once before [`Command::Finish`] or [`Command::Abort`]; after
/// [`Command::Freeze`] of a type nothing of it is launched and its counts stay as they were.
#[derive(Debug)]
pub struct Scheduler {
    board: Board,
    policy: Box<dyn LaunchPolicy>,
    boundaries: Boundaries,
    guard_err: f64,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Cached answers may come in; nothing was launched.
    Waiting,
    Running,
    /// Everything that runs is being cancelled; this is what will be reported.
    Draining(GateFailure),
    Done,
}

impl Scheduler {
    /// A scheduler for these gates.
    ///
    /// # Errors
    /// What cannot be run, before anything starts: an empty ladder, a unit larger than the slots,
    /// two specs of one type, a run prefix without `_gate_`, thresholds that are no numbers.
    pub fn new(
        specs: Vec<GateSpec>,
        settings: GateSettings,
        policy: Box<dyn LaunchPolicy>,
    ) -> Result<Self, GateFailure> {
        check_specs(&specs, &settings)?;
        let longest = specs.iter().map(|spec| spec.units.len()).max().unwrap_or(0);
        let boundaries = Boundaries::new(u32::try_from(longest).unwrap_or(u32::MAX), &settings.params)?;
        let board = Board::new(specs, settings.concurrency);
        Ok(Self { board, policy, boundaries, guard_err: settings.guard_err, phase: Phase::Waiting })
    }

    /// The state of all gates.
    #[must_use]
    pub fn board(&self) -> &Board {
        &self.board
    }

    /// Takes one event and gives the commands it causes, to be carried out in order.
    ///
    /// After [`Command::Finish`] or [`Command::Abort`] there are no more commands.
    pub fn on_event(&mut self, event: Event) -> Vec<Command> {
        let mut commands = Vec::new();
        let result = match (&self.phase, event) {
            (Phase::Done, _) => Ok(()),
            (Phase::Draining(_), event) => {
                self.on_event_while_draining(&event);
                Ok(())
            }
            (Phase::Waiting | Phase::Running, Event::BaseCached { type_index, rank, correct }) => {
                self.on_base_cached(type_index, rank, correct)
            }
            (Phase::Waiting, Event::Start) => {
                self.phase = Phase::Running;
                Ok(())
            }
            (Phase::Running, Event::Start) => Err(GateFailure::Protocol("started twice".into())),
            (_, Event::Cancelled) => Err(GateFailure::Cancelled),
            (_, Event::ArmDone { arm, answers }) => self.on_arm_done(arm, answers, &mut commands),
            (_, Event::ArmSkipped(arm)) => self.on_arm_skipped(arm),
            (_, Event::ArmFailed(arm)) => self.on_arm_failed(arm),
            (_, Event::ArmCancelled(arm)) => Err(GateFailure::Protocol(format!("nobody cancelled {arm:?}"))),
        };
        let result = result.and_then(|()| self.go_on(&mut commands));
        if let Err(failure) = result {
            self.fail(failure, &mut commands);
        }
        self.finish_draining(&mut commands);
        commands
    }

    fn on_base_cached(&mut self, type_index: usize, rank: usize, correct: bool) -> Result<(), GateFailure> {
        // During the run a hit could decide: only before the start can all be told at once.
        let run = self.board.get_mut(type_index);
        match run.filter(|run| run.arm_state(rank, Arm::Base) == Some(ArmState::Pending)) {
            Some(run) if matches!(self.phase, Phase::Waiting) => {
                run.take_cached(rank, correct);
                Ok(())
            }
            _ => {
                Err(GateFailure::Protocol(format!("a cached answer for type {type_index}, rank {rank} is unexpected")))
            }
        }
    }

    fn on_arm_done(
        &mut self,
        arm: ArmRef,
        answers: Vec<Answer>,
        commands: &mut Vec<Command>,
    ) -> Result<(), GateFailure> {
        self.take_back(arm)?;
        let Some(run) = self.board.get_mut(arm.type_index) else { return Ok(()) };
        let questions = run.question_count(arm.rank).unwrap_or(0);
        if answers.len() != questions {
            run.discard(arm.rank, arm.arm, 0);
            return Err(GateFailure::MissingAnswers {
                task_type: run.task_type().clone(),
                unit: run.unit(arm.rank).map(|unit| unit.unit_id.clone()).ok_or_else(|| lost(arm))?,
                arm: arm.arm,
                answers: answers.len(),
                questions,
            });
        }
        if run.is_frozen() {
            run.discard(arm.rank, arm.arm, questions);
            commands.push(Command::Record { arm, base_cache: None });
            return Ok(());
        }
        let correct = run.arrive(arm.rank, arm.arm, answers);
        commands.push(Command::Record { arm, base_cache: correct.filter(|_| arm.arm == Arm::Base) });
        // The guard comes before the prefix: a step that fails shall not settle a type on the way.
        run.check_guard(self.guard_err)?;
        if run.advance(&self.boundaries) || (self.policy.curtails() && run.curtail(&self.boundaries)) {
            commands.push(Command::Freeze { type_index: arm.type_index });
        }
        Ok(())
    }

    fn on_arm_skipped(&mut self, arm: ArmRef) -> Result<(), GateFailure> {
        self.take_back(arm)?;
        match self.board.get_mut(arm.type_index) {
            Some(run) if run.is_frozen() => {
                run.discard(arm.rank, arm.arm, 0);
                Ok(())
            }
            _ => Err(GateFailure::Protocol(format!("{arm:?} was skipped although its type is open"))),
        }
    }

    fn on_arm_failed(&mut self, arm: ArmRef) -> Result<(), GateFailure> {
        self.take_back(arm)?;
        let run = self.board.get_mut(arm.type_index).ok_or_else(|| lost(arm))?;
        run.discard(arm.rank, arm.arm, 0);
        let unit = run.unit(arm.rank).map(|unit| unit.unit_id.clone()).ok_or_else(|| lost(arm))?;
        Err(GateFailure::ArmFailed { task_type: run.task_type().clone(), unit, arm: arm.arm })
    }

    /// Returns an arm's slots, or refuses an arm that is not running.
    fn take_back(&mut self, arm: ArmRef) -> Result<(), GateFailure> {
        let state = self.board.get(arm.type_index).and_then(|run| run.arm_state(arm.rank, arm.arm));
        if state != Some(ArmState::Running) {
            return Err(GateFailure::Protocol(format!("{arm:?} came back although it is {state:?}")));
        }
        self.board.release(arm);
        Ok(())
    }

    /// Launches what fits, and finishes when nothing runs and nothing is open.
    fn go_on(&mut self, commands: &mut Vec<Command>) -> Result<(), GateFailure> {
        if !matches!(self.phase, Phase::Running) {
            return Ok(());
        }
        while let Some(arm) = self.policy.next(&self.board, &self.boundaries) {
            let run = self.board.get(arm.type_index);
            let may_start =
                run.is_some_and(|run| !run.is_frozen() && run.arm_state(arm.rank, arm.arm) == Some(ArmState::Pending));
            if !may_start {
                return Err(GateFailure::Protocol(format!("the launch policy chose {arm:?}, which cannot start")));
            }
            if !self.board.launch(arm) {
                break;
            }
            commands.push(Command::Launch(arm));
        }
        if self.board.in_flight() > 0 {
            return Ok(());
        }
        if !self.board.types().iter().all(super::TypeRun::is_settled) {
            return Err(GateFailure::Protocol("the launch policy stopped before every gate was decided".into()));
        }
        let settled = self.board.take_types().into_iter().map(super::TypeRun::settle).collect::<Result<_, _>>()?;
        self.phase = Phase::Done;
        commands.push(Command::Finish(settled));
        Ok(())
    }

    /// While everything is being cancelled only the accounting goes on.
    fn on_event_while_draining(&mut self, event: &Event) {
        let arm = match event {
            Event::ArmDone { arm, .. } | Event::ArmSkipped(arm) | Event::ArmFailed(arm) | Event::ArmCancelled(arm) => {
                *arm
            }
            Event::BaseCached { .. } | Event::Start | Event::Cancelled => return,
        };
        if self.take_back(arm).is_ok()
            && let Some(run) = self.board.get_mut(arm.type_index)
        {
            run.discard(arm.rank, arm.arm, 0);
        }
    }

    fn fail(&mut self, failure: GateFailure, commands: &mut Vec<Command>) {
        if self.board.in_flight() > 0 {
            commands.push(Command::CancelAll);
        }
        self.phase = Phase::Draining(failure);
    }

    /// Reports the failure once nothing runs any more.
    fn finish_draining(&mut self, commands: &mut Vec<Command>) {
        if self.board.in_flight() > 0 {
            return;
        }
        if let Phase::Draining(failure) = &self.phase {
            commands.push(Command::Abort(failure.clone()));
            self.phase = Phase::Done;
        }
    }
}

fn lost(arm: ArmRef) -> GateFailure {
    GateFailure::Protocol(format!("{arm:?} names no unit"))
}
