//! YAML as a tree in which every value knows its line.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use serde_saphyr::Spanned;
use serde_saphyr::options::NonFiniteFloatPolicy;

use super::ConfigError;

/// One YAML node.
#[derive(Debug, Clone)]
pub(super) enum Node {
    /// Null, boolean, number or text.
    Scalar(Value),
    /// A float that JSON cannot hold.
    NotFinite,
    /// A list.
    List(Vec<Placed>),
    /// Keys and values, in the order of the file.
    Table(Vec<(String, u64, Placed)>),
}

/// A node and its line, from 1.
#[derive(Debug, Clone)]
pub(super) struct Placed {
    pub(super) node: Node,
    pub(super) line: u64,
}

impl Placed {
    /// The value as JSON; none if a number in it is not finite.
    pub(super) fn to_json(&self) -> Option<Value> {
        Some(match &self.node {
            Node::Scalar(value) => value.clone(),
            Node::NotFinite => return None,
            Node::List(items) => Value::Array(items.iter().map(Self::to_json).collect::<Option<_>>()?),
            Node::Table(entries) => {
                let entries = entries.iter().map(|(key, _, value)| Some((key.clone(), value.to_json()?)));
                Value::Object(entries.collect::<Option<Map<_, _>>>()?)
            }
        })
    }

    /// What kind of value it is, for a message: never the value itself, which may be a mistyped secret.
    pub(super) fn kind(&self) -> &'static str {
        match &self.node {
            Node::Scalar(Value::Null) => "nothing",
            Node::Scalar(Value::Bool(_)) => "true or false",
            Node::Scalar(Value::Number(number)) if number.is_f64() => "a number with a fraction",
            Node::Scalar(Value::Number(_)) => "a whole number",
            Node::Scalar(_) => "text",
            Node::NotFinite => "a number that is not finite",
            Node::List(_) => "a list",
            Node::Table(_) => "a table",
        }
    }
}

/// Reads one YAML document; an empty one is an empty table.
///
/// # Errors
/// [`ConfigError::Syntax`] with the place; `file` is the name shown.
pub(super) fn parse(text: &str, file: &str) -> Result<Placed, ConfigError> {
    // `off` and `on` are words of settings here, and YAML 1.2 agrees.
    let options = serde_saphyr::options! {
        strict_booleans: true,
        with_snippet: false,
        non_finite_float_policy: NonFiniteFloatPolicy::PassThrough,
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let location = error.location();
        let (line, column) = location.map_or((1, 1), |location| (location.line(), location.column()));
        let message = error.without_snippet().to_string();
        // The parser repeats the place, which the error already names.
        let message = message.lines().next().unwrap_or_default().to_owned();
        ConfigError::Syntax { file: file.to_owned(), line, column, message }
    })
}

impl<'de> Deserialize<'de> for Placed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Node>::deserialize(deserializer)?;
        Ok(Self { line: spanned.referenced.line().max(1), node: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_none<E: de::Error>(self) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Null))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        Node::deserialize(deserializer)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Scalar(Value::Bool(value)))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Scalar(Value::from(value)))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Scalar(Value::from(value)))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        Ok(Number::from_f64(value).map_or(Node::NotFinite, |number| Node::Scalar(Value::Number(number))))
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Scalar(Value::String(value.to_owned())))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut table = Vec::new();
        while let Some(key) = entries.next_key::<Spanned<String>>()? {
            let value = entries.next_value()?;
            table.push((key.value, key.referenced.line().max(1), value));
        }
        Ok(Node::Table(table))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_know_their_lines() {
        let root = parse("\u{feff}a: 1\r\n\r\nb:\r\n  c: [x, 2.5, off]\r\n", "trm.yaml").unwrap();
        let Node::Table(entries) = &root.node else { panic!() };
        assert_eq!((entries[0].0.as_str(), entries[0].1), ("a", 1));
        let Node::Table(inner) = &entries[1].2.node else { panic!() };
        assert_eq!((inner[0].0.as_str(), inner[0].1, inner[0].2.line), ("c", 4, 4));
        assert_eq!(root.to_json().unwrap(), serde_json::json!({"a": 1, "b": {"c": ["x", 2.5, "off"]}}));
    }

    #[test]
    fn syntax_errors_have_a_place_and_show_no_line() {
        let error = parse("a: 1\nkey: \"sk-secret-1234\n", "trm.yaml").unwrap_err();
        assert!(matches!(&error, ConfigError::Syntax { line, .. } if *line >= 2), "{error}");
        assert!(!error.to_string().contains("secret"), "{error}");
        let error = parse("a: 1\na: 2\n", "trm.yaml").unwrap_err();
        assert!(error.to_string().contains("trm.yaml:2"), "{error}");
    }

    #[test]
    fn an_empty_file_and_a_not_finite_number_are_told_apart() {
        assert!(matches!(parse("# nothing\n", "f").unwrap().node, Node::Scalar(Value::Null)));
        assert!(parse("a: .nan", "f").unwrap().to_json().is_none());
        assert_eq!(parse("18446744073709551615", "f").unwrap().to_json().unwrap(), serde_json::json!(u64::MAX));
    }
}
