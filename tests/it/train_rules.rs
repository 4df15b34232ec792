//! The rules of steps and of the slow update, re-derived from what trainings stored: each assertion fails when an order
//! or an exception of the design is broken.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use trm::domain::{Phase, QuestionId, RunId, TaskType, Unit, UnitId};
use trm::harness::correctness::Correctness;
use trm::harness::ladder::{GatePools, LadderEntry};
use trm::store::rows::{
    Checkpoint, EpochReport, EvalReport, GateEvidence, Ladder, Outcome, Pools, Prediction, ProbationOutcome,
    ProbationSettlement, StartState, StepAction, StepReport, SystemToolAction, VersionKind, VersionPair,
};
use trm::store::{PhaseKey, Scope, Snapshot};

use crate::train_support::{json, store, workspace};

/// A gate that lets much through on probation and takes it back easily, and a writer that often does harm.
const LENIENT: &str = "\
data: {questions: questions.jsonl, videos_dir: videos}
llm: {default: {provider: sim}, vision: {provider: sim}}
agent: {tool_summaries: raw, concurrency: 16, max_steps: 8}
pools: {eval_min_per_class: 1, test_size: 0.1, val_size: 0.5, diag_size: 0.4}
minibatch: {batch_size: 20, max_steps_per_epoch: 2}
epochs: {epochs: 3, early_stop_patience_epochs: 9}
slow: {momentum_sample: 6}
gate: {e_provisional: 1.4, w_net_min: 1, e_rollback: 1.4, lambda_dir: -9.0, cooldown_steps: 2}
sim: {writer: {miss: 0.2, damage: 0.6}}
";

/// A training to look at.
struct Seen {
    snapshot: Snapshot<'static>,
    run: RunId,
    pools: Pools,
    units: BTreeMap<UnitId, Unit>,
    baseline: Correctness,
}

/// Which of the cases that the rules are about have happened.
#[derive(Debug, Default)]
struct Met {
    rollback: u32,
    hold: u32,
    kept: u32,
    reverted: u32,
    accepted: u32,
    resting: u32,
}

impl Seen {
    fn of(ws: &Path) -> Self {
        let snapshot = store(ws).snapshot().unwrap();
        let run: RunId = "train1".parse().unwrap();
        let pools = snapshot.pools(&run).unwrap().unwrap();
        let units = pools.validation.iter().chain(&pools.diagnosis).map(|unit| {
            let unit = Unit {
                unit_id: unit.unit_id.clone(),
                task_type: unit.task_type.clone(),
                video_id: "any".parse().unwrap(),
                question_ids: unit.questions.clone(),
            };
            (unit.unit_id.clone(), unit)
        });
        let units = units.collect();
        let mut seen = Self { snapshot, run, pools, units, baseline: Correctness::new() };
        seen.baseline = seen.answers(Scope::Baseline, Phase::Baseline);
        seen
    }

    fn answers(&self, scope: Scope, phase: Phase) -> Correctness {
        let rows = self.snapshot.rows_of::<Prediction>(&self.run, scope, &PhaseKey::plain(phase)).unwrap();
        rows.into_iter()
            .filter(|(_, row)| row.outcome != Outcome::Infra)
            .map(|(key, row)| (key.question, row.outcome == Outcome::Correct))
            .collect()
    }

    fn start(&self, epoch: u32, step: u32) -> Option<StartState> {
        self.snapshot.row(&self.run, Scope::step(epoch, step), &()).unwrap()
    }

    fn evaluation(&self, epoch: u32, sub_step: u32, phase: Phase) -> Option<EvalReport> {
        self.snapshot.row(&self.run, Scope::Slow { epoch, sub_step }, &PhaseKey::plain(phase)).unwrap()
    }

    fn report(&self, epoch: u32) -> EpochReport {
        self.snapshot.row(&self.run, Scope::Slow { epoch, sub_step: 9 }, &()).unwrap().unwrap()
    }

