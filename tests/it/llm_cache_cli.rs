//! `trm cache` on a real file; with Redis see `llm_redis`.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use trm::domain::ChatModel;
use trm::llm::{CacheBackend, HubParts, ModelHub};

use crate::llm_support::{answer, scripted_hub, scripted_settings, turn};
use crate::support::trm;

fn workspace() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trm.yaml"), "run: {seed: 1}\n").unwrap();
    folder
}

/// A hub whose cache is the workspace's, with so many entries.
async fn filled(folder: &Path, entries: usize) -> ModelHub {
    let mut settings = scripted_settings(|_| ());
    settings.cache.backend = CacheBackend::File(folder.join("llm-cache.redb"));
    // Shorter than what `renew` extends to, so that every entry has something to gain.
    settings.cache.ttl = Duration::from_secs(3_600);
    let hub = scripted_hub(settings, HubParts::default(), vec![|_| async { Ok(answer("C", 10, 5)) }]).await;
    for number in 0..entries {
        hub.chat(turn(&number.to_string())).await.unwrap();
    }
    hub
}

fn json(folder: &Path, arguments: &[&str]) -> Value {
    let output = trm().arg("-C").arg(folder).args(["--json", "cache"]).args(arguments).assert().success();
    serde_json::from_slice(&output.get_output().stdout).unwrap()
}

#[tokio::test]
async fn entries_are_counted_while_a_run_uses_them_and_removed_when_it_does_not() {
    let folder = workspace();
    let hub = filled(folder.path(), 20).await;
    assert_eq!(json(folder.path(), &["stats"])["stats"]["entries"], 20);
    let refused = trm().arg("-C").arg(folder.path()).args(["cache", "prune", "--all"]).assert().code(7);
    let said = String::from_utf8_lossy(&refused.get_output().stderr).into_owned();
    assert!(said.contains("another process is writing it") && said.contains("[llm.cache_file]"), "{said}");
    drop(hub);
    assert_eq!(json(folder.path(), &["prune"])["removed"], 0);
    assert_eq!(json(folder.path(), &["renew"])["renewed"], 20);
    let pruned = json(folder.path(), &["prune", "--all"]);
    assert_eq!((pruned["removed"].as_u64(), pruned["kept"].as_u64()), (Some(20), Some(0)));
    assert_eq!(json(folder.path(), &["stats"])["stats"]["entries"], 0);
}

#[test]
fn a_workspace_without_a_cache_has_an_empty_one_and_gets_none() {
    let folder = workspace();
    assert_eq!(json(folder.path(), &["stats"])["stats"]["entries"], 0);
    assert_eq!(json(folder.path(), &["renew"])["renewed"], 0);
    assert_eq!(json(folder.path(), &["prune"])["removed"], 0);
    assert!(!folder.path().join("llm-cache.redb").exists());
}

#[tokio::test]
async fn people_get_lines() {
    let folder = workspace();
    drop(filled(folder.path(), 3).await);
    let output = trm().arg("-C").arg(folder.path()).args(["cache", "stats"]).assert().success();
    let text = String::from_utf8_lossy(&output.get_output().stdout).into_owned();
    assert!(text.contains("entries   3 live, 0 expired") && text.contains("expiring  the next in"), "{text}");
}

#[test]
fn a_cache_that_is_off_or_a_redis_without_an_address_is_a_usage_error() {
    let folder = workspace();
    for (backend, code) in [("off", "cache.off"), ("redis", "llm.missing_secret")] {
        let set = format!("llm.cache.backend={backend}");
        let output = trm().arg("-C").arg(folder.path()).args(["cache", "stats", "--set", &set]).assert().code(2);
        let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
        assert!(said.contains(code) && said.contains("hint:"), "{said}");
    }
}
