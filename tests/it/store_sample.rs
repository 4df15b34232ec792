//! A small, complete and consistent training: every table and every kind of row has something in it.

use std::collections::BTreeMap;

use trm::domain::{Arm, ContentHash, EpochStep, Phase, QuestionId, Role, RunId, VersionName};
use trm::store::rows::{
    AnchorCheck, BaselineEntry, BaselineKey, Call, CasePack, Checkpoint, ClipInfo, DualMetricEval, EpochReport,
    EvalCounts, EvalReport, Evolution, EvolutionStatus, ExpectedAnswers, FailedArm, GateEvidence, GateStop, Heartbeat,
    HoldoutEval, Ladder, LadderEntry, MadeBy, Momentum, MomentumStatus, ObserveFrameHealth, Outcome, Pointer,
    PointerName, PoolUnit, Pools, Prediction, Probation, Progress, Quadrant, QuadrantPair, QuestionMetrics,
    RejectedEdit, ScopeMark, Seed, ShadowGate, StepAction, StepReport, SystemToolAction, Tokens, Usage, UsageKey,
    ValidationFlags, Version, VersionKind, VersionPair,
};
use trm::store::{AnswerKey, Batch, CallKey, GateUnitKey, PhaseKey, RankKey, Scope, SpanKey, Store, Target};

use crate::store_support::{V1, gate, prediction, question, rollout, span, task_type, with_run};

pub(crate) const TYPE: &str = "Action Reasoning";
const QUESTIONS: [&str; 9] = ["q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"];
const V2: VersionName = V1.skills;

/// The settled step.
pub(crate) const STEP: Scope = Scope::Step(EpochStep { epoch: 1, step: 0 });
/// The sub-steps that have rows.
pub(crate) const SLOW_R: Scope = Scope::Slow { epoch: 1, sub_step: 1 };
pub(crate) const SLOW_MOMENTUM: Scope = Scope::Slow { epoch: 1, sub_step: 6 };
pub(crate) const SLOW_REPORT: Scope = Scope::Slow { epoch: 1, sub_step: 9 };

/// Writes the sample training; the store stays open.
pub(crate) fn sample_store(path: &std::path::Path, run: &RunId) -> Store {
    let store = with_run(path, run);
    for batch in [baseline(run), begin_step(run), work_of_step(run), settlement(run), slow(run), rest(run)] {
        store.write_blocking(batch).unwrap();
    }
    store
}

/// The version that the step's acceptance makes.
pub(crate) fn second() -> VersionName {
    V2.next()
}

fn questions(ids: &[&str]) -> Vec<QuestionId> {
    ids.iter().map(|id| question(id)).collect()
}

fn mark(global_step: Option<u32>, expected: &[(&str, &[&str])], settled: bool) -> ScopeMark {
    let expected = expected
        .iter()
        .map(|(phase, ids)| ExpectedAnswers { phase: (*phase).to_owned(), questions: questions(ids) })
        .collect();
    ScopeMark { global_step, versions: V1, expected, settled, begun_ms: 10 }
}

fn unit(id: &str, ids: &[&str]) -> PoolUnit {
    PoolUnit { unit_id: id.parse().unwrap(), task_type: task_type(TYPE), questions: questions(ids) }
}

