//! Runs a step's gates on real inference: carries out the scheduler's commands and tells it what happened.
//!
//! All decisions are the scheduler's; the executor only waits. It starts no tasks of its
//! own: every arm is a future that it owns, so that dropping it stops everything.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use crate::domain::{ExitClass, Fault, Unit, UnitId};
use crate::evolution::scheduler::{
    Answer, ArmRef, Board, Command, Event, GateFailure, GateSettings, GateSpec, LaunchPolicy, Scheduler, SettledGate,
};

/// One gate and what the baseline cache knows about its units when the step's gates begin.
#[derive(Debug, Clone)]
pub struct GateInput {
    /// What to test.
    pub spec: GateSpec,
    /// Unit → correctness of the current skill, for cache hits.
    pub base_cached: BTreeMap<UnitId, bool>,
}

/// The gates of a step and how to run them.
#[derive(Debug)]
pub struct GatePlan {
    /// The gates, in launch order of the types.
    pub gates: Vec<GateInput>,
    /// Thresholds, guard and slots.
    pub settings: GateSettings,
    /// Which arm starts next.
    pub policy: Box<dyn LaunchPolicy>,
}

/// What to run: one arm of one unit.
#[derive(Debug, Clone)]
pub struct ArmLaunch {
    /// Its place.
    pub arm: ArmRef,
    /// The gate it belongs to.
    pub spec: Arc<GateSpec>,
    /// The unit whose questions are to be answered.
    pub unit: Unit,
}

impl ArmLaunch {
    /// The run id under which the answers are stored and salted.
    #[must_use]
    pub fn run_id(&self) -> String {
        self.spec.arm_run_id(self.arm.arm)
    }
}

/// What an arm returned.
#[derive(Debug, Clone)]
pub struct ArmReturn<T> {
    /// One answer per question of the unit, in the unit's order.
    pub answers: Vec<Answer>,
    /// What the runner wants back in [`ArmRunner::record`]: the predictions to store.
    pub payload: T,
}

/// What to store of an arm that returned.
#[derive(Debug, Clone)]
pub struct ArmRecord<T> {
    /// What was run.
    pub launch: ArmLaunch,
    /// What the arm returned.
    pub payload: T,
    /// The unit's base answer for the baseline cache, to be written in the same transaction;
    /// none for a candidate, a technical failure, and an arm that returned after the verdict.
    pub base_cache: Option<bool>,
}

/// Runs arms and stores what they return.
pub trait ArmRunner: Sync {
    /// Travels from [`run`](Self::run) to [`record`](Self::record).
    type Payload: Send;
    /// What ends the step: a broken store, a reached budget, a bug. A question that failed
    /// technically is no error but an answer with that stop reason.
    type Error: Send;

    /// Answers the questions of a unit with one of the two skills.
    ///
    /// The future is dropped when the step is cancelled: a question that is cut off so must leave nothing behind.
    fn run(&self, launch: ArmLaunch) -> impl Future<Output = Result<ArmReturn<Self::Payload>, Self::Error>> + Send;

    /// Stores the answers of an arm, and its baseline-cache row if there is one, in one
    /// transaction; never dropped halfway.
    fn record(&self, record: ArmRecord<Self::Payload>) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Sees the state of all gates after each event, for progress displays.
    fn observe(&self, board: &Board) {
        let _ = board;
    }
}

/// Why a step's gates ended without outcomes. Nothing runs any more when it is reported.
#[derive(Debug, thiserror::Error)]
pub enum GateRunError<E> {
    /// The gates themselves could not go on.
    #[error(transparent)]
    Gate(GateFailure),
    /// An arm ended with an error.
    #[error("gate {}: run the {} arm of unit {}", .launch.spec.task_type, .launch.arm.arm.name(), .launch.unit.unit_id)]
    Arm {
        /// Which arm.
        launch: Box<ArmLaunch>,
        /// Why.
        source: E,
    },
    /// The answers of an arm could not be stored.
    #[error("gate {}: store the {} arm of unit {}", .launch.spec.task_type, .launch.arm.arm.name(), .launch.unit.unit_id)]
    Record {
        /// Which arm.
        launch: Box<ArmLaunch>,
        /// Why.
        source: E,
    },
}

