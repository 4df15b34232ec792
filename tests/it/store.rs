//! The store: atomic batches, one writer, live readers, immutable versions.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use trm::domain::{Fault, VersionName};
use trm::store::rows::{Checkpoint, Prediction, TraceSpan, Usage, UsageKey, VersionKind};
use trm::store::{Batch, Kind, OpenOptions, Scope, SpanKey, Store, StoreError, StoreReader};

use crate::store_support::{first_run, fresh, prediction, rollout, run_id, run_row, span, with_run};

#[test]
fn a_prediction_and_its_trace_are_read_back() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let scope = Scope::step(1, 0);
    let mut batch = Batch::new();
    batch.put(&run, scope, &rollout("q1"), &prediction("q1", true, 2));
    for index in 0..2 {
        batch.put(&run, scope, &SpanKey { answer: rollout("q1"), span: index }, &span(&format!("turn {index}")));
    }
    batch.put(&run, scope, &rollout("q10"), &prediction("q10", false, 0));
    store.write_blocking(batch).unwrap();
    drop(store);

    let reader = StoreReader::open(&path).unwrap();
    let snapshot = reader.snapshot().unwrap();
    assert_eq!(snapshot.row::<Prediction>(&run, scope, &rollout("q1")).unwrap(), Some(prediction("q1", true, 2)));
    let trace = snapshot.trace(&run, scope, &rollout("q1")).unwrap();
    assert_eq!(
        trace.iter().map(|(key, row)| (key.span, row.thought.as_str())).collect::<Vec<_>>(),
        [(0, "turn 0"), (1, "turn 1")]
    );
    let of_phase = snapshot.rows_of::<Prediction>(&run, scope, &rollout("q1").phase).unwrap();
    assert_eq!(of_phase.len(), 2);
    assert_eq!(snapshot.count(&run, scope, Kind::Trace).unwrap(), 2);
    assert_eq!(snapshot.scopes(&run).unwrap(), [scope]);
}

#[test]
fn what_a_batch_refers_to_must_exist() {
    let (_folder, path) = fresh();
    let store = Store::create(&path).unwrap();
    let mut batch = Batch::new();
    batch.put(&run_id("nobody"), Scope::Adhoc, &rollout("q1"), &prediction("q1", true, 0));
    let error = store.write_blocking(batch).unwrap_err();
    assert_eq!(error.code(), "store.conflict");
    assert!(error.to_string().contains("nobody"), "{error}");

    let mut batch = Batch::new();
    batch.create_run(&run_id("train1"), run_row());
    assert_eq!(store.write_blocking(batch).unwrap_err().code(), "store.conflict", "its versions do not exist");
    assert!(store.snapshot().unwrap().runs().unwrap().is_empty(), "a refused batch leaves nothing");
}

#[test]
fn a_scope_that_could_not_be_read_again_is_refused() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let mut batch = Batch::new();
    batch.put(&run, Scope::step(0, 3), &rollout("q1"), &prediction("q1", true, 0));
    assert_eq!(store.write_blocking(batch).unwrap_err().code(), "store.conflict");
}

#[test]
fn versions_never_change_and_have_no_gaps() {
    let (_folder, path) = fresh();
    let store = with_run(&path, &run_id("train1"));
    let first = store.snapshot().unwrap().version(VersionKind::Skills, VersionName::FIRST).unwrap().unwrap();

    let mut again = Batch::new();
    again.put_version(VersionKind::Skills, VersionName::FIRST, &first);
    store.write_blocking(again).unwrap();

    let mut changed = Batch::new();
    let mut version = first.clone();
    version.files.insert("new.md".parse().unwrap(), changed.put_content("new"));
    changed.put_version(VersionKind::Skills, VersionName::FIRST, &version);
    assert_eq!(store.write_blocking(changed).unwrap_err().code(), "store.conflict");

    let mut gap = Batch::new();
    gap.put_version(VersionKind::Skills, "v3".parse().unwrap(), &first);
    assert_eq!(store.write_blocking(gap).unwrap_err().code(), "store.conflict");

    let made = store.transact_blocking(move |snapshot| {
        let name = snapshot.next_version(VersionKind::Skills)?;
        let mut batch = Batch::new();
        batch.put_version(VersionKind::Skills, name, &first).put_version(VersionKind::Skills, name.next(), &first);
        Ok::<_, StoreError>((batch, name.next()))
    });
    assert_eq!(made.unwrap().to_string(), "v3");
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.versions(VersionKind::Skills).unwrap().len(), 3);
    assert_eq!(snapshot.next_version(VersionKind::Prompts).unwrap().to_string(), "v2", "counted separately");
}