fn baseline(run: &RunId) -> Batch {
    let mut batch = Batch::new();
    let scope = Scope::Baseline;
    batch.put(run, scope, &(), &mark(None, &[("baseline", &QUESTIONS)], true));
    for (index, id) in QUESTIONS.iter().enumerate() {
        let key = AnswerKey { phase: PhaseKey::plain(Phase::Baseline), question: question(id) };
        batch.put(run, scope, &key, &prediction(id, index % 2 == 0, 0));
    }
    let counts = EvalCounts { correct: 5, wrong: 4, unparsed: 0, infra: 0 };
    let report = EvalReport { versions: V1, total: counts, by_task_type: vec![(task_type(TYPE), counts)] };
    batch.put(run, scope, &PhaseKey::plain(Phase::Baseline), &report);
    let pools = Pools {
        data_fingerprint: ContentHash::of("data"),
        baseline_run: run.clone(),
        test: vec![unit("q9", &["q9"])],
        validation: vec![unit("pair1", &["q1", "q2"]), unit("q3", &["q3"]), unit("q4", &["q4"]), unit("q5", &["q5"])],
        diagnosis: vec![unit("q6", &["q6"]), unit("q7", &["q7"]), unit("q8", &["q8"])],
    };
    batch.put_pools(run, &pools);
    let entries = ["pair1", "q3", "q4", "q5", "q6", "q7", "q8"].map(|id| LadderEntry {
        unit_id: id.parse().unwrap(),
        p_hat: 2.0 / 3.0,
        observations: 1,
    });
    let ladder = Ladder { data_fingerprint: ContentHash::of("data"), entries: entries.into() };
    batch.put_ladder(run, &task_type(TYPE), &ladder);
    batch.put_checkpoint(run, &checkpoint(Progress::Prepared));
    batch
}

fn begin_step(run: &RunId) -> Batch {
    let mut batch = Batch::new();
    batch.delete_scope(run, STEP);
    batch.put(run, STEP, &(), &mark(Some(0), &[("rollout", &["q6", "q7", "q8"])], false));
    batch
}

fn work_of_step(run: &RunId) -> Batch {
    let mut batch = Batch::new();
    for (id, correct, spans) in [("q6", false, 2), ("q7", false, 1), ("q8", true, 0)] {
        batch.put(run, STEP, &rollout(id), &prediction(id, correct, spans));
        for index in 0..spans {
            batch.put(run, STEP, &SpanKey { answer: rollout(id), span: index }, &span("I look."));
        }
        batch.put(run, STEP, &question(id), &metrics(correct));
        let flags = ValidationFlags { flags: vec!["evidence_not_text".into()], details: "{}".into() };
        batch.put(run, STEP, &rollout(id), &flags);
        let anchors = AnchorCheck { cited: vec!["n1".into()], missing: vec![], unvisited: vec!["n1".into()] };
        batch.put(run, STEP, &rollout(id), &anchors);
        let frames = ObserveFrameHealth { asked: 4, found: 3, read: 2, failed: 1, failures: vec!["timeout".into()] };
        batch.put(run, STEP, &rollout(id), &frames);
        batch.put(run, STEP, &CallKey { group: "rollout".into(), item: id.to_string(), index: 0 }, &call());
    }
    let pack = CasePack { pack: "{}".into(), questions: questions(&["q6", "q7", "q8"]), failures: 2, successes: 1 };
    batch.put(run, STEP, &target(), &pack);
    batch.put(run, STEP, &target(), &evolution());
    gate_answers(run, &mut batch);
    batch
}

fn target() -> Target {
    Target::Skill(task_type(TYPE))
}

fn gate_answers(run: &RunId, batch: &mut Batch) {
    // The pair's base arm comes from the baseline cache; q4 fails in the candidate's arm; q5 is launched, not consumed.
    for (id, arm, outcome) in [
        ("q1", Arm::Cand, Outcome::Correct),
        ("q2", Arm::Cand, Outcome::Correct),
        ("q3", Arm::Base, Outcome::Wrong),
        ("q3", Arm::Cand, Outcome::Correct),
        ("q4", Arm::Base, Outcome::Correct),
        ("q4", Arm::Cand, Outcome::Infra),
        ("q5", Arm::Base, Outcome::Wrong),
        ("q5", Arm::Cand, Outcome::Correct),
    ] {
        let row = Prediction { outcome, ..prediction(id, true, 0) };
        batch.put(run, STEP, &gate(TYPE, arm, id), &row);
    }
}

fn evidence(rank: u32, unit: &str, ids: &[&str]) -> GateEvidence {
    GateEvidence {
        unit_id: unit.parse().unwrap(),
        questions: questions(ids),
        base_correct: Some(false),
        cand_correct: Some(true),
        base_cached: false,
        excluded: false,
        excluded_arm: None,
        wins: 0,
        losses: 0,
        n_used: 0,
        n_remaining: 3 - rank,
        e_value: 1.0,
        lambda: 0.3,
        stop_reason: None,
        curtailed: 0,
    }
}

