//! The client against servers that misbehave in every known way: each call ends, in the right class, visibly.

use std::time::Duration;

use secrecy::SecretString;
use serde_json::json;
use trm::domain::{ChatError, ChatErrorKind, ChatModel, ChatReply, FinishReason, Role};
use trm::llm::{HubParts, LlmStatus, ModelHub, Provider};

use crate::llm_support::{Act, Hostile, capture_logs, completion, http_settings, turn};

/// No call of these tests may take longer, however hostile the server: a bound on hanging, not a measurement.
const HANGS: Duration = Duration::from_secs(60);

struct Seen {
    result: Result<ChatReply, ChatError>,
    hits: usize,
    status: LlmStatus,
}

impl Seen {
    fn kind(&self) -> ChatErrorKind {
        self.result.as_ref().unwrap_err().kind
    }

    /// The class of an error, the requests made for it, and how often `trm status` would show it.
    fn failure(&self) -> (ChatErrorKind, usize, u64) {
        let role = self.status.roles.first().unwrap();
        assert_eq!(role.errors, [(self.kind(), 1)].into(), "the failed call shows");
        (self.kind(), self.hits, *role.failed_tries.get(&self.kind()).unwrap())
    }
}

async fn against(act: impl Fn(usize, &[u8]) -> Act + Send + Sync + 'static) -> Seen {
    let server = Hostile::start(act).await;
    let hub = ModelHub::open(http_settings(&server.url, |_| ()), HubParts::default()).await.unwrap();
    let result = tokio::time::timeout(HANGS, hub.chat(turn("q"))).await.unwrap();
    Seen { result, hits: server.hits(), status: hub.status() }
}

/// A server that always does the same.
async fn always(act: Act) -> Seen {
    against(move |_, _| act.clone()).await
}

/// A server that misbehaves once.
async fn once(act: Act) -> Seen {
    against(move |number, _| if number == 0 { act.clone() } else { Act::ok(completion("C")) }).await
}

#[tokio::test]
async fn every_form_of_retry_after_ends_in_a_retry() {
    let soon = httpdate::fmt_http_date(std::time::SystemTime::now() + Duration::from_secs(3600));
    let past = httpdate::fmt_http_date(std::time::SystemTime::now() - Duration::from_secs(3600));
    for value in ["0", "1", "99999", "-1", "NaN", "", "soon", &soon, &past] {
        let headers = vec![("retry-after", value.to_owned())];
        let seen = once(Act::Reply(429, headers.clone(), b"{}".to_vec())).await;
        assert_eq!(seen.result.as_ref().unwrap().content, "C", "{value}");
        let role = &seen.status.roles[0];
        assert_eq!((seen.hits, role.retries, role.failed_tries[&ChatErrorKind::RateLimited]), (2, 1, 1), "{value}");

        let seen = always(Act::Reply(429, headers, b"{}".to_vec())).await;
        assert_eq!(seen.failure(), (ChatErrorKind::RateLimited, 4, 4), "{value}");
    }
}

#[tokio::test]
async fn server_errors_are_tried_again_and_then_given_up() {
    for status in [500, 502, 503, 529] {
        assert_eq!(once(Act::status(status)).await.result.unwrap().content, "C");
        let seen = always(Act::status(status)).await;
        assert_eq!(seen.failure(), (ChatErrorKind::Server, 3, 3), "{status}");
        assert!(seen.result.unwrap_err().message.contains(&status.to_string()));
    }
}

#[tokio::test]
async fn what_the_request_itself_caused_is_not_tried_again() {
    let overflow = br#"{"error":{"code":"context_length_exceeded","message":"maximum context length is 4096"}}"#;
    for (act, kind) in [
        (Act::status(400), ChatErrorKind::BadRequest),
        (Act::status(401), ChatErrorKind::Unauthorized),
        (Act::status(404), ChatErrorKind::NotFound),
        (Act::Reply(400, Vec::new(), overflow.to_vec()), ChatErrorKind::ContextOverflow),
        (Act::Reply(307, vec![("location", "http://127.0.0.1:1/".to_owned())], Vec::new()), ChatErrorKind::BadRequest),
    ] {
        assert_eq!(always(act).await.failure(), (kind, 1, 1));
    }
}

