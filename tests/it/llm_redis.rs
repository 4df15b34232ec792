//! The response cache in a real Redis server, which each test starts and kills.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use secrecy::SecretString;
use trm::domain::ChatModel;
use trm::llm::{CacheBackend, HubParts, ModelHub, RedisCache};

use crate::llm_support::{answer, capture_logs, scripted_hub, scripted_settings, turn};
use crate::support::trm;

const WEEK: i64 = 604_800;

/// A server on a free port; killed when dropped.
struct Redis {
    child: Child,
    port: u16,
    folder: tempfile::TempDir,
}

impl Redis {
    /// `None` if no redis-server is installed.
    fn start() -> Option<Self> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let child = Self::launch(port, folder.path())?;
        Some(Self { child, port, folder })
    }

    fn launch(port: u16, folder: &std::path::Path) -> Option<Child> {
        let child = Command::new("redis-server")
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
            .arg("--dir")
            .arg(folder)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let answers = |_: &u32| {
            std::thread::sleep(Duration::from_millis(20));
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        };
        assert!((0..500).any(|number| answers(&number)), "redis-server did not start");
        Some(child)
    }

    fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    fn restart(&mut self) {
        self.child = Self::launch(self.port, self.folder.path()).unwrap();
    }

    fn cache(&self) -> RedisCache {
        RedisCache::open(&SecretString::from(self.url()), Duration::from_secs(WEEK.cast_unsigned())).unwrap()
    }

    fn connection(&self) -> redis::Connection {
        redis::Client::open(self.url()).unwrap().get_connection().unwrap()
    }

    /// Time to live by key; -1 is none.
    fn lives(&self) -> BTreeMap<String, i64> {
        let mut connection = self.connection();
        let keys: Vec<String> = redis::cmd("KEYS").arg("*").query(&mut connection).unwrap();
        let life = |key: &String| redis::cmd("TTL").arg(key).query(&mut self.connection()).unwrap();
        keys.iter().map(|key| (key.clone(), life(key))).collect()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _gone_already = self.child.wait();
    }
}

/// The server of a test, or the end of the test with a word where there is none.
macro_rules! server_or_skip {
    () => {
        match Redis::start() {
            Some(server) => server,
            None => {
                eprintln!("SKIPPED: redis-server is not installed");
                return;
            }
        }
    };
}

async fn counted(server: &Redis) -> (ModelHub, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&calls);
    let script = move |_| {
        let number = counter.fetch_add(1, Ordering::SeqCst);
        async move { Ok(answer(&format!("answer {number}"), 10, 5)) }
    };
    let mut settings = scripted_settings(|_| ());
    settings.cache.backend = CacheBackend::Redis(SecretString::from(server.url()));
    (scripted_hub(settings, HubParts::default(), vec![script]).await, calls)
}

#[tokio::test]
async fn replies_are_kept_for_a_week_and_replayed_by_another_process() {
    let server = server_or_skip!();
    let (first, _) = counted(&server).await;
    let fresh = first.chat(turn("q")).await.unwrap();
    let lives = server.lives();
    assert_eq!(lives.len(), 1);
    let (key, life) = lives.first_key_value().unwrap();
    assert!(key.starts_with("llm_cache:") && key.len() == "llm_cache:".len() + 64, "{key}");
    assert!((WEEK - 60..=WEEK).contains(life), "{life}");
    let (second, calls) = counted(&server).await;
    let replayed = second.chat(turn("q")).await.unwrap();
    assert!(replayed.cached && calls.load(Ordering::SeqCst) == 0);
    assert_eq!((fresh.content, fresh.raw, fresh.usage), (replayed.content, replayed.raw, replayed.usage));
}

#[tokio::test]
async fn a_server_lost_in_the_middle_of_a_run_is_told_once_and_the_run_completes() {
    let mut server = server_or_skip!();
    let (logs, _guard) = capture_logs();
    let (hub, calls) = counted(&server).await;
    hub.chat(turn("before")).await.unwrap();
    server.kill();
    let replies = futures::future::join_all((0..100).map(|number| hub.chat(turn(&number.to_string())))).await;
    assert!(replies.iter().all(Result::is_ok));
    assert!(!hub.chat(turn("before")).await.unwrap().cached);
    assert_eq!(calls.load(Ordering::SeqCst), 102);
    let warnings = logs.warnings();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains(&format!("127.0.0.1:{}", server.port)), "{warnings:?}");
    assert!(hub.status().cache.trouble.is_some());

    // It is asked again after a while, and serves.
    server.restart();
    let mut stored = false;
    for number in 0..200 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        hub.chat(turn(&format!("after {number}"))).await.unwrap();
        if !server.lives().is_empty() {
            stored = true;
            break;
        }
    }
    assert!(stored, "the cache works again after the server does");
    assert_eq!(logs.warnings().len(), 1);
}

