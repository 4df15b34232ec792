//! `trm train`: the same result however often it is interrupted; what cannot be trained is refused by name.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rand::RngExt;
use trm::domain::{Phase, RunId, seeded_rng};
use trm::store::rows::{Call, Checkpoint, Prediction, Run, RunMode, RunState, StartState};
use trm::store::{AnswerKey, Batch, OpenOptions, PhaseKey, Scope, Store};

use crate::store_support::{prediction, question, run_row};
use crate::train_support::{SMALL, check, child, copy, digest, failure, json, paid, run, store, workspace};

/// Kills per training; `tools/prove/train-kill` raises it.
fn kills() -> u32 {
    std::env::var("TRM_TRAIN_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(10)
}

/// Rows of model calls in all parts of the training.
fn call_rows(ws: &std::path::Path) -> u64 {
    let run: RunId = "train1".parse().unwrap();
    let store = store(ws);
    let snapshot = store.snapshot().unwrap();
    let of = |scope| snapshot.rows::<Call>(&run, scope).unwrap().len() as u64;
    snapshot.scopes(&run).unwrap().into_iter().map(of).sum()
}

#[test]
fn the_state_is_the_same_for_every_concurrency_and_after_every_crash() {
    let folder = tempfile::tempdir().unwrap();
    let origin = workspace(folder.path(), 10, SMALL);
    let whole = copy(&origin, &folder.path().join("whole"));
    let began = Instant::now();
    let summary = json(&whole, &["train"]);
    let mut took = began.elapsed();
    check(&whole);
    let expected = digest(&whole);
    assert_eq!(summary["finished"], true);
    assert!(summary["steps"].as_u64().unwrap() >= 4, "{summary}");

    assert_eq!(call_rows(&whole), summary["calls"].as_u64().unwrap(), "every call that was counted has its row");

    for concurrency in ["2", "64"] {
        let other = copy(&origin, &folder.path().join(format!("c{concurrency}")));
        json(&other, &["train", "--concurrency", concurrency]);
        assert_eq!(digest(&other), expected, "concurrency {concurrency}");
    }

    let killed = copy(&origin, &folder.path().join("killed"));
    let mut rng = seeded_rng(7, &["kills"]);
    let mut done = 0;
    while done < kills() {
        let mut process = child(&killed, &["train"]).spawn().unwrap();
        std::thread::sleep(took.mul_f64(rng.random_range(0.05..0.6)));
        let ended = process.try_wait().unwrap().is_some();
        process.kill().unwrap();
        process.wait().unwrap();
        if ended {
            // Finished before its time: begin another one, so that the number of kills is what it says.
            check(&killed);
            assert_eq!(digest(&killed), expected, "after {done} kills");
            std::fs::remove_dir_all(&killed).unwrap();
            copy(&origin, &killed);
            // The first training shared the machine with other tests: this one is faster.
            took = took.mul_f64(0.5);
        } else {
            done += 1;
        }
    }
    let resumed = json(&killed, &["train"]);
    check(&killed);
    assert_eq!(digest(&killed), expected, "after {done} kills");
    // What a killed session had in flight may be asked again; everything that it had stored is not.
    let in_flight = u64::from(done) * 16 * 12;
    let (again, once) = (paid(&resumed), paid(&summary));
    assert!(again <= once + in_flight, "{again} calls were paid for instead of {once}");
}

#[test]
fn an_interrupted_training_says_how_to_go_on_and_does() {
    let folder = tempfile::tempdir().unwrap();
    let origin = workspace(folder.path(), 10, SMALL);
    let whole = copy(&origin, &folder.path().join("whole"));
    json(&whole, &["train"]);
    let other = copy(&origin, &folder.path().join("other"));
    let mut interrupted = 0;
    for pause in [400, 900, 1_600, 2_500, 4_000] {
        let mut process = child(&other, &["train"]).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        let _gone =
            rustix::process::kill_process(rustix::process::Pid::from_child(&process), rustix::process::Signal::INT);
        let status = process.wait().unwrap();
        assert_eq!(status.signal(), None, "it ends by itself");
        interrupted += usize::from(status.code() == Some(6));
        assert!(matches!(status.code(), Some(0 | 6)), "{status:?}");
    }
    assert!(interrupted > 0);
    let row = store(&other).snapshot().unwrap().run(&"train1".parse().unwrap()).unwrap().unwrap();
    let stopped: Vec<_> = row.history.iter().filter(|event| event.what == "stopped").collect();
    assert_eq!(stopped.len(), interrupted, "the history tells of each: {:?}", row.history);
    assert!(stopped.iter().all(|event| event.note.contains("interrupted")), "{stopped:?}");
    let summary = json(&other, &["train"]);
    assert_eq!(summary["finished"], true);
    check(&other);
    assert_eq!(digest(&other), digest(&whole));
}

#[test]
fn a_step_runs_again_by_one_range_delete_and_leaves_its_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    let ws = workspace(folder.path(), 10, SMALL);
    json(&ws, &["train"]);
    let expected = digest(&ws);
    let run: RunId = "train1".parse().unwrap();
    let other: RunId = "elsewhere".parse().unwrap();
    let key = |name: &str| AnswerKey { phase: PhaseKey::plain(Phase::Adhoc), question: question(name) };
    let neighbours = [Scope::step(1, 1), Scope::step(1, 10), Scope::step(2, 0), Scope::Slow { epoch: 1, sub_step: 1 }];
    {
        let path = trm::harness::workspace::Workspace::at(&ws).unwrap().store();
        let store = Store::open(path, &OpenOptions::default()).unwrap();
        let mut batch = Batch::new();
        batch.create_run(&other, Run { mode: RunMode::Eval, state: RunState::Finished, ..run_row() });
        let planted = prediction("planted", true, 0);
        batch.put(&run, Scope::step(1, 0), &key("planted"), &planted);
        batch.put(&other, Scope::step(1, 0), &key("planted"), &planted);
        for scope in neighbours {
            batch.put(&run, scope, &key("planted"), &planted);
        }
        store.write_blocking(batch).unwrap();
    }
    let summary = json(&ws, &["train", "--rerun", "e1", "s0"]);
    assert_eq!(summary["progress"], "e1 s0 settled");
    let snapshot = store(&ws).snapshot().unwrap();
    let is_there = |run: &RunId, scope| snapshot.row::<Prediction>(run, scope, &key("planted")).unwrap().is_some();
    assert!(!is_there(&run, Scope::step(1, 0)), "the step's range was deleted");
    assert!(is_there(&other, Scope::step(1, 0)), "another run's was not");
    for scope in neighbours {
        assert!(is_there(&run, scope), "{scope}");
    }
    drop(snapshot);
    let again = json(&ws, &["train"]);
    assert_eq!(again["finished"], true);
    // Arms that a verdict cut off were never answered; everything else came from the response cache.
    assert!(paid(&again) <= paid(&summary) + 16 * 12, "{} calls instead of {}", paid(&again), paid(&summary));
    assert_eq!(digest(&ws), expected, "the same steps make the same versions");
    let other_steps = ["train", "--rerun", "e1s0", "--set", "agent.max_steps=7"];
    let (code, error, _) = failure(&ws, &other_steps);
    assert_eq!((code, error.as_str()), (2, "train.config_changed"), "a finished run is no exception");
    assert_eq!(digest(&ws), expected);
    let (code, error, _) = failure(&ws, &["train", "--rerun", "e9s9"]);
    assert_eq!((code, error.as_str()), (2, "train.no_rerun"));
}

