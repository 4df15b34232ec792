//! The order of a schema's properties on the wire: the order in which `required` names them.
//!
//! A JSON map has no order and is kept sorted by name. Servers that turn a schema into a grammar make the model write
//! the properties in the order of the text, and a model that must write `action` before `reflect` decides first and
//! thinks afterwards.

use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

/// A value that is written with its schemas' properties in the order of `required`, the others after them.
#[derive(Debug)]
pub(super) struct SchemaOrder<'a>(pub(super) &'a Value);

impl Serialize for SchemaOrder<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(fields) => {
                let mut map = serializer.serialize_map(Some(fields.len()))?;
                for (name, value) in fields {
                    match (name.as_str(), value, fields.get("required")) {
                        ("properties", Value::Object(properties), Some(Value::Array(required))) => {
                            map.serialize_entry(name, &Properties { properties, required })?;
                        }
                        _ => map.serialize_entry(name, &SchemaOrder(value))?,
                    }
                }
                map.end()
            }
            Value::Array(items) => {
                let mut list = serializer.serialize_seq(Some(items.len()))?;
                for item in items {
                    list.serialize_element(&SchemaOrder(item))?;
                }
                list.end()
            }
            other @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => other.serialize(serializer),
        }
    }
}

struct Properties<'a> {
    properties: &'a Map<String, Value>,
    required: &'a [Value],
}

impl Serialize for Properties<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let place = |name: &str| self.required.iter().position(|required| required == name).unwrap_or(usize::MAX);
        let mut entries: Vec<_> = self.properties.iter().collect();
        // Stable: what is not required stays sorted by name.
        entries.sort_by_key(|(name, _)| place(name));
        serializer.collect_map(entries.into_iter().map(|(name, value)| (name, SchemaOrder(value))))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn properties_follow_required_at_any_depth() {
        let schema = json!({"anyOf": [{
            "properties": {"a": {}, "b": {"properties": {"y": 1, "z": 2}, "required": ["z"]}, "c": {}},
            "required": ["c", "b"],
        }]});
        let text = serde_json::to_string(&SchemaOrder(&schema)).unwrap();
        assert_eq!(
            text,
            r#"{"anyOf":[{"properties":{"c":{},"b":{"properties":{"z":2,"y":1},"required":["z"]},"a":{}},"required":["c","b"]}]}"#
        );
    }

    #[test]
    fn the_content_stays_the_same() {
        let value =
            json!({"properties": {"b": [1, "x", null, true]}, "required": ["b", "gone"], "n": {"properties": 3}});
        let text = serde_json::to_string(&SchemaOrder(&value)).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