#[tokio::test]
async fn a_server_that_was_never_there_costs_one_warning() {
    let mut server = server_or_skip!();
    server.kill();
    let (logs, _guard) = capture_logs();
    let (hub, calls) = counted(&server).await;
    for number in 0..20 {
        hub.chat(turn(&number.to_string())).await.unwrap();
    }
    assert_eq!((calls.load(Ordering::SeqCst), logs.warnings().len()), (20, 1));
}

/// Keys of every kind, with their life.
fn plant(server: &Redis) {
    let mut connection = server.connection();
    for (key, life) in [("llm_cache:soon", 100), ("llm_cache:late", 10 * WEEK), ("other:soon", 100)] {
        redis::cmd("SET").arg(key).arg("value").arg("EX").arg(life).exec(&mut connection).unwrap();
    }
    redis::cmd("SET").arg("llm_cache:ever").arg("value").exec(&mut connection).unwrap();
}

fn about(life: i64, expected: i64) -> bool {
    (expected - 60..=expected).contains(&life)
}

#[tokio::test]
async fn renewing_extends_live_keys_of_ours_and_no_others() {
    let server = server_or_skip!();
    plant(&server);
    let report = server.cache().renew().await.unwrap();
    assert_eq!((report.renewed, report.unchanged), (1, 2));
    let lives = server.lives();
    assert!(about(lives["llm_cache:soon"], WEEK), "{lives:?}");
    assert!(about(lives["llm_cache:late"], 10 * WEEK) && about(lives["other:soon"], 100), "{lives:?}");
    assert_eq!(lives["llm_cache:ever"], -1);
}

#[tokio::test]
async fn counting_and_clearing_concern_our_keys_only() {
    let server = server_or_skip!();
    plant(&server);
    let cache = server.cache();
    let stats = cache.stats().await.unwrap();
    assert_eq!((stats.entries, stats.entry_bytes, stats.without_expiry), (3, 15, 1));
    assert!(about(stats.next_expiry_seconds.unwrap().cast_signed(), 100));
    assert_eq!(cache.clear().await.unwrap(), 3);
    assert_eq!(server.lives().keys().collect::<Vec<_>>(), ["other:soon"]);
}

#[tokio::test]
async fn thousands_of_keys_are_renewed_in_batches() {
    let server = server_or_skip!();
    let mut connection = server.connection();
    let mut pipeline = redis::pipe();
    for number in 0..3_000 {
        pipeline.cmd("SET").arg(format!("llm_cache:{number}")).arg("v").arg("EX").arg(500).ignore();
    }
    pipeline.exec(&mut connection).unwrap();
    assert_eq!(server.cache().renew().await.unwrap().renewed, 3_000);
    assert_eq!(server.cache().renew().await.unwrap().renewed, 0);
}

#[test]
fn the_command_line_counts_renews_and_clears() {
    let mut server = server_or_skip!();
    plant(&server);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trm.yaml"), "run: {seed: 1}\n").unwrap();
    let url = server.url();
    let run = |arguments: &[&str]| {
        let mut command = trm();
        command.env("REDIS_URL", &url).arg("-C").arg(folder.path()).args(["--json", "cache"]).args(arguments);
        command.assert()
    };
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&run(arguments).success().get_output().stdout).unwrap()
    };
    assert_eq!(json(&["stats"])["stats"]["entries"], 3);
    assert_eq!(json(&["renew"])["renewed"], 1);
    let refused = run(&["prune"]).code(2);
    assert!(String::from_utf8_lossy(&refused.get_output().stderr).contains("cache.redis_prunes"));
    assert_eq!(json(&["prune", "--all"])["removed"], 3);
    server.kill();
    let lost = run(&["stats"]).code(4);
    assert!(String::from_utf8_lossy(&lost.get_output().stderr).contains("llm.redis"));
}
