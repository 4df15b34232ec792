//! Simulated embeddings: a hashed bag of words, so that similar texts lie close.

use crate::domain::{ContentHash, EmbedFuture, EmbedModel, EmbedReply, EmbedRequest, Usage};

use super::chat::SimModel;

/// Length of a simulated vector.
const DIMENSIONS: usize = 64;

/// The unit vector of a text; of no words, the zero vector.
#[must_use]
pub fn embed_text(text: &str) -> Vec<f32> {
    let mut vector = vec![0.0_f32; DIMENSIONS];
    for word in text.to_lowercase().split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let hash = ContentHash::of(word);
        let [place, sign, ..] = hash.as_bytes();
        if let Some(value) = vector.get_mut(usize::from(*place) % DIMENSIONS) {
            *value += if sign % 2 == 0 { 1.0 } else { -1.0 };
        }
    }
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    vector
}

impl EmbedModel for SimModel {
    fn embed(&self, request: EmbedRequest) -> EmbedFuture<'_> {
        Box::pin(async move {
            let tokens: usize = request.texts.iter().map(|text| text.len().div_ceil(4)).sum();
            Ok(EmbedReply {
                vectors: request.texts.iter().map(|text| embed_text(text)).collect(),
                usage: Usage { prompt_tokens: tokens as u64, ..Usage::default() },
                cached: false,
                latency_ms: 0,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similar_texts_lie_closer_than_different_ones() {
        let dot = |a: &str, b: &str| embed_text(a).iter().zip(embed_text(b)).map(|(a, b)| a * b).sum::<f32>();
        assert!((dot("the red kettle", "the red kettle") - 1.0).abs() < 1e-5);
        assert!(dot("the red kettle boils", "a red kettle") > dot("the red kettle boils", "bicycle repair outdoors"));
    }
}
