//! The mathematics of the gate: the e-value of paired flips, the four exits, probation (design 04).
//!
//! Everything here is a pure function of counts. A comparison with a threshold
//! comes out as in exact arithmetic: doubles decide when the difference exceeds
//! their proven error, big integers decide otherwise.

mod boundaries;
mod characteristics;
mod compare;
mod decimal;
mod decision;
mod e_value;
mod error;
mod evidence;
mod exit;
mod pairing;
mod params;
mod probation;
mod replay;
mod wording;

pub use boundaries::Boundaries;
pub use characteristics::{Characteristics, GateTree, units_to_reach, wins_to_reach};
pub use decision::{Decision, Verdict, best_e_value, gate_decision};
pub use e_value::{Flips, MAX_UNITS, e_value, wald_lambda};
pub use error::GateError;
pub use evidence::{EvidenceRow, ExcludedArm};
pub use exit::{GateAction, GateStop};
pub use pairing::{Accuracies, PairBlock, Quadrants, classify_quadrants, compute_accuracy, pair_block};
pub use params::GateParams;
pub use probation::{Probation, ProbationVerdict, probation_verdict};
pub use replay::{Difference, Replay, StoredRow, replay};
pub use wording::{NoKind, explain_decision};
