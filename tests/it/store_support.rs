//! Shared by the tests of the store: sample rows and a fresh file.

use std::collections::BTreeMap;

use tempfile::TempDir;
use trm::domain::{Arm, ContentHash, Phase, QuestionId, RunId, StopReason, TaskType, VersionName};
use trm::store::rows::{
    Outcome, Pointer, PointerName, Prediction, Run, RunMode, RunState, SpanKind, Tokens, TraceSpan, Version,
    VersionKind, VersionPair,
};
use trm::store::{AnswerKey, Batch, PhaseKey, Store};

pub(crate) const V1: VersionPair = VersionPair { skills: VersionName::FIRST, prompts: VersionName::FIRST };

/// A workspace folder of its own and a path for a store in it.
pub(crate) fn fresh() -> (TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("trm.yaml"), "").unwrap();
    let path = folder.path().join("trm.redb");
    (folder, path)
}

/// A store with version 1 of skills and prompts, both pointers on them, and one recorded run.
pub(crate) fn with_run(path: &std::path::Path, run: &RunId) -> Store {
    let store = Store::create(path).unwrap();
    store.write_blocking(first_run(run)).unwrap();
    store
}

pub(crate) fn first_run(run: &RunId) -> Batch {
    let mut batch = Batch::new();
    let text = batch.put_content("---\nname: default\n---\nLook first.\n");
    let files = BTreeMap::from([("default-strategy.md".parse().unwrap(), text)]);
    let version =
        Version { files, parent: None, source: "built-in".into(), note: String::new(), made_by: None, created_ms: 0 };
    batch.put_version(VersionKind::Skills, VersionName::FIRST, &version);
    batch.put_version(VersionKind::Prompts, VersionName::FIRST, &version);
    let pointer = Pointer { versions: V1, val_acc: None, moved_by: None };
    batch.put_pointer(PointerName::Current, &pointer).put_pointer(PointerName::Best, &pointer);
    batch.create_run(run, run_row());
    batch
}

pub(crate) fn run_row() -> Run {
    Run {
        sequence: 0,
        mode: RunMode::Train,
        state: RunState::Unfinished,
        config: "{}".into(),
        config_fingerprint: ContentHash::of("config"),
        data_fingerprint: ContentHash::of("data"),
        environment_fingerprint: ContentHash::of("environment"),
        seed: 42,
        versions: V1,
        program_version: "0.1.0".into(),
        created_ms: 1,
        finished_ms: None,
        history: vec![],
        summary: None,
    }
}

pub(crate) fn run_id(text: &str) -> RunId {
    text.parse().unwrap()
}

pub(crate) fn question(text: &str) -> QuestionId {
    text.parse().unwrap()
}

pub(crate) fn task_type(text: &str) -> TaskType {
    text.parse().unwrap()
}

pub(crate) fn rollout(id: &str) -> AnswerKey {
    AnswerKey { phase: PhaseKey::plain(Phase::Rollout), question: question(id) }
}

pub(crate) fn gate(task: &str, arm: Arm, id: &str) -> AnswerKey {
    AnswerKey { phase: PhaseKey::gate(&task_type(task), arm), question: question(id) }
}

pub(crate) fn prediction(id: &str, correct: bool, spans: u32) -> Prediction {
    Prediction {
        task_type: task_type("Action Reasoning"),
        video_id: "video".parse().unwrap(),
        unit_id: id.parse().unwrap(),
        answer: Some("A".into()),
        read_by: None,
        outcome: if correct { Outcome::Correct } else { Outcome::Wrong },
        stop_reason: StopReason::Finished,
        raw_answer: "A".into(),
        evidence: "L1_000".into(),
        reasoning: "They leave.".into(),
        confidence: Some(0.75),
        graded_credit: None,
        samples: 1,
        steps: 3,
        max_steps: 40,
        spans,
        calls: 4,
        cached_calls: 1,
        tokens: Tokens { prompt: 1000, cached: 0, completion: 50, estimated: false },
        latency_ms: 1200,
        skills_version: VersionName::FIRST,
        prompts_version: VersionName::FIRST,
        error: None,
        finished_ms: 5,
    }
}

pub(crate) fn span(text: &str) -> TraceSpan {
    TraceSpan {
        kind: SpanKind::Tool,
        sample: 0,
        step: 0,
        thought: text.into(),
        plan: String::new(),
        tool: Some("view_node".into()),
        args: Some("{}".into()),
        output: "A man leaves.".into(),
        raw: text.as_bytes().to_vec(),
        calls: None,
        cached_calls: None,
        tokens: Tokens::default(),
        cached: false,
        latency_ms: 3,
        error: None,
    }
}

/// Opens the file below the store's own rules.
pub(crate) fn raw(path: &std::path::Path, change: impl FnOnce(&redb::WriteTransaction)) {
    let database =
        redb::Database::builder().set_concurrency_mode(redb::ConcurrencyMode::SingleWriter).open(path).unwrap();
    let transaction = database.begin_write().unwrap();
    change(&transaction);
    transaction.commit().unwrap();
}

/// A value as the store seals it: form (1 plain, 2 zstd), version, checksum, body.
pub(crate) fn sealed(form: u8, version: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![form, version];
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&bytes);
    hasher.update(body);
    bytes.extend_from_slice(&hasher.finalize().to_le_bytes());
    bytes.extend_from_slice(body);
    bytes
}
