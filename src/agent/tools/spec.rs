//! What the model is told about the tools: as text, as native functions, and as a schema of a turn.

use serde_json::{Value, json};

use super::arguments::MAX_FRAMES;
use crate::agent::settings::{AgentSettings, SkillMode};
use crate::agent::video::VideoEnvironment;
use crate::domain::ToolSpec;

/// All tools, in the order in which they are shown.
pub(super) const TOOL_NAMES: [&str; 5] =
    ["view_node", "search_similar", "observe_frame", "read_skill", "submit_answer"];

/// Which of the tools that depend on the surroundings are offered; the other three always are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::agent) struct Offered {
    pub(in crate::agent) frames: bool,
    pub(in crate::agent) skills: bool,
}

impl Offered {
    pub(super) fn has(&self, tool: &str) -> bool {
        match tool {
            "observe_frame" => self.frames,
            "read_skill" => self.skills,
            _ => TOOL_NAMES.contains(&tool),
        }
    }

    #[cfg(test)]
    pub(in crate::agent) fn all() -> Self {
        Self { frames: true, skills: true }
    }
}

/// Frames need a vision model and frames; skills are read in manual mode only.
pub(in crate::agent) fn offered(settings: &AgentSettings, video: &VideoEnvironment) -> Offered {
    Offered { frames: settings.vision && video.has_frames(), skills: settings.skill_mode == SkillMode::Manual }
}

/// The offered tools for the system prompt, one line each.
pub(in crate::agent) fn tools_text(offered: Offered) -> String {
    let mut lines = vec!["# Tools".to_owned(), String::new()];
    for tool in TOOL_NAMES.into_iter().filter(|tool| offered.has(tool)) {
        lines.push(format!("- `{tool}` {}: {}", example(tool), description(tool)));
    }
    lines.join("\n")
}

/// The offered tools as native functions.
pub(in crate::agent) fn tool_specs(offered: Offered, submit_only: bool) -> Vec<ToolSpec> {
    shown(offered, submit_only)
        .map(|tool| ToolSpec {
            name: tool.to_owned(),
            description: description(tool).to_owned(),
            parameters: parameters(tool),
        })
        .collect()
}

/// The schema of a turn. On the last step only `submit_answer` is left in it.
pub(in crate::agent) fn turn_schema(offered: Offered, submit_only: bool, letters: &[char]) -> Value {
    let text = |length: u32| json!({"type": "string", "maxLength": length});
    let actions: Vec<Value> = shown(offered, submit_only)
        .map(|tool| {
            let mut args = parameters(tool);
            if tool == "submit_answer"
                && let Some(answer) = args.pointer_mut("/properties/answer")
            {
                *answer = json!({"type": "string", "enum": letters.iter().map(char::to_string).collect::<Vec<_>>()});
            }
            object(&json!({"tool": {"type": "string", "enum": [tool]}, "args": args}), &["tool", "args"])
        })
        .collect();
    let reflect =
        json!({"found": text(400), "missing": text(200), "confidence": {"type": "number", "minimum": 0, "maximum": 1}});
    let fields = json!({
        "reflect": object(&reflect, &["found", "missing", "confidence"]),
        "plan": object(&json!({"next": text(200)}), &["next"]),
        "action": {"anyOf": actions},
    });
    object(&fields, &["reflect", "plan", "action"])
}

fn shown(offered: Offered, submit_only: bool) -> impl Iterator<Item = &'static str> {
    TOOL_NAMES.into_iter().filter(move |tool| offered.has(tool) && (!submit_only || *tool == "submit_answer"))
}

fn object(properties: &Value, required: &[&str]) -> Value {
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn example(tool: &str) -> &'static str {
    match tool {
        "view_node" => r#"{"node_id": "…", "question": "…"}"#,
        "search_similar" => r#"{"query": "…", "question": "…", "k": 5}"#,
        "observe_frame" => r#"{"node_ids": ["…"], "question": "…"}"#,
        "read_skill" => r#"{"name": "…"}"#,
        _ => r#"{"answer": "A", "evidence": ["node id"], "reasoning": "…"}"#,
    }
}

fn description(tool: &str) -> &'static str {
    match tool {
        "view_node" => {
            "opens one node and tells what it says about your question, and lists its children with their relevance."
        }
        "search_similar" => "finds the k nodes of the whole video whose text is closest to the query.",
        "observe_frame" => "looks at the pictures of 1 to 4 level-3 nodes, or of one level-2 node.",
        "read_skill" => "reads one strategy of the catalogue.",
        _ => "ends the work. answer is the letter of one option; evidence lists the ids of the nodes that support it.",
    }
}

fn parameters(tool: &str) -> Value {
    let text = json!({"type": "string", "minLength": 1, "maxLength": 400});
    let ids =
        json!({"type": "array", "items": {"type": "string", "maxLength": 200}, "minItems": 1, "maxItems": MAX_FRAMES});
    match tool {
        "view_node" => object(&json!({"node_id": text, "question": text}), &["node_id", "question"]),
        "search_similar" => {
            let k = json!({"type": "integer", "minimum": 1, "maximum": 20});
            object(&json!({"query": text, "question": text, "k": k}), &["query", "question", "k"])
        }
        "observe_frame" => object(&json!({"node_ids": ids, "question": text}), &["node_ids", "question"]),
        "read_skill" => object(&json!({"name": text}), &["name"]),
        _ => {
            let evidence = json!({"type": "array", "items": {"type": "string", "maxLength": 200}, "maxItems": 10});
            let reasoning = json!({"type": "string", "maxLength": 800});
            let fields = json!({"answer": text, "evidence": evidence, "reasoning": reasoning});
            object(&fields, &["answer", "evidence", "reasoning"])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_of_the_last_step_leaves_submitting_only() {
        let schema = turn_schema(Offered::all(), true, &['A', 'B']);
        let actions = schema.pointer("/properties/action/anyOf").and_then(Value::as_array).unwrap();
        assert_eq!(actions.len(), 1);
        assert_eq!(actions[0].pointer("/properties/args/properties/answer/enum"), Some(&json!(["A", "B"])));
        assert_eq!(tool_specs(Offered::all(), false).len(), 5);
    }

    #[test]
    fn a_turn_of_the_prompted_form_satisfies_the_schema() {
        let validator = jsonschema::validator_for(&turn_schema(Offered::all(), false, &['A', 'B'])).unwrap();
        let turn = |action: Value| json!({"reflect": {"found": "", "missing": "", "confidence": 0.5}, "plan": {"next": ""}, "action": action});
        assert!(validator.is_valid(&turn(json!({"tool": "view_node", "args": {"node_id": "x", "question": "y"}}))));
        assert!(validator.is_valid(&turn(
            json!({"tool": "submit_answer", "args": {"answer": "B", "evidence": [], "reasoning": ""}})
        )));
        assert!(!validator.is_valid(&turn(
            json!({"tool": "submit_answer", "args": {"answer": "E", "evidence": [], "reasoning": ""}})
        )));
        assert!(!validator.is_valid(&turn(json!({"tool": "fly", "args": {}}))));
    }

    #[test]
    fn only_offered_tools_are_described() {
        let text = tools_text(Offered { frames: false, skills: false });
        assert!(text.contains("`view_node`") && !text.contains("observe_frame") && !text.contains("read_skill"));
    }
}
