//! Throughput and memory of model access as a run uses it: the whole governor and the HTTP client, against a
//! zero-latency OpenAI-compatible server in a process of its own on loopback.
//!
//! `cargo bench --bench client` measures with the cache off, filling a cache file, and replaying from it.
//! `tools/bench/client.sh` runs it beside Python's `openai` client on the same server and the same work.
//!
//! Arguments after `--`: `--calls N`, `--concurrency N`, `--serve` (only the server: prints its address and stays),
//! `--address URL` (use that server).
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark that fails shall stop, and prints")]

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use futures::{StreamExt, stream};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use trm::domain::{CallTag, ChatModel, ChatRequest, Message, Role};
use trm::llm::{CacheBackend, HubParts, LlmSettings, ModelHub, RoleSettings};

/// Some 2,000 bytes of instructions, as an agent's turn has at least.
const INSTRUCTIONS: &str = "Walk the tree of the video with the tools and answer the question. ";

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let value = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1).cloned()
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if arguments.iter().any(|argument| argument == "--serve") {
        return runtime.block_on(serve());
    }
    let calls = value("--calls").map_or(200_000, |text| text.parse().unwrap());
    let concurrency = value("--concurrency").map_or(256, |text| text.parse().unwrap());
    let server = value("--address").is_none().then(Server::start);
    let address = value("--address").unwrap_or_else(|| server.as_ref().unwrap().address.clone());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("cache.redb");
    println!("{calls} calls at concurrency {concurrency}, {address}");
    for (name, cache, share) in
        [("cache off", None, 1), ("filling a cache file", Some(&file), 10), ("replaying", Some(&file), 10)]
    {
        let result = runtime.block_on(measure(&address, cache.map(|path| path.as_path()), calls / share, concurrency));
        println!("{name:<22} {result}");
    }
}

async fn measure(address: &str, cache: Option<&Path>, calls: usize, concurrency: usize) -> String {
    let mut role = RoleSettings::at(address, "bench");
    role.limits.max_concurrency = concurrency;
    let mut settings = LlmSettings { roles: [(Role::Search, role)].into(), ..LlmSettings::default() };
    if let Some(path) = cache {
        settings.cache.backend = CacheBackend::File(path.to_owned());
    }
    let hub = ModelHub::open(settings, HubParts::default()).await.unwrap();
    let system = INSTRUCTIONS.repeat(30);
    // Written to beforehand, so that its pages do not look like growth of the client.
    let mut latencies = vec![Duration::MAX; calls];
    let (mut memory, mut done) = (Vec::new(), 0);
    let started = Instant::now();
    let mut replies = stream::iter(0..calls).map(|number| ask(&hub, &system, number)).buffer_unordered(concurrency);
    while let Some(latency) = replies.next().await {
        if let Some(place) = latencies.get_mut(done) {
            *place = latency;
        }
        done += 1;
        if done % (calls / 10).max(1) == 0 {
            memory.push(resident_mebibytes());
        }
    }
    let elapsed = started.elapsed();
    latencies.sort_unstable();
    let at = |share: usize| latencies.get(calls * share / 100).map_or(0.0, |latency| latency.as_secs_f64() * 1e3);
    format!(
        "{:>7.0} calls/s  p50 {:.1} ms  p99 {:.1} ms  resident MiB at each tenth: {memory:?}",
        calls as f64 / elapsed.as_secs_f64(),
        at(50),
        at(99),
    )
}

async fn ask(hub: &ModelHub, system: &str, number: usize) -> Duration {
    let started = Instant::now();
    let tag = CallTag {
        phase_run: "bench_e1_s0".into(),
        phase_path: "e1_s0".into(),
        item: number.to_string(),
        purpose: "turn".into(),
        ..CallTag::default()
    };
    let messages = vec![Message::system(system), Message::user(format!("Question {number}: which one?"))];
    let reply = hub.chat(ChatRequest::new(Role::Search, messages, tag)).await.unwrap();
    assert_eq!(reply.usage.completion_tokens, 40);
    started.elapsed()
}

fn resident_mebibytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0);
    pages * 4096 / (1 << 20)
}

/// The server in a process of its own.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start() -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let mut child = command.arg("--serve").stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

async fn serve() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("http://{}/v1", listener.local_addr().unwrap());
    let mut connections = Vec::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.push(trm::runtime::spawn(answer(stream)));
    }
}

/// Answers request after request with the same completion of 40 tokens.
async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let content = "The answer is C, because the scene shows it. ".repeat(4);
    let body = format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"bench","choices":[{{"index":0,"finish_reason":"stop","logprobs":null,"message":{{"role":"assistant","content":"{content}"}}}}],"usage":{{"prompt_tokens":500,"completion_tokens":40,"total_tokens":540}}}}"#
    );
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len());
    let reply = [head.as_bytes(), body.as_bytes()].concat();
    let mut bytes = Vec::new();
    loop {
        while let Some(length) = whole_request(&bytes) {
            bytes.drain(..length);
            stream.write_all(&reply).await?;
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(());
        }
    }
}

/// The length of the first request, if all of it is there.
fn whole_request(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(bytes.get(..end)?).ok()?;
    let fields = head.lines().filter_map(|line| line.split_once(':'));
    let length =
        fields.filter(|(name, _)| name.eq_ignore_ascii_case("content-length")).map(|(_, value)| value).next()?;
    let length: usize = length.trim().parse().ok()?;
    (bytes.len() >= end + length).then_some(end + length)
}
