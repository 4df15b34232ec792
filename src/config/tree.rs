//! Dotted paths into JSON objects.

use serde_json::{Map, Value};

/// Puts `value` at the dotted `path`, creating objects on the way.
pub(super) fn insert(tree: &mut Value, path: &str, value: Value) {
    let mut node = tree;
    for segment in path.split('.') {
        if !node.is_object() {
            *node = Value::Object(Map::new());
        }
        let Value::Object(fields) = node else { return };
        node = fields.entry(segment).or_insert(Value::Null);
    }
    *node = value;
}

/// JSON text with sorted keys and without white space: equal values give equal bytes, whatever order the maps keep.
pub(super) fn canonical(value: &Value) -> String {
    match value {
        Value::Object(fields) => {
            let mut entries: Vec<_> = fields.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(key, value)| format!("{}:{}", Value::String(key.clone()), canonical(value)))
                .collect();
            format!("{{{}}}", entries.join(","))
        }
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn canonical_text_is_sorted_and_still_json() {
        let value = json!({"b": [1, {"z": null, "a": "\"\u{1}"}], "a": 1.0});
        assert_eq!(canonical(&value), r#"{"a":1.0,"b":[1,{"a":"\"\u0001","z":null}]}"#);
        assert_eq!(serde_json::from_str::<Value>(&canonical(&value)).unwrap(), value);
    }

    #[test]
    fn insert_makes_the_way() {
        let mut tree = json!({"a": 1});
        insert(&mut tree, "b.c", json!(2));
        assert_eq!(tree, json!({"a": 1, "b": {"c": 2}}));
    }
}
