//! Where the object is: in a fence, between braces, or hidden in broken text.

use serde_json::Value;

use super::repair::repair_object;
use super::{JsonError, Object};

/// How many places are tried as the start of a fenced block or of an object. It bounds the work: each try
/// reads the text once at most.
const MAX_TRIES: usize = 16;

/// Fenced block → outermost braces → repair. For judges.
///
/// What a model wrote before `</think>` is passed over if an object follows it.
///
/// # Errors
/// [`JsonError`] if there is no object, or it is nested too deep.
pub fn extract_object(text: &str) -> Result<Object, JsonError> {
    if text.trim().is_empty() {
        return Err(JsonError::Empty);
    }
    let answer = after_thinking(text);
    // An empty object behind a fence may stand inside a string of the answer: any other object wins.
    let full = |object: &Object| !object.is_empty();
    let found = whole(answer).or_else(|| from_fence(answer).filter(full)).or_else(|| from_braces(answer));
    match found.or_else(|| from_fence(answer)) {
        Some(object) => Ok(object),
        None => repair_object(answer),
    }
}

/// Whole text → fenced block, both strict. For writers: a guess at a text that will be trained on is worth nothing.
#[must_use]
pub fn writer_object(text: &str) -> Option<Object> {
    let answer = after_thinking(text);
    whole(answer).or_else(|| from_fence(answer))
}

/// Strict → repair. For JSON text that was stored: tool arguments, metric fields.
#[must_use]
pub fn stored_object(text: &str) -> Option<Object> {
    match serde_json::from_str::<Value>(text) {
        // Text that is valid JSON and no object is not broken: there is nothing to repair.
        Ok(value) => object(value),
        Err(_) => repair_object(text).ok(),
    }
}

/// The text if it is one valid object and nothing else.
fn whole(text: &str) -> Option<Object> {
    let text = text.trim();
    // Most replies with prose do not get as far as the parser.
    if !(text.starts_with('{') && text.ends_with('}')) {
        return None;
    }
    object(serde_json::from_str(text).ok()?)
}

/// The text after the last `</think>`, if an opening brace follows it; else all of it.
fn after_thinking(text: &str) -> &str {
    match text.rsplit_once("</think>") {
        Some((_, answer)) if answer.contains('{') => answer,
        _ => text,
    }
}

/// The first fenced block that starts with an object.
///
/// The object's own end counts, not the fence's: a fence inside a string of the object does not end it.
fn from_fence(text: &str) -> Option<Object> {
    let mut rest = text;
    for _ in 0..MAX_TRIES {
        let (_, after) = rest.split_once("```")?;
        // An info string such as `json` may precede the object, on the same line.
        let start = after.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || char == '`');
        if start.trim_start().starts_with('{')
            && let Some(object) = first_object(start)
        {
            return Some(object);
        }
        rest = after;
    }
    None
}

/// The text from the first opening to the last closing brace; else the first complete object with a key.
fn from_braces(text: &str) -> Option<Object> {
    let first = text.find('{')?;
    let last = text.rfind('}')?;
    if let Some(outer) = text.get(first..=last)
        && let Some(object) = serde_json::from_str(outer).ok().and_then(object)
    {
        return Some(object);
    }
    let mut rest = text.get(first..)?;
    for _ in 0..MAX_TRIES {
        if let Some(object) = first_object(rest).filter(|object| !object.is_empty()) {
            return Some(object);
        }
        let (_, after) = rest.split_once('{')?;
        rest = after.get(after.find('{')?..)?;
    }
    None
}

/// The object with which `text` starts, whatever follows it.
fn first_object(text: &str) -> Option<Object> {
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    object(values.next()?.ok()?)
}

