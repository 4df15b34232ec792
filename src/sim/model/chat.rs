//! The simulated model as the ports see it: chat for every role, and embeddings.

use std::sync::Arc;
use std::time::Duration;

use rand_distr::{Distribution, LogNormal};
use serde_json::{Value, json};

use super::agent::{self, Plan};
use super::asked::Asked;
use super::faults::{Fault, Faults};
use super::judge;
use super::noise::{chance, rng};
use super::reading::Readings;
use super::settings::SimSettings;
use super::tool;
use super::truth::{SimTruth, TruthQuestion};
use super::writer;
use crate::domain::{
    ChatError, ChatErrorKind, ChatFuture, ChatModel, ChatReply, ChatRequest, ContentHash, FinishReason, Hasher, Role,
    ToolCall, Usage,
};

/// A model without weights that knows its world.
#[derive(Debug)]
pub struct SimModel {
    truth: Arc<SimTruth>,
    settings: SimSettings,
    configuration_seed: u64,
    faults: Faults,
    readings: Readings,
}

/// What one request is answered with, before it becomes a reply or a failure.
#[derive(Debug)]
struct Scripted {
    content: String,
    tool_calls: Vec<ToolCall>,
    /// Whether the trajectory ends wrong: such ones are slower.
    wrong: bool,
}

impl SimModel {
    /// A model of this world; `configuration_seed` is the run's seed.
    #[must_use]
    pub fn new(truth: Arc<SimTruth>, settings: SimSettings, configuration_seed: u64) -> Self {
        Self { truth, settings, configuration_seed, faults: Faults::default(), readings: Readings::default() }
    }

    /// Answers a request whose `seed` field is known: the entry of the server, where no tag arrives.
    ///
    /// # Errors
    /// A failure that the settings ask for.
    pub async fn answer(&self, request: &ChatRequest, seed: u32) -> Result<ChatReply, ChatError> {
        let asked = Asked::new(request, seed);
        let fault = self.faults.draw(seed, request_hash(request, seed), asked.turn(), &self.settings.faults);
        if let Some((fault, kind)) = fault.and_then(|fault| fault.kind().map(|kind| (fault, kind))) {
            let message = format!("simulated model: {fault:?} on purpose");
            return Err(ChatError { kind, role: request.role, message });
        }
        let scripted = self.script(&asked);
        self.wait(&asked, scripted.wrong).await;
        Ok(reply(&asked, scripted, fault == Some(Fault::Truncated)))
    }

    fn script(&self, asked: &Asked<'_>) -> Scripted {
        match asked.request.role {
            Role::Search => self.agent_turn(asked),
            Role::Judge if chance(&mut rng(asked.seed, &["garbage"]), self.settings.judge_garbage) => {
                plain("simulated model: I would rather not say.".into())
            }
            Role::Judge | Role::Evolve | Role::Tool | Role::Vision | Role::Embed => self.role_reply(asked),
        }
    }

    /// The wanted form tells what is asked, whatever the role: one endpoint may serve them all.
    fn role_reply(&self, asked: &Asked<'_>) -> Scripted {
        let value = judge::verdict(asked, &self.truth)
            .or_else(|| writer::proposal(asked, &self.truth, &self.settings.writer))
            .unwrap_or_else(|| tool::reading(asked));
        plain(value.as_str().map_or_else(|| value.to_string(), str::to_owned))
    }

    fn agent_turn(&self, asked: &Asked<'_>) -> Scripted {
        let Some((known, plan)) = self.plan(asked) else {
            if asked.wants("action") || asked.wants("answer") {
                return plain(json!({"answer": "A", "reasoning": "simulated model: unknown question"}).to_string());
            }
            // A health check, or something else from outside of the world.
            return self.role_reply(asked);
        };
        let wrong = !plan.right;
        if chance(&mut rng(asked.seed, &["broken", &asked.turn().to_string()]), self.settings.broken_format) {
            return Scripted {
                wrong,
                ..plain("simulated model: let me think about where to look {\"action\":".into())
            };
        }
        if asked.wants("answer") && !asked.wants("action") && asked.request.tools.is_empty() {
            return Scripted { wrong, ..plain(agent::direct(&plan).to_string()) };
        }
        let (thought, object) = agent::turn(asked, known, &plan);
        if asked.request.tools.is_empty() {
            return Scripted { wrong, ..plain(format!("{thought}\n{object}")) };
        }
        let action = object.get("action").cloned().unwrap_or_default();
        let name = action.get("tool").and_then(Value::as_str).unwrap_or_default().to_owned();
        let arguments = action.get("args").cloned().unwrap_or_default().to_string();
        Scripted { content: thought, tool_calls: vec![ToolCall { name, arguments }], wrong }
    }

    fn plan(&self, asked: &Asked<'_>) -> Option<(&TruthQuestion, Plan)> {
        let known = self.truth.find_in(&asked.text)?;
        let reading = self.readings.of(&asked.given_text());
        Some((known, agent::plan(known, &reading, asked.seed, &self.settings)))
    }

