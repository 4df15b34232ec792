//! Ladders between the store, the configuration and the rules that order them.

use std::collections::BTreeMap;

use super::ladder::{GatePools, LadderEntry, LadderOrder, LadderSettings};
use crate::config::{self, RunConfig};
use crate::domain::{ContentHash, TaskType};
use crate::store::rows;

/// How ladders are ordered; `warm` once an epoch of answers was seen.
pub(super) fn ladder_settings(config: &RunConfig, seed: u64, warm: bool) -> LadderSettings {
    LadderSettings {
        order: match config.gate.ladder_order {
            config::LadderOrder::Information => LadderOrder::Information { warm },
            config::LadderOrder::Hashed => LadderOrder::Hashed,
        },
        p_low: config.gate.p_low,
        p_high: config.gate.p_high,
        probe_every: config.gate.probe_every,
        n_max: config.gate.n_max,
        seed,
    }
}

/// The ladders as the harness works with them.
pub(super) fn gate_pools(ladders: &BTreeMap<TaskType, rows::Ladder>) -> GatePools {
    let entry = |entry: &rows::LadderEntry| LadderEntry {
        unit_id: entry.unit_id.clone(),
        p_hat: entry.p_hat,
        observations: entry.observations,
    };
    let entries = ladders.iter().map(|(name, ladder)| (name.clone(), ladder.entries.iter().map(entry).collect()));
    GatePools { entries: entries.collect() }
}

/// The ladders as the store keeps them.
pub(super) fn stored_ladders(pools: &GatePools, data: ContentHash) -> BTreeMap<TaskType, rows::Ladder> {
    let entry = |entry: &LadderEntry| rows::LadderEntry {
        unit_id: entry.unit_id.clone(),
        p_hat: entry.p_hat,
        observations: entry.observations,
    };
    let ladder = |entries: &Vec<LadderEntry>| rows::Ladder {
        data_fingerprint: data,
        entries: entries.iter().map(entry).collect(),
    };
    pools.entries.iter().map(|(name, entries)| (name.clone(), ladder(entries))).collect()
}