    fn probations(&self, epoch: u32) -> BTreeMap<TaskType, ProbationSettlement> {
        self.snapshot.rows(&self.run, Scope::Slow { epoch, sub_step: 4 }).unwrap().into_iter().collect()
    }

    fn texts(&self, version: trm::domain::VersionName) -> BTreeMap<trm::domain::FileName, String> {
        self.snapshot.version_texts(VersionKind::Skills, version).unwrap()
    }

    fn type_of(&self, question: &QuestionId) -> &TaskType {
        &self.units.values().find(|unit| unit.question_ids.contains(question)).unwrap().task_type
    }
}

fn accuracy(report: &EvalReport) -> f64 {
    f64::from(report.total.correct) / f64::from(report.total.correct + report.total.wrong)
}

/// The settlement of a step: rollout first, then the consumed prefix of accepted candidates, in alphabetical order.
fn a_step_follows_its_rules(seen: &Seen, epoch: u32, step: u32, after: &Checkpoint, met: &mut Met) {
    let start = seen.start(epoch, step).unwrap();
    let scope = Scope::step(epoch, step);
    let mut expected = start.state.correctness.clone();
    expected.extend(seen.answers(scope, Phase::Rollout));
    let mut version = start.current.skills;
    let reports: BTreeMap<TaskType, StepReport> = seen.snapshot.rows(&seen.run, scope).unwrap().into_iter().collect();
    for (task_type, report) in &reports {
        assert_eq!(
            report.source_version, start.current.skills,
            "every spec reads what was current at the step's start"
        );
        let resting = start.state.gate_cooldown.contains_key(task_type);
        assert_eq!(report.action == StepAction::Cooldown, resting, "{scope} {task_type}");
        met.resting += u32::from(resting);
        let Some(new) = report.new_version else { continue };
        met.accepted += 1;
        assert!(new > version, "one version per accept, in alphabetical order");
        let (before, now) = (seen.texts(version), seen.texts(new));
        let changed: Vec<_> = now.iter().filter(|(file, text)| before.get(*file) != Some(*text)).collect();
        assert_eq!(changed.len(), 1, "an accept replaces its own file and nothing else");
        assert_eq!(*changed[0].0, task_type.skill_file());
        version = new;
        let consumed = seen.snapshot.rows::<GateEvidence>(&seen.run, scope).unwrap();
        for (_, row) in consumed.iter().filter(|(key, row)| key.task_type == *task_type && !row.excluded) {
            if let [only] = &row.questions[..] {
                expected.insert(only.clone(), row.cand_correct.unwrap());
            } else {
                for question in &row.questions {
                    expected.remove(question);
                }
            }
        }
        match report.action {
            StepAction::AcceptProvisional => {
                let account = &after.probations[task_type];
                let opened_now = account.opened_step == report.global_step;
                if opened_now {
                    // Taken before the candidate's answers were merged, after the rollout's.
                    let rollout = seen.answers(scope, Phase::Rollout);
                    for (question, correct) in &account.correctness_snapshot {
                        let known = rollout.get(question).or_else(|| start.state.correctness.get(question));
                        assert_eq!(known, Some(correct), "{question}");
                    }
                } else {
                    assert!(start.state.probations.contains_key(task_type), "an open account is extended");
                }
            }
            StepAction::AcceptConfirmed => assert!(!after.probations.contains_key(task_type)),
            StepAction::Reject | StepAction::Skipped | StepAction::Cooldown => {}
        }
        assert!(!after.rejected_edits.contains_key(task_type), "an accept clears the memory");
    }
    for (question, correct) in &expected {
        assert_eq!(after.correctness.get(question), Some(correct), "{scope} {question}");
    }
    for (task_type, left) in &start.state.gate_cooldown {
        let expected = (*left > 1).then(|| left - 1);
        assert_eq!(after.gate_cooldown.get(task_type).copied(), expected, "one step less");
    }
}

