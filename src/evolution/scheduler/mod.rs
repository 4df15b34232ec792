//! The scheduler of a step's gates: events in, commands out, no I/O and no clock (design 04).
//!
//! Inference runs out of order over all task types at once; statistics advance only along
//! each ladder's longest resolved prefix. Because the core never waits, the executor, the
//! simulator and the tests drive the very same code.

mod arm;
mod board;
mod core;
mod curtail;
mod expected_need;
mod failure;
mod outcome;
mod policy;
mod spec;
mod type_run;
mod virtual_time;

pub use arm::{Answer, ArmRef, ArmState, Command, Event};
pub use board::Board;
pub use core::Scheduler;
pub use expected_need::ExpectedNeed;
pub use failure::{FaultCounts, GateFailure, GuardReport};
pub use outcome::{Curtailment, GateEffort, GateOutcome, SettledGate};
pub use policy::{LaunchPolicy, RoundRobin};
pub use spec::{GateSettings, GateSpec};
pub use type_run::TypeRun;
pub use virtual_time::{ScriptedArm, VirtualReport, play};