#[test]
fn recording_a_run_twice_is_a_no_op() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let mut batch = Batch::new();
    let mut other = run_row();
    other.seed = 7;
    batch.create_run(&run, other);
    batch.create_run(&run_id("train2"), run_row());
    store.write_blocking(batch).unwrap();
    let runs = store.snapshot().unwrap().runs().unwrap();
    let seen: Vec<_> = runs.iter().map(|(id, run)| (id.as_str(), run.sequence, run.seed)).collect();
    assert_eq!(seen, [("train1", 0, 42), ("train2", 1, 42)]);
}

#[test]
fn the_previous_checkpoint_is_kept_and_a_stale_write_is_refused() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let one = checkpoint(1);
    let two = checkpoint(2);
    let put = |from: Option<&Checkpoint>, to: &Checkpoint| {
        let mut batch = Batch::new();
        batch.require_checkpoint(&run, from).put_checkpoint(&run, to);
        store.write_blocking(batch)
    };
    put(None, &one).unwrap();
    assert_eq!(put(None, &two).unwrap_err().code(), "store.conflict");
    put(Some(&one), &two).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.checkpoint(&run).unwrap(), Some(two));
    assert_eq!(snapshot.previous_checkpoint(&run).unwrap(), Some(one));
}

#[test]
fn usage_adds_up() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let key = UsageKey {
        run: run.clone(),
        scope: Scope::step(1, 0),
        phase: "rollout".into(),
        role: trm::domain::Role::Search,
    };
    let one = Usage { calls: 2, cost_usd: 0.5, ..Usage::default() };
    for _ in 0..3 {
        let mut batch = Batch::new();
        batch.add_usage(&key, &one);
        store.write_blocking(batch).unwrap();
    }
    let totals = store.snapshot().unwrap().usage(&run).unwrap();
    assert_eq!(totals.len(), 1);
    assert_eq!((totals[0].1.calls, totals[0].1.cost_usd), (6, 1.5));
}

#[test]
fn a_plan_that_fails_or_panics_harms_its_caller_only() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let refused: Result<(), StoreError> =
        store.transact_blocking(|_| Err(StoreError::Conflict { what: "not today".into() }));
    assert_eq!(refused.unwrap_err().code(), "store.conflict");
    let panicked: Result<(), StoreError> = store.transact_blocking(|_| panic!("a bug in a plan"));
    assert!(panicked.unwrap_err().to_string().contains("a bug in a plan"));
    store.write_blocking(first_run(&run)).unwrap();
}

#[test]
fn a_second_writer_gets_a_clear_error_and_readers_go_on() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let error = Store::open(&path, &OpenOptions::default()).unwrap_err();
    assert_eq!(error.code(), "store.locked");
    assert!(error.hint().is_some());
    let reader = StoreReader::open(&path).unwrap();
    let before = reader.snapshot().unwrap();
    let mut batch = Batch::new();
    batch.put(&run, Scope::Adhoc, &rollout("q1"), &prediction("q1", true, 0));
    store.write_blocking(batch).unwrap();
    let after = reader.snapshot().unwrap();
    assert_eq!(before.count(&run, Scope::Adhoc, Kind::Prediction).unwrap(), 0, "a snapshot does not move");
    assert_eq!(after.count(&run, Scope::Adhoc, Kind::Prediction).unwrap(), 1);
}

