//! The agent on the simulated model: the real loop, the real client, the real server on loopback.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use trm::agent::{
    Agent, AgentMode, AgentRecord, AgentSettings, AgentTexts, CallPlace, Outcome, ReplyForm, SearchBackend, SkillMode,
    SpanKind, ToolSummaries, VideoEnvironment, answer_question,
};
use trm::assets::default_prompts;
use trm::domain::{Choice, FileName, Question, Role, StopReason, VideoTree};
use trm::evolution::ports::{PortError, PromptStore, SkillStore};
use trm::llm::{HubParts, LlmSettings, ModelHub, Provider, RoleSettings};
use trm::sim::model::{FaultRates, SimModel, SimSettings, SimTruth, TruthQuestion};
use trm::sim::server::serve;
use trm::sim::world::Strategy;

const SEED: u64 = 7;
const NEEDED: [Strategy; 2] = [Strategy::CompareOptions, Strategy::OpenNeighbours];

/// A world of as many questions, each on an event of one of three videos.
struct World {
    videos: Vec<VideoEnvironment>,
    questions: Vec<Question>,
}

fn tree(video: usize) -> VideoTree {
    let id = |rest: String| format!("v{video}_{rest}");
    let mut nodes = BTreeMap::new();
    for scene in 0..3 {
        let children: Vec<String> = (0..3).map(|event| id(format!("L2_{:03}", scene * 3 + event))).collect();
        for (event, child) in children.iter().enumerate() {
            let start = (scene * 30 + event * 10) as f64;
            let card = json!({"event_description": format!("Mara repairs part {} of the gearbox.", scene * 3 + event)});
            let node = json!({"level": 2, "time_range": [start, start + 10.0], "card": card, "subtitle": "Hold this."});
            nodes.insert(child.clone(), node);
        }
        let start = (scene * 30) as f64;
        let scene_node = json!({"level": 1, "time_range": [start, start + 30.0],
            "card": {"scene_summary": format!("Workshop, part {scene}.")}, "children_ids": children});
        nodes.insert(id(format!("L1_{scene:03}")), scene_node);
    }
    serde_json::from_value(json!({"videoID": format!("v{video}"), "duration_seconds": 90.0, "nodes": nodes})).unwrap()
}

fn world(count: usize) -> World {
    let videos: Vec<VideoEnvironment> =
        (0..3).map(|video| VideoEnvironment::new(Arc::new(tree(video)), None)).collect();
    let question = |index: usize| {
        let options = ["a brush", "a wrench", "a lamp", "a saw"];
        Question {
            question_id: format!("q{index:03}").parse().unwrap(),
            video_id: format!("v{}", index % 3).parse().unwrap(),
            task_type: "Action Reasoning".parse().unwrap(),
            question: format!("Which tool does Mara need for job number {index}?"),
            options: ('A'..).zip(options).map(|(letter, text)| Choice { letter, text: text.into() }).collect(),
            answer: "ABCD".chars().nth(index % 4).unwrap(),
            pair_id: None,
            source_nodes: vec![format!("v{}_L2_{:03}", index % 3, index % 9).parse().unwrap()],
            difficulty: None,
        }
    };
    World { videos, questions: (0..count).map(question).collect() }
}

impl World {
    fn model(&self, settings: SimSettings) -> Arc<SimModel> {
        let known = self
            .questions
            .iter()
            .map(|question| TruthQuestion { question: question.clone(), strategies: BTreeSet::from(NEEDED) });
        Arc::new(SimModel::new(Arc::new(SimTruth::new(known.collect())), settings, SEED))
    }

    fn video(&self, question: &Question) -> &VideoEnvironment {
        self.videos.iter().find(|video| video.tree().video_id == question.video_id).unwrap()
    }
}

struct Texts {
    skill: String,
}

impl SkillStore for Texts {
    fn read_skill(&self, _: &FileName) -> Result<String, PortError> {
        Ok(format!("---\nname: Why\ndescription: Reasons\ntask_type: Action Reasoning\n---\n{}", self.skill))
    }

