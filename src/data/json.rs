//! Reading JSON whose author is unknown: objects with their repeated keys, and errors as problems.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;
use serde_json::error::Category;

use super::problem::{Place, Problem, Spot};

/// The fields of an object in their order; a repeated key stays visible, where a map would keep the last one only.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Fields<V>(pub(super) Vec<(String, V)>);

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Fields<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FieldsVisitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for FieldsVisitor<V> {
            type Value = Fields<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<V>, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(FieldsVisitor(PhantomData))
    }
}

/// One element of an array: an object, or the name of the type that stands in its place.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Element {
    /// An object.
    Object(Fields<Value>),
    /// Something else, by the name of its type.
    Other(&'static str),
}

impl<'de> Deserialize<'de> for Element {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ElementVisitor)
    }
}

struct ElementVisitor;

impl<'de> Visitor<'de> for ElementVisitor {
    type Value = Element;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Element, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Element::Object(Fields(fields)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Element, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Element::Other("a list"))
    }

    fn visit_str<E>(self, _: &str) -> Result<Element, E> {
        Ok(Element::Other("a text"))
    }

    fn visit_unit<E>(self) -> Result<Element, E> {
        Ok(Element::Other("null"))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Element, E> {
        Ok(Element::Other("true or false"))
    }

    fn visit_i64<E>(self, _: i64) -> Result<Element, E> {
        Ok(Element::Other("a number"))
    }

    fn visit_u64<E>(self, _: u64) -> Result<Element, E> {
        Ok(Element::Other("a number"))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Element, E> {
        Ok(Element::Other("a number"))
    }
}

/// What people call the type of a value.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A JSON error at a place; `line_offset` is added to the error's own line (0 if the text began the file).
pub(super) fn syntax_problem(error: &serde_json::Error, spot: &Spot, line_offset: u64) -> Problem {
    let text = error.to_string();
    let message = text.rsplit_once(" at line ").map_or(text.as_str(), |(message, _)| message);
    let line = (error.line() > 0).then(|| line_offset + error.line() as u64);
    let place = Place { line: line.or(spot.place.line), ..spot.place.clone() };
    let what = format!("not valid JSON: {message}, column {}", error.column());
    Problem::error("json.syntax", &spot.with(place), what, syntax_hint(error, message))
}

fn syntax_hint(error: &serde_json::Error, message: &str) -> &'static str {
    if message.contains("recursion limit") {
        return "it is nested deeper than 128 levels: flatten it";
    }
    if message.contains("surrogate") || message.contains("hex escape") {
        return "an escape such as \\ud800 is half of a character: export the text again as UTF-8";
    }
    if message.contains("unicode code point") {
        return "the text is not UTF-8: convert the file to UTF-8";
    }
    if message.contains("control character") {
        return "write control characters inside a text as escapes, a line end as \\n";
    }
    match error.classify() {
        Category::Eof => "it ends in the middle: the file seems to be cut off; copy or export it again",
        Category::Syntax | Category::Data | Category::Io => {
            "correct the JSON here; mind quotes and commas, and that JSON has no NaN and no Infinity"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_keys_stay_visible() {
        let fields: Fields<Value> = serde_json::from_str(r#"{"a": 1, "b": 2, "a": 3}"#).unwrap();
        let keys: Vec<_> = fields.0.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["a", "b", "a"]);
    }

    #[test]
    fn an_element_of_any_type_is_read_and_named() {
        let elements: Vec<Element> = serde_json::from_str(r#"[1, -1, 1.5, "x", null, true, [{}], {"a": 1}]"#).unwrap();
        let names: Vec<_> = elements
            .iter()
            .map(|element| match element {
                Element::Object(_) => "an object",
                Element::Other(name) => name,
            })
            .collect();
        assert_eq!(
            names,
            ["a number", "a number", "a number", "a text", "null", "true or false", "a list", "an object"]
        );
    }

    #[test]
    fn each_kind_of_syntax_error_has_its_own_hint() {
        let hint = |text: &[u8]| {
            let error = serde_json::from_slice::<Value>(text).unwrap_err();
            syntax_problem(&error, &Spot::whole("f"), 0).hint
        };
        assert!(hint(br#"{"a": "\ud800"}"#).contains("half of a character"));
        assert!(hint(br#"{"a": "#).contains("cut off"));
        assert!(hint(b"{\"a\": \"\xff\"}").contains("UTF-8"));
        assert!(hint(b"{\"a\": \"x\ny\"}").contains("control characters"));
        assert!(hint(b"{\"a\": NaN}").contains("NaN"));
        assert!(hint("[".repeat(200).as_bytes()).contains("128"));
    }
}
