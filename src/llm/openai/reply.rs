//! The body of a reply, read leniently: endpoints differ.

use serde::Deserialize;
use serde_json::Value;

use super::classify::{classify_body_error, message_of, shorten};
use super::content_calls::{argument_text, calls_in_content};
use super::lossless::readable;
use crate::domain::{ChatErrorKind, ChatReply, ChatRequest, EmbedReply, EmbedRequest, FinishReason, ToolCall, Usage};
use crate::llm::backend::TryError;
use crate::llm::tokens::{estimate_request, estimate_tokens, estimated_usage};

/// More tokens than any call can have: a count above it is nonsense and would spoil sums and the budget.
const MOST_TOKENS: u64 = 1_000_000_000;

#[derive(Debug, Deserialize)]
struct WireReply {
    error: Option<Value>,
    choices: Option<Vec<Choice>>,
    data: Option<Vec<Vector>>,
    usage: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    message: Option<WireMessage>,
    finish_reason: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct WireMessage {
    content: Option<Value>,
    reasoning_content: Option<Value>,
    reasoning: Option<Value>,
    refusal: Option<Value>,
    tool_calls: Option<Vec<Value>>,
    function_call: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Vector {
    embedding: Vec<f32>,
    index: Option<usize>,
}

/// Reads a chat completion. `body` is kept in the reply as it is.
pub(super) fn chat_reply(body: Vec<u8>, request: &ChatRequest, content_type: &str) -> Result<ChatReply, TryError> {
    let wire = parse(&body, content_type)?;
    let usage = wire.usage.as_ref().and_then(usage_of);
    let malformed = |message: &str| TryError { usage, ..TryError::new(ChatErrorKind::Malformed, message) };
    let choice =
        wire.choices.unwrap_or_default().into_iter().next().ok_or_else(|| malformed("the reply has no choices"))?;
    let message = choice.message.ok_or_else(|| malformed("the reply's choice has no message"))?;

    let refusal = message.refusal.as_ref().map(text_of).filter(|text| !text.is_empty());
    let mut content = message.content.as_ref().map(text_of).unwrap_or_default();
    let mut finish = finish_of(choice.finish_reason.as_ref());
    if let Some(refusal) = refusal {
        finish = FinishReason::ContentFilter;
        if content.is_empty() {
            content = refusal;
        }
    }
    let reasoning = message.reasoning_content.as_ref().or(message.reasoning.as_ref()).map(text_of);
    let reasoning = reasoning.filter(|text| !text.is_empty());
    let mut tool_calls: Vec<ToolCall> =
        message.tool_calls.iter().flatten().chain(message.function_call.as_ref()).filter_map(native_call).collect();
    if tool_calls.is_empty() {
        tool_calls = calls_in_content(&content, &request.tools);
    }
    let written = || estimate_tokens(reasoning.as_deref().unwrap_or_default());
    let usage = usage.unwrap_or_else(|| {
        let mut usage = estimated_usage(estimate_request(request), &content);
        usage.completion_tokens += written();
        usage
    });
    Ok(ChatReply { content, reasoning, tool_calls, finish, usage, cached: false, latency_ms: 0, raw: body })
}

/// Reads the vectors of an embedding reply, in the order of the texts.
pub(super) fn embed_reply(body: &[u8], request: &EmbedRequest, content_type: &str) -> Result<EmbedReply, TryError> {
    let wire = parse(body, content_type)?;
    let malformed = |message: String| TryError::new(ChatErrorKind::Malformed, message);
    let mut data = wire.data.unwrap_or_default();
    if data.len() != request.texts.len() {
        return Err(malformed(format!("the reply has {} vectors for {} texts", data.len(), request.texts.len())));
    }
    if data.iter().all(|vector| vector.index.is_some()) {
        data.sort_by_key(|vector| vector.index);
    }
    let length = data.first().map_or(0, |vector| vector.embedding.len());
    if data.iter().any(|vector| vector.embedding.len() != length || vector.embedding.iter().any(|x| !x.is_finite()))
        || (length == 0 && !data.is_empty())
    {
        return Err(malformed("the reply's vectors differ in length, are empty or hold no finite numbers".to_owned()));
    }
    let usage = wire
        .usage
        .as_ref()
        .and_then(usage_of)
        .unwrap_or_else(|| estimated_usage(request.texts.iter().map(|text| estimate_tokens(text)).sum(), ""));
    let vectors = data.into_iter().map(|vector| vector.embedding).collect();
    Ok(EmbedReply { vectors, usage, cached: false, latency_ms: 0 })
}

fn parse(body: &[u8], content_type: &str) -> Result<WireReply, TryError> {
    let text = readable(body);
    let wire: WireReply = serde_json::from_str(&text).map_err(|error| {
        let start = shorten(&text.chars().take(80).collect::<String>());
        let message = format!("the reply ({content_type}) is no chat completion: {error}; it begins with {start:?}");
        TryError::new(ChatErrorKind::Malformed, message)
    })?;
    if let Some(error) = wire.error.as_ref().filter(|error| !matches!(error, Value::Bool(false))) {
        // An error object beside choices is a remark on a reply that is there.
        if wire.choices.as_ref().is_none_or(Vec::is_empty) && wire.data.is_none() {
            let message = format!("an error under HTTP 200: {}", message_of(&text));
            return Err(TryError::new(classify_body_error(error), message));
        }
    }
    Ok(wire)
}

/// Text that came as a string, or as parts of which those with text count.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str)).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
        // A server that parsed the model's JSON before sending it.
        Value::Object(_) => value.to_string(),
    }
}