#[test]
fn until_stops_and_resume_needs_something_to_resume() {
    let folder = tempfile::tempdir().unwrap();
    let ws = workspace(folder.path(), 8, SMALL);
    let (code, error, _) = failure(&ws, &["train", "--resume"]);
    assert_eq!((code, error.as_str()), (2, "train.nothing_to_resume"));
    let (code, error, _) = failure(&ws, &["train", "--rerun", "e1s0"]);
    assert_eq!((code, error.as_str()), (2, "train.no_rerun"), "and nothing is begun for it");
    let stopped = json(&ws, &["train", "--until", "e1s0"]);
    assert_eq!((&stopped["finished"], &stopped["steps"]), (&false.into(), &1.into()));
    let snapshot = store(&ws).snapshot().unwrap();
    let run: RunId = "train1".parse().unwrap();
    let checkpoint: Checkpoint = snapshot.checkpoint(&run).unwrap().unwrap();
    assert_eq!(checkpoint.batches.len(), 2);
    assert!(snapshot.row::<StartState>(&run, Scope::step(1, 0), &()).unwrap().is_some());
    drop(snapshot);

    let (code, error, text) = failure(&ws, &["train", "--set", "agent.max_steps=7"]);
    assert_eq!((code, error.as_str()), (2, "train.config_changed"));
    assert!(text.contains("agent.max_steps was 8, is 7") && text.contains("--fresh"), "{text}");
    let decision = run_ok(&ws, &["train", "--until", "e1", "--set", "gate.e_confirm=19"]);
    assert!(decision.contains("note: gate.e_confirm was 20"), "{decision}");
    // Each step is audited by the thresholds that decided it.
    let audited = crate::train_support::run(&ws, &["gate", "replay", "train1"]);
    assert!(audited.status.success(), "{}", String::from_utf8_lossy(&audited.stdout));

    let questions = ws.join("questions.jsonl");
    let text = std::fs::read_to_string(&questions).unwrap();
    let shorter: Vec<&str> = text.lines().skip(2).collect();
    std::fs::write(&questions, shorter.join("\n")).unwrap();
    let (code, error, text) = failure(&ws, &["train"]);
    assert_eq!((code, error.as_str()), (3, "train.data_changed"), "{text}");
    check(&ws);
    let (code, error, text) = failure(&ws, &["train", "--run-id", "tarin1"]);
    assert_eq!((code, error.as_str()), (2, "train.other_unfinished"), "a slip of the pen gives nothing up: {text}");
    let fresh = json(&ws, &["train", "--fresh", "--until", "e1s0"]);
    assert_eq!(fresh["run_id"], "train2", "another run, and the first one is given up");
    assert_eq!(json(&ws, &["inspect", "run", "train1"])["state"], "abandoned");
}