/// pair1: win (base cached); q3: win; q4: excluded; q5: win and the end.
pub(crate) fn evidence_rows() -> [GateEvidence; 4] {
    let row = |rank, unit: &str, ids: &[&str], wins| GateEvidence { wins, n_used: wins, ..evidence(rank, unit, ids) };
    let excluded = GateEvidence {
        base_correct: None,
        cand_correct: None,
        excluded: true,
        excluded_arm: Some(FailedArm::Cand),
        ..row(2, "q4", &["q4"], 2)
    };
    [
        GateEvidence { base_cached: true, ..row(0, "pair1", &["q1", "q2"], 1) },
        row(1, "q3", &["q3"], 2),
        excluded,
        GateEvidence { stop_reason: Some(GateStop::Provisional), ..row(3, "q5", &["q5"], 3) },
    ]
}

pub(crate) fn step_report() -> StepReport {
    StepReport {
        global_step: 0,
        action: StepAction::AcceptProvisional,
        stop_reason: Some(GateStop::Provisional),
        note: None,
        baseline_acc: Some(0.0),
        candidate_acc: Some(1.0),
        wins: Some(3),
        losses: Some(0),
        e_value: Some(4.0),
        lambda: Some(1.0),
        delta_hat: Some(1.0),
        delta_shrunk: Some(3.0 / 7.0),
        n_plan: Some(4),
        n_used: Some(3),
        n_excluded: Some(1),
        errors: Some(1),
        inferences: Some(8),
        wasted_runs: Some(0),
        wall_ms: Some(12_000),
        edit_budget: Some(6),
        clipped: Some(false),
        source_version: V1.skills,
        new_version: Some(second()),
        target_file: Some("action-reasoning.md".parse().unwrap()),
    }
}

fn settlement(run: &RunId) -> Batch {
    let mut batch = Batch::new();
    batch.label("settlement");
    let made_by = Some(MadeBy { run: run.clone(), scope: STEP });
    let text = batch.put_content("---\nname: action\n---\nCompare all options.\n");
    let fallback = batch.put_content("---\nname: default\n---\nLook first.\n");
    let files = BTreeMap::from([
        ("action-reasoning.md".parse().unwrap(), text),
        ("default-strategy.md".parse().unwrap(), fallback),
    ]);
    let version = Version {
        files,
        parent: Some(V1.skills),
        source: "accept".into(),
        note: "Action Reasoning".into(),
        made_by: made_by.clone(),
        created_ms: 20,
    };
    batch.put_version(VersionKind::Skills, second(), &version);
    let versions = VersionPair { skills: second(), prompts: V1.prompts };
    batch.put_pointer(PointerName::Current, &Pointer { versions, val_acc: None, moved_by: made_by });
    for (rank, row) in (0..).zip(evidence_rows()) {
        batch.put(run, STEP, &RankKey { task_type: task_type(TYPE), rank }, &row);
        if !row.excluded {
            let key = GateUnitKey { task_type: task_type(TYPE), unit: row.unit_id };
            batch.put(run, STEP, &key, &QuadrantPair { quadrant: Quadrant::Improvement });
        }
    }
    batch.put(run, STEP, &task_type(TYPE), &step_report());
    batch.put(run, STEP, &(), &mark(Some(0), &[("rollout", &["q6", "q7", "q8"])], true));
    let step = EpochStep { epoch: 1, step: 0 };
    batch.put_checkpoint(run, &checkpoint(Progress::InEpoch { step, global_step: 0 }));
    batch
}