#[test]
fn a_store_is_created_once_and_never_by_opening() {
    let (_folder, path) = fresh();
    assert_eq!(Store::open(&path, &OpenOptions::default()).unwrap_err().code(), "store.not_found");
    assert_eq!(StoreReader::open(&path).unwrap_err().code(), "store.not_found");
    drop(Store::create(&path).unwrap());
    assert_eq!(Store::create(&path).unwrap_err().code(), "store.already_exists");
    drop(Store::open(&path, &OpenOptions::default()).unwrap());
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_writes_share_commits_and_all_are_durable() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let before = store.writer_stats();
    let next = Arc::new(AtomicU32::new(0));
    let writers = (0..32).map(|_| {
        let (store, run, next) = (store.clone(), run.clone(), Arc::clone(&next));
        async move {
            for _ in 0..8 {
                let id = format!("q{}", next.fetch_add(1, Ordering::Relaxed));
                let mut batch = Batch::new();
                batch.put(&run, Scope::step(1, 0), &rollout(&id), &prediction(&id, true, 0));
                store.write(batch).await.unwrap();
            }
        }
    });
    futures::future::join_all(writers).await;
    let after = store.writer_stats();
    assert_eq!(after.requests - before.requests, 256);
    assert!(after.commits - before.commits < 128, "{after:?}");
    let found = store.snapshot().unwrap().count(&run, Scope::step(1, 0), Kind::Prediction).unwrap();
    assert_eq!(found, 256);
}

#[tokio::test]
async fn a_full_queue_makes_callers_wait_and_loses_nothing() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    drop(with_run(&path, &run));
    let options = OpenOptions { queue: 2, group_requests: 2, ..OpenOptions::default() };
    let store = Store::open(&path, &options).unwrap();
    let writes = (0..50).map(|number| {
        let id = format!("q{number}");
        let mut batch = Batch::new();
        batch.put(&run, Scope::Adhoc, &rollout(&id), &prediction(&id, true, 0));
        store.write(batch)
    });
    for result in futures::future::join_all(writes).await {
        result.unwrap();
    }
    let stats = store.writer_stats();
    assert_eq!((stats.requests, stats.largest_group), (50, 2));
    let count = store.reader().unwrap().read(move |s| s.count(&run, Scope::Adhoc, Kind::Prediction)).await;
    assert_eq!(count.unwrap_or(0), 50);
}

#[test]
fn rewriting_a_step_leaves_its_neighbours_alone() {
    let (_folder, path) = fresh();
    let run = run_id("train1");
    let store = with_run(&path, &run);
    let places = [Scope::step(1, 0), Scope::step(1, 1), Scope::step(1, 10), Scope::step(11, 0), Scope::Final];
    let mut batch = Batch::new();
    for scope in places {
        batch.put(&run, scope, &rollout("q1"), &prediction("q1", true, 1));
        batch.put(&run, scope, &SpanKey { answer: rollout("q1"), span: 0 }, &span("x"));
    }
    store.write_blocking(batch).unwrap();
    let mut batch = Batch::new();
    batch.delete_scope(&run, Scope::step(1, 1));
    store.write_blocking(batch).unwrap();
    let snapshot = store.snapshot().unwrap();
    assert_eq!(snapshot.scopes(&run).unwrap(), [places[0], places[2], places[3], places[4]]);
    assert!(snapshot.rows::<TraceSpan>(&run, places[1]).unwrap().is_empty());

    let mut batch = Batch::new();
    batch.delete_from(&run, Scope::step(1, 1));
    store.write_blocking(batch).unwrap();
    assert_eq!(store.snapshot().unwrap().scopes(&run).unwrap(), [places[0]]);
}

fn checkpoint(step: u32) -> Checkpoint {
    Checkpoint {
        config_fingerprint: trm::domain::ContentHash::of("config"),
        data_fingerprint: trm::domain::ContentHash::of("data"),
        progress: trm::store::rows::Progress::InEpoch {
            step: trm::domain::EpochStep { epoch: 1, step },
            global_step: step,
        },
        correctness: [("q1".parse().unwrap(), true)].into(),
        unit_correctness: [("q1".parse().unwrap(), true)].into(),
        eval_prev_acc: None,
        eval_prev_run_id: None,
        baseline_skills_version: VersionName::FIRST,
        baseline_prompts_version: VersionName::FIRST,
        steps_since_best_improved: 0,
        epoch_start_skills: [].into(),
        epoch_start_skills_version: VersionName::FIRST,
        changed_task_types: vec![],
        rejected_edits: [].into(),
        system_packs: vec![],
        tool_packs: [].into(),
        probations: [].into(),
        gate_cooldown: [].into(),
        gate_epoch_observed: false,
        batches: vec![],
    }
}