/// Standard error of a command that succeeds.
fn run_ok(ws: &std::path::Path, arguments: &[&str]) -> String {
    let output = run(ws, arguments);
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{stderr}");
    stderr
}

#[test]
fn what_cannot_be_trained_is_refused_before_anything_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let ws = workspace(folder.path(), 8, SMALL);
    let (code, error, _) = failure(&ws, &["train", "--set", "agent.skill_mode=none"]);
    assert_eq!((code, error.as_str()), (2, "config.invalid"), "both arms of a gate would be the same agent");

    let questions = ws.join("questions.jsonl");
    let text = std::fs::read_to_string(&questions).unwrap();
    let shared = text.replacen("\"Action Reasoning\"", "\"ACTION reasoning\"", 3);
    std::fs::write(&questions, shared).unwrap();
    let (code, error, message) = failure(&ws, &["train"]);
    assert_eq!((code, error.as_str()), (3, "data.invalid"), "{message}");
    assert!(message.contains("share the skill file action-reasoning.md"), "{message}");

    let renamed = text.replace("\"Action Reasoning\"", "\"Juggling\"");
    std::fs::write(&questions, renamed).unwrap();
    let (code, error, message) = failure(&ws, &["train"]);
    assert_eq!((code, error.as_str()), (2, "train.no_skill_file"), "{message}");
    assert!(message.contains("Juggling") && message.contains("scaffold"), "{message}");
    assert_eq!(store(&ws).snapshot().unwrap().runs().unwrap().len(), 0, "nothing was begun");
}

#[test]
fn types_with_few_units_are_dropped_or_stay_on_probation_at_best() {
    let folder = tempfile::tempdir().unwrap();
    let few = workspace(folder.path(), 7, SMALL);
    let story = run_ok(&few, &["train", "--until", "e1s0"]);
    assert!(story.contains("on probation at best"), "{story}");
    let tiny_folder = tempfile::tempdir().unwrap();
    let tiny = workspace(tiny_folder.path(), 2, SMALL);
    let sizes = ["--set", "pools.test_size=3", "--set", "pools.val_size=12", "--set", "pools.diag_size=3"];
    let (code, error, message) = failure(&tiny, &[&["train"], &sizes[..]].concat());
    assert_eq!((code, error.as_str()), (3, "train.nothing_to_train"), "{message}");
    check(&tiny);
}

#[test]
fn a_dead_provider_is_never_no_improvement() {
    let folder = tempfile::tempdir().unwrap();
    let ws = workspace(folder.path(), 8, SMALL);
    let dead = "llm: {default: {provider: openai, base_urls: ['http://127.0.0.1:9/v1'], model: m, retries: 0}}";
    let config = SMALL.replace("llm: {default: {provider: sim}, vision: {provider: sim}}", dead);
    std::fs::write(ws.join("trm.yaml"), config).unwrap();
    let (code, error, message) = failure(&ws, &["train"]);
    assert_eq!(code, 4, "{error} {message}");
    check(&ws);
    let run: RunId = "train1".parse().unwrap();
    assert!(store(&ws).snapshot().unwrap().checkpoint(&run).unwrap().is_none(), "nothing is half-written");

    // A provider that fails for one question in four is no better: the guard stops before anything is concluded. (Were it
    // worse, the endpoint would be left alone for longer and longer first.)
    let ill_folder = tempfile::tempdir().unwrap();
    let ill = SMALL.replace(
        "llm: {default: {provider: sim}",
        "sim: {faults: {permanent: 0.25}}\nllm: {default: {provider: sim, retries: 0}",
    );
    let ill = workspace(ill_folder.path(), 8, &ill);
    let (code, error, message) = failure(&ill, &["train"]);
    assert_eq!((code, error.as_str()), (4, "run.infra_rate"), "{message}");
    assert!(store(&ill).snapshot().unwrap().checkpoint(&run).unwrap().is_none(), "nothing was concluded");
    check(&ill);
}