impl<E: Fault> Fault for GateRunError<E> {
    fn class(&self) -> ExitClass {
        match self {
            Self::Gate(failure) => failure.class(),
            Self::Arm { source, .. } | Self::Record { source, .. } => source.class(),
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Gate(failure) => failure.code(),
            Self::Arm { source, .. } | Self::Record { source, .. } => source.code(),
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Gate(failure) => failure.hint(),
            Self::Arm { source, .. } | Self::Record { source, .. } => source.hint(),
        }
    }
}

/// Runs the gates of a step to their end and gives the outcomes in the order of the plan.
///
/// When `cancel` completes, running arms are dropped, what is being stored is stored, and
/// the result is [`GateFailure::Cancelled`].
///
/// # Errors
/// [`GateRunError`]; by then every arm is dropped and every begun transaction has ended.
pub async fn run_gates<R: ArmRunner>(
    plan: GatePlan,
    runner: &R,
    cancel: impl Future<Output = ()>,
) -> Result<Vec<SettledGate>, GateRunError<R::Error>> {
    let cached = cached_answers(&plan.gates);
    let specs: Vec<GateSpec> = plan.gates.into_iter().map(|gate| gate.spec).collect();
    let mut scheduler = Scheduler::new(specs, plan.settings, plan.policy).map_err(GateRunError::Gate)?;
    let mut desk = Desk::<R>::new(&scheduler);
    let (mut arms, mut records) = (FuturesUnordered::new(), FuturesUnordered::new());
    let mut cancel = pin!(cancel);
    let mut cancelled = false;
    let mut commands: Vec<Command> = cached.into_iter().flat_map(|event| scheduler.on_event(event)).collect();
    commands.extend(scheduler.on_event(Event::Start));
    loop {
        while !commands.is_empty() {
            let mut events = Vec::new();
            for command in std::mem::take(&mut commands) {
                match command {
                    Command::Launch(arm) => {
                        if let Some(launch) = desk.launch(arm, scheduler.board()) {
                            arms.push(run_arm(runner, launch, Arc::clone(&desk.frozen)));
                        }
                    }
                    Command::Record { arm, base_cache } => {
                        if let Some(record) = desk.record(arm, base_cache) {
                            records.push(store_arm(runner, record));
                        }
                    }
                    Command::Freeze { type_index } => desk.freeze(type_index),
                    Command::CancelAll => {
                        arms.clear();
                        events.extend(desk.drain().map(Event::ArmCancelled));
                    }
                    Command::Finish(settled) => desk.result = Some(Ok(settled)),
                    Command::Abort(failure) => desk.result = Some(Err(failure)),
                }
            }
            commands.extend(events.into_iter().flat_map(|event| scheduler.on_event(event)));
        }
        runner.observe(scheduler.board());
        if desk.result.is_some() && records.is_empty() {
            return desk.conclude();
        }
        if arms.is_empty() && records.is_empty() {
            // The scheduler waits for an arm that does not exist: a bug, and better told than waited out.
            desk.result = Some(Err(GateFailure::Protocol("nothing runs, and there is no outcome".into())));
            return desk.conclude();
        }
        let event = tokio::select! {
            biased;
            () = &mut cancel, if !cancelled => {
                cancelled = true;
                Some(Event::Cancelled)
            }
            Some(stored) = records.next(), if !records.is_empty() => desk.stored(stored),
            Some((launch, returned)) = arms.next(), if !arms.is_empty() => Some(desk.returned(launch, returned)),
        };
        commands = event.map(|event| scheduler.on_event(event)).unwrap_or_default();
    }
}

fn cached_answers(gates: &[GateInput]) -> Vec<Event> {
    let hits = gates.iter().enumerate().flat_map(|(type_index, gate)| {
        gate.spec.units.iter().enumerate().filter_map(move |(rank, unit)| {
            let correct = *gate.base_cached.get(&unit.unit_id)?;
            Some(Event::BaseCached { type_index, rank, correct })
        })
    });
    hits.collect()
}

