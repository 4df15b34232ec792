//! The simulated agent: a trajectory that follows from the skill it was given and from the request's seed.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::asked::Asked;
use super::noise::{chance, pick, rng};
use super::reading::Reading;
use super::settings::SimSettings;
use super::truth::TruthQuestion;
use crate::domain::NodeId;
use crate::sim::world::Strategy;

/// What the agent will do on one question: the same on every turn, since it follows from seed and skill.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    /// Whether it ends with the right answer.
    pub(super) right: bool,
    /// The letter it will submit.
    pub(super) answer: char,
    /// The strategies it uses, of those the question needs.
    pub(super) used: BTreeSet<Strategy>,
    /// Nodes it opens, in order.
    pub(super) visits: Vec<NodeId>,
    /// The confidence it will state.
    pub(super) confidence: f64,
}

/// The plan for a question under what the agent was given to read.
pub(super) fn plan(known: &TruthQuestion, reading: &Reading, seed: u32, settings: &SimSettings) -> Plan {
    let question = &known.question;
    let mut dice = rng(seed, &["plan", question.question_id.as_str()]);
    let mut used = BTreeSet::new();
    // One draw per strategy of the closed list, needed or not: equal seeds meet equal chances under any skill.
    for strategy in Strategy::ALL {
        let p = match (reading.suppressed.contains(&strategy), reading.described.contains(&strategy)) {
            (true, _) => settings.use_suppressed,
            (false, true) => settings.use_described,
            (false, false) => settings.use_undescribed,
        };
        if chance(&mut dice, p) && known.strategies.contains(&strategy) {
            used.insert(strategy);
        }
    }
    let all = used.len() == known.strategies.len();
    let right = chance(&mut dice, if all { settings.right_with_all } else { settings.right_without });
    let others: Vec<char> =
        question.options.iter().map(|choice| choice.letter).filter(|letter| *letter != question.answer).collect();
    let wrong = pick(&mut dice, &others).copied().unwrap_or(question.answer);
    let answer = if right { question.answer } else { wrong };
    let sources = &question.source_nodes;
    let keep = if all { sources.len() } else { sources.len() / 2 };
    let confidence = if chance(&mut dice, 0.85) == right { 0.85 } else { 0.4 };
    Plan { right, answer, used, visits: sources.iter().take(keep.min(5)).cloned().collect(), confidence }
}

/// The agent's turn as the JSON object of the reply format, and the thought around it.
pub(super) fn turn(asked: &Asked<'_>, known: &TruthQuestion, plan: &Plan) -> (String, Value) {
    let place = asked.turn();
    let must_submit = is_last_step(asked.last_user());
    let offers_frames = asked.text.contains("observe_frame") && asked.wants_tool("observe_frame");
    let mut calls: Vec<(String, Value)> = Vec::new();
    if asked.system_text().contains("`read_skill`") && asked.wants_tool("read_skill") {
        calls.push(("read_skill".into(), json!({"name": known.question.task_type.as_str()})));
    }
    let words = known.question.question.trim_end_matches('?').to_owned();
    calls.push(("search_similar".into(), json!({"query": words, "question": known.question.question, "k": 3})));
    for node in &plan.visits {
        let frame = offers_frames && plan.used.contains(&Strategy::OpenFrames) && is_frame(node);
        calls.push(if frame {
            ("observe_frame".into(), json!({"node_ids": [node], "question": known.question.question}))
        } else {
            ("view_node".into(), json!({"node_id": node, "question": known.question.question}))
        });
    }
    let (tool, args) = match calls.into_iter().nth(place).filter(|_| !must_submit) {
        Some(call) => call,
        None => ("submit_answer".into(), submission(plan)),
    };
    let thought = format!("simulated model, turn {}: {tool}", place + 1);
    let object = json!({
        "reflect": {
            "found": format!("simulated model: {place} calls made"),
            "missing": "simulated model: the rest of the needed evidence",
            "confidence": plan.confidence,
        },
        "plan": {"next": format!("use {tool}")},
        "action": {"tool": tool, "args": args},
    });
    (thought, object)
}

/// The answer when everything is asked in one prompt.
pub(super) fn direct(plan: &Plan) -> Value {
    let submission = submission(plan);
    json!({"analysis": submission.get("reasoning"), "answer": submission.get("answer"), "confidence": plan.confidence})
}

fn submission(plan: &Plan) -> Value {
    let used: Vec<&str> = plan.used.iter().map(|strategy| strategy.name()).collect();
    let reasoning =
        format!("simulated model: strategies used: {}", if used.is_empty() { "none".into() } else { used.join(", ") });
    json!({"answer": plan.answer.to_string(), "evidence": plan.visits, "reasoning": reasoning})
}

/// Whether the surroundings announce the last step.
fn is_last_step(message: &str) -> bool {
    let lower = message.to_lowercase();
    lower.contains("last step") || lower.contains("submit now") || lower.contains("must submit")
}

/// Level-3 nodes of generated worlds carry their level in the id; the simulated model may know its own world.
fn is_frame(node: &NodeId) -> bool {
    node.as_str().contains("_L3_")
}

impl Asked<'_> {
    /// Whether a tool is among the offered ones: by schema if there is one, else by the prompt.
    fn wants_tool(&self, tool: &str) -> bool {
        if !self.request.tools.is_empty() {
            return self.request.tools.iter().any(|spec| spec.name == tool);
        }
        match &self.request.response_format {
            crate::domain::ResponseFormat::JsonSchema { schema, .. } => schema.to_string().contains(tool),
            crate::domain::ResponseFormat::Text | crate::domain::ResponseFormat::JsonObject => true,
        }
    }
}