    fn list_skill_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(vec!["action-reasoning.md".parse().unwrap()])
    }
}

impl PromptStore for Texts {
    fn read_prompt(&self, file: &FileName) -> Result<String, PortError> {
        Ok(default_prompts().into_iter().find(|(name, _)| name == file).unwrap().1.to_owned())
    }

    fn list_prompt_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(default_prompts().into_iter().map(|(name, _)| name).collect())
    }
}

fn good_skill() -> String {
    NEEDED.map(|strategy| *strategy.canonical().first().unwrap()).join("\n")
}

fn texts(skill: &str) -> Arc<AgentTexts> {
    let texts = Texts { skill: skill.to_owned() };
    Arc::new(AgentTexts::load(&texts, &texts).unwrap())
}

/// The hub with every role at this provider.
async fn hub(provider: Provider, parts: HubParts) -> Arc<ModelHub> {
    let mut settings = LlmSettings { seed: SEED, ..LlmSettings::default() };
    for role in [Role::Search, Role::Tool, Role::Vision, Role::Embed] {
        let mut of_role = RoleSettings::new(provider.clone(), format!("sim-{}", role.name()));
        of_role.limits.max_concurrency = 64;
        of_role.retry.base_delay = Duration::from_millis(1);
        // Failures on purpose shall not make the test wait.
        of_role.retry.retries = 2;
        of_role.retry.circuit_failures = 1_000_000;
        settings.roles.insert(role, of_role);
    }
    Arc::new(ModelHub::open(settings, parts).await.unwrap())
}

async fn in_process(model: &Arc<SimModel>) -> Arc<ModelHub> {
    let parts = HubParts {
        sim_chat: Some(Arc::clone(model) as _),
        sim_embed: Some(Arc::clone(model) as _),
        ..HubParts::default()
    };
    hub(Provider::Sim, parts).await
}

fn agent(hub: &Arc<ModelHub>, skill: &str, settings: AgentSettings) -> Agent {
    let mut agent = Agent::new(Arc::clone(hub) as _, texts(skill), settings);
    agent.embed = Some(Arc::clone(hub) as _);
    agent
}

/// All records in order of the questions, without what only the clock and the transport decide.
async fn answers(world: &World, agent: &Agent, concurrency: usize) -> Vec<AgentRecord> {
    let place = CallPlace { phase_run: "r1_eval".into(), phase_path: "eval".into(), sample: 0 };
    let work = world.questions.iter().map(|question| answer_question(agent, world.video(question), question, &place));
    let records: Vec<_> = futures::stream::iter(work).buffered(concurrency).collect().await;
    let stripped = records.into_iter().map(|record| {
        let mut record = record.unwrap();
        record.latency_ms = 0;
        for span in &mut record.trace {
            span.latency_ms = 0;
            span.raw.clear();
        }
        record
    });
    stripped.collect()
}

fn accuracy(records: &[AgentRecord]) -> f64 {
    let right = records.iter().filter(|record| record.outcome == Outcome::Correct).count();
    right as f64 / records.len() as f64
}

/// The server on a free port for the time of `work`.
async fn with_server<T>(model: Arc<SimModel>, work: impl AsyncFnOnce(String) -> T) -> T {
    let (ready, address) = tokio::sync::oneshot::channel();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = trm::runtime::spawn(serve(model, 0, move |address| ready.send(address).unwrap(), async move {
        let _either = stopped.await;
    }));
    let url = format!("http://{}/v1", address.await.unwrap());
    let result = work(url).await;
    drop(stop);
    drop(server);
    result
}

