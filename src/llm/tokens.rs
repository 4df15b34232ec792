//! Estimates of tokens, for reservations and for endpoints that do not count.

use super::backend::Ask;
use crate::domain::{ChatRequest, Usage};

/// Bytes of text that count as one token: English has about four, Chinese about three to five.
const BYTES_PER_TOKEN: u64 = 3;

/// What an image costs; about what a high-detail image of a frame costs at the large providers.
const TOKENS_PER_IMAGE: u64 = 1_500;

/// What the frame of a message costs.
const TOKENS_PER_MESSAGE: u64 = 6;

/// A cautious estimate of the tokens of a text: rather too many than too few.
#[must_use]
pub fn estimate_tokens(text: &str) -> u64 {
    bytes_to_tokens(text.len())
}

/// A cautious estimate of the tokens of a request: messages, images, tools and schema.
#[must_use]
pub fn estimate_request(request: &ChatRequest) -> u64 {
    let messages: u64 = request
        .messages
        .iter()
        .map(|message| {
            let images = u64::try_from(message.images.len()).unwrap_or(u64::MAX);
            estimate_tokens(&message.content) + TOKENS_PER_MESSAGE + images.saturating_mul(TOKENS_PER_IMAGE)
        })
        .sum();
    let tools: u64 = request
        .tools
        .iter()
        .map(|tool| {
            estimate_tokens(&tool.description) + estimate_tokens(&tool.parameters.to_string()) + TOKENS_PER_MESSAGE
        })
        .sum();
    messages + tools
}

/// The estimate for any request.
pub(super) fn estimate_ask(ask: &Ask) -> u64 {
    match ask {
        Ask::Chat(request) => estimate_request(request),
        Ask::Embed(request) => request.texts.iter().map(|text| estimate_tokens(text) + 1).sum(),
    }
}

/// Usage by estimate.
pub(super) fn estimated_usage(prompt_tokens: u64, completion: &str) -> Usage {
    Usage { prompt_tokens, cached_tokens: 0, completion_tokens: estimate_tokens(completion), estimated: true }
}

fn bytes_to_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes).unwrap_or(u64::MAX).div_ceil(BYTES_PER_TOKEN)
}