/// The slow update: write-back, then rollbacks over it, then best, then the closed loop.
fn an_epoch_follows_its_rules(seen: &Seen, epoch: u32, last: &Checkpoint, met: &mut Met) {
    let next = seen.start(epoch + 1, 0).unwrap();
    let state = &next.state;
    let r = seen.evaluation(epoch, 1, Phase::SlowR).unwrap();
    let r2 = seen.evaluation(epoch, 8, Phase::SlowR2);
    let report = seen.report(epoch);
    let kept = report.system_tool_action == SystemToolAction::Kept;
    met.kept += u32::from(kept);
    let reverted = report.system_tool_action == SystemToolAction::Reverted;
    met.reverted += u32::from(reverted);

    // R is written back unconditionally; a rollback overrides it; a kept R2 comes last, a reverted one never.
    let probations = seen.probations(epoch);
    let (of_r, of_r2) = (
        seen.answers(Scope::Slow { epoch, sub_step: 1 }, Phase::SlowR),
        seen.answers(Scope::Slow { epoch, sub_step: 8 }, Phase::SlowR2),
    );
    for question in seen.pools.validation.iter().flat_map(|unit| &unit.questions) {
        let task_type = seen.type_of(question);
        let rolled_back = probations.get(task_type).is_some_and(|row| row.outcome == ProbationOutcome::Rollback);
        let account = last.probations.get(task_type);
        let expected = if kept {
            of_r2.get(question)
        } else if rolled_back {
            account.unwrap().correctness_snapshot.get(question)
        } else {
            of_r.get(question)
        };
        assert_eq!(state.correctness.get(question), expected, "e{epoch} {question}");
    }
    for (task_type, row) in &probations {
        let account = &last.probations[task_type];
        match row.outcome {
            ProbationOutcome::Hold => {
                met.hold += 1;
                assert_eq!(state.probations.get(task_type), Some(account));
            }
            ProbationOutcome::Confirm => assert!(!state.probations.contains_key(task_type)),
            ProbationOutcome::Rollback => {
                met.rollback += 1;
                let new = row.new_version.unwrap();
                let parent = seen.snapshot.version(VersionKind::Skills, new).unwrap().unwrap().parent.unwrap();
                let (before, now) = (seen.texts(parent), seen.texts(new));
                assert_eq!(now[&row.target_file], seen.texts(row.anchor_skills_version)[&row.target_file]);
                let others = |texts: &BTreeMap<trm::domain::FileName, String>| {
                    let mut texts = texts.clone();
                    texts.remove(&row.target_file);
                    texts
                };
                assert_eq!(others(&before), others(&now), "other files keep their progress");
                assert!(!state.probations.contains_key(task_type));
                assert_eq!(state.gate_cooldown.get(task_type), Some(&2), "rests, and not a step less yet");
                let memory = &state.rejected_edits[task_type];
                assert!(
                    account.pending_edits.iter().all(|edit| memory.contains(edit)),
                    "the whole chain is remembered"
                );
            }
        }
    }

    // Best: strictly greater only; R's own pair, then R2's own pair.
    let before = seen.start(epoch, 0).unwrap();
    let mut best = (before.best, before.best_val_acc.unwrap());
    let mut consider = |pair: VersionPair, found: f64| {
        if found > best.1 {
            best = (pair, found);
        }
    };
    consider(r.versions, accuracy(&r));
    if let Some(r2) = r2.as_ref().filter(|_| kept) {
        assert_ne!(r2.versions, r.versions, "R2 has a version pair of its own");
        consider(r2.versions, accuracy(r2));
    }
    assert_eq!((next.best, next.best_val_acc.unwrap()), best, "epoch {epoch}");
    if let Some(r2) = &r2 {
        assert_eq!(reverted, accuracy(r2) < accuracy(&r), "worse is strictly worse");
        let prompts = if reverted { r.versions.prompts } else { r2.versions.prompts };
        assert_eq!(next.current.prompts, prompts);
        assert_eq!(next.current.skills, r2.versions.skills, "momentum stays either way");
    }
    assert_eq!(state.eval_prev_acc, Some(if kept { accuracy(r2.as_ref().unwrap()) } else { accuracy(&r) }));
    ladders_learn_from_three_sources(seen, epoch, &before.ladders, &next.ladders, kept);
    assert!(state.gate_epoch_observed && state.changed_task_types.is_empty() && state.system_packs.is_empty());
}

