//! Random writes and range deletes agree with a model.

use std::collections::BTreeMap;

use proptest::prelude::*;
use trm::domain::{Arm, RunId};
use trm::store::rows::ValidationFlags;
use trm::store::{AnswerKey, Batch, Scope, StoreReader};

use crate::store_support::{first_run, fresh, gate, rollout, run_id, run_row, with_run};

#[derive(Debug, Clone)]
enum Write {
    Put(usize, Scope, AnswerKey, u8),
    Remove(usize, Scope, AnswerKey),
    DeleteScope(usize, Scope),
    DeleteFrom(usize, Scope),
    Commit,
}

/// Names of which some are prefixes of others.
const RUNS: [&str; 4] = ["a", "ab", "a.b", "b"];

fn any_scope() -> impl Strategy<Value = Scope> {
    prop_oneof![
        1 => Just(Scope::Baseline),
        6 => (1_u32..12, 0_u32..12).prop_map(|(epoch, step)| Scope::step(epoch, step)),
        3 => (1_u32..12, 1_u32..11).prop_map(|(epoch, sub_step)| Scope::Slow { epoch, sub_step }),
        1 => Just(Scope::Final),
        1 => Just(Scope::Eval),
        1 => Just(Scope::Adhoc),
    ]
}

fn any_key() -> impl Strategy<Value = AnswerKey> {
    (0..3_u8, "q[0-9]{1,2}|q[ -~]{1,3}x|视频[0-9]").prop_filter_map("an id", |(phase, id)| {
        id.parse::<trm::domain::QuestionId>().ok()?;
        Some(match phase {
            0 => rollout(&id),
            1 => gate("Action Reasoning", Arm::Base, &id),
            _ => gate("Action Reasoning", Arm::Cand, &id),
        })
    })
}

fn any_write() -> impl Strategy<Value = Write> {
    let run = 0..RUNS.len();
    prop_oneof![
        10 => (run.clone(), any_scope(), any_key(), any::<u8>()).prop_map(|(r, s, k, v)| Write::Put(r, s, k, v)),
        1 => (run.clone(), any_scope(), any_key()).prop_map(|(r, s, k)| Write::Remove(r, s, k)),
        2 => (run.clone(), any_scope()).prop_map(|(r, s)| Write::DeleteScope(r, s)),
        1 => (run, any_scope()).prop_map(|(r, s)| Write::DeleteFrom(r, s)),
        1 => Just(Write::Commit),
    ]
}

type Model = BTreeMap<(RunId, Scope, AnswerKey), String>;

fn apply(model: &mut Model, batch: &mut Batch, write: &Write) {
    let run = |index: &usize| run_id(RUNS.get(*index).unwrap());
    match write {
        Write::Put(of, scope, key, value) => {
            let row = ValidationFlags { flags: vec![], details: value.to_string() };
            batch.put(&run(of), *scope, key, &row);
            model.insert((run(of), *scope, key.clone()), row.details);
        }
        Write::Remove(of, scope, key) => {
            batch.remove::<ValidationFlags>(&run(of), *scope, key);
            model.remove(&(run(of), *scope, key.clone()));
        }
        Write::DeleteScope(of, scope) => {
            batch.delete_scope(&run(of), *scope);
            model.retain(|(other, place, _), _| *other != run(of) || place != scope);
        }
        Write::DeleteFrom(of, scope) => {
            batch.delete_from(&run(of), *scope);
            model.retain(|(other, place, _), _| *other != run(of) || place < scope || *place > Scope::Final);
        }
        Write::Commit => {}
    }
}

fn stored(reader: &StoreReader) -> Model {
    let snapshot = reader.snapshot().unwrap();
    let mut found = Model::new();
    for run in RUNS.map(run_id) {
        let scopes = snapshot.scopes(&run).unwrap();
        assert!(scopes.is_sorted(), "scopes come in order");
        for scope in scopes {
            for (key, row) in snapshot.rows::<ValidationFlags>(&run, scope).unwrap() {
                found.insert((run.clone(), scope, key), row.details);
            }
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn step_rows_behave_like_a_map_of_typed_keys(writes in proptest::collection::vec(any_write(), 1..120)) {
        let (_folder, path) = fresh();
        let store = with_run(&path, &run_id(RUNS[0]));
        let mut batch = first_run(&run_id(RUNS[0]));
        RUNS.iter().for_each(|run| { batch.create_run(&run_id(run), run_row()); });
        let mut model = Model::new();
        for write in &writes {
            apply(&mut model, &mut batch, write);
            if matches!(write, Write::Commit) {
                store.write_blocking(std::mem::take(&mut batch)).unwrap();
            }
        }
        store.write_blocking(batch).unwrap();
        prop_assert_eq!(stored(&store.reader().unwrap()), model);
    }
}
