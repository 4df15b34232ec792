//! `store check` finds each kind of damage that it claims to find: one broken store per invariant.

use std::collections::BTreeSet;
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;

use redb::{ReadableTable, TableDefinition};
use trm::domain::{Arm, ContentHash, EpochStep, Phase, RunId, VersionName};
use trm::store::rows::{
    Checkpoint, EpochReport, GateEvidence, Ladder, LadderEntry, Pointer, PointerName, Pools, Prediction, Progress,
    Quadrant, QuadrantPair, ScopeMark, StepReport, TraceSpan, ValidationFlags, Version, VersionKind, VersionPair,
};
use trm::store::{
    AnswerKey, Batch, GateUnitKey, Invariant, OpenOptions, PhaseKey, Problem, RankKey, Scope, SpanKey, Store,
    check_file,
};

use crate::store_sample::{
    SLOW_R, SLOW_REPORT, STEP, TYPE, checkpoint, evidence_rows, sample_store, second, step_report,
};
use crate::store_support::{V1, fresh, gate, prediction, question, raw, rollout, run_id, task_type};

type StepColumns = (&'static str, u8, u32, u8, u32, u8, &'static str, &'static str, u32);
const STEP_ROWS: TableDefinition<StepColumns, &[u8]> = TableDefinition::new("step_rows");
const RUNS: TableDefinition<&str, &[u8]> = TableDefinition::new("runs");
const MANIFEST: TableDefinition<&str, &[u8]> = TableDefinition::new("manifest");
const CONTENTS: TableDefinition<&[u8; 32], &[u8]> = TableDefinition::new("contents");
const VERSIONS: TableDefinition<(u8, u32), &[u8]> = TableDefinition::new("versions");
type BaselineColumns = (&'static [u8; 32], &'static str, &'static [u8; 32], u32, &'static str);
const BASELINE: TableDefinition<BaselineColumns, &[u8]> = TableDefinition::new("baseline_cache");

type Change<R> = fn(&mut R);
type Writing<'w> = &'w dyn Fn(&RunId, &mut Batch);

/// Writes through the store: its rules do not know what a training means.
fn written(path: &Path, change: impl FnOnce(&RunId, &mut Batch)) {
    let store = Store::open(path, &OpenOptions::default()).unwrap();
    let mut batch = Batch::new();
    change(&run_id("train1"), &mut batch);
    store.write_blocking(batch).unwrap();
}

/// The problems of the sample training after a change.
fn problems(change: impl FnOnce(&Path)) -> Vec<Problem> {
    let (_folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    change(&path);
    check_file(&path, None).unwrap().problems
}

/// The change breaks exactly these invariants.
fn breaks(expected: &[Invariant], change: impl FnOnce(&Path)) {
    let problems = problems(change);
    let found: BTreeSet<Invariant> = problems.iter().map(|problem| problem.invariant).collect();
    assert_eq!(found, expected.iter().copied().collect(), "{problems:#?}");
}

fn rank(rank: u32) -> RankKey {
    RankKey { task_type: task_type(TYPE), rank }
}

#[test]
fn the_sample_training_is_sound() {
    assert_eq!(problems(|_| {}), []);
}

#[test]
fn a_missing_table_is_found() {
    let (_folder, path) = fresh();
    drop(sample_store(&path, &run_id("train1")));
    raw(&path, |transaction| assert!(transaction.delete_table(VERSIONS).unwrap()));
    let report = check_file(&path, None).unwrap();
    assert_eq!(report.problems.iter().map(|problem| problem.invariant).collect::<Vec<_>>(), [Invariant::Tables]);
}

#[test]
fn a_changed_byte_in_a_page_is_found() {
    breaks(&[Invariant::Pages], |path| {
        let bytes = std::fs::read(path).unwrap();
        // A text that is stored as it is, so that its place in the file is known.
        let place = bytes
            .windows(12)
            .position(|window| window == b"L1_000They l")
            .unwrap_or_else(|| bytes.windows(11).position(|window| window == b"They leave.").unwrap());
        let mut file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
        file.seek(SeekFrom::Start(place as u64)).unwrap();
        file.write_all(b"X").unwrap();
    });
}

#[test]
fn a_key_that_nothing_writes_is_found() {
    breaks(&[Invariant::Key], |path| {
        raw(path, |transaction| {
            let mut table = transaction.open_table(STEP_ROWS).unwrap();
            table.insert(("train1", 1, 1, 0, 0, 200, "", "", 0), &[][..]).unwrap();
            table.insert(("train1", 9, 0, 0, 0, 2, "", "", 0), &[][..]).unwrap();
            let mut manifest = transaction.open_table(MANIFEST).unwrap();
            let value = manifest.get("best").unwrap().unwrap().value().to_vec();
            manifest.insert("worst", value.as_slice()).unwrap();
        });
    });
}

#[test]
fn a_damaged_value_is_found() {
    breaks(&[Invariant::Value], |path| {
        raw(path, |transaction| {
            let mut table = transaction.open_table(STEP_ROWS).unwrap();
            // The call of q6: nothing else refers to it.
            let key = ("train1", 1, 1, 0, 0, 4, "rollout", "q6", 0);
            let mut value = table.get(key).unwrap().unwrap().value().to_vec();
            *value.last_mut().unwrap() ^= 1;
            table.insert(key, value.as_slice()).unwrap();
        });
    });
}

#[test]
fn rows_of_a_run_that_is_not_recorded_are_found() {
    breaks(&[Invariant::Run], |path| {
        raw(path, |transaction| drop(transaction.open_table(RUNS).unwrap().remove("train1").unwrap()));
    });
}

#[test]
fn a_gap_between_versions_is_found() {
    breaks(&[Invariant::VersionOrder], |path| {
        raw(path, |transaction| {
            let mut table = transaction.open_table(VERSIONS).unwrap();
            let value = table.get((0, 2)).unwrap().unwrap().value().to_vec();
            table.insert((0, 4), value.as_slice()).unwrap();
        });
    });
}

#[test]
fn a_version_that_is_named_and_missing_is_found() {
    breaks(&[Invariant::Version], |path| {
        raw(path, |transaction| drop(transaction.open_table(VERSIONS).unwrap().remove((0, 2)).unwrap()));
    });
}

#[test]
fn a_text_that_is_named_and_missing_is_found() {
    breaks(&[Invariant::Content], |path| {
        raw(path, |transaction| {
            let hash = ContentHash::of("---\nname: action\n---\nCompare all options.\n");
            drop(transaction.open_table(CONTENTS).unwrap().remove(hash.as_bytes()).unwrap());
        });
    });
}

#[test]
fn a_text_under_a_wrong_hash_is_found() {
    breaks(&[Invariant::ContentHash], |path| {
        raw(path, |transaction| {
            let mut table = transaction.open_table(CONTENTS).unwrap();
            let one = ContentHash::of("---\nname: action\n---\nCompare all options.\n");
            let other = ContentHash::of("---\nname: default\n---\nLook first.\n");
            let value = table.get(one.as_bytes()).unwrap().unwrap().value().to_vec();
            table.insert(other.as_bytes(), value.as_slice()).unwrap();
        });
    });
}

#[test]
fn a_lost_span_a_lost_trace_and_a_trace_without_a_prediction_are_found() {
    breaks(&[Invariant::Trace], |path| {
        written(path, |run, batch| {
            batch.remove::<TraceSpan>(run, STEP, &SpanKey { answer: rollout("q6"), span: 0 });
        });
    });
    breaks(&[Invariant::Trace], |path| {
        written(path, |run, batch| {
            batch.remove::<TraceSpan>(run, STEP, &SpanKey { answer: rollout("q7"), span: 0 });
        });
    });
    breaks(&[Invariant::Trace], |path| {
        written(path, |run, batch| {
            let key = SpanKey { answer: rollout("q99"), span: 0 };
            batch.put(run, STEP, &key, &crate::store_support::span("x"));
        });
    });
}

#[test]
fn rows_about_a_prediction_that_is_not_there_are_found() {
    breaks(&[Invariant::Prediction], |path| {
        written(path, |run, batch| {
            let flags = ValidationFlags { flags: vec![], details: "{}".into() };
            batch.put(run, STEP, &rollout("q99"), &flags);
        });
    });
}

#[test]
fn a_lost_prediction_and_one_too_many_are_found() {
    let slow = |id: &str| AnswerKey { phase: PhaseKey::plain(Phase::SlowR), question: question(id) };
    breaks(&[Invariant::Settled], |path| {
        written(path, |run, batch| {
            batch.remove::<Prediction>(run, SLOW_R, &slow("q3"));
        });
    });
    breaks(&[Invariant::Settled], |path| {
        written(path, |run, batch| {
            batch.put(run, SLOW_R, &slow("q9"), &prediction("q9", true, 0));
        });
    });
    breaks(&[Invariant::Settled], |path| {
        written(path, |run, batch| {
            let other = AnswerKey { phase: PhaseKey::plain(Phase::SlowR2), question: question("q1") };
            batch.put(run, SLOW_R, &other, &prediction("q1", true, 0));
        });
    });
    breaks(&[Invariant::Settled], |path| {
        let store = Store::open(path, &OpenOptions::default()).unwrap();
        let run = run_id("train1");
        let mut mark = store.snapshot().unwrap().row::<ScopeMark>(&run, SLOW_R, &()).unwrap().unwrap();
        mark.expected[0].questions.push(question("q1"));
        let mut batch = Batch::new();
        batch.put(&run, SLOW_R, &(), &mark);
        store.write_blocking(batch).unwrap();
    });
}

/// Replaces one row of evidence.
fn with_evidence(path: &Path, place: u32, change: impl FnOnce(&mut GateEvidence)) {
    let mut row = evidence_rows().into_iter().nth(place as usize).unwrap();
    change(&mut row);
    written(path, |run, batch| {
        batch.put(run, STEP, &rank(place), &row);
    });
}

#[test]
fn evidence_that_does_not_follow_from_itself_is_found() {
    let wrong: [(u32, Change<GateEvidence>); 5] = [
        (1, |row| row.wins = 1),
        (1, |row| row.n_remaining = 3),
        (1, |row| row.stop_reason = Some(trm::store::rows::GateStop::Futility)),
        (3, |row| row.stop_reason = None),
        (2, |row| row.excluded_arm = None),
    ];
    for (place, change) in wrong {
        let problems = problems(|path| with_evidence(path, place, change));
        assert!(problems.iter().any(|problem| problem.invariant == Invariant::Evidence), "{place}: {problems:#?}");
    }
    breaks(&[Invariant::Evidence, Invariant::Report], |path| {
        written(path, |run, batch| {
            batch.remove::<GateEvidence>(run, STEP, &rank(2));
        });
    });
}

#[test]
fn evidence_that_its_predictions_do_not_bear_out_is_found() {
    breaks(&[Invariant::EvidenceAnswers], |path| {
        written(path, |run, batch| {
            batch.remove::<Prediction>(run, STEP, &gate(TYPE, Arm::Cand, "q2"));
        });
    });
    breaks(&[Invariant::EvidenceAnswers], |path| {
        written(path, |run, batch| {
            batch.put(run, STEP, &gate(TYPE, Arm::Cand, "q2"), &prediction("q2", false, 0));
        });
    });
    breaks(&[Invariant::EvidenceAnswers], |path| {
        written(path, |run, batch| {
            batch.put(run, STEP, &gate(TYPE, Arm::Cand, "q4"), &prediction("q4", true, 0));
        });
    });
}

#[test]
fn a_report_that_differs_from_its_evidence_is_found() {
    let wrong: [Change<StepReport>; 4] = [
        |row| row.losses = Some(1),
        |row| row.n_excluded = Some(0),
        |row| row.new_version = None,
        |row| row.action = trm::store::rows::StepAction::Cooldown,
    ];
    for change in wrong {
        breaks(&[Invariant::Report], |path| {
            let mut report = step_report();
            change(&mut report);
            written(path, |run, batch| {
                batch.put(run, STEP, &task_type(TYPE), &report);
            });
        });
    }
    breaks(&[Invariant::Report], |path| {
        written(path, |run, batch| {
            batch.remove::<StepReport>(run, STEP, &task_type(TYPE));
        });
    });
}

#[test]
fn a_missing_a_wrong_and_a_foreign_quadrant_are_found() {
    let key = |unit: &str| GateUnitKey { task_type: task_type(TYPE), unit: unit.parse().unwrap() };
    breaks(&[Invariant::Quadrant], |path| {
        written(path, |run, batch| {
            batch.remove::<QuadrantPair>(run, STEP, &key("q3"));
        });
    });
    breaks(&[Invariant::Quadrant], |path| {
        written(path, |run, batch| {
            batch.put(run, STEP, &key("q3"), &QuadrantPair { quadrant: Quadrant::Regression });
        });
    });
    breaks(&[Invariant::Quadrant], |path| {
        written(path, |run, batch| {
            batch.put(run, STEP, &key("q4"), &QuadrantPair { quadrant: Quadrant::Improvement });
        });
    });
}

#[test]
fn a_question_in_two_pools_is_found() {
    breaks(&[Invariant::Pools], |path| {
        let store = Store::open(path, &OpenOptions::default()).unwrap();
        let run = run_id("train1");
        let mut pools: Pools = store.snapshot().unwrap().pools(&run).unwrap().unwrap();
        pools.test.push(pools.diagnosis[0].clone());
        let mut batch = Batch::new();
        batch.put_pools(&run, &pools);
        store.write_blocking(batch).unwrap();
    });
}

#[test]
fn a_ladder_with_a_foreign_unit_a_repeated_one_or_no_probability_is_found() {
    let entry = |id: &str, p_hat| LadderEntry { unit_id: id.parse().unwrap(), p_hat, observations: 1 };
    for entries in [vec![entry("q9", 0.5)], vec![entry("q3", 0.5), entry("q3", 0.5)], vec![entry("q3", f64::NAN)]] {
        breaks(&[Invariant::Ladder], |path| {
            written(path, |run, batch| {
                let ladder = Ladder { data_fingerprint: ContentHash::of("data"), entries };
                batch.put_ladder(run, &task_type(TYPE), &ladder);
            });
        });
    }
    breaks(&[Invariant::Ladder], |path| {
        written(path, |run, batch| {
            let ladder = Ladder { data_fingerprint: ContentHash::of("other"), entries: vec![] };
            batch.put_ladder(run, &task_type(TYPE), &ladder);
        });
    });
}

#[test]
fn a_training_state_that_lags_or_runs_ahead_is_found() {
    let states: [Checkpoint; 4] = [
        checkpoint(Progress::Prepared),
        checkpoint(Progress::InEpoch { step: EpochStep { epoch: 1, step: 1 }, global_step: 1 }),
        Checkpoint {
            data_fingerprint: ContentHash::of("other"),
            ..checkpoint(Progress::EpochDone { epoch: 1, global_step: 0 })
        },
        Checkpoint {
            batches: vec![vec![question("q6")], vec![question("q6")]],
            ..checkpoint(Progress::EpochDone { epoch: 1, global_step: 0 })
        },
    ];
    for state in states {
        breaks(&[Invariant::Checkpoint], |path| {
            written(path, |run, batch| {
                batch.put_checkpoint(run, &state);
            });
        });
    }
}

#[test]
fn a_baseline_that_answers_a_question_twice_is_found() {
    breaks(&[Invariant::BaselineCache], |path| {
        written(path, |_, batch| {
            let key = trm::store::rows::BaselineKey {
                environment: ContentHash::of("environment"),
                task_type: task_type(TYPE),
                skill_hash: ContentHash::of("skills"),
                prompts_version: VersionName::FIRST,
                unit_id: "q3".parse().unwrap(),
            };
            let correct = vec![(question("q3"), true), (question("q3"), false)];
            batch.put_baseline(&key, &trm::store::rows::BaselineEntry { correct, answered_by: None });
        });
    });
    breaks(&[Invariant::Value], |path| {
        raw(path, |transaction| {
            let mut table = transaction.open_table(BASELINE).unwrap();
            let hash = ContentHash::of("x");
            table.insert((hash.as_bytes(), "T", hash.as_bytes(), 1, "u"), &b"damaged"[..]).unwrap();
        });
    });
}

#[test]
fn the_digest_sees_what_was_learnt_and_nothing_else() {
    let digest = |run: &str, change: Writing<'_>| {
        let (_folder, path) = fresh();
        let run = run_id(run);
        let store = sample_store(&path, &run);
        let mut batch = Batch::new();
        change(&run, &mut batch);
        store.write_blocking(batch).unwrap();
        trm::store::state_digest(&store.snapshot().unwrap()).unwrap()
    };
    let same = digest("train1", &|_, _| {});
    assert_eq!(digest("another-name", &|_, _| {}), same, "run ids do not count");
    let volatile = digest("train1", &|run, batch| {
        let report = StepReport { errors: Some(9), inferences: Some(99), ..step_report() };
        batch.put(run, STEP, &task_type(TYPE), &report);
        batch.put(run, STEP, &gate(TYPE, Arm::Cand, "q9"), &prediction("q9", true, 0));
        let late = Prediction { latency_ms: 9_999, finished_ms: 77, ..prediction("q8", true, 0) };
        batch.put(run, STEP, &rollout("q8"), &late);
        let state = checkpoint(Progress::EpochDone { epoch: 1, global_step: 0 });
        batch.put_checkpoint(run, &Checkpoint { eval_prev_run_id: Some("other_baseline".into()), ..state });
    });
    assert_eq!(volatile, same, "times, ids and what timing decides do not count");

    let learnt: [Writing<'_>; 5] = [
        &|run, batch| {
            batch.put(run, STEP, &task_type(TYPE), &StepReport { e_value: Some(4.5), ..step_report() });
        },
        &|run, batch| {
            let row = evidence_rows().into_iter().nth(1).unwrap();
            batch.put(run, STEP, &rank(1), &GateEvidence { lambda: 0.25, ..row });
        },
        &|run, batch| {
            let state = checkpoint(Progress::EpochDone { epoch: 1, global_step: 0 });
            batch.put_checkpoint(run, &Checkpoint { gate_epoch_observed: true, ..state });
        },
        &|_, batch| {
            let versions = VersionPair { skills: second(), prompts: V1.prompts };
            batch.put_pointer(PointerName::Best, &Pointer { versions, val_acc: Some(0.5), moved_by: None });
        },
        &|run, batch| {
            batch.remove::<EpochReport>(run, SLOW_REPORT, &());
        },
    ];
    for (index, change) in learnt.into_iter().enumerate() {
        assert_ne!(digest("train1", change).digest, same.digest, "change {index} was not seen");
    }
    let version = digest("train1", &|_, batch| {
        let files = [("new.md".parse().unwrap(), batch.put_content("new"))].into();
        let version =
            Version { files, parent: None, source: "import".into(), note: String::new(), made_by: None, created_ms: 0 };
        batch.put_version(VersionKind::Prompts, VersionName::FIRST.next(), &version);
    });
    assert_ne!(version.versions, same.versions);
    assert_eq!((version.manifest, version.steps), (same.manifest, same.steps), "only the part that changed differs");
    assert!(Scope::Final > STEP);
}
