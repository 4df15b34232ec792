//! From a tool's name and arguments as the model wrote them to a call that can be made, or to what was wrong.

use serde_json::{Map, Value};

use super::spec::{Offered, TOOL_NAMES};
use crate::agent::video::VideoEnvironment;
use crate::domain::NodeId;

/// A call that can be made.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::agent) enum ToolCall {
    ViewNode { node: NodeId, question: String },
    SearchSimilar { query: String, question: String, k: usize },
    ObserveFrame { nodes: Vec<NodeId>, question: String },
    ReadSkill { name: String },
    SubmitAnswer(Submission),
}

/// What is submitted, as JSON: its form is judged later.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::agent) struct Submission {
    pub(in crate::agent) answer: Value,
    pub(in crate::agent) evidence: Option<Value>,
    pub(in crate::agent) reasoning: Option<Value>,
    pub(in crate::agent) confidence: Option<Value>,
    /// Fields that the tool does not have, sorted.
    pub(in crate::agent) unknown: Vec<String>,
}

/// More nodes than anybody reads.
const MAX_K: usize = 20;
const DEFAULT_K: usize = 5;
/// Level-3 nodes per `observe_frame` call.
pub(super) const MAX_FRAMES: usize = 4;

/// Reads a call. `own_question` stands in where a tool's optional `question` is left out.
///
/// # Errors
/// What is wrong, in words for the model.
pub(in crate::agent) fn read_call(
    name: &str,
    args: &Map<String, Value>,
    offered: &Offered,
    video: &VideoEnvironment,
    own_question: &str,
) -> Result<ToolCall, String> {
    let question = || optional_text(args, "question").unwrap_or_else(|| own_question.to_owned());
    let tool = normal_name(name);
    if !offered.has(&tool) {
        let names: Vec<&str> = TOOL_NAMES.into_iter().filter(|name| offered.has(name)).collect();
        let shown: String = name.chars().take(80).collect();
        return Err(format!("there is no tool {shown:?}; the tools are {}", names.join(", ")));
    }
    match tool.as_str() {
        "view_node" => {
            let node = node_argument(args, "node_id", video)?;
            Ok(ToolCall::ViewNode { node, question: question() })
        }
        "search_similar" => {
            let query = required_text(args, "query", "search_similar")?;
            if !crate::agent::search::is_searchable(&query) {
                return Err("the argument query of search_similar holds no word to search for".to_owned());
            }
            Ok(ToolCall::SearchSimilar { query, question: question(), k: k_argument(args)? })
        }
        "observe_frame" => Ok(ToolCall::ObserveFrame { nodes: frame_nodes(args, video)?, question: question() }),
        "read_skill" => Ok(ToolCall::ReadSkill { name: required_text(args, "name", "read_skill")? }),
        _ => submission(args).map(ToolCall::SubmitAnswer),
    }
}

/// Lower case, underscores, no name space, and the usual synonyms of submitting.
fn normal_name(name: &str) -> String {
    let lower = name.trim().to_lowercase().replace(['-', ' '], "_");
    let bare = lower.rsplit(['.', ':']).next().unwrap_or_default().trim_end_matches("()").to_owned();
    match bare.as_str() {
        "submit" | "answer" | "final_answer" | "finish" => "submit_answer".to_owned(),
        _ => bare,
    }
}