fn object(value: Value) -> Option<Object> {
    match value {
        Value::Object(object) => Some(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn extracted(text: &str) -> Value {
        Value::Object(extract_object(text).unwrap_or_else(|error| panic!("{text:?}: {error}")))
    }

    #[test]
    fn a_fenced_block_wins_over_prose_with_braces() {
        let text = "Set {A, B} first.\n```json\n{\"a\": 1}\n```\nThen {\"a\": 2}.";
        assert_eq!(extracted(text), json!({"a": 1}));
        assert_eq!(extracted("```\n{\"a\": 1}\n```"), json!({"a": 1}));
        assert_eq!(extracted("```JSON {\"a\": 1}```"), json!({"a": 1}));
        assert_eq!(extracted("````json\n{\"a\": 1}\n````"), json!({"a": 1}));
    }

    #[test]
    fn a_fence_inside_a_string_does_not_end_the_object() {
        let text = "```json\n{\"content\": \"run\\n```\\nls\\n```\\nthen\", \"b\": [1]}\n```\ntrailing {prose}";
        assert_eq!(extracted(text), json!({"content": "run\n```\nls\n```\nthen", "b": [1]}));
    }

    #[test]
    fn a_fence_before_an_object_inside_a_string_is_part_of_that_string() {
        let text = "{\"content\": \"reply with ```{}``` or ```json {} ``` then\"}";
        let expected = json!({"content": "reply with ```{}``` or ```json {} ``` then"});
        assert_eq!(extracted(text), expected);
        assert_eq!(writer_object(text).map(Value::Object), Some(expected.clone()));
        assert_eq!(extracted(&format!("Here it is: {text}")), expected);
        assert_eq!(extracted(&format!("```json\n{text}\n```")), expected);
        assert_eq!(extracted("```json\n{}\n```"), json!({}), "nothing else is there");
    }

    #[test]
    fn an_earlier_block_without_an_object_is_passed_over() {
        let text = "```python\nprint(1)\n```\n\n```json\n{\"a\": 1}\n```";
        assert_eq!(extracted(text), json!({"a": 1}));
    }

    #[test]
    fn braces_are_found_in_prose() {
        assert_eq!(extracted("Here: {\"a\": {\"b\": 1}} as asked."), json!({"a": {"b": 1}}));
        assert_eq!(extracted("From {A, B} follows {\"a\": 1}; so {it} is."), json!({"a": 1}));
        assert_eq!(extracted("{\"a\": 1}\n{\"a\": 2}"), json!({"a": 1}));
    }

    #[test]
    fn what_was_thought_aloud_is_passed_over() {
        assert_eq!(extracted("<think>maybe {\"a\": 1}</think>{\"a\": 2}"), json!({"a": 2}));
        assert_eq!(extracted("{\"a\": 1} </think> done"), json!({"a": 1}));
    }

    #[test]
    fn nothing_but_an_object_is_accepted() {
        for text in ["[1, 2]", "\"text\"", "7", "true", "null", "no idea", "", " \n", "}", "]["] {
            assert!(extract_object(text).is_err(), "{text:?}");
            assert!(writer_object(text).is_none(), "{text:?}");
            assert!(stored_object(text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_writer_is_read_strictly() {
        assert!(writer_object("{'a': 1}").is_none());
        assert!(writer_object("Sure: {\"a\": 1}").is_none());
        assert!(writer_object("```json\n{\"a\": 1,}\n```").is_none());
        assert!(writer_object(" {\"a\": 1} \n").is_some());
        assert!(writer_object("Sure:\n```json\n{\"a\": 1}\n```").is_some());
    }

    #[test]
    fn stored_text_is_repaired() {
        assert_eq!(stored_object("{'node_id': 'v_L1_000'}").map(Value::Object), Some(json!({"node_id": "v_L1_000"})));
    }

    #[test]
    fn a_megabyte_of_brackets_ends_in_a_typed_error() {
        let repeated = |pattern: &str| pattern.repeat(1_000_000 / pattern.len());
        assert!(matches!(extract_object(&repeated("{")), Err(JsonError::TooDeep { .. })));
        assert!(matches!(extract_object(&repeated("[")), Err(JsonError::NoObject { .. })));
        assert!(matches!(
            extract_object(&repeated("```\n{")),
            Err(JsonError::NoKey { .. } | JsonError::TooDeep { .. })
        ));
        assert_eq!(extract_object(&repeated("}{")), Ok(Object::new()));
        assert!(writer_object(&repeated("{")).is_none());
        assert!(stored_object(&repeated("{\"a\":")).is_none());
    }
}