fn slow(run: &RunId) -> Batch {
    let mut batch = Batch::new();
    let versions = VersionPair { skills: second(), prompts: V1.prompts };
    let validation: [&str; 5] = ["q1", "q2", "q3", "q4", "q5"];
    batch.put(run, SLOW_R, &(), &mark(None, &[("slow-r", &validation)], true));
    for id in validation {
        let key = AnswerKey { phase: PhaseKey::plain(Phase::SlowR), question: question(id) };
        batch.put(run, SLOW_R, &key, &Prediction { skills_version: second(), ..prediction(id, true, 0) });
    }
    let dual = DualMetricEval { versions, hard: Some(1.0), soft: None, mixed: None, n: 5, n_infra: 0 };
    batch.put(run, Scope::Slow { epoch: 1, sub_step: 2 }, &PhaseKey::plain(Phase::SlowR), &dual);
    let shadow = ShadowGate { shadow_best: V1, shadow_mixed: None, best: V1, best_mixed: None, differs: false };
    batch.put(run, Scope::Slow { epoch: 1, sub_step: 5 }, &(), &shadow);
    let momentum = Momentum {
        status: MomentumStatus::Updated,
        reason: None,
        compared: (V1, versions),
        previous: String::new(),
        guidance: "Keep comparing.".into(),
        improved: 2,
        regressed: 0,
        persistent_fail: 1,
        stable_success: 3,
    };
    batch.put(run, SLOW_MOMENTUM, &"action-reasoning.md".parse().unwrap(), &momentum);
    let holdout = HoldoutEval {
        versions: V1,
        skills_from: "start".into(),
        prompts_from: "start".into(),
        accuracy: Some(1.0),
        soft: None,
        n: 1,
        n_infra: 0,
    };
    batch.put(run, SLOW_REPORT, &PhaseKey::versions(Phase::Holdout, V1.skills, V1.prompts), &holdout);
    let report = EpochReport {
        system_tool_action: SystemToolAction::None,
        momentum_updated_task_types: vec![task_type(TYPE)],
        best_val_acc: Some(1.0),
        best: versions,
        r_accuracy: Some(1.0),
        r2_accuracy: None,
        start: V1,
        evaluated: versions,
        end: versions,
    };
    batch.put(run, SLOW_REPORT, &(), &report);
    batch.put_pointer(PointerName::Best, &Pointer { versions, val_acc: Some(1.0), moved_by: None });
    batch.put_checkpoint(run, &checkpoint(Progress::EpochDone { epoch: 1, global_step: 0 }));
    batch
}

fn rest(run: &RunId) -> Batch {
    let mut batch = Batch::new();
    let text = batch.put_content("---\nname: default\n---\nLook first.\n");
    let files = BTreeMap::from([("default-strategy.md".parse().unwrap(), text)]);
    let seed = Seed {
        skills: files.clone(),
        prompts: files,
        data_fingerprint: ContentHash::of("data"),
        environment_fingerprint: ContentHash::of("environment"),
        eval_run: run.clone(),
        eval_versions: V1,
        predictions: vec![(question("q1"), prediction("q1", true, 0))],
        created_ms: 30,
    };
    batch.put_seed("start", &seed).put_text("import", "9 questions");
    let key = BaselineKey {
        environment: ContentHash::of("environment"),
        task_type: task_type(TYPE),
        skill_hash: ContentHash::of("skills"),
        prompts_version: V1.prompts,
        unit_id: "pair1".parse().unwrap(),
    };
    let correct = vec![(question("q1"), false), (question("q2"), true)];
    let answered_by = Some(MadeBy { run: run.clone(), scope: Scope::step(7, 7) });
    batch.put_baseline(&key, &BaselineEntry { correct, answered_by });
    let key = UsageKey { run: run.clone(), scope: STEP, phase: "rollout".into(), role: Role::Search };
    batch.add_usage(&key, &Usage { calls: 12, cost_usd: 0.25, ..Usage::default() });
    let heartbeat = Heartbeat {
        at_ms: 40,
        pid: 1,
        scope: Some(STEP),
        activity: "rollout".into(),
        done: 3,
        total: 3,
        in_flight: 0,
        per_minute: Some(2.5),
        retries: 1,
        waiting: 0,
        cost_usd: 0.25,
        details: "{}".into(),
    };
    batch.put_heartbeat(run, &heartbeat);
    batch
}

