//! What of a role's settings shapes its requests: what is sent, and what the cache's key covers.

use serde_json::{Map, Value};

use super::settings::RoleSettings;
use crate::domain::{CallTag, ChatRequest};

/// The part of a role's settings that decides what a request looks like.
#[derive(Debug, Clone)]
pub(super) struct Shape {
    /// Name of the group of endpoints.
    pub(super) group: String,
    pub(super) model: String,
    pub(super) extra_body: Map<String, Value>,
    /// The configuration's seed.
    pub(super) seed: u64,
    send_seed: bool,
    max_tokens: u32,
    temperature: Option<f32>,
}

impl Shape {
    pub(super) fn new(seed: u64, settings: &RoleSettings) -> Self {
        Self {
            group: settings.group(),
            model: settings.model.clone(),
            extra_body: settings.extra_body.clone(),
            seed,
            send_seed: settings.send_seed,
            max_tokens: settings.max_tokens,
            temperature: settings.temperature,
        }
    }

    /// The longest completion of this request.
    pub(super) fn max_tokens(&self, request: &ChatRequest) -> u32 {
        request.max_tokens.unwrap_or(self.max_tokens)
    }

    /// The `seed` field of a call from this place.
    pub(super) fn model_seed(&self, tag: &CallTag) -> Option<u32> {
        self.send_seed.then(|| tag.model_seed(self.seed))
    }

    /// The sampling temperature of this request.
    pub(super) fn temperature(&self, request: &ChatRequest) -> Option<f32> {
        request.temperature.or(self.temperature)
    }
}
