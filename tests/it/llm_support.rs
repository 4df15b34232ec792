//! Shared by the tests of model access: hostile servers, scripted endpoints, requests, logs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Once};
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use trm::domain::{CallTag, ChatReply, ChatRequest, FinishReason, Message, Role, Usage};
use trm::llm::{
    Answer, Ask, Backend, HubParts, LlmSettings, ModelHub, Provider, RetrySettings, RoleSettings, TryError, TryFuture,
};
use trm::runtime::{Task, spawn};

/// What a hostile server does with one request.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// An honest reply with this status, these extra head lines and this body.
    Reply(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Announces a longer body than it sends, then resets the connection.
    ResetInBody(Vec<u8>),
    /// Closes without a word.
    Close,
    /// Reads and never answers.
    BlackHole,
    /// Sends the head, then a byte of the body at each interval.
    Drip(Vec<u8>, Duration),
}

impl Act {
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self::Reply(200, vec![("content-type", "application/json".to_owned())], body.into())
    }

    pub(crate) fn status(status: u16) -> Self {
        Self::Reply(status, Vec::new(), br#"{"error":{"message":"no"}}"#.to_vec())
    }
}

/// The body of a good reply.
pub(crate) fn completion(content: &str) -> String {
    json!({
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    })
    .to_string()
}

/// A server on loopback that does as it is told; stops when dropped.
pub(crate) struct Hostile {
    pub(crate) url: String,
    hits: Arc<AtomicUsize>,
    _server: Task<()>,
}

impl Hostile {
    /// `act` gets the number of the request (from 0) and its bytes.
    pub(crate) async fn start(act: impl Fn(usize, &[u8]) -> Act + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let hits = Arc::new(AtomicUsize::new(0));
        let act = Arc::new(act);
        let counter = Arc::clone(&hits);
        let server = spawn(async move {
            let mut connections = Vec::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (act, counter) = (Arc::clone(&act), Arc::clone(&counter));
                connections.push(spawn(async move {
                    // The client may hang up at any point: that is what these tests are about.
                    let _hung_up = serve(stream, &*act, &counter).await;
                }));
            }
        });
        Self { url, hits, _server: server }
    }

    pub(crate) fn hits(&self) -> usize {
        self.hits.load(Ordering::SeqCst)
    }
}

async fn serve(
    mut stream: TcpStream,
    act: &(dyn Fn(usize, &[u8]) -> Act + Send + Sync),
    hits: &AtomicUsize,
) -> std::io::Result<()> {
    let request = read_request(&mut stream).await?;
    let number = hits.fetch_add(1, Ordering::SeqCst);
    match act(number, &request) {
        Act::Reply(status, headers, body) => {
            stream.write_all(&head(status, &headers, body.len())).await?;
            stream.write_all(&body).await?;
            stream.shutdown().await
        }
        Act::ResetInBody(body) => {
            stream.write_all(&head(200, &[], body.len() + 1000)).await?;
            stream.write_all(&body).await?;
            stream.flush().await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
            stream.set_zero_linger()
        }
        Act::Close => Ok(()),
        Act::BlackHole => std::future::pending().await,
        Act::Drip(body, interval) => {
            stream.write_all(&head(200, &[], body.len())).await?;
            for byte in body {
                stream.write_all(&[byte]).await?;
                tokio::time::sleep(interval).await;
            }
            Ok(())
        }
    }
}

fn head(status: u16, headers: &[(&str, String)], length: usize) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Whatever\r\nconnection: close\r\ncontent-length: {length}\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

async fn read_request(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 << 10];
    loop {
        let count = stream.read(&mut buffer).await?;
        if count == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend(buffer.iter().take(count));
        let text = String::from_utf8_lossy(&bytes).to_lowercase();
        let Some(end) = text.find("\r\n\r\n") else { continue };
        let length = text.split("content-length:").nth(1).and_then(|rest| rest.lines().next()).unwrap_or("0");
        if bytes.len() >= end + 4 + length.trim().parse::<usize>().unwrap_or(0) {
            return Ok(bytes);
        }
    }
}

/// An endpoint in this process that does as it is told.
pub(crate) struct Scripted<F>(pub(crate) F);

