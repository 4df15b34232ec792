//! The integration tests: one binary, driving the real `trm`.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a helper that fails shall fail its test, and a skipped test says so"
)]

mod agent_sim;
mod analysis_guide;
mod architecture;
mod bad_input;
mod canary_endpoints;
mod cli_basics;
mod config;
mod config_canary;
mod data_properties;
mod data_support;
mod diagnose_cli;
mod diagnosis;
mod diagnosis_support;
mod docs;
mod doctor;
mod eval;
mod evolving;
mod export_read;
mod gate_cli;
mod gate_executor;
mod gate_inflation;
mod gate_scenarios;
mod gate_scheduler;
mod gate_support;
mod gate_vectors;
mod import_cli;
mod import_large;
mod import_parquet;
mod import_questions;
mod import_target;
mod infer;
mod infer_again;
mod inspect_training;
mod kernel_session;
mod llm_cache;
mod llm_cache_cli;
mod llm_governor;
mod llm_hostile;
mod llm_redis;
mod llm_support;
mod momentum;
mod patch;
mod seeds;
mod sim_server;
mod skills;
mod store;
mod store_check;
mod store_cli;
#[cfg(feature = "failpoints")]
mod store_failpoints;
mod store_faults;
mod store_keys;
mod store_migration;
mod store_processes;
mod store_sample;
mod store_support;
mod support;
mod train;
mod train_damage;
#[cfg(feature = "failpoints")]
mod train_failpoints;
mod train_harm;
mod train_rules;
mod train_support;
mod train_validity;
mod tree_rules;
mod workspace;
mod world;
mod world_strategy;
