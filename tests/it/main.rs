//! The integration tests: one binary, driving the real `trm`.
#![expect(clippy::unwrap_used, reason = "a helper that fails shall fail its test")]

mod architecture;
mod cli_basics;
mod config;
mod config_canary;
mod data_support;
mod doctor;
mod eval;
mod gate_cli;
mod gate_executor;
mod gate_inflation;
mod gate_scenarios;
mod gate_scheduler;
mod gate_support;
mod gate_vectors;
mod import_questions;
mod llm_cache;
mod llm_governor;
mod llm_hostile;
mod llm_redis;
mod llm_support;
mod patch;
mod skills;
mod store;
mod store_check;
mod store_cli;
mod store_faults;
mod store_keys;
mod store_migration;
mod store_processes;
mod store_sample;
mod store_support;
mod support;
mod tree_rules;
mod workspace;
mod world_strategy;
