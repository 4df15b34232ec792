//! Orchestration: workspace, versions, pools, batches, training, slow update.

mod attended;
pub mod batching;
pub mod correctness;
pub mod diagnosing;
mod diagnosis_rows;
pub mod doctor;
pub mod evaluation;
mod evolution_rows;
pub mod evolving;
pub mod gate_eval;
pub mod gate_executor;
pub mod gate_policy;
pub mod gate_replay;
pub mod gate_scenario;
pub mod gate_simulation;
pub mod inference;
pub mod interrupt;
pub mod intervals;
pub mod kernel_error;
pub mod ladder;
pub mod pools;
pub mod rescore;
pub mod run_log;
pub mod session;
pub mod templates;
pub mod versions;
pub mod workspace;
