//! How able, how fast and how faulty the simulated model is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All settings of the simulated model; each has a default.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct SimSettings {
    /// Probability that the agent uses a strategy which its skill describes.
    pub use_described: f64,
    /// Probability that it uses one which its skill does not describe.
    pub use_undescribed: f64,
    /// Probability that it uses one which its skill talks it out of.
    pub use_suppressed: f64,
    /// Probability of the right answer when every needed strategy was used.
    pub right_with_all: f64,
    /// Probability of the right answer otherwise.
    pub right_without: f64,
    /// Probability that a turn of the agent cannot be read.
    pub broken_format: f64,
    /// Probability that a judge's reply cannot be read.
    pub judge_garbage: f64,
    /// What the writer proposes.
    pub writer: WriterRates,
    /// Median of the lognormal latency of a call, in milliseconds; 0 for none.
    pub latency_ms: f64,
    /// Sigma of the lognormal latency.
    pub latency_sigma: f64,
    /// Factor on the latency of a trajectory that ends wrong: completion order would then favour wins (design 11).
    pub wrong_latency_factor: f64,
    /// Technical failures.
    pub faults: FaultRates,
}

impl Default for SimSettings {
    fn default() -> Self {
        Self {
            use_described: 0.96,
            use_undescribed: 0.45,
            use_suppressed: 0.1,
            right_with_all: 0.96,
            right_without: 0.12,
            broken_format: 0.005,
            judge_garbage: 0.01,
            writer: WriterRates::default(),
            latency_ms: 0.0,
            latency_sigma: 0.8,
            wrong_latency_factor: 3.0,
            faults: FaultRates::default(),
        }
    }
}

/// What the simulated writer proposes; the rest of the probability is a helpful edit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct WriterRates {
    /// Probability of a candidate that changes nothing that matters.
    pub miss: f64,
    /// Probability of a candidate that does harm.
    pub damage: f64,
}

impl Default for WriterRates {
    fn default() -> Self {
        Self { miss: 0.2, damage: 0.2 }
    }
}

/// Probabilities of technical failures per request. A transient one vanishes when the same request is sent again.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FaultRates {
    /// HTTP 429, transient.
    pub rate_limited: f64,
    /// HTTP 500, transient.
    pub server_error: f64,
    /// No answer until the caller gives up, transient.
    pub timeout: f64,
    /// A body that is no chat completion, transient.
    pub malformed: f64,
    /// A reply cut off by its token limit.
    pub truncated: f64,
    /// HTTP 500 however often it is asked: the question becomes INFRA.
    pub permanent: f64,
}
