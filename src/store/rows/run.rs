//! Runs: who made what, with which configuration.

use serde::{Deserialize, Serialize};

use super::{record, stored_enum};
use crate::domain::{ContentHash, RunId};
use crate::store::keys::Scope;
use crate::store::rows::VersionPair;

stored_enum!(
    /// What a run does.
    RunMode, "mode of a run" {
        /// `trm train`.
        Train = "train",
        /// `trm infer`.
        Infer = "infer",
        /// `trm eval`.
        Eval = "eval",
        /// `trm diagnose`.
        Diagnose = "diagnose",
    }
);

stored_enum!(
    /// Where a run stands.
    RunState, "state of a run" {
        /// Begun; it goes on where it was.
        Unfinished = "unfinished",
        /// Done.
        Finished = "finished",
        /// Given up for a fresh one.
        Abandoned = "abandoned",
    }
);

/// Something that happened to a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEvent {
    /// In milliseconds since 1970.
    pub at_ms: i64,
    /// `started`, `resumed`, `stopped`, `finished`, `config_changed` …
    pub what: String,
    /// Details in words.
    pub note: String,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// From 0, in order of creation within the store; set by the store.
    pub sequence: u64,
    /// What it does.
    pub mode: RunMode,
    /// Where it stands.
    pub state: RunState,
    /// The frozen configuration, JSON text without secrets: thresholds too, so that replay needs nothing else.
    pub config: String,
    /// Hash of its structural keys.
    pub config_fingerprint: ContentHash,
    /// Fingerprint of the question set.
    pub data_fingerprint: ContentHash,
    /// Fingerprint of all that answers depend on beside skill and prompts; prefixes the baseline cache.
    pub environment_fingerprint: ContentHash,
    /// All randomness derives from it.
    pub seed: u64,
    /// The versions it began with; for an evaluation those it evaluates.
    pub versions: VersionPair,
    /// The program that began it, such as `0.1.0`.
    pub program_version: String,
    /// When it began, in milliseconds since 1970.
    pub created_ms: i64,
    /// When it ended.
    pub finished_ms: Option<i64>,
    /// Starts, resumes, stops, changes of configuration.
    pub history: Vec<RunEvent>,
    /// The result, JSON text, once finished.
    pub summary: Option<String>,
}

record!(Run, "run");

/// The run and the part of it that made something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MadeBy {
    /// The run.
    pub run: RunId,
    /// The part of it.
    pub scope: Scope,
}
