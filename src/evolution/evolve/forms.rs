//! The forms of the writer's replies, and how they are read: strictly.

use serde_json::{Value, json};

use crate::evolution::asking::Form;
use crate::evolution::json::Object;
use crate::evolution::patch::Edit;

/// The operations a writer may use.
const OPERATIONS: [&str; 4] = ["append", "insert_after", "replace", "delete"];

/// An edit as it was written, with the part of the text it is for (0 unless there are several).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WrittenEdit {
    pub(super) part: usize,
    pub(super) edit: Edit,
}

/// The form of a list of edits; with several parts each edit names its own in `file`.
pub(super) fn edits_form(purpose: &'static str, parts: &[&'static str]) -> Form {
    let op = json!({"type": "string", "enum": OPERATIONS});
    let text = json!({"type": "string"});
    let (properties, required) = if parts.len() > 1 {
        let file = json!({"type": "string", "enum": parts});
        (json!({"file": file, "op": op, "target": text, "content": text}), vec!["file", "op", "target", "content"])
    } else {
        (json!({"op": op, "target": text, "content": text}), vec!["op", "target", "content"])
    };
    let item = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    Form { purpose, schema: one_field("edits", &json!({"type": "array", "items": item, "maxItems": 12})) }
}

/// Reads the list; anything missing or of the wrong type is named, so that the writer can be told.
pub(super) fn read_edits(reply: &Object, parts: &[&'static str]) -> Result<Vec<WrittenEdit>, String> {
    let Some(Value::Array(items)) = reply.get("edits") else {
        return Err("`edits` must be a list".into());
    };
    items.iter().enumerate().map(|(index, item)| read_edit(index, item, parts)).collect()
}

fn read_edit(index: usize, item: &Value, parts: &[&'static str]) -> Result<WrittenEdit, String> {
    let text = |field: &str| match item.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        // What an operation does not use may be left out.
        None | Some(Value::Null) if field != "op" => Ok(String::new()),
        None => Err(format!("edit {index} has no `{field}`")),
        Some(_) => Err(format!("`{field}` of edit {index} must be text")),
    };
    let op = text("op")?;
    if !OPERATIONS.contains(&op.as_str()) {
        return Err(format!("`op` of edit {index} must be one of {}", OPERATIONS.join(", ")));
    }
    let part = if parts.len() > 1 {
        let file = text("file")?;
        let place = parts.iter().position(|part| *part == file);
        place.ok_or_else(|| format!("`file` of edit {index} must be one of {}", parts.join(", ")))?
    } else {
        0
    };
    Ok(WrittenEdit { part, edit: Edit { op: op.into(), target: text("target")?, content: text("content")? } })
}

/// `writer.rewrite`
pub(super) fn rewrite_form() -> Form {
    Form { purpose: "writer.rewrite", schema: one_field("content", &json!({"type": "string"})) }
}

pub(super) fn read_rewrite(reply: &Object) -> Result<String, String> {
    match reply.get("content") {
        Some(Value::String(content)) if !content.trim().is_empty() => Ok(content.clone()),
        _ => Err("`content` must be text that is not empty".into()),
    }
}

/// `writer.rank`, over that many edits.
pub(super) fn rank_form(edits: usize, budget: usize) -> Form {
    let item = json!({"type": "integer", "minimum": 0, "maximum": edits.saturating_sub(1)});
    let list = json!({"type": "array", "items": item, "maxItems": budget});
    Form { purpose: "writer.rank", schema: one_field("selected", &list) }
}

/// `writer.consolidate`, to at most that many notes.
pub(super) fn consolidate_form(max_notes: usize) -> Form {
    let list = json!({"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": max_notes.max(1)});
    Form { purpose: "writer.consolidate", schema: one_field("notes", &list) }
}

pub(super) fn read_notes(reply: &Object) -> Option<Vec<String>> {
    let Some(Value::Array(items)) = reply.get("notes") else { return None };
    items.iter().map(|item| item.as_str().map(|note| note.trim().to_owned()).filter(|note| !note.is_empty())).collect()
}

fn one_field(name: &str, schema: &Value) -> Value {
    json!({"type": "object", "properties": {name: schema}, "required": [name], "additionalProperties": false})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn edits_are_read_strictly() {
        let read = |value: Value| read_edits(&object(&value), &["skill"]);
        let edits =
            read(json!({"edits": [{"op": "append", "content": "x"}, {"op": "delete", "target": " y"}]})).unwrap();
        assert_eq!(edits[1].edit, Edit { op: "delete".to_owned().into(), target: " y".into(), content: String::new() });
        assert_eq!(read(json!({"edits": []})), Ok(vec![]));
        for (wrong, names) in [
            (json!({}), "`edits` must be a list"),
            (json!({"edits": "none"}), "`edits` must be a list"),
            (json!({"edits": [{"target": "x"}]}), "edit 0 has no `op`"),
            (json!({"edits": [{"op": "rewrite"}]}), "`op` of edit 0"),
            (json!({"edits": [{"op": "append", "content": 1}]}), "`content` of edit 0 must be text"),
            (json!({"edits": [1]}), "edit 0 has no `op`"),
        ] {
            let error = read(wrong.clone()).unwrap_err();
            assert!(error.contains(names), "{wrong}: {error}");
        }
    }

    #[test]
    fn edits_of_several_files_name_their_file() {
        let parts = ["extract", "verify"];
        let edit = |file: &str| json!({"edits": [{"file": file, "op": "append", "target": "", "content": "x"}]});
        assert_eq!(read_edits(&object(&edit("verify")), &parts).unwrap()[0].part, 1);
        assert!(read_edits(&object(&edit("other")), &parts).unwrap_err().contains("extract, verify"));
    }

    #[test]
    fn every_form_accepts_its_own_replies_and_no_other_fields() {
        let edit = json!({"op": "append", "target": "", "content": "x"});
        let filed = json!({"file": "extract", "op": "append", "target": "", "content": "x"});
        let cases = [
            (edits_form("writer.skill", &["skill"]), json!({"edits": [edit]})),
            (edits_form("writer.tool", &["extract", "verify"]), json!({"edits": [filed]})),
            (rewrite_form(), json!({"content": "x"})),
            (rank_form(4, 2), json!({"selected": [3, 0]})),
            (consolidate_form(3), json!({"notes": ["x"]})),
        ];
        for (form, reply) in cases {
            let validator = jsonschema::validator_for(&form.schema).unwrap();
            assert!(validator.is_valid(&reply), "{}: {reply}", form.purpose);
            let mut more = reply;
            more["more"] = json!(1);
            assert!(!validator.is_valid(&more), "{}", form.purpose);
        }
    }

    #[test]
    fn notes_are_texts_that_are_not_empty() {
        assert_eq!(read_notes(&object(&json!({"notes": [" a ", "b"]}))), Some(vec!["a".into(), "b".into()]));
        assert_eq!(read_notes(&object(&json!({"notes": []}))), Some(vec![]));
        for wrong in [json!({}), json!({"notes": "a"}), json!({"notes": ["a", 1]}), json!({"notes": [" "]})] {
            assert_eq!(read_notes(&object(&wrong)), None, "{wrong}");
        }
    }
}
