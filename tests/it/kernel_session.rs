//! Judge and writer on a real session: stored answers are diagnosed and evolved with the templates that ship, and the
//! simulated models understand them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use trm::assets::{default_prompts, default_skills};
use trm::config::Override;
use trm::domain::{ExitClass, Fault, FileName, Phase, RunId, TaskType};
use trm::evolution::diagnosis::DiagnosisResult;
use trm::evolution::evolve::{EvolutionKind, EvolutionRecord};
use trm::evolution::momentum::{ComparedAnswer, MomentumStatus, VersionAnswer, put_guidance};
use trm::evolution::patch::momentum_inner;
use trm::evolution::ports::RunLog;
use trm::evolution::types::{Cause, SkillCasePack, StepVerdict, SystemCasePack};
use trm::harness::diagnosing::{DiagnoseRequest, diagnose, put_diagnosis, stored_pack};
use trm::harness::evaluation::{EvaluationRequest, evaluate};
use trm::harness::evolving::{EvolvePlace, evolve_prompts, evolve_skill, put_evolution, write_guidance};
use trm::harness::inference::NoReport;
use trm::harness::kernel_error::KernelError;
use trm::harness::run_log::StoredRunLog;
use trm::harness::session::Session;
use trm::harness::versions::{VersionedPrompts, VersionedSkills};
use trm::harness::workspace::{InitRequest, Settings, Workspace, init};
use trm::sim::world::{WorldSpec, generate, strategies_in};
use trm::store::rows::{Call, CasePack, Evolution, QuestionMetrics, RunMode, VersionPair};
use trm::store::{Batch, PhaseKey, Scope, Target};

/// A workspace with a small generated world: so many questions of each of the twelve types, two on a video.
fn world(questions_per_type: usize) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let spec = WorldSpec {
        videos: questions_per_type.div_ceil(2),
        questions_per_type,
        min_minutes: 10,
        max_minutes: 14,
        pair_share: 0.0,
        seed: 7,
    };
    let owned = |texts: Vec<(FileName, &str)>| texts.into_iter().map(|(name, text)| (name, text.to_owned())).collect();
    let request = InitRequest {
        skills: owned(default_skills()),
        prompts: owned(default_prompts()),
        example: Some(generate(&spec).unwrap()),
    };
    init(folder.path(), &request).unwrap();
    folder
}

async fn open(folder: &Path, set: &[(&str, &str)]) -> Session {
    let override_of =
        |(key, value): &(&str, &str)| Override { key: (*key).into(), value: (*value).into(), flag: "--set".into() };
    let settings = Settings { overrides: set.iter().map(override_of).collect(), ..Settings::default() };
    let (workspace, loaded) = Workspace::at(folder).unwrap().load(&settings).unwrap();
    Session::open(workspace, loaded, Default::default()).await.unwrap()
}

const FIRST: VersionPair =
    VersionPair { skills: trm::domain::VersionName::FIRST, prompts: trm::domain::VersionName::FIRST };

/// Answers all questions of the world; gives the run.
async fn answered(session: &Session) -> RunId {
    let request = EvaluationRequest {
        mode: RunMode::Eval,
        run_id: Some(RunId::new("answers").unwrap()),
        fresh: false,
        versions: FIRST,
        texts: session.texts(FIRST).unwrap(),
        questions: session.questions.questions.clone(),
        frozen: session.frozen(),
    };
    evaluate(&session.bench, &request, &NoReport).await.unwrap().run_id
}

fn skills(session: &Session) -> Arc<VersionedSkills> {
    Arc::new(VersionedSkills::load(&session.bench.store.snapshot().unwrap(), FIRST.skills).unwrap())
}

fn request(session: &Session, run: &RunId) -> DiagnoseRequest {
    let questions = session.questions.questions.clone();
    DiagnoseRequest::of_phase(run.clone(), Scope::Eval, PhaseKey::plain(Phase::Eval), questions, skills(session))
}

async fn store_diagnosis(session: &Session, run: &RunId, result: &DiagnosisResult) {
    let mut batch = Batch::new();
    put_diagnosis(&mut batch, run, Scope::Eval, result);
    session.bench.store.write(batch).await.unwrap();
}

