//! Tool calls that a model wrote into its text, because its server does not know native ones.

use serde_json::{Map, Value};

use crate::domain::{ToolCall, ToolSpec};

/// The calls in `content`, if the whole of it is calls of these tools: `{"name": …, "arguments": …}`, alone or in an
/// array, bare, in a Markdown fence, or in `<tool_call>` tags. Anything else is text, not calls.
pub(super) fn calls_in_content(content: &str, tools: &[ToolSpec]) -> Vec<ToolCall> {
    if tools.is_empty() {
        return Vec::new();
    }
    let mut calls = Vec::new();
    for json in candidates(content.trim()) {
        let Ok(value) = serde_json::from_str::<Value>(json) else { return Vec::new() };
        let values = value.as_array().map_or(std::slice::from_ref(&value), Vec::as_slice);
        for value in values {
            let Some(call) = call_of(value, tools) else { return Vec::new() };
            calls.push(call);
        }
    }
    calls
}

/// The JSON texts that `content` consists of.
fn candidates(content: &str) -> Vec<&str> {
    if let Some(body) = content.strip_prefix("```").and_then(|rest| rest.strip_suffix("```")) {
        let body = body.trim_start();
        return vec![body.strip_prefix("json").unwrap_or(body).trim()];
    }
    if !content.contains("<tool_call>") {
        return vec![content];
    }
    // Text around the tags (reasoning) is no call and does not spoil the ones inside.
    content
        .split("<tool_call>")
        .skip(1)
        .map(|piece| piece.split_once("</tool_call>").map_or(piece, |(inside, _)| inside).trim())
        .collect()
}

fn call_of(value: &Value, tools: &[ToolSpec]) -> Option<ToolCall> {
    let object = value.as_object()?;
    let object = object.get("function").and_then(Value::as_object).unwrap_or(object);
    let name = object.get("name").and_then(Value::as_str)?;
    if !tools.iter().any(|tool| tool.name == name) {
        return None;
    }
    let arguments = object.get("arguments").or_else(|| object.get("parameters")).or_else(|| object.get("args"));
    Some(ToolCall { name: name.to_owned(), arguments: argument_text(arguments) })
}

/// Arguments as JSON text: servers send them as such a text, or as the object itself.
pub(super) fn argument_text(arguments: Option<&Value>) -> String {
    match arguments {
        None | Some(Value::Null) => Value::Object(Map::new()).to_string(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(content: &str) -> Vec<(String, String)> {
        let tool = |name: &str| ToolSpec { name: name.into(), description: String::new(), parameters: Value::Null };
        let tools = [tool("view_node"), tool("submit_answer")];
        calls_in_content(content, &tools).into_iter().map(|call| (call.name, call.arguments)).collect()
    }

    fn view(arguments: &str) -> (String, String) {
        ("view_node".to_owned(), arguments.to_owned())
    }

    #[test]
    fn calls_are_found_in_every_dress() {
        let expected = [view(r#"{"node_id":"a"}"#)];
        for content in [
            r#"{"name": "view_node", "arguments": {"node_id": "a"}}"#,
            r#"[{"name": "view_node", "parameters": {"node_id": "a"}}]"#,
            r#"{"type": "function", "function": {"name": "view_node", "arguments": "{\"node_id\":\"a\"}"}}"#,
            "```json\n{\"name\": \"view_node\", \"args\": {\"node_id\": \"a\"}}\n```",
            "I look.\n<tool_call>\n{\"name\": \"view_node\", \"arguments\": {\"node_id\": \"a\"}}\n</tool_call>",
        ] {
            assert_eq!(calls(content), expected, "{content}");
        }
        assert_eq!(calls(r#"{"name": "submit_answer"}"#), [("submit_answer".to_owned(), "{}".to_owned())]);
    }

    #[test]
    fn text_and_unknown_tools_are_no_calls() {
        for content in [
            "",
            "view_node",
            r#"{"name": "delete_all", "arguments": {}}"#,
            r#"{"action": {"tool": "view_node"}}"#,
            r#"[{"name": "view_node", "arguments": {}}, 3]"#,
            r#"I call {"name": "view_node", "arguments": {}}"#,
            "<tool_call>{broken</tool_call>",
        ] {
            assert_eq!(calls(content), [], "{content}");
        }
    }
}