impl<F, Fut> Backend for Scripted<F>
where
    F: Fn(Ask) -> Fut + Send + Sync,
    Fut: Future<Output = Result<Answer, TryError>> + Send + 'static,
{
    fn ask<'a>(&'a self, ask: &'a Ask) -> TryFuture<'a> {
        Box::pin((self.0)(ask.clone()))
    }
}

/// A hub whose search role is answered by these scripts, one endpoint each.
pub(crate) async fn scripted_hub<F, Fut>(settings: LlmSettings, parts: HubParts, scripts: Vec<F>) -> ModelHub
where
    F: Fn(Ask) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Answer, TryError>> + Send + 'static,
{
    let endpoint = |(number, script)| (format!("endpoint {number}"), Arc::new(Scripted(script)) as Arc<dyn Backend>);
    let backends = BTreeMap::from([(Role::Search, scripts.into_iter().enumerate().map(endpoint).collect())]);
    ModelHub::open(settings, HubParts { backends, ..parts }).await.unwrap()
}

/// Settings with a search role in this process.
pub(crate) fn scripted_settings(change: impl FnOnce(&mut RoleSettings)) -> LlmSettings {
    let mut role = RoleSettings::new(Provider::Sim, "scripted");
    change(&mut role);
    LlmSettings { seed: 1, roles: [(Role::Search, role)].into(), ..LlmSettings::default() }
}

/// Settings with a search role at `url` and short times.
pub(crate) fn http_settings(url: &str, change: impl FnOnce(&mut RoleSettings)) -> LlmSettings {
    let mut role = RoleSettings::at(url, "m");
    role.retry = RetrySettings {
        retries: 2,
        rate_limit_retries: 3,
        base_delay: Duration::from_millis(1),
        max_delay: Duration::from_millis(5),
        retry_after_cap: Duration::from_millis(50),
        circuit_failures: 1_000,
        ..RetrySettings::default()
    };
    role.timeouts.first_byte = Duration::from_millis(300);
    role.timeouts.total = Duration::from_millis(600);
    change(&mut role);
    LlmSettings { seed: 1, roles: [(Role::Search, role)].into(), ..LlmSettings::default() }
}

/// The request of one turn of one question.
pub(crate) fn turn(item: &str) -> ChatRequest {
    let tag = CallTag {
        phase_run: "run_e1_s0".into(),
        phase_path: "e1_s0".into(),
        item: item.into(),
        purpose: "turn".into(),
        ..CallTag::default()
    };
    ChatRequest::new(Role::Search, vec![Message::user("which one?")], tag)
}

/// A reply with this text and these tokens.
pub(crate) fn answer(content: &str, prompt_tokens: u64, completion_tokens: u64) -> Answer {
    Answer::Chat(ChatReply {
        content: content.to_owned(),
        reasoning: None,
        tool_calls: Vec::new(),
        finish: FinishReason::Stop,
        usage: Usage { prompt_tokens, cached_tokens: 0, completion_tokens, estimated: false },
        cached: false,
        latency_ms: 0,
        raw: content.as_bytes().to_vec(),
    })
}

thread_local! {
    static CAPTURED: RefCell<Option<Logs>> = const { RefCell::new(None) };
}

/// Whatever this thread logs, down to debug, while the guard lives.
///
/// One subscriber serves all tests of the binary: subscribers of single threads switch each other's events off.
pub(crate) fn capture_logs() -> (Logs, Capture) {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let writer = || CAPTURED.with_borrow(|logs| logs.clone().unwrap_or_default());
        let subscriber = tracing_subscriber::fmt().with_max_level(tracing::Level::TRACE).with_ansi(false);
        subscriber.with_writer(writer).init();
    });
    let logs = Logs::default();
    CAPTURED.set(Some(logs.clone()));
    (logs, Capture)
}

/// Ends the capture when dropped.
pub(crate) struct Capture;

impl Drop for Capture {
    fn drop(&mut self) {
        CAPTURED.set(None);
    }
}

/// Captured log lines.
#[derive(Debug, Clone, Default)]
pub(crate) struct Logs(Arc<Mutex<Vec<u8>>>);

impl Logs {
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.text().lines().filter(|line| line.contains(" WARN ")).map(str::to_owned).collect()
    }
}

impl Write for Logs {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
