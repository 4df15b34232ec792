//! From a reply of the `search` role to the call it makes, whatever dress the call wears.

use serde_json::{Map, Value};

use super::answer::strip_reasoning;
use crate::domain::{ChatReply, FinishReason};
use crate::evolution::json::{extract_object, stored_object};

/// A reply that makes a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Turn {
    /// Text outside the object, then the object's reflection.
    pub(super) thought: String,
    /// The object's plan, as text or JSON text.
    pub(super) plan: String,
    /// 0 to 1, if stated.
    pub(super) confidence: Option<f64>,
    /// The tool's name as written.
    pub(super) tool: String,
    /// Its arguments.
    pub(super) args: Map<String, Value>,
}

/// A reply that makes none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unreadable {
    /// What was wrong, for the model and the trace.
    pub(super) problem: &'static str,
    /// The reply's text without reasoning.
    pub(super) text: String,
    /// All that was thought aloud.
    pub(super) thought: String,
}

/// Reads a reply: native calls first, then the JSON object in its text.
///
/// Accepted are `{"reflect", "plan", "action": {"tool", "args"}}` and the forms that models fall into: calls by `name` and
/// `arguments`, in `function`, `tool_calls` or `<tool_call>`, arguments as JSON text or beside the name, and a bare
/// `{"answer": …}`. Of several calls the first counts: what follows it was written before its result was known.
pub(super) fn read_turn(reply: &ChatReply) -> Result<Turn, Unreadable> {
    let aloud = reply.reasoning.as_deref().unwrap_or_default();
    if let Some(call) = reply.tool_calls.first() {
        let args = stored_object(&call.arguments).unwrap_or_default();
        // A call of the whole reply form: some servers wrap the object that the prompt asks for.
        let (tool, args) = call_in(&args).unwrap_or_else(|| (call.name.clone(), args));
        let (thought, object) = (reply.content.trim(), extract_object(&reply.content).unwrap_or_default());
        let (reflect, plan, confidence) = reflection(&object);
        return Ok(Turn { thought: joined(&[aloud, thought, &reflect]), plan, confidence, tool, args });
    }
    let text = strip_reasoning(&reply.content);
    let hidden = if text.len() == reply.content.len() { "" } else { reply.content.as_str() };
    let unreadable = |problem| Unreadable { problem, text: text.clone(), thought: joined(&[aloud, hidden, &text]) };
    if text.trim().is_empty() {
        return Err(unreadable("the reply was empty"));
    }
    let Some((object, (tool, args))) = first_call(&text) else {
        let cut = reply.finish == FinishReason::Length;
        return Err(unreadable(if cut {
            "the reply was cut off before its JSON object ended; write less"
        } else if text.contains('{') {
            "the reply's JSON object names no tool under action"
        } else {
            "the reply held no JSON object"
        }));
    };
    let (reflect, plan, confidence) = reflection(&object);
    let outside = outside_of_braces(&text);
    Ok(Turn { thought: joined(&[aloud, hidden, &outside, &reflect]), plan, confidence, tool, args })
}

type Call = (String, Map<String, Value>);

/// How many opening braces are tried as the start of an object that makes a call.
const MAX_TRIES: usize = 24;

/// The first object in the text that makes a call, and the call.
fn first_call(text: &str) -> Option<(Map<String, Value>, Call)> {
    let mut rest = text;
    for _ in 0..MAX_TRIES {
        let Some(start) = rest.find('{') else { break };
        let tail = rest.get(start..).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(tail).into_iter::<Value>();
        if let Some(Ok(Value::Object(object))) = values.next()
            && let Some(call) = call_in(&object)
        {
            return Some((object, call));
        }
        rest = tail.get(1..).unwrap_or_default();
    }
    // No strict object makes a call: one repair of the whole text.
    let object = extract_object(text).ok()?;
    let call = call_in(&object)?;
    Some((object, call))
}

/// The call that an object makes.
fn call_in(object: &Map<String, Value>) -> Option<Call> {
    if let Some(action) = ["action", "tool_call", "function_call"].iter().find_map(|key| object.get(*key)) {
        return match action {
            Value::Object(inner) => named_call(inner).or_else(|| bare_answer(inner)),
            Value::String(name) => Some((name.clone(), arguments(object).unwrap_or_default())),
            Value::Array(items) => items.first().and_then(Value::as_object).and_then(named_call),
            Value::Null | Value::Bool(_) | Value::Number(_) => None,
        }
        .or_else(|| bare_answer(object));
    }
    if let Some(Value::Array(calls)) = object.get("tool_calls") {
        return calls.first().and_then(Value::as_object).and_then(named_call);
    }
    named_call(object).or_else(|| bare_answer(object))
}