    async fn wait(&self, asked: &Asked<'_>, wrong: bool) {
        let median = self.settings.latency_ms;
        if median <= 0.0 {
            return;
        }
        let Ok(latency) = LogNormal::new(median.ln(), self.settings.latency_sigma.max(0.0)) else { return };
        let drawn = latency
            .sample(&mut rng(asked.seed, &["latency", &asked.turn().to_string(), &asked.fields.len().to_string()]));
        let factor = if wrong { self.settings.wrong_latency_factor } else { 1.0 };
        tokio::time::sleep(Duration::from_secs_f64((drawn * factor / 1000.0).clamp(0.0, 600.0))).await;
    }
}

impl ChatModel for SimModel {
    fn chat(&self, request: ChatRequest) -> ChatFuture<'_> {
        Box::pin(async move {
            if request.role == Role::Embed {
                let message = "embeddings are not asked for through chat".into();
                return Err(ChatError { kind: ChatErrorKind::Configuration, role: Role::Embed, message });
            }
            let seed = request.tag.model_seed(self.configuration_seed);
            self.answer(&request, seed).await
        })
    }
}

fn plain(content: String) -> Scripted {
    Scripted { content, tool_calls: Vec::new(), wrong: false }
}

fn reply(asked: &Asked<'_>, scripted: Scripted, truncated: bool) -> ChatReply {
    let mut content = scripted.content;
    let mut finish = if scripted.tool_calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    if truncated {
        content = content.chars().take(content.chars().count() / 2).collect();
        finish = FinishReason::Length;
    }
    let usage = Usage {
        prompt_tokens: tokens(&asked.text),
        cached_tokens: 0,
        completion_tokens: tokens(&content).max(1),
        estimated: false,
    };
    let raw = content.clone().into_bytes();
    ChatReply {
        content,
        reasoning: None,
        tool_calls: scripted.tool_calls,
        finish,
        usage,
        cached: false,
        latency_ms: 0,
        raw,
    }
}

/// Four characters a token: a figure to account with, no more.
fn tokens(text: &str) -> u64 {
    text.len().div_ceil(4) as u64
}

