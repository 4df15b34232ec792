//! The response cache in its file: what is replayed, what never is.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use trm::domain::{ChatModel, ChatReply, ChatRequest, EmbedModel, FinishReason, Role, ToolCall};
use trm::llm::{Answer, Ask, CacheBackend, CacheMode, HubParts, LlmSettings, ModelHub, RoleSettings, file_cache_stats};

use crate::llm_support::{
    Act, Hostile, Scripted, answer, completion, http_settings, scripted_hub, scripted_settings, turn,
};

fn with_file(mut settings: LlmSettings, path: &Path, mode: CacheMode) -> LlmSettings {
    settings.cache.backend = CacheBackend::File(path.to_owned());
    settings.cache.mode = mode;
    settings
}

/// A hub with a cache file; counts the calls that reach its endpoint, which numbers its answers.
async fn counted(path: &Path, mode: CacheMode, change: impl FnOnce(&mut RoleSettings)) -> (ModelHub, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let script = move |_| {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        async move { Ok(answer(&format!("answer {number}"), 10, 5)) }
    };
    let settings = with_file(scripted_settings(change), path, mode);
    (scripted_hub(settings, HubParts::default(), vec![script]).await, calls)
}

fn samples() -> [ChatRequest; 4] {
    [0, 1, 2, 3].map(|sample| {
        let mut request = turn("q");
        request.tag.sample = sample;
        request
    })
}

async fn ask_all(hub: &ModelHub) -> Vec<ChatReply> {
    let mut replies = Vec::new();
    for request in samples() {
        replies.push(hub.chat(request).await.unwrap());
    }
    replies
}

#[tokio::test]
async fn four_samples_make_four_calls_and_a_later_run_replays_all_four() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let (hub, calls) = counted(&path, CacheMode::On, |_| ()).await;
    let first = ask_all(&hub).await;
    assert_eq!(calls.load(Ordering::SeqCst), 4);
    drop(hub);
    let (hub, calls) = counted(&path, CacheMode::On, |_| ()).await;
    let second = ask_all(&hub).await;
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    for (fresh, replayed) in first.iter().zip(&second) {
        assert!(!fresh.cached && replayed.cached);
        assert_eq!((&fresh.content, &fresh.raw, fresh.usage), (&replayed.content, &replayed.raw, replayed.usage));
    }
    let status = hub.status();
    assert_eq!((status.cache.hits, status.cache.misses, status.totals.cached), (4, 0, 4));
    assert_eq!(status.totals.hit_rate(), Some(1.0));
    assert_eq!((status.budget.tokens, status.totals.saved_tokens), (0, 60), "a replay costs nothing");
}

#[tokio::test]
async fn another_temperature_model_or_place_is_no_hit() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let calls_of = async |change: fn(&mut RoleSettings), request: ChatRequest| {
        let (hub, calls) = counted(&path, CacheMode::On, change).await;
        hub.chat(request).await.unwrap();
        calls.load(Ordering::SeqCst)
    };
    assert_eq!(calls_of(|_| (), turn("q")).await, 1);
    assert_eq!(calls_of(|_| (), turn("q")).await, 0);
    assert_eq!(calls_of(|role| role.temperature = Some(0.1), turn("q")).await, 1);
    assert_eq!(calls_of(|role| role.model = "other".into(), turn("q")).await, 1);
    assert_eq!(calls_of(|_| (), turn("r")).await, 1);
    let mut gate = turn("q");
    gate.tag.phase_run = "run_e1_s0_gate_x_base".into();
    assert_eq!(calls_of(|_| (), gate).await, 1, "never shared between phases");
}

#[tokio::test]
async fn each_mode_does_what_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let calls_of = async |mode: CacheMode| {
        let (hub, calls) = counted(&path, mode, |_| ()).await;
        hub.chat(turn("q")).await.unwrap();
        calls.load(Ordering::SeqCst)
    };
    assert_eq!(calls_of(CacheMode::ReadOnly).await, 1, "nothing to read yet");
    assert_eq!(calls_of(CacheMode::Off).await, 1, "read_only kept nothing, off reads nothing");
    assert_eq!(calls_of(CacheMode::WriteOnly).await, 1);
    assert_eq!(calls_of(CacheMode::WriteOnly).await, 1, "write_only reads nothing");
    assert_eq!(calls_of(CacheMode::ReadOnly).await, 0);
    assert_eq!(calls_of(CacheMode::On).await, 0);
}