/// `{"tool": …, "args": {…}}` and its synonyms; arguments may also stand beside the name.
fn named_call(object: &Map<String, Value>) -> Option<Call> {
    if let Some(Value::Object(inner)) = object.get("function") {
        return named_call(inner);
    }
    let key = ["tool", "name", "function", "tool_name"]
        .into_iter()
        .find(|key| matches!(object.get(*key), Some(Value::String(_))))?;
    let name = object.get(key)?.as_str()?.to_owned();
    let args = arguments(object).unwrap_or_else(|| {
        object
            .iter()
            .filter(|(field, _)| {
                !["tool", "name", "function", "tool_name", "type", "id", "reflect", "plan"].contains(&field.as_str())
            })
            .map(|(field, value)| (field.clone(), value.clone()))
            .collect()
    });
    Some((name, args))
}

fn arguments(object: &Map<String, Value>) -> Option<Map<String, Value>> {
    let value = ["args", "arguments", "parameters", "input", "action_input", "params"]
        .iter()
        .find_map(|key| object.get(*key))?;
    match value {
        Value::Object(fields) => Some(fields.clone()),
        Value::String(text) => Some(stored_object(text).unwrap_or_default()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Some(Map::new()),
    }
}

/// `{"answer": "C", …}` without a tool: a submission.
fn bare_answer(object: &Map<String, Value>) -> Option<Call> {
    let has_answer = object.get("answer").is_some_and(|answer| !answer.is_null());
    has_answer.then(|| {
        let fields = object.iter().filter(|(key, _)| !["reflect", "plan", "action"].contains(&key.as_str()));
        ("submit_answer".to_owned(), fields.map(|(key, value)| (key.clone(), value.clone())).collect())
    })
}

/// Reflection and plan as text, and the confidence stated in the former.
fn reflection(object: &Map<String, Value>) -> (String, String, Option<f64>) {
    let reflect = object.get("reflect");
    let confidence = reflect
        .and_then(|reflect| reflect.get("confidence"))
        .or_else(|| object.get("confidence"))
        .and_then(stated_confidence);
    (reflect.map(as_text).unwrap_or_default(), object.get("plan").map(as_text).unwrap_or_default(), confidence)
}

/// `0.8`, `"0.8"`, `80` and `"80%"` alike; anything else is none.
pub(super) fn stated_confidence(value: &Value) -> Option<f64> {
    let number = match value {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().trim_end_matches('%').trim().parse().ok()?,
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
    };
    let is_percent = number > 1.0 || value.as_str().is_some_and(|text| text.trim().ends_with('%'));
    let share = if is_percent { number / 100.0 } else { number };
    (0.0..=1.0).contains(&share).then_some(share)
}

/// Text stays text, anything else becomes JSON text, nothing stays nothing.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// What stands before the first and after the last brace, without fences.
fn outside_of_braces(text: &str) -> String {
    let before = text.split_once('{').map_or(text, |(before, _)| before);
    let after = text.rsplit_once('}').map_or("", |(_, after)| after);
    joined(&[before.trim_end_matches(['`', '\n']).trim_end_matches("```json"), after.trim_start_matches(['`', '\n'])])
}

fn joined(parts: &[&str]) -> String {
    parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::domain::{ToolCall, Usage};

    fn reply(content: &str) -> ChatReply {
        ChatReply {
            content: content.to_owned(),
            reasoning: None,
            tool_calls: vec![],
            finish: FinishReason::Stop,
            usage: Usage::default(),
            cached: false,
            latency_ms: 0,
            raw: vec![],
        }
    }

    fn call(content: &str) -> Option<(String, Value)> {
        read_turn(&reply(content)).ok().map(|turn| (turn.tool, Value::Object(turn.args)))
    }

    #[test]
    fn a_call_is_read_in_every_dress() {
        let expected = Some(("view_node".to_owned(), json!({"node_id": "a"})));
        for content in [
            r#"{"reflect": {"found": "x"}, "plan": {"next": "y"}, "action": {"tool": "view_node", "args": {"node_id": "a"}}}"#,
            "I will look.\n```json\n{\"action\": {\"tool\": \"view_node\", \"args\": {\"node_id\": \"a\"}}}\n```\nDone.",
            r#"{"action": {"name": "view_node", "arguments": "{\"node_id\": \"a\"}"}}"#,
            r#"{"action": "view_node", "args": {"node_id": "a"}}"#,
            r#"{"action": [{"tool": "view_node", "args": {"node_id": "a"}}]}"#,
            r#"{"action": {"tool": "view_node", "node_id": "a"}}"#,
            r#"{"tool": "view_node", "args": {"node_id": "a"}}"#,
            r#"{"name": "view_node", "arguments": {"node_id": "a"}}"#,
            r#"{"type": "function", "function": {"name": "view_node", "arguments": {"node_id": "a"}}}"#,
            r#"{"tool_calls": [{"function": {"name": "view_node", "arguments": "{\"node_id\": \"a\"}"}}]}"#,
            "<tool_call>\n{\"name\": \"view_node\", \"arguments\": {\"node_id\": \"a\"}}\n</tool_call>",
            "<think>{\"action\": {\"tool\": \"submit_answer\", \"args\": {}}}</think>{\"tool\": \"view_node\", \"args\": {\"node_id\": \"a\"}}",
            "The set {A, B} is open. {\"tool\": \"view_node\", \"args\": {\"node_id\": \"a\"}}",
            "{\"reflect\": {\"a\": 1}}\n{\"action\": {\"tool\": \"view_node\", \"args\": {\"node_id\": \"a\"}}}",
            // Two calls: the second was written before the first one's result was known.
            "{\"tool\": \"view_node\", \"args\": {\"node_id\": \"a\"}}\n{\"tool\": \"submit_answer\", \"args\": {\"answer\": \"A\"}}",
            "{'action': {'tool': 'view_node', 'args': {'node_id': 'a'}},}",
            r#"{"action": {"tool": "view_node", "args": {"node_id": "a""#,
        ] {
            assert_eq!(call(content), expected, "{content}");
        }
    }

    #[test]
    fn native_calls_come_first() {
        let mut native = reply("let me see");
        native.tool_calls = vec![ToolCall { name: "view_node".into(), arguments: r#"{"node_id": "a"}"#.into() }];
        native.reasoning = Some("hm".into());
        let turn = read_turn(&native).unwrap();
        assert_eq!((turn.tool.as_str(), turn.thought.as_str()), ("view_node", "hm\nlet me see"));
    }

    #[test]
    fn a_bare_answer_is_a_submission() {
        let (tool, args) = call(r#"{"answer": "C", "reasoning": "seen", "plan": "none"}"#).unwrap();
        assert_eq!((tool.as_str(), args), ("submit_answer", json!({"answer": "C", "reasoning": "seen"})));
    }

    #[test]
    fn thought_plan_and_confidence_are_kept() {
        let turn = read_turn(&reply(
            "First I look.\n{\"reflect\": {\"found\": \"x\", \"confidence\": \"80%\"}, \"plan\": \"go on\", \"action\": {\"tool\": \"t\", \"args\": {}}} Then on.",
        ))
        .unwrap();
        assert!(turn.thought.starts_with("First I look.\nThen on.\n{"), "{}", turn.thought);
        assert_eq!((turn.plan.as_str(), turn.confidence), ("go on", Some(0.8)));
    }

    #[test]
    fn confidences_outside_of_their_range_are_none() {
        let read = |value: Value| stated_confidence(&value);
        assert_eq!(read(json!(0.7)), Some(0.7));
        assert_eq!(read(json!(70)), Some(0.7));
        assert_eq!(read(json!("1")), Some(1.0));
        assert_eq!(
            (read(json!(-0.1)), read(json!(170)), read(json!("high")), read(json!("NaN"))),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_reply_without_a_call_says_what_is_wrong() {
        let problem = |content| read_turn(&reply(content)).unwrap_err().problem;
        assert_eq!(problem(""), "the reply was empty");
        assert_eq!(problem("<think>x</think>"), "the reply was empty");
        assert_eq!(problem("Answer: C"), "the reply held no JSON object");
        assert_eq!(problem(r#"{"reflect": {}}"#), "the reply's JSON object names no tool under action");
        let mut long = reply(r#"{"reflect": {"found": "and so"#);
        long.finish = FinishReason::Length;
        assert!(read_turn(&long).unwrap_err().problem.contains("cut off"));
    }

    proptest! {
        #[test]
        fn no_reply_panics(content in any::<String>()) {
            let _either = read_turn(&reply(&content));
        }

        #[test]
        fn pieces_of_calls_never_panic(pieces in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "\"", ":", ",", "action", "tool", "args", "view_node", "[", "]", "```", "<think>", "\u{0}", "\\u", "null", " ",
        ]), 0..40)) {
            let _either = read_turn(&reply(&pieces.concat()));
        }
    }
}