fn optional_text(args: &Map<String, Value>, field: &str) -> Option<String> {
    args.get(field).and_then(Value::as_str).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn required_text(args: &Map<String, Value>, field: &str, tool: &str) -> Result<String, String> {
    match args.get(field) {
        None | Some(Value::Null) => Err(format!("{tool} needs the argument {field}")),
        Some(Value::String(_)) => optional_text(args, field).ok_or(format!("the argument {field} of {tool} is empty")),
        Some(_) => Err(format!("the argument {field} of {tool} must be text")),
    }
}

fn k_argument(args: &Map<String, Value>) -> Result<usize, String> {
    let wrong = || format!("the argument k of search_similar must be a whole number from 1 to {MAX_K}");
    let number = match args.get("k") {
        None | Some(Value::Null) => return Ok(DEFAULT_K),
        Some(Value::Number(number)) => number.as_u64().ok_or_else(wrong)?,
        Some(Value::String(text)) => text.trim().parse().map_err(|_| wrong())?,
        Some(_) => return Err(wrong()),
    };
    match usize::try_from(number) {
        Ok(0) => Err(wrong()),
        Ok(k) => Ok(k.min(MAX_K)),
        Err(_) => Ok(MAX_K),
    }
}

fn node_argument(args: &Map<String, Value>, field: &str, video: &VideoEnvironment) -> Result<NodeId, String> {
    let text = match args.get(field).or_else(|| args.get("id")).or_else(|| args.get("node")) {
        None | Some(Value::Null) => return Err(format!("view_node needs the argument {field}")),
        Some(Value::String(text)) => text,
        // One id in a list is one id.
        Some(Value::Array(items)) => match items.as_slice() {
            [Value::String(text)] => text,
            _ => return Err("view_node opens one node at a time: give one id".to_owned()),
        },
        Some(_) => return Err(format!("the argument {field} must be a node id as text")),
    };
    find_node(text, video)
}

/// The id as written, or without decoration, or with the video's id before it.
fn find_node(text: &str, video: &VideoEnvironment) -> Result<NodeId, String> {
    let bare = text.trim().trim_matches(['"', '\'', '`', '[', ']', '<', '>', ' ']);
    let full = format!("{}_{bare}", video.tree().video_id);
    let found = [text, bare, full.as_str()]
        .into_iter()
        .filter_map(|candidate| NodeId::new(candidate).ok())
        .find(|id| video.tree().nodes.contains_key(id));
    found.ok_or_else(|| {
        let shown: String = text.chars().take(80).collect();
        format!("there is no node {shown:?} in this video; use an id exactly as it was shown to you")
    })
}

/// One to four level-3 nodes, or one level-2 node, which stands for frames of its own.
fn frame_nodes(args: &Map<String, Value>, video: &VideoEnvironment) -> Result<Vec<NodeId>, String> {
    let value = args.get("node_ids").or_else(|| args.get("node_id"));
    let texts: Vec<String> = match value {
        None | Some(Value::Null) => return Err("observe_frame needs the argument node_ids".to_owned()),
        Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned).ok_or("the argument node_ids must list node ids as text"))
            .collect::<Result<_, _>>()?,
        Some(_) => return Err("the argument node_ids must be a list of node ids".to_owned()),
    };
    let mut nodes: Vec<NodeId> = Vec::new();
    for text in &texts {
        let node = find_node(text, video)?;
        if !nodes.contains(&node) {
            nodes.push(node);
        }
    }
    let level = |id: &NodeId| video.tree().nodes.get(id).map_or(0, |node| node.level);
    match nodes.as_slice() {
        [] => Err("observe_frame needs at least one node id".to_owned()),
        [one] if level(one) == 2 || level(one) == 3 => Ok(nodes),
        many if many.len() <= MAX_FRAMES && many.iter().all(|id| level(id) == 3) => Ok(nodes),
        _ => Err(format!("observe_frame takes 1 to {MAX_FRAMES} level-3 nodes, or one level-2 node")),
    }
}