async fn evolved(
    session: &Session,
    run: &RunId,
    result: &DiagnosisResult,
) -> Result<BTreeMap<TaskType, EvolutionRecord>, KernelError> {
    let place = EvolvePlace { run: run.clone(), scope: Scope::Eval };
    let mut records = BTreeMap::new();
    for (task_type, pack) in &result.skill_packs {
        let record = evolve_skill(session, &place, pack, &skills(session), FIRST.skills, 3, &[]).await?;
        records.insert(task_type.clone(), record);
    }
    Ok(records)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_simulated_judge_and_writer_understand_the_templates_that_ship() {
    let folder = world(8);
    let session = open(folder.path(), &[("sim.judge_garbage", "0"), ("llm.cache.mode", "off")]).await;
    let run = answered(&session).await;
    let result = diagnose(&session, &request(&session, &run)).await.unwrap();

    let wrong: Vec<_> = result.questions.iter().filter(|question| !question.correct).collect();
    assert!(wrong.len() >= 20, "{} wrong answers are too few to tell anything", wrong.len());
    assert_eq!(result.n_degraded, 0, "a judge without garbage is always understood");
    let causes = |cause: Cause| {
        wrong.iter().filter(|question| question.attribution.as_ref().is_some_and(|found| found.cause == cause)).count()
    };
    assert!(
        causes(Cause::Defect) > 0 && causes(Cause::Lapse) > 0,
        "{} / {}",
        causes(Cause::Defect),
        causes(Cause::Lapse)
    );
    let kinds: std::collections::BTreeSet<_> =
        wrong.iter().map(|question| question.attribution.as_ref().unwrap().error_type).collect();
    assert!(kinds.len() >= 2, "{kinds:?}");
    let judge = || result.questions.iter().map(|question| &question.judge);
    assert!(judge().all(|judge| judge.spans.as_ref().is_some_and(|spans| !spans.is_empty())));
    assert!(judge().any(|judge| judge.missed_count() > 0), "missed nodes are named from the shown list");
    assert!(judge().all(|judge| {
        let steps = judge.skill_adherence.as_deref().unwrap();
        !steps.is_empty() && steps.iter().any(|step| step.verdict != StepVerdict::NotApplicable)
    }));
    assert!(judge().any(|judge| judge.evidence_sufficient == Some(true)));
    assert!(judge().any(|judge| judge.confirmation_bias == Some(true)));
    assert!(result.skill_packs.values().any(|pack| !pack.failure_cases.is_empty()));
    assert!(result.skill_packs.values().any(|pack| !pack.lapse_notes.is_empty()));
    assert!(result.skill_packs.values().any(|pack| !pack.success_cases.is_empty()));
    assert!(result.system_pack.is_some() && result.tool_packs.contains_key("view_node"), "{:?}", result.tool_packs);

    let records = evolved(&session, &run, &result).await.unwrap();
    let changed: Vec<_> = records.values().filter(|record| record.is_real_change()).collect();
    assert_eq!(changed.len(), records.len(), "{records:#?}");
    for record in &changed {
        assert!(record.report.iter().all(|row| row.status.is_applied()), "{:#?}", record.report);
        assert!(record.failed_attempts.is_empty(), "{:?}", record.failed_attempts);
    }
    let teaches = |record: &&&EvolutionRecord| {
        let before = strategies_in(&record.original_content);
        strategies_in(&record.evolved_content).difference(&before).next().is_some()
    };
    let helpful = changed.iter().filter(teaches).count();
    assert!(helpful * 3 >= changed.len(), "{helpful} of {} candidates teach something new", changed.len());

    let prompts = VersionedPrompts::load(&session.bench.store.snapshot().unwrap(), FIRST.prompts).unwrap();
    let place = EvolvePlace { run: run.clone(), scope: Scope::Eval };
    let system = result.system_pack.as_ref();
    let records =
        evolve_prompts(&session, &place, system, &result.tool_packs, &prompts, FIRST.prompts, 2).await.unwrap();
    assert_eq!(records[0].kind, EvolutionKind::System);
    assert!(records.iter().any(|record| record.subject == "view_node_children"));
    assert!(records.iter().all(EvolutionRecord::is_real_change), "{records:#?}");
    let mut batch = Batch::new();
    for record in &records {
        put_evolution(&mut batch, &run, Scope::Eval, record);
    }
    session.bench.store.write(batch).await.unwrap();
    let snapshot = session.bench.store.snapshot().unwrap();
    let stored = snapshot.row::<Evolution>(&run, Scope::Eval, &Target::Tool("view_node".into())).unwrap().unwrap();
    assert_eq!(stored.candidate.len(), 2, "extract and verify");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_diagnosis_is_stored_and_the_same_at_any_concurrency() {
    let folder = world(3);
    let session = open(folder.path(), &[("agent.concurrency", "16"), ("llm.cache.mode", "off")]).await;
    let run = answered(&session).await;
    let many = diagnose(&session, &request(&session, &run)).await.unwrap();
    store_diagnosis(&session, &run, &many).await;
    let snapshot = session.bench.store.snapshot().unwrap();

    let metrics = snapshot.rows::<QuestionMetrics>(&run, Scope::Eval).unwrap();
    assert_eq!(metrics.len(), many.questions.len());
    assert!(metrics.iter().any(|(_, row)| row.cause_category.as_deref() == Some("defect")));
    let packs: BTreeMap<Target, CasePack> = snapshot.rows(&run, Scope::Eval).unwrap().into_iter().collect();
    for (task_type, pack) in &many.skill_packs {
        let row = &packs[&Target::Skill(task_type.clone())];
        assert_eq!(stored_pack::<SkillCasePack>(row).as_ref(), Some(pack), "a pack reads back as it was");
        assert_eq!(row.questions, pack.question_ids().into_iter().collect::<Vec<_>>());
    }
    assert_eq!(stored_pack::<SystemCasePack>(&packs[&Target::System]), many.system_pack);
    assert!(packs.contains_key(&Target::Tool("view_node".into())));

    let calls = snapshot.rows::<Call>(&run, Scope::Eval).unwrap();
    let judged: Vec<_> = calls.iter().filter(|(key, _)| key.group == "judge").collect();
    assert_eq!(judged.len() as u64, many.cost.calls, "every judge call has its row");
    let usage = snapshot.usage(&run).unwrap();
    let usage = usage.iter().find(|(key, _)| key.phase == "judge").map(|(_, usage)| usage).unwrap();
    assert_eq!((usage.calls, usage.tokens.prompt), (many.cost.calls, many.cost.prompt_tokens));
    drop(snapshot);
    drop(session);

    let session = open(folder.path(), &[("agent.concurrency", "1"), ("llm.cache.mode", "off")]).await;
    assert_eq!(diagnose(&session, &request(&session, &run)).await.unwrap(), many);
    let report = trm::store::check(&session.bench.store.snapshot().unwrap()).unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_log_answers_for_its_own_phase_only() {
    let folder = world(3);
    let session = open(folder.path(), &[]).await;
    let run = answered(&session).await;
    let log = StoredRunLog::new(session.bench.store.clone(), run, Scope::Eval, PhaseKey::plain(Phase::Eval));
    assert_eq!(log.run_id().as_str(), "answers_eval");
    let some = [session.questions.questions[3].question_id.clone()];
    let own = log.run_id();
    assert_eq!(log.get_predictions(&own, Some(&some)).await.unwrap().len(), 1);
    assert_eq!(log.get_predictions(&own, None).await.unwrap().len(), session.questions.questions.len());
    let spans = log.get_traces(&own, Some(&some)).await.unwrap();
    assert!(spans.len() > 1 && spans.iter().all(|span| span.question_id == some[0] && span.step >= 1));
    assert_eq!(spans.last().unwrap().tool.as_deref(), Some("submit_answer"));
    let other = RunId::new("answers").unwrap();
    assert_eq!(log.get_traces(&other, None).await.unwrap_err().code(), "run.other_phase");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_of_the_judge_degrades_its_questions_and_nothing_else() {
    let folder = world(3);
    let run_with = async |garbage: &str| {
        let session = open(folder.path(), &[("sim.judge_garbage", garbage), ("llm.cache.mode", "off")]).await;
        let run = answered(&session).await;
        diagnose(&session, &request(&session, &run)).await.unwrap()
    };
    let clean = run_with("0").await;
    let noisy = run_with("0.35").await;
    assert!(noisy.n_degraded > 0 && noisy.n_degraded < noisy.questions.len(), "{}", noisy.n_degraded);
    assert_eq!(clean.questions.len(), noisy.questions.len());
    for (clean, noisy) in clean.questions.iter().zip(&noisy.questions) {
        assert_eq!(clean.rules, noisy.rules, "rules need no judge");
        assert_eq!(noisy.degraded, !noisy.degraded_by.is_empty());
        assert_eq!(clean.correct, noisy.correct);
    }
    let all = run_with("1").await;
    assert_eq!(all.n_degraded, all.questions.len());
    let causes = all.questions.iter().filter_map(|question| question.attribution.as_ref());
    assert!(causes.into_iter().all(|found| found.cause == Cause::Lapse), "a doubtful verdict never edits a body");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dead_judge_or_writer_is_an_error_of_its_endpoint() {
    let folder = world(3);
    let session = open(folder.path(), &[]).await;
    let run = answered(&session).await;
    let result = diagnose(&session, &request(&session, &run)).await.unwrap();
    drop(session);
    let dead = |role: &str| {
        let key = |name: &str| format!("llm.{role}.{name}");
        [
            (key("provider"), "openai".to_owned()),
            (key("base_urls"), "http://127.0.0.1:9/v1".to_owned()),
            (key("model"), "nobody".to_owned()),
            (key("retries"), "0".to_owned()),
        ]
    };
    let open_dead = async |role: &str| {
        let set = dead(role);
        let set: Vec<(&str, &str)> = set.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
        open(folder.path(), &set).await
    };
    let session = open_dead("judge").await;
    let error = diagnose(&session, &request(&session, &run)).await.unwrap_err();
    assert_eq!((error.class(), error.class().exit_code()), (ExitClass::Endpoint, 4), "{error}");
    drop(session);
    let session = open_dead("evolve").await;
    let error = evolved(&session, &run, &result).await.unwrap_err();
    assert_eq!(error.class(), ExitClass::Endpoint, "{error}");
    let rows = session.bench.store.snapshot().unwrap().rows::<Call>(&run, Scope::Eval).unwrap();
    let failed = rows.iter().filter(|(key, call)| key.group == "writer" && call.error_kind.is_some());
    assert!(failed.count() > 0, "a failed call is kept as well");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_and_a_spent_budget_keep_their_own_classes() {
    let folder = world(3);
    let session = open(folder.path(), &[]).await;
    let run = answered(&session).await;
    session.bench.stop.stop();
    let error = diagnose(&session, &request(&session, &run)).await.unwrap_err();
    assert_eq!((error.class(), error.code()), (ExitClass::Interrupted, "run.interrupted"), "{error}");
    drop(session);
    let session = open(folder.path(), &[("llm.budget.max_tokens", "200")]).await;
    let error = diagnose(&session, &request(&session, &run)).await.unwrap_err();
    assert_eq!((error.class(), error.code()), (ExitClass::Budget, "run.budget"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_simulated_writer_gives_guidance_that_goes_into_the_skill() {
    let folder = world(3);
    let session = open(folder.path(), &[("sim.writer.damage", "0")]).await;
    answered(&session).await;
    let place = EvolvePlace { run: RunId::new("answers").unwrap(), scope: Scope::Eval };
    let skills = skills(&session);
    let mut taught = 0;
    let types: Vec<TaskType> = session.questions.task_types().into_keys().cloned().collect();
    for task_type in &types {
        let file = task_type.skill_file();
        let skill = &skills.files()[&file];
        let of_type = session.questions.questions.iter().filter(|question| question.task_type == *task_type);
        let answer = |correct| VersionAnswer { answer: Some('A'), correct, reasoning: "it looked like it".into() };
        let compared: Vec<ComparedAnswer> = of_type
            .enumerate()
            .map(|(place, question)| ComparedAnswer {
                question: question.clone(),
                start: answer(place % 2 == 0),
                end: answer(place % 3 == 0),
            })
            .collect();
        let outcome = write_guidance(&session, &place, &file, skill, &compared).await.unwrap();
        assert_eq!(outcome.status, MomentumStatus::Updated, "{}", outcome.reason);
        let with = put_guidance(&file, skill, &outcome.guidance).unwrap();
        assert_eq!(momentum_inner(&with), outcome.guidance);
        let before = strategies_in(skill);
        taught += usize::from(strategies_in(&with).difference(&before).next().is_some());
    }
    assert!(taught * 2 >= types.len(), "{taught} of {} texts teach something new", types.len());
}
