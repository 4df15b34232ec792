//! A cached answer as bytes: a version, then a compressed header and the raw reply.

use std::io::Read;

use serde::{Deserialize, Serialize};

use crate::domain::{ChatReply, EmbedReply, FinishReason, ToolCall, Usage};
use crate::llm::backend::Answer;

/// The first byte of every entry; an entry of another version is a miss.
const VERSION: u8 = 1;

/// An entry that unpacks to more is taken for damaged.
const MAX_UNPACKED: u64 = 256 << 20;

/// Fast, and replies repeat their text in `raw`, which any level finds.
const COMPRESSION_LEVEL: i32 = 1;

/// The part that is JSON; the bytes that follow it are the raw reply, or the vectors as little-endian singles.
#[derive(Debug, Serialize, Deserialize)]
enum Header {
    Chat { content: String, reasoning: Option<String>, tool_calls: Vec<ToolCall>, finish: FinishReason, usage: Usage },
    Embed { length: usize, usage: Usage },
}

/// The entry of an answer; `None` if it cannot be packed, which only lack of memory explains.
pub(super) fn pack(answer: &Answer) -> Option<Vec<u8>> {
    let (header, tail) = match answer {
        Answer::Chat(ChatReply { content, reasoning, tool_calls, finish, usage, cached: _, latency_ms: _, raw }) => {
            let (content, reasoning, tool_calls) = (content.clone(), reasoning.clone(), tool_calls.clone());
            (Header::Chat { content, reasoning, tool_calls, finish: *finish, usage: *usage }, raw.clone())
        }
        Answer::Embed(EmbedReply { vectors, usage, cached: _, latency_ms: _ }) => {
            let length = vectors.first().map_or(0, Vec::len);
            let tail = vectors.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
            (Header::Embed { length, usage: *usage }, tail)
        }
    };
    let header = serde_json::to_vec(&header).ok()?;
    let mut plain = u32::try_from(header.len()).ok()?.to_le_bytes().to_vec();
    plain.extend_from_slice(&header);
    plain.extend_from_slice(&tail);
    let mut entry = vec![VERSION];
    entry.extend(zstd::bulk::compress(&plain, COMPRESSION_LEVEL).ok()?);
    Some(entry)
}

/// The answer of an entry; `None` if it is damaged or of another version.
pub(super) fn unpack(entry: &[u8]) -> Option<Answer> {
    let packed = entry.strip_prefix(&[VERSION])?;
    let mut plain = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(packed).ok()?;
    decoder.take(MAX_UNPACKED).read_to_end(&mut plain).ok()?;
    let (length, rest) = plain.split_first_chunk::<4>()?;
    let (header, tail) = rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)?;
    Some(match serde_json::from_slice(header).ok()? {
        Header::Chat { content, reasoning, tool_calls, finish, usage } => {
            let raw = tail.to_vec();
            Answer::Chat(ChatReply { content, reasoning, tool_calls, finish, usage, cached: true, latency_ms: 0, raw })
        }
        Header::Embed { length, usage } => {
            let values: Vec<f32> = tail.as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
            let vectors = if length == 0 { Vec::new() } else { values.chunks(length).map(<[f32]>::to_vec).collect() };
            Answer::Embed(EmbedReply { vectors, usage, cached: true, latency_ms: 0 })
        }
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chat(content: String, raw: Vec<u8>) -> Answer {
        let usage = Usage { prompt_tokens: 5, cached_tokens: 1, completion_tokens: 2, estimated: false };
        let tool_calls = vec![ToolCall { name: "f".into(), arguments: "{}".into() }];
        let (reasoning, finish) = (Some("because".to_owned()), FinishReason::ToolCalls);
        Answer::Chat(ChatReply { content, reasoning, tool_calls, finish, usage, cached: true, latency_ms: 0, raw })
    }

    #[test]
    fn vectors_round_trip_bit_by_bit() {
        let vectors = vec![vec![0.1, -2.5e-30], vec![f32::MIN, 3.0]];
        let answer = Answer::Embed(EmbedReply { vectors, usage: Usage::default(), cached: true, latency_ms: 0 });
        assert_eq!(unpack(&pack(&answer).unwrap()), Some(answer));
    }

    proptest! {
        #[test]
        fn any_reply_round_trips(content: String, raw: Vec<u8>) {
            let answer = chat(content, raw);
            prop_assert_eq!(unpack(&pack(&answer).unwrap()), Some(answer));
        }

        #[test]
        fn damaged_entries_are_misses_not_panics(raw: Vec<u8>, at: prop::sample::Index, bit in 0_u8..8, noise: Vec<u8>) {
            let mut entry = pack(&chat("text".into(), raw)).unwrap();
            let at = at.index(entry.len());
            entry[at] ^= 1 << bit;
            let _maybe = unpack(&entry);
            let _none = unpack(&entry[..at]);
            prop_assert_eq!(unpack(&noise), None);
        }
    }
}