fn submission(args: &Map<String, Value>) -> Result<Submission, String> {
    let field =
        |names: &[&str]| names.iter().find_map(|name| args.get(*name)).filter(|value| !value.is_null()).cloned();
    let answer = field(&["answer", "final_answer", "option", "letter", "choice"]);
    let is_blank = |value: &Value| value.as_str().is_some_and(|text| text.trim().is_empty());
    let Some(answer) = answer.filter(|value| !is_blank(value)) else {
        return Err("submit_answer needs the argument answer: the letter of one option".to_owned());
    };
    const KNOWN: [&str; 9] =
        ["answer", "final_answer", "option", "letter", "choice", "evidence", "reasoning", "explanation", "confidence"];
    let unknown = args.keys().filter(|key| !KNOWN.contains(&key.as_str())).cloned().collect();
    Ok(Submission {
        answer,
        evidence: field(&["evidence"]),
        reasoning: field(&["reasoning", "explanation"]),
        confidence: field(&["confidence"]),
        unknown,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agent::testing::video;

    fn read(name: &str, args: Value) -> Result<ToolCall, String> {
        let Value::Object(args) = args else { panic!("arguments are an object") };
        read_call(name, &args, &Offered::all(), &video(), "Why?")
    }

    fn node(id: &str) -> NodeId {
        id.parse().unwrap()
    }

    #[test]
    fn calls_are_read_with_their_defaults() {
        let view = ToolCall::ViewNode { node: node("v_L1_000"), question: "Why?".into() };
        for id in [json!("v_L1_000"), json!(" `v_L1_000` "), json!("L1_000"), json!(["v_L1_000"])] {
            assert_eq!(read("view_node", json!({"node_id": id})), Ok(view.clone()));
        }
        assert_eq!(
            read("functions.search-similar", json!({"query": "dog", "question": "Where?", "k": "3"})),
            Ok(ToolCall::SearchSimilar { query: "dog".into(), question: "Where?".into(), k: 3 })
        );
        assert!(matches!(read("search_similar", json!({"query": "dog"})), Ok(ToolCall::SearchSimilar { k: 5, .. })));
        assert!(matches!(
            read("search_similar", json!({"query": "dog", "k": 99})),
            Ok(ToolCall::SearchSimilar { k: 20, .. })
        ));
        assert!(matches!(read("submit", json!({"answer": "C"})), Ok(ToolCall::SubmitAnswer(_))));
    }

    #[test]
    fn what_is_wrong_with_a_call_is_told() {
        let told = |name, args| read(name, args).unwrap_err();
        assert!(told("fly", json!({})).contains("the tools are view_node"));
        assert!(told("view_node", json!({})).contains("needs the argument node_id"));
        assert!(told("view_node", json!({"node_id": 3})).contains("must be a node id"));
        assert!(told("view_node", json!({"node_id": "v_L9_000"})).contains("no node"));
        assert!(told("view_node", json!({"node_id": "../../etc/passwd"})).contains("no node"));
        assert!(told("search_similar", json!({"query": " "})).contains("is empty"));
        assert!(told("search_similar", json!({"query": "the?"})).contains("no word"));
        assert!(told("search_similar", json!({"query": "dog", "k": 0})).contains("whole number"));
        assert!(told("search_similar", json!({"query": "dog", "k": -1.5})).contains("whole number"));
        assert!(told("submit_answer", json!({"answer": null})).contains("needs the argument answer"));
        assert!(told("submit_answer", json!({"answer": "  "})).contains("needs the argument answer"));
        assert!(told("read_skill", json!({})).contains("needs the argument name"));
    }

    #[test]
    fn frames_are_one_to_four_or_one_event() {
        let nodes = |value: Value| read("observe_frame", json!({"node_ids": value}));
        assert!(nodes(json!(["v_L3_000", "v_L3_001", "v_L3_000"])).is_ok());
        assert!(nodes(json!("v_L3_000, v_L3_001")).is_ok());
        assert!(nodes(json!(["v_L2_000"])).is_ok());
        assert!(nodes(json!(["v_L2_000", "v_L3_000"])).unwrap_err().contains("1 to 4"));
        assert!(nodes(json!(["v_L1_000"])).unwrap_err().contains("1 to 4"));
        assert!(nodes(json!([])).unwrap_err().contains("at least one"));
        assert!(nodes(json!([1])).unwrap_err().contains("as text"));
    }

    #[test]
    fn a_tool_that_is_not_offered_does_not_exist() {
        let none = Offered { frames: false, skills: false };
        let args = json!({"node_ids": ["v_L3_000"]});
        let told = read_call("observe_frame", args.as_object().unwrap(), &none, &video(), "Why?").unwrap_err();
        assert!(told.contains("no tool") && !told.contains("observe_frame,"), "{told}");
    }
}
