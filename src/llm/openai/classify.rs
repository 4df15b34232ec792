//! The class of an error reply, from its status and its body.

use serde_json::Value;

use crate::domain::ChatErrorKind;

/// Phrases by which servers say that the prompt is too long (OpenAI, vLLM, llama.cpp, Anthropic, Gemini, …).
const OVERFLOW: [&str; 9] = [
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context length",
    "context window",
    "context size",
    "prompt is too long",
    "input is too long",
    "max_model_len",
];

/// Phrases by which servers say that they refuse the content.
const REFUSAL: [&str; 4] = ["content_filter", "content_policy", "responsibleaipolicy", "data_inspection_failed"];

/// The class of a reply with this status (or error code inside a 200) and this body.
pub(super) fn classify(status: u16, body: &str) -> ChatErrorKind {
    let body = body.to_lowercase();
    let says = |phrases: &[&str]| phrases.iter().any(|phrase| body.contains(phrase));
    match status {
        // No waiting brings back an empty account.
        429 if says(&["insufficient_quota", "insufficient balance"]) => ChatErrorKind::Unauthorized,
        429 => ChatErrorKind::RateLimited,
        401..=403 => ChatErrorKind::Unauthorized,
        413 => ChatErrorKind::ContextOverflow,
        400 | 422 if says(&OVERFLOW) => ChatErrorKind::ContextOverflow,
        400 | 422 if says(&REFUSAL) => ChatErrorKind::Refused,
        404 => ChatErrorKind::NotFound,
        408 => ChatErrorKind::Timeout,
        // Too early, locked or in conflict: the same request may pass a moment later.
        409 | 423 | 425 => ChatErrorKind::Server,
        // llama.cpp has answered an over-long prompt with a 500.
        500..=599 if says(&["exceed_context_size", "context size has been exceeded"]) => ChatErrorKind::ContextOverflow,
        500..=599 => ChatErrorKind::Server,
        _ => ChatErrorKind::BadRequest,
    }
}

/// The class of an error object that came under HTTP 200: by its code where that is a status, else by its type.
pub(super) fn classify_body_error(error: &Value) -> ChatErrorKind {
    let body = error.to_string();
    let code = error.get("code").or_else(|| error.get("status"));
    let status = code.and_then(|code| code.as_u64().or_else(|| code.as_str()?.parse().ok()));
    if let Some(status) = status.and_then(|status| u16::try_from(status).ok()).filter(|status| *status >= 400) {
        return classify(status, &body);
    }
    let named = body.to_lowercase();
    if named.contains("rate_limit") || named.contains("too many requests") {
        return classify(429, &body);
    }
    let as_bad_request = classify(400, &body);
    if as_bad_request != ChatErrorKind::BadRequest {
        return as_bad_request;
    }
    if named.contains("invalid_request_error") {
        return ChatErrorKind::BadRequest;
    }
    if named.contains("invalid_api_key") || named.contains("authentication") {
        return ChatErrorKind::Unauthorized;
    }
    // An error without a name under a status that says all is well: the endpoint is in trouble.
    ChatErrorKind::Server
}

/// The words of an error body, for people: its message if it has one, else its start.
pub(super) fn message_of(body: &str) -> String {
    let json: Option<Value> = serde_json::from_str(body).ok();
    let message = json.as_ref().and_then(|json| {
        let error = json.get("error").unwrap_or(json);
        error.get("message").or(Some(error)).and_then(Value::as_str).or_else(|| json.get("detail")?.as_str())
    });
    shorten(message.unwrap_or(body))
}

/// At most 300 characters in one line without control characters.
pub(super) fn shorten(text: &str) -> String {
    let mut short: String = text.trim().chars().map(|c| if c.is_control() { ' ' } else { c }).take(301).collect();
    if short.chars().count() > 300 {
        short.pop();
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn statuses_have_their_class() {
        use ChatErrorKind::{BadRequest, NotFound, RateLimited, Server, Timeout, Unauthorized};
        let expected = [
            (400, BadRequest),
            (401, Unauthorized),
            (402, Unauthorized),
            (403, Unauthorized),
            (404, NotFound),
            (408, Timeout),
        ];
        for (status, kind) in
            expected.into_iter().chain([(429, RateLimited), (500, Server), (503, Server), (529, Server)])
        {
            assert_eq!(classify(status, "{}"), kind, "{status}");
        }
    }

    #[test]
    fn servers_say_in_many_ways_that_the_prompt_is_too_long() {
        for body in [
            r#"{"error":{"code":"context_length_exceeded","message":"…"}}"#,
            r#"{"error":{"message":"This model's maximum context length is 4096 tokens."}}"#,
            r#"{"error":{"code":400,"type":"exceed_context_size_error","n_ctx":4096}}"#,
            r#"{"message":"prompt is too long: 210000 tokens"}"#,
        ] {
            assert_eq!(classify(400, body), ChatErrorKind::ContextOverflow, "{body}");
        }
    }

    #[test]
    fn an_error_under_200_has_the_class_of_its_code() {
        let class = |error: Value| classify_body_error(&error);
        assert_eq!(class(json!({"code": 429, "message": "slow down"})), ChatErrorKind::RateLimited);
        assert_eq!(class(json!({"code": "rate_limit_exceeded"})), ChatErrorKind::RateLimited);
        assert_eq!(class(json!({"code": "503"})), ChatErrorKind::Server);
        assert_eq!(class(json!({"type": "invalid_request_error"})), ChatErrorKind::BadRequest);
        assert_eq!(class(json!("overloaded")), ChatErrorKind::Server);
        assert_eq!(class(json!({"code": "insufficient_quota", "type": "rate_limit"})), ChatErrorKind::Unauthorized);
    }

    #[test]
    fn messages_are_found_and_harmless() {
        assert_eq!(message_of(r#"{"error":{"message":"no\u001b[31m"}}"#), "no [31m");
        assert_eq!(message_of(r#"{"error":"plain"}"#), "plain");
        assert_eq!(message_of(r#"{"detail":"not here"}"#), "not here");
        assert_eq!(message_of(&"x".repeat(1000)).chars().count(), 301);
    }
}