fn finish_of(reason: Option<&Value>) -> FinishReason {
    match reason.and_then(Value::as_str) {
        Some("stop" | "end_turn" | "eos" | "stop_sequence") => FinishReason::Stop,
        Some("tool_calls" | "function_call" | "tool_use") => FinishReason::ToolCalls,
        Some("length" | "max_tokens" | "model_length") => FinishReason::Length,
        Some("content_filter" | "safety" | "refusal") => FinishReason::ContentFilter,
        Some(_) | None => FinishReason::Unknown,
    }
}

fn native_call(value: &Value) -> Option<ToolCall> {
    let function = value.get("function").unwrap_or(value);
    let name = function.get("name")?.as_str()?.to_owned();
    Some(ToolCall { name, arguments: argument_text(function.get("arguments")) })
}

/// Token counts, if the endpoint gave any.
fn usage_of(usage: &Value) -> Option<Usage> {
    let count = |value: Option<&Value>| value.and_then(Value::as_u64).filter(|count| *count <= MOST_TOKENS);
    let prompt_tokens = count(usage.get("prompt_tokens")).or_else(|| count(usage.get("input_tokens")))?;
    let completion_tokens =
        count(usage.get("completion_tokens")).or_else(|| count(usage.get("output_tokens"))).unwrap_or(0);
    let cached_tokens = count(usage.pointer("/prompt_tokens_details/cached_tokens"))
        .or_else(|| count(usage.get("prompt_cache_hit_tokens")))
        .unwrap_or(0);
    Some(Usage { prompt_tokens, cached_tokens, completion_tokens, estimated: false })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::domain::{CallTag, Message, Role, ToolSpec};

    fn request() -> ChatRequest {
        ChatRequest::new(Role::Search, vec![Message::user("question")], CallTag::default())
    }

    fn read(body: &str) -> Result<ChatReply, TryError> {
        chat_reply(body.as_bytes().to_vec(), &request(), "application/json")
    }

    fn kind(body: &str) -> ChatErrorKind {
        read(body).unwrap_err().kind
    }

    #[test]
    fn a_full_reply_is_read_whole() {
        let body = json!({
            "choices": [{"finish_reason": "stop", "message": {"content": "C", "reasoning_content": "because"}}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 4}},
        });
        let reply = read(&body.to_string()).unwrap();
        assert_eq!((reply.content.as_str(), reply.reasoning.as_deref()), ("C", Some("because")));
        assert_eq!(reply.finish, FinishReason::Stop);
        assert_eq!(reply.usage, Usage { prompt_tokens: 9, cached_tokens: 4, completion_tokens: 3, estimated: false });
        assert_eq!(reply.raw, body.to_string().into_bytes());
    }

    #[test]
    fn lone_surrogates_and_nul_survive_in_the_raw_bytes() {
        let body = r#"{"choices":[{"message":{"content":"\ud800 \u0000 \u001b[2J"}}]}"#;
        let reply = read(body).unwrap();
        assert_eq!(reply.content, "\u{fffd} \0 \u{1b}[2J");
        assert_eq!(reply.raw, body.as_bytes());
    }

    #[test]
    fn errors_under_200_and_empty_choices_are_errors() {
        assert_eq!(kind(r#"{"error":{"message":"boom"}}"#), ChatErrorKind::Server);
        assert_eq!(kind(r#"{"error":{"code":429}, "choices":[]}"#), ChatErrorKind::RateLimited);
        assert_eq!(kind(r#"{"choices":[]}"#), ChatErrorKind::Malformed);
        assert_eq!(kind("{}"), ChatErrorKind::Malformed);
        assert_eq!(kind(r#"{"choices":[{}]}"#), ChatErrorKind::Malformed);
        assert_eq!(kind(r#"{"choices":[{"message":{"content":"cut"#), ChatErrorKind::Malformed);
        assert_eq!(kind("<html>"), ChatErrorKind::Malformed);
        assert_eq!(kind(""), ChatErrorKind::Malformed);
        assert_eq!(kind(&"[".repeat(100_000)), ChatErrorKind::Malformed);
        assert!(read(r#"{"error":null,"choices":[{"message":{"content":"x"}}]}"#).is_ok());
    }

    #[test]
    fn tokens_of_a_failed_reply_are_not_lost() {
        let error = read(r#"{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":0}}"#).unwrap_err();
        assert_eq!(error.usage.unwrap().prompt_tokens, 5);
    }

    #[test]
    fn a_reply_of_reasoning_only_is_an_empty_reply() {
        let reply =
            read(r#"{"choices":[{"finish_reason":"length","message":{"content":null,"reasoning":"hm"}}]}"#).unwrap();
        assert_eq!((reply.content.as_str(), reply.reasoning.as_deref()), ("", Some("hm")));
        assert_eq!(reply.finish, FinishReason::Length);
        assert!(reply.usage.estimated && reply.usage.prompt_tokens > 0 && reply.usage.completion_tokens > 0);
    }

    #[test]
    fn tool_calls_arrive_natively_or_in_the_content() {
        let native = r#"{"choices":[{"finish_reason":"tool_calls","message":{"content":null,"tool_calls":
            [{"function":{"name":"f","arguments":"{\"a\":1}"}},{"function":{"name":"g","arguments":{"b":2}}}]}}]}"#;
        let calls = read(native).unwrap().tool_calls;
        assert_eq!(calls.len(), 2);
        assert_eq!((calls[0].arguments.as_str(), calls[1].arguments.as_str()), (r#"{"a":1}"#, r#"{"b":2}"#));

        let mut request = request();
        request.tools = vec![ToolSpec { name: "f".into(), description: String::new(), parameters: json!({}) }];
        let body = json!({"choices": [{"message": {"content": "{\"name\": \"f\", \"arguments\": {\"a\": 1}}"}}]});
        let reply = chat_reply(body.to_string().into_bytes(), &request, "").unwrap();
        assert_eq!(reply.tool_calls, [ToolCall { name: "f".into(), arguments: r#"{"a":1}"#.into() }]);
    }

    #[test]
    fn counts_that_cannot_be_are_replaced_by_estimates() {
        let body = |count: &str| {
            let usage = format!(r#"{{"prompt_tokens":{count},"completion_tokens":{count}}}"#);
            format!(r#"{{"choices":[{{"message":{{"content":"x"}}}}],"usage":{usage}}}"#)
        };
        for count in ["18446744073709551615", "-1", "1e300", "\"7\"", "null"] {
            assert!(read(&body(count)).unwrap().usage.estimated, "{count}");
        }
        assert!(!read(&body("7")).unwrap().usage.estimated);
    }

    #[test]
    fn a_refusal_is_told_apart() {
        let reply =
            read(r#"{"choices":[{"finish_reason":"stop","message":{"content":null,"refusal":"no"}}]}"#).unwrap();
        assert_eq!((reply.content.as_str(), reply.finish), ("no", FinishReason::ContentFilter));
    }

    #[test]
    fn parts_are_joined() {
        let reply = read(r#"{"choices":[{"message":{"content":[{"type":"text","text":"a"},{"text":"b"}]}}]}"#).unwrap();
        assert_eq!(reply.content, "ab");
    }

    #[test]
    fn vectors_come_in_the_order_of_the_texts() {
        let request = EmbedRequest { texts: vec!["a".into(), "b".into()], tag: CallTag::default() };
        let read = |body: &str| embed_reply(body.as_bytes(), &request, "");
        let reply = read(r#"{"data":[{"index":1,"embedding":[2,2]},{"index":0,"embedding":[1,1]}]}"#).unwrap();
        assert_eq!(reply.vectors, [[1.0, 1.0], [2.0, 2.0]]);
        for body in [
            r#"{"data":[]}"#,
            r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#,
            r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#,
            r#"{"data":[{"embedding":[1e39]},{"embedding":[1]}]}"#,
        ] {
            assert_eq!(read(body).unwrap_err().kind, ChatErrorKind::Malformed, "{body}");
        }
    }
}