/// How an arm's future ended.
enum Returned<T, E> {
    /// Its type was frozen before it began: no question ran.
    Skipped,
    Done(Result<ArmReturn<T>, E>),
}

/// Runs an arm, unless its type froze between the launch and the first poll.
async fn run_arm<R: ArmRunner>(
    runner: &R,
    launch: ArmLaunch,
    frozen: Arc<[AtomicBool]>,
) -> (ArmLaunch, Returned<R::Payload, R::Error>) {
    if frozen.get(launch.arm.type_index).is_some_and(|flag| flag.load(Ordering::Relaxed)) {
        return (launch, Returned::Skipped);
    }
    let returned = runner.run(launch.clone()).await;
    (launch, Returned::Done(returned))
}

async fn store_arm<R: ArmRunner>(runner: &R, record: ArmRecord<R::Payload>) -> Result<(), (ArmLaunch, R::Error)> {
    let launch = record.launch.clone();
    runner.record(record).await.map_err(|error| (launch, error))
}

/// What the executor has to remember between events.
struct Desk<R: ArmRunner> {
    frozen: Arc<[AtomicBool]>,
    running: BTreeSet<ArmRef>,
    /// What arms returned, until the scheduler says how to store it.
    returned: BTreeMap<ArmRef, (ArmLaunch, R::Payload)>,
    /// The first error of the runner; later ones are its consequences.
    error: Option<GateRunError<R::Error>>,
    result: Option<Result<Vec<SettledGate>, GateFailure>>,
}

impl<R: ArmRunner> Desk<R> {
    fn new(scheduler: &Scheduler) -> Self {
        Self {
            frozen: scheduler.board().types().iter().map(|_| AtomicBool::new(false)).collect(),
            running: BTreeSet::new(),
            returned: BTreeMap::new(),
            error: None,
            result: None,
        }
    }

    fn launch(&mut self, arm: ArmRef, board: &Board) -> Option<ArmLaunch> {
        let run = board.get(arm.type_index)?;
        self.running.insert(arm);
        Some(ArmLaunch { arm, spec: Arc::clone(run.spec()), unit: run.unit(arm.rank)?.clone() })
    }

    fn freeze(&self, type_index: usize) {
        if let Some(flag) = self.frozen.get(type_index) {
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// The arms that were running, all dropped by now.
    fn drain(&mut self) -> impl Iterator<Item = ArmRef> + use<R> {
        std::mem::take(&mut self.running).into_iter()
    }

    fn returned(&mut self, launch: ArmLaunch, returned: Returned<R::Payload, R::Error>) -> Event {
        let arm = launch.arm;
        self.running.remove(&arm);
        match returned {
            Returned::Skipped => Event::ArmSkipped(arm),
            Returned::Done(Ok(ArmReturn { answers, payload })) => {
                self.returned.insert(arm, (launch, payload));
                Event::ArmDone { arm, answers }
            }
            Returned::Done(Err(source)) => {
                self.error.get_or_insert(GateRunError::Arm { launch: Box::new(launch), source });
                Event::ArmFailed(arm)
            }
        }
    }

    fn record(&mut self, arm: ArmRef, base_cache: Option<bool>) -> Option<ArmRecord<R::Payload>> {
        let (launch, payload) = self.returned.remove(&arm)?;
        Some(ArmRecord { launch, payload, base_cache })
    }

    fn stored(&mut self, stored: Result<(), (ArmLaunch, R::Error)>) -> Option<Event> {
        let (launch, source) = stored.err()?;
        self.error.get_or_insert(GateRunError::Record { launch: Box::new(launch), source });
        Some(Event::Cancelled)
    }

    fn conclude(self) -> Result<Vec<SettledGate>, GateRunError<R::Error>> {
        match (self.error, self.result) {
            (Some(error), _) => Err(error),
            (None, Some(Ok(settled))) => Ok(settled),
            (None, Some(Err(failure))) => Err(GateRunError::Gate(failure)),
            (None, None) => Err(GateRunError::Gate(GateFailure::Protocol("there is no outcome".into()))),
        }
    }
}