fn ladders_learn_from_three_sources(
    seen: &Seen,
    epoch: u32,
    before: &BTreeMap<TaskType, Ladder>,
    after: &BTreeMap<TaskType, Ladder>,
    kept: bool,
) {
    let entry = |entry: &trm::store::rows::LadderEntry| LadderEntry {
        unit_id: entry.unit_id.clone(),
        p_hat: entry.p_hat,
        observations: entry.observations,
    };
    let pools = |ladders: &BTreeMap<TaskType, Ladder>| GatePools {
        entries: ladders
            .iter()
            .map(|(name, ladder)| (name.clone(), ladder.entries.iter().map(entry).collect()))
            .collect(),
    };
    let mut sources: Vec<Correctness> = (0..9)
        .filter(|step| seen.start(epoch, *step).is_some())
        .map(|step| seen.answers(Scope::step(epoch, step), Phase::Rollout))
        .collect();
    sources.push(seen.answers(Scope::Slow { epoch, sub_step: 1 }, Phase::SlowR));
    if kept {
        sources.push(seen.answers(Scope::Slow { epoch, sub_step: 8 }, Phase::SlowR2));
    }
    let mut observed: BTreeMap<UnitId, Vec<bool>> = BTreeMap::new();
    for unit in seen.units.values() {
        for source in &sources {
            let answers: Option<Vec<bool>> = unit.question_ids.iter().map(|id| source.get(id).copied()).collect();
            if let Some(answers) = answers {
                observed.entry(unit.unit_id.clone()).or_default().push(answers.iter().all(|right| *right));
            }
        }
    }
    let mut expected = pools(before);
    expected.refresh(&observed, 0.7).unwrap();
    assert_eq!(pools(after), expected, "epoch {epoch}");
}

#[test]
fn every_step_and_every_slow_update_follows_the_rules() {
    let mut met = Met::default();
    for seed in ["1", "2", "3"] {
        let folder = tempfile::tempdir().unwrap();
        let ws = workspace(folder.path(), 10, LENIENT);
        json(&ws, &["train", "--set", &format!("run.seed={seed}")]);
        let seen = Seen::of(&ws);
        let test: BTreeSet<&QuestionId> = seen.pools.test.iter().flat_map(|unit| &unit.questions).collect();
        for epoch in 1..=3 {
            for step in 0..2 {
                let Some(start) = seen.start(epoch, step) else { continue };
                // The state after a step is what the next one began with; the last one of an epoch has no such witness.
                if let Some(after) = seen.start(epoch, step + 1) {
                    a_step_follows_its_rules(&seen, epoch, step, &after.state, &mut met);
                }
                assert!(start.state.batches.iter().flatten().all(|question| !test.contains(question)));
            }
        }
        for epoch in 1..3 {
            // Before the slow update: the last step's start is the closest witness, so only its untouched accounts count.
            let last = last_state(&seen, epoch);
            an_epoch_follows_its_rules(&seen, epoch, &last, &mut met);
        }
        for unit in seen.pools.test.iter() {
            for question in &unit.questions {
                let now = seen.snapshot.checkpoint(&seen.run).unwrap().unwrap().correctness.get(question).copied();
                assert_eq!(now, seen.baseline.get(question).copied(), "the test pool is never touched");
            }
        }
    }
    eprintln!("{met:?}");
    assert!(met.accepted > 0 && met.rollback > 0 && met.kept > 0 && met.reverted > 0, "{met:?}");
}

/// The state before the slow update, as the training wrote it: the same run stopped behind its last step.
fn last_state(seen: &Seen, epoch: u32) -> Checkpoint {
    let slow: Option<StartState> = seen.snapshot.row(&seen.run, Scope::Slow { epoch, sub_step: 1 }, &()).unwrap();
    slow.unwrap().state
}
