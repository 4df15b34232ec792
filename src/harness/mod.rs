//! Orchestration: workspace, versions, pools, batches, training, slow update.

pub mod batching;
pub mod correctness;
pub mod doctor;
pub mod evaluation;
pub mod gate_eval;
pub mod gate_executor;
pub mod gate_policy;
pub mod gate_replay;
pub mod gate_scenario;
pub mod gate_simulation;
pub mod inference;
pub mod interrupt;
pub mod intervals;
pub mod ladder;
pub mod pools;
pub mod rescore;
pub mod session;
pub mod versions;
pub mod workspace;