#[tokio::test]
async fn errors_and_empty_truncated_and_refused_replies_are_never_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let body = |content: &str, finish: &str| {
        serde_json::json!({"choices": [{"finish_reason": finish, "message": {"content": content}}]}).to_string()
    };
    let bodies = [body("", "stop"), body(" \n", "stop"), body("cut o", "length"), body("no", "content_filter")];
    let server = Hostile::start(move |number, _| match bodies.get(number / 2) {
        Some(body) => Act::ok(body.clone()),
        None if number < 10 => Act::status(400),
        None => Act::ok(completion("C")),
    })
    .await;
    let settings = with_file(http_settings(&server.url, |_| ()), &path, CacheMode::On);
    let hub = ModelHub::open(settings, HubParts::default()).await.unwrap();
    for item in ["empty", "blank", "length", "filter", "error"] {
        let first = hub.chat(turn(item)).await;
        let second = hub.chat(turn(item)).await;
        assert!(first.is_ok_and(|reply| !reply.cached) == second.is_ok_and(|reply| !reply.cached), "{item}");
    }
    assert_eq!((server.hits(), hub.status().cache.stored), (10, 0));
    assert!(!hub.chat(turn("good")).await.unwrap().cached);
    assert!(hub.chat(turn("good")).await.unwrap().cached);
    assert_eq!((server.hits(), hub.status().cache.stored), (11, 1));
}

#[tokio::test]
async fn a_reply_of_tool_calls_only_is_replayed_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let script = |_| async {
        let Answer::Chat(mut reply) = answer("", 10, 5) else { panic!("a chat reply") };
        reply.tool_calls = vec![ToolCall { name: "view_node".into(), arguments: "{\"node_id\":\"a\"}".into() }];
        reply.finish = FinishReason::ToolCalls;
        reply.raw = b"{\"lone\":\"\\ud800\"}\0\xff".to_vec();
        Ok(Answer::Chat(reply))
    };
    let settings = with_file(scripted_settings(|_| ()), &path, CacheMode::On);
    let hub = scripted_hub(settings, HubParts::default(), vec![script]).await;
    let fresh = hub.chat(turn("q")).await.unwrap();
    let replayed = hub.chat(turn("q")).await.unwrap();
    assert_eq!(ChatReply { cached: false, latency_ms: fresh.latency_ms, ..replayed }, fresh);
}

#[tokio::test]
async fn embeddings_are_replayed_too() {
    let folder = tempfile::tempdir().unwrap();
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let script = move |ask: Ask| {
        counter.fetch_add(1, Ordering::SeqCst);
        async move {
            let Ask::Embed(request) = ask else { panic!("embeddings were asked for") };
            let vectors = request.texts.iter().map(|_| vec![0.25, -1e-30]).collect();
            let usage = trm::domain::Usage { prompt_tokens: 2, ..Default::default() };
            Ok(Answer::Embed(trm::domain::EmbedReply { vectors, usage, cached: false, latency_ms: 0 }))
        }
    };
    let mut settings = with_file(scripted_settings(|_| ()), &folder.path().join("cache.redb"), CacheMode::On);
    let role = settings.roles.remove(&Role::Search).unwrap();
    settings.roles.insert(Role::Embed, role);
    let backends = [(Role::Embed, vec![("endpoint".to_owned(), Arc::new(Scripted(script)) as _)])].into();
    let hub = ModelHub::open(settings, HubParts { backends, ..HubParts::default() }).await.unwrap();
    let request = trm::domain::EmbedRequest { texts: vec!["a".into(), "b".into()], tag: turn("q").tag };
    let fresh = hub.embed(request.clone()).await.unwrap();
    let replayed = hub.embed(request).await.unwrap();
    assert_eq!((fresh.vectors, fresh.usage), (replayed.vectors, replayed.usage));
    assert!(replayed.cached && calls.load(Ordering::SeqCst) == 1);
}

#[tokio::test]
async fn a_prompt_of_a_megabyte_is_cached_under_a_short_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let (hub, calls) = counted(&path, CacheMode::On, |_| ()).await;
    let mut request = turn("q");
    request.messages[0].content = "long ".repeat(200_000);
    hub.chat(request.clone()).await.unwrap();
    assert!(hub.chat(request).await.unwrap().cached);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    drop(hub);
    let stats = file_cache_stats(&path).unwrap();
    assert_eq!(stats.entries, 1);
    assert!(stats.file_bytes < 1 << 21, "the prompt itself is not stored: {} bytes", stats.file_bytes);
}

#[tokio::test]
async fn a_cache_that_cannot_be_opened_costs_calls_not_the_run() {
    let folder = tempfile::tempdir().unwrap();
    // A folder in the place of the file.
    let (hub, calls) = counted(folder.path(), CacheMode::On, |_| ()).await;
    hub.chat(turn("q")).await.unwrap();
    hub.chat(turn("q")).await.unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert!(hub.status().cache.trouble.is_some());
}

#[tokio::test]
async fn a_second_run_in_the_workspace_reads_the_cache_that_the_first_writes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.redb");
    let (first, first_calls) = counted(&path, CacheMode::On, |_| ()).await;
    let (second, second_calls) = counted(&path, CacheMode::On, |_| ()).await;
    first.chat(turn("q")).await.unwrap();
    assert!(second.chat(turn("q")).await.unwrap().cached);
    second.chat(turn("r")).await.unwrap();
    assert!(!first.chat(turn("r")).await.unwrap().cached);
    assert_eq!((first_calls.load(Ordering::SeqCst), second_calls.load(Ordering::SeqCst)), (2, 1));
}