#[tokio::test]
async fn answers_are_the_same_for_any_concurrency_and_over_http() {
    let world = world(24);
    let faults = FaultRates { rate_limited: 0.1, server_error: 0.1, malformed: 0.1, ..FaultRates::default() };
    let settings = || SimSettings { broken_format: 0.1, faults: faults.clone(), ..SimSettings::default() };
    for form in [ReplyForm::Auto, ReplyForm::Tools] {
        let how = AgentSettings { reply_form: form, ..AgentSettings::default() };
        let one = in_process(&world.model(settings())).await;
        let sequential = answers(&world, &agent(&one, &good_skill(), how.clone()), 1).await;
        let many = in_process(&world.model(settings())).await;
        let concurrent = answers(&world, &agent(&many, &good_skill(), how.clone()), 64).await;
        assert!(sequential == concurrent, "concurrency changed an answer ({form:?})");
        let http = with_server(world.model(settings()), async |url| {
            let provider = Provider::OpenAi { base_urls: vec![url], api_key: None };
            let remote = hub(provider, HubParts::default()).await;
            answers(&world, &agent(&remote, &good_skill(), how), 64).await
        })
        .await;
        for (near, far) in sequential.iter().zip(&http) {
            assert_eq!(near, far, "the way over HTTP changed an answer ({form:?})");
        }
        assert!(accuracy(&sequential) > 0.5);
        assert!(sequential.iter().flat_map(|record| &record.trace).any(|span| span.kind == SpanKind::ParseError));
    }
}

#[tokio::test]
async fn a_skill_that_describes_what_is_needed_answers_better_by_any_way_to_read_it() {
    let world = world(80);
    let quiet = SimSettings { broken_format: 0.0, ..SimSettings::default() };
    let hub = in_process(&world.model(quiet)).await;
    let with = async |skill: &str, how: AgentSettings| accuracy(&answers(&world, &agent(&hub, skill, how), 16).await);
    for how in [
        AgentSettings { tool_summaries: ToolSummaries::Raw, ..AgentSettings::default() },
        AgentSettings { mode: AgentMode::Direct, ..AgentSettings::default() },
        AgentSettings {
            skill_mode: SkillMode::Manual,
            tool_summaries: ToolSummaries::Raw,
            reply_form: ReplyForm::Text,
            ..AgentSettings::default()
        },
    ] {
        let (good, empty) = (with(&good_skill(), how.clone()).await, with("Look at the video.", how.clone()).await);
        assert!(good > empty + 0.3, "{good} against {empty} with {how:?}");
        let none = with(&good_skill(), AgentSettings { skill_mode: SkillMode::None, ..how }).await;
        assert!((none - empty).abs() < 0.2, "without skills {none}, with an empty one {empty}");
    }
}

#[tokio::test]
async fn walks_navigate_before_they_submit_and_cite_what_they_visited() {
    let world = world(20);
    let hub = in_process(&world.model(SimSettings { broken_format: 0.0, ..SimSettings::default() })).await;
    for search_backend in [SearchBackend::Lexical, SearchBackend::Embedding] {
        let how = AgentSettings { search_backend, ..AgentSettings::default() };
        for record in answers(&world, &agent(&hub, &good_skill(), how), 8).await {
            let tools: Vec<&str> = record.trace.iter().filter_map(|span| span.tool.as_deref()).collect();
            assert!(tools.len() > 1 && tools.last() == Some(&"submit_answer"), "{tools:?}");
            assert_eq!(record.stop_reason, StopReason::Finished);
            assert_eq!((record.anchor_check.missing.len(), record.anchor_check.unvisited.len()), (0, 0));
            assert!(record.trace.iter().all(|span| !span.output.contains("<data>")));
        }
    }
}

#[tokio::test]
async fn endpoints_that_fail_for_good_make_questions_infra_and_nothing_else() {
    let world = world(30);
    let faults = FaultRates { permanent: 0.1, ..FaultRates::default() };
    let hub = in_process(&world.model(SimSettings { faults, ..SimSettings::default() })).await;
    let how = AgentSettings { reply_form: ReplyForm::Text, ..AgentSettings::default() };
    let records = answers(&world, &agent(&hub, &good_skill(), how), 16).await;
    let infra: Vec<_> = records.iter().filter(|record| record.outcome == Outcome::Infra).collect();
    assert!(!infra.is_empty() && infra.len() < records.len(), "{} of {}", infra.len(), records.len());
    for record in infra {
        assert_eq!((record.correctness(), record.stop_reason), (None, StopReason::Error));
        assert!(record.error.as_deref().is_some_and(|error| error.contains("model")));
    }
}
