//! Orchestration: workspace, versions, pools, batches, training, slow update.

pub mod batching;
pub mod correctness;
pub mod gate_executor;
pub mod gate_scenario;
pub mod intervals;
pub mod ladder;
pub mod pools;