fn metrics(correct: bool) -> QuestionMetrics {
    QuestionMetrics {
        task_type: task_type(TYPE),
        correct,
        format_ok: true,
        budget_used: 0.25,
        calibration: (!correct).then(|| "high_conf_wrong".into()),
        repeat_visit_rate: 0.0,
        query_repetition: 0.5,
        level_jumps: "[]".into(),
        tool_usage: "{\"view_node\":2}".into(),
        span_quality: Some("[]".into()),
        missed_nodes: None,
        skill_adherence: Some("[]".into()),
        confirmation_bias: Some("{}".into()),
        evidence_sufficiency: Some("{}".into()),
        degraded: true,
        error_type: (!correct).then(|| "search_failure".into()),
        error_subtype: None,
        cause_category: (!correct).then(|| "defect".into()),
        lapse_note: None,
    }
}

fn call() -> Call {
    Call {
        role: Role::Search,
        purpose: "turn".into(),
        model: "sim".into(),
        sample: 0,
        attempt: 0,
        tries: 2,
        error_kind: None,
        error: None,
        finish: Some("stop".into()),
        tokens: Tokens { prompt: 10, cached: 2, completion: 3, estimated: false },
        cached: false,
        cost_usd: Some(0.001),
        latency_ms: 7,
        waited_ms: 1,
        started_ms: 9,
    }
}

fn evolution() -> Evolution {
    Evolution {
        status: EvolutionStatus::Applied,
        reason: None,
        branch: "patch".into(),
        source_version: V1.skills,
        base_hash: ContentHash::of("---\nname: default\n---\nLook first.\n"),
        candidate: vec![(
            "action-reasoning.md".parse().unwrap(),
            "---\nname: action\n---\nCompare all options.\n".into(),
        )],
        edits: "[]".into(),
        apply_report: "[]".into(),
        ranking: None,
        clip: Some(ClipInfo { triggered: false, before: 1, after: 1 }),
        edit_budget: 6,
        retries: 0,
        lapse_notes: vec!["Check the last scene.".into()],
    }
}

/// The training state at this progress.
pub(crate) fn checkpoint(progress: Progress) -> Checkpoint {
    let correctness: BTreeMap<QuestionId, bool> = QUESTIONS.iter().map(|id| (question(id), true)).collect();
    let rejected = RejectedEdit {
        summary: "no edit was applied".into(),
        source_version: V1.skills,
        global_step: 0,
        reason: "rollback".into(),
        wins: None,
        losses: None,
        e_value: None,
    };
    let probation = Probation {
        anchor_skills_version: V1.skills,
        target_file: "action-reasoning.md".parse().unwrap(),
        correctness_snapshot: correctness.clone(),
        unit_snapshot: [("pair1".parse().unwrap(), true)].into(),
        opened_step: 0,
        pending_edits: vec![rejected.clone()],
    };
    let settled = progress != Progress::Prepared;
    Checkpoint {
        config_fingerprint: ContentHash::of("config"),
        data_fingerprint: ContentHash::of("data"),
        progress,
        correctness,
        unit_correctness: [("pair1".parse().unwrap(), true)].into(),
        eval_prev_acc: Some(0.5),
        eval_prev_run_id: Some("train1_baseline".into()),
        baseline_skills_version: V1.skills,
        baseline_prompts_version: V1.prompts,
        steps_since_best_improved: 0,
        epoch_start_skills: [(
            "default-strategy.md".parse().unwrap(),
            ContentHash::of("---\nname: default\n---\nLook first.\n"),
        )]
        .into(),
        epoch_start_skills_version: V1.skills,
        changed_task_types: if settled { vec![task_type(TYPE)] } else { vec![] },
        rejected_edits: [(task_type("Counting Problem"), vec![rejected])].into(),
        system_packs: vec!["{}".into()],
        tool_packs: [("view_node".into(), vec!["{}".into()])].into(),
        probations: if settled { [(task_type(TYPE), probation)].into() } else { BTreeMap::new() },
        gate_cooldown: [(task_type("Counting Problem"), 2)].into(),
        gate_epoch_observed: false,
        batches: vec![questions(&["q6", "q7", "q8"])],
    }
}
