//! Plays a step's gates on a virtual clock: scenarios, simulation and tests, without a runtime.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::arm::{Answer, ArmRef, Command, Event};
use super::core::Scheduler;
use super::failure::GateFailure;
use super::outcome::SettledGate;

/// What an arm does when it is launched.
#[derive(Debug, Clone, PartialEq)]
pub struct ScriptedArm {
    /// One answer per question of the unit.
    pub answers: Vec<Answer>,
    /// How long its slowest question takes, in virtual time.
    pub duration: u64,
}

/// How a played step ended.
#[derive(Debug, Clone, PartialEq)]
pub struct VirtualReport {
    /// The outcomes in the order of the specs, or why there are none.
    pub result: Result<Vec<SettledGate>, GateFailure>,
    /// Virtual time from the start to the last return.
    pub makespan: u64,
    /// Virtual time from the start to the last verdict; what was in flight then returns later.
    pub decided_at: u64,
    /// The most questions that ran at the same time.
    pub peak_questions: usize,
}

/// Plays a scheduler to its end: `cached` base answers first, then each launch as `script` says.
///
/// Arms that end at the same instant return in the order of their launch.
pub fn play(
    mut scheduler: Scheduler,
    cached: impl IntoIterator<Item = (usize, usize, bool)>,
    mut script: impl FnMut(ArmRef) -> ScriptedArm,
) -> VirtualReport {
    let mut clock = Clock::default();
    let mut commands = Vec::new();
    for (type_index, rank, correct) in cached {
        commands.extend(scheduler.on_event(Event::BaseCached { type_index, rank, correct }));
    }
    commands.extend(scheduler.on_event(Event::Start));
    loop {
        for command in commands.drain(..) {
            match command {
                Command::Launch(arm) => clock.start(arm, script(arm)),
                Command::CancelAll => clock.cancelling = true,
                Command::Finish(settled) => return clock.report(Ok(settled)),
                Command::Abort(failure) => return clock.report(Err(failure)),
                Command::Freeze { .. } => clock.decided_at = clock.now,
                Command::Record { .. } => {}
            }
        }
        let Some((arm, answers)) = clock.next() else {
            return clock.report(Err(GateFailure::Protocol("nothing runs, and there is no outcome".into())));
        };
        let event = if clock.cancelling { Event::ArmCancelled(arm) } else { Event::ArmDone { arm, answers } };
        commands = scheduler.on_event(event);
    }
}

#[derive(Debug, Default)]
struct Clock {
    now: u64,
    decided_at: u64,
    /// (end, number of the launch, arm): ends at the same instant come in order of launch.
    running: BinaryHeap<Reverse<(u64, usize, ArmRef)>>,
    /// The answers of each launch, by its number.
    answers: Vec<Vec<Answer>>,
    questions: usize,
    peak: usize,
    cancelling: bool,
}

impl Clock {
    fn start(&mut self, arm: ArmRef, script: ScriptedArm) {
        self.running.push(Reverse((self.now.saturating_add(script.duration), self.answers.len(), arm)));
        self.questions = self.questions.saturating_add(script.answers.len());
        self.peak = self.peak.max(self.questions);
        self.answers.push(script.answers);
    }

    fn next(&mut self) -> Option<(ArmRef, Vec<Answer>)> {
        let Reverse((end, number, arm)) = self.running.pop()?;
        // What is cancelled ends at once: the clock stands still.
        if !self.cancelling {
            self.now = end;
        }
        let answers = self.answers.get_mut(number).map(std::mem::take)?;
        self.questions = self.questions.saturating_sub(answers.len());
        Some((arm, answers))
    }

    fn report(self, result: Result<Vec<SettledGate>, GateFailure>) -> VirtualReport {
        VirtualReport { result, makespan: self.now, decided_at: self.decided_at, peak_questions: self.peak }
    }
}