#[tokio::test]
async fn broken_connections_are_tried_again_and_then_given_up() {
    for act in [Act::Close, Act::ResetInBody(completion("C").into_bytes())] {
        assert_eq!(once(act.clone()).await.result.unwrap().content, "C");
        assert_eq!(always(act).await.failure(), (ChatErrorKind::Connection, 3, 3));
    }
}

#[tokio::test]
async fn nobody_listening_is_a_connection_error() {
    let url = Hostile::start(|_, _| Act::Close).await.url.clone();
    let hub = ModelHub::open(http_settings(&url, |_| ()), HubParts::default()).await.unwrap();
    let error = tokio::time::timeout(HANGS, hub.chat(turn("q"))).await.unwrap().unwrap_err();
    assert_eq!(error.kind, ChatErrorKind::Connection);
    assert!(error.message.contains("refused"), "{}", error.message);
}

#[tokio::test]
async fn black_holes_and_slow_drips_end_at_their_time_outs() {
    assert_eq!(once(Act::BlackHole).await.result.unwrap().content, "C");
    assert_eq!(always(Act::BlackHole).await.failure(), (ChatErrorKind::Timeout, 3, 3));
    let drip = always(Act::Drip(completion("C").into_bytes(), Duration::from_secs(1))).await;
    assert_eq!(drip.failure(), (ChatErrorKind::Timeout, 3, 3));
    assert!(drip.result.unwrap_err().message.contains("no complete reply"));
}