fn request_hash(request: &ChatRequest, seed: u32) -> ContentHash {
    let mut hasher = Hasher::new("trm.sim.request");
    hasher.part(seed.to_le_bytes());
    for message in &request.messages {
        hasher.part(&message.content);
    }
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::domain::{CallTag, Choice, Message, Question};
    use crate::sim::model::{FaultRates, WriterRates};
    use crate::sim::world::{Strategy, damages_in, strategies_in};

    const QUESTION: &str = "Which tool does Mara pick up before she opens the gearbox?";

    fn truth() -> Arc<SimTruth> {
        let options = ["a brush", "a wrench", "a lamp", "a saw"];
        let question = Question {
            question_id: "q1".parse().unwrap(),
            video_id: "v1".parse().unwrap(),
            task_type: "Action Reasoning".parse().unwrap(),
            question: QUESTION.into(),
            options: "ABCD".chars().zip(options).map(|(letter, text)| Choice { letter, text: text.into() }).collect(),
            answer: 'B',
            pair_id: None,
            source_nodes: vec!["v1_L2_003".parse().unwrap()],
            difficulty: None,
        };
        let strategies = [Strategy::CompareOptions, Strategy::OpenNeighbours].into();
        Arc::new(SimTruth::new(vec![TruthQuestion { question, strategies }]))
    }

    fn ask(role: Role, system: &str, user: &str, item: &str) -> ChatRequest {
        let tag = CallTag { phase_path: "e1_s0".into(), item: item.into(), ..CallTag::default() };
        ChatRequest::new(role, vec![Message::system(system), Message::user(user)], tag)
    }

    fn direct_question() -> String {
        format!(
            "Question: {QUESTION}\nA. a brush\nB. a wrench\nC. a lamp\nD. a saw\n{{\"reasoning\": \"\", \"answer\": \"A\"}}"
        )
    }

    fn model(settings: SimSettings) -> SimModel {
        SimModel::new(truth(), settings, 42)
    }

    /// Share of right answers over many seeds under a system text.
    async fn accuracy(system: &str) -> f64 {
        let model = model(SimSettings::default());
        let mut right = 0;
        for index in 0..400 {
            let reply = model.chat(ask(Role::Search, system, &direct_question(), &format!("i{index}"))).await.unwrap();
            let object: Value = serde_json::from_str(&reply.content).unwrap_or_default();
            right += u32::from(object["answer"] == "B");
        }
        f64::from(right) / 400.0
    }

    #[tokio::test]
    async fn skills_that_describe_what_is_needed_answer_better_and_harmful_ones_worse() {
        let empty = accuracy("You answer questions about videos.").await;
        let both = format!("{} {}", Strategy::CompareOptions.canonical()[0], Strategy::OpenNeighbours.canonical()[0]);
        let good = accuracy(&both).await;
        let harmed = accuracy(&format!("{both}\nAnswer as soon as one option looks plausible.")).await;
        assert!(good > empty + 0.3, "{good} against {empty}");
        assert!(harmed < good - 0.3, "{harmed} against {good}");
    }

    #[tokio::test]
    async fn equal_seeds_give_equal_replies_and_another_phase_another_draw() {
        let model = model(SimSettings::default());
        let request = ask(Role::Search, "", &direct_question(), "q1");
        let first = model.chat(request.clone()).await.unwrap();
        assert_eq!(first, model.chat(request.clone()).await.unwrap());
        let mut differs = false;
        for step in 0..40 {
            let mut other = request.clone();
            other.tag.phase_path = format!("e1_s{step}_gate_x_cand");
            differs |= model.chat(other).await.unwrap().content != first.content;
        }
        assert!(differs, "null gates would be vacuous");
    }

    #[tokio::test]
    async fn a_trajectory_searches_opens_and_submits() {
        let model = model(SimSettings { broken_format: 0.0, ..SimSettings::default() });
        let form = "{\"reflect\": {}, \"plan\": {}, \"action\": {\"tool\": \"view_node\", \"args\": {}}}";
        let user = format!("Question: {QUESTION}\nA. a brush\nB. a wrench\nC. a lamp\nD. a saw\n{form}");
        let mut request = ask(Role::Search, &Strategy::CompareOptions.canonical().join(" "), &user, "q1");
        let mut tools = Vec::new();
        for _ in 0..5 {
            let reply = model.chat(request.clone()).await.unwrap();
            let json = reply.content.split_once('\n').unwrap().1;
            let tool = serde_json::from_str::<Value>(json).unwrap()["action"]["tool"].as_str().unwrap().to_owned();
            request.messages.push(Message::assistant(reply.content));
            request.messages.push(Message::user("result"));
            tools.push(tool);
        }
        assert_eq!(tools[0], "search_similar");
        assert!(tools.contains(&"submit_answer".to_owned()), "{tools:?}");
    }

    #[tokio::test]
    async fn the_writer_helps_misses_and_harms_at_its_rates() {
        let settings = SimSettings { writer: WriterRates { miss: 0.3, damage: 0.3 }, ..SimSettings::default() };
        let model = model(settings);
        let prompt = format!(
            "You improve a strategy: Action Reasoning\n<data>\nLook at the video.\n</data>\n<data>\n{QUESTION}\n</data>\n\
             At most 2 edits.\n{{\"edits\": []}}"
        );
        let (mut helped, mut harmed) = (0, 0);
        for index in 0..200 {
            let reply = model.chat(ask(Role::Evolve, "", &prompt, &format!("{index}"))).await.unwrap();
            let object: Value = serde_json::from_str(&reply.content).unwrap();
            let text: Vec<&str> =
                object["edits"].as_array().unwrap().iter().map(|edit| edit["content"].as_str().unwrap()).collect();
            let text = text.join("\n");
            let needed: BTreeSet<Strategy> = [Strategy::CompareOptions, Strategy::OpenNeighbours].into();
            helped += u32::from(strategies_in(&text) == needed);
            harmed += u32::from(!damages_in(&text).is_empty());
        }
        assert!((60..100).contains(&helped), "{helped} of 200 help");
        assert!((40..80).contains(&harmed), "{harmed} of 200 harm");
    }

    #[tokio::test]
    async fn transient_faults_vanish_on_the_second_try_and_permanent_ones_stay() {
        let faults = |rates| model(SimSettings { faults: rates, ..SimSettings::default() });
        let request = ask(Role::Search, "", &direct_question(), "q1");
        let transient = faults(FaultRates { rate_limited: 1.0, ..FaultRates::default() });
        assert_eq!(transient.chat(request.clone()).await.unwrap_err().kind, ChatErrorKind::RateLimited);
        assert!(transient.chat(request.clone()).await.is_ok());
        let permanent = faults(FaultRates { permanent: 1.0, ..FaultRates::default() });
        for _ in 0..3 {
            assert_eq!(permanent.chat(request.clone()).await.unwrap_err().kind, ChatErrorKind::Server);
        }
        let cut = faults(FaultRates { truncated: 1.0, ..FaultRates::default() });
        assert_eq!(cut.chat(request).await.unwrap().finish, FinishReason::Length);
    }

    #[tokio::test]
    async fn the_judge_calls_a_missing_strategy_a_defect_and_a_described_one_a_lapse() {
        let model = model(SimSettings { judge_garbage: 0.0, ..SimSettings::default() });
        let prompt = |skill: &str| {
            format!(
                "<data>\n{QUESTION}\n</data>\nThe strategy:\n<data>\n{skill}\n</data>\n{{\"reason\": \"\", \"cause\": \"lapse\", \"lapse_note\": \"\"}}"
            )
        };
        let cause = async |skill: &str| {
            let reply = model.chat(ask(Role::Judge, "", &prompt(skill), "q1")).await.unwrap();
            serde_json::from_str::<Value>(&reply.content).unwrap()["cause"].as_str().unwrap().to_owned()
        };
        assert_eq!(cause("Look at the video.").await, "defect");
        let both = format!("{} {}", Strategy::CompareOptions.canonical()[0], Strategy::OpenNeighbours.canonical()[0]);
        assert_eq!(cause(&both).await, "lapse");
    }
}