#[tokio::test]
async fn errors_under_http_200_are_errors() {
    for (body, kind, hits) in [
        (r#"{"error":{"message":"overloaded"}}"#, ChatErrorKind::Server, 3),
        (r#"{"error":{"code":429,"message":"slow down"}}"#, ChatErrorKind::RateLimited, 4),
        (r#"{"error":{"code":400,"message":"maximum context length"}}"#, ChatErrorKind::ContextOverflow, 1),
        (r#"{"choices":[]}"#, ChatErrorKind::Malformed, 3),
        ("{}", ChatErrorKind::Malformed, 3),
        ("", ChatErrorKind::Malformed, 3),
        (r#"{"choices":[{"message":{"content":"cut o"#, ChatErrorKind::Malformed, 3),
    ] {
        let seen = always(Act::ok(body)).await;
        assert_eq!((seen.kind(), seen.hits), (kind, hits), "{body}");
    }
}

#[tokio::test]
async fn a_page_instead_of_a_reply_is_malformed_and_named() {
    let page = Act::Reply(200, vec![("content-type", "text/html".to_owned())], b"<html>Log in</html>".to_vec());
    let seen = always(page).await;
    assert_eq!(seen.failure(), (ChatErrorKind::Malformed, 3, 3));
    let message = seen.result.unwrap_err().message;
    assert!(message.contains("text/html") && message.contains("<html>Log in"), "{message}");
}

#[tokio::test]
async fn a_good_reply_under_a_wrong_type_counts() {
    let reply = Act::Reply(200, vec![("content-type", "text/plain".to_owned())], completion("C").into_bytes());
    assert_eq!(always(reply).await.result.unwrap().content, "C");
}

#[tokio::test]
async fn reasoning_without_content_is_an_empty_reply() {
    let body =
        json!({"choices": [{"finish_reason": "length", "message": {"content": null, "reasoning_content": "hm"}}]});
    let reply = always(Act::ok(body.to_string())).await.result.unwrap();
    assert_eq!((reply.content.as_str(), reply.reasoning.as_deref()), ("", Some("hm")));
    assert_eq!(reply.finish, FinishReason::Length);
}

#[tokio::test]
async fn a_reply_of_five_megabytes_is_refused_and_one_below_the_bound_is_read() {
    let seen = always(Act::ok(completion(&"x".repeat(5 << 20)))).await;
    assert_eq!(seen.failure(), (ChatErrorKind::Malformed, 3, 3));
    assert!(seen.result.unwrap_err().message.contains("larger than 4194304 bytes"));
    let reply = always(Act::ok(completion(&"x".repeat(3 << 20)))).await.result.unwrap();
    assert_eq!(reply.content.len(), 3 << 20);
}

#[tokio::test]
async fn missing_usage_is_estimated_and_said_to_be() {
    let usage = always(Act::ok(r#"{"choices":[{"message":{"content":"some words"}}]}"#)).await.result.unwrap().usage;
    assert!(usage.estimated && usage.prompt_tokens > 0 && usage.completion_tokens > 0);
}

#[tokio::test]
async fn hostile_text_arrives_whole() {
    let body = r#"{"choices":[{"message":{"content":"\u0000\u001b[2J<script>\ud800"}}]}"#;
    let reply = always(Act::ok(body)).await.result.unwrap();
    assert_eq!(reply.content, "\0\u{1b}[2J<script>\u{fffd}");
    assert_eq!(reply.raw, body.as_bytes());
}

#[tokio::test]
async fn a_dead_replica_is_left_alone_and_the_others_work() {
    let good = Hostile::start(|_, _| Act::ok(completion("C"))).await;
    let bad = Hostile::start(|_, _| Act::status(500)).await;
    let base_urls = vec![bad.url.clone(), good.url.clone()];
    let settings = http_settings("http://unused/v1", |role| {
        role.provider = Provider::OpenAi { base_urls, api_key: None };
        role.retry.circuit_failures = 3;
        role.retry.circuit_cooldown = Duration::from_secs(3600);
    });
    let hub = ModelHub::open(settings, HubParts::default()).await.unwrap();
    for number in 0..40 {
        assert_eq!(hub.chat(turn(&number.to_string())).await.unwrap().content, "C");
    }
    assert_eq!((bad.hits(), good.hits()), (3, 40));
    let states: Vec<_> =
        hub.status().roles[0].endpoints.iter().map(|endpoint| format!("{:?}", endpoint.circuit)).collect();
    assert_eq!(states, ["Open", "Closed"]);
}

#[tokio::test]
async fn when_every_circuit_is_open_calls_end_without_asking() {
    let bad = Hostile::start(|_, _| Act::status(500)).await;
    let settings = http_settings(&bad.url, |role| {
        role.retry.circuit_failures = 3;
        role.retry.circuit_cooldown = Duration::from_secs(3600);
        role.retry.circuit_wait = Duration::from_millis(50);
    });
    let hub = ModelHub::open(settings, HubParts::default()).await.unwrap();
    assert_eq!(hub.chat(turn("a")).await.unwrap_err().kind, ChatErrorKind::Server);
    let second = tokio::time::timeout(HANGS, hub.chat(turn("b"))).await.unwrap();
    assert_eq!(second.unwrap_err().kind, ChatErrorKind::CircuitOpen);
    assert_eq!(bad.hits(), 3);
}

#[tokio::test]
async fn a_key_is_sent_and_never_shown() {
    const CANARY: &str = "sk-canary-0123456789";
    let (logs, _guard) = capture_logs();
    // A proxy that repeats what it was sent, in an error and in a reply.
    let server = Hostile::start(|number, request| {
        let echo = String::from_utf8_lossy(request).replace('"', "'").replace("\r\n", " ");
        assert!(echo.contains(CANARY));
        match number {
            0..3 => Act::Reply(500, Vec::new(), json!({"error": {"message": echo}}).to_string().into_bytes()),
            3 => Act::ok(completion(&echo)),
            _ => Act::Reply(401, Vec::new(), echo.into_bytes()),
        }
    })
    .await;
    let settings = http_settings(&server.url, |role| {
        let base_urls = vec![server.url.replace("http://", "http://user:sk-canary-password@")];
        role.provider = Provider::OpenAi { base_urls, api_key: Some(SecretString::from(CANARY)) };
    });
    let shown_settings = format!("{:?}", settings.roles[&Role::Search].provider);
    assert!(!shown_settings.contains(CANARY), "{shown_settings}");
    let hub = ModelHub::open(settings, HubParts::default()).await.unwrap();
    let failed = hub.chat(turn("a")).await.unwrap_err();
    let answered = hub.chat(turn("b")).await.unwrap();
    let refused = hub.chat(turn("c")).await.unwrap_err();
    assert_eq!((failed.kind, refused.kind), (ChatErrorKind::Server, ChatErrorKind::Unauthorized));
    let raw = String::from_utf8_lossy(&answered.raw).into_owned();
    let status = serde_json::to_string(&hub.status()).unwrap();
    for shown in
        [failed.to_string(), refused.to_string(), answered.content, raw, status, logs.text(), format!("{hub:?}")]
    {
        assert!(!shown.contains("sk-canary"), "{shown}");
    }
    assert!(logs.text().contains("a try failed"), "the log was captured");
}
