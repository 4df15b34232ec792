//! What each key is for and which values it takes, read off the schema.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;

use super::RunConfig;
use super::schema::config_schema;

/// The documentation of one key.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct KeyDoc {
    /// What it is for.
    pub text: String,
    /// Which values it takes.
    pub form: Form,
    /// Whether it may be null.
    pub nullable: bool,
}

/// Which values a key takes.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// Any text.
    Text,
    /// A whole number.
    Whole,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// One of these words.
    OneOf(Vec<String>),
    /// A list of texts.
    List,
    /// Keys and values.
    Table,
}

impl KeyDoc {
    /// Which values the key takes, in words that follow "must be".
    #[must_use]
    pub fn expected(&self) -> String {
        if self.nullable { format!("{} or null", self.form) } else { self.form.to_string() }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("text"),
            Self::Whole => f.write_str("a whole number"),
            Self::Number => f.write_str("a number"),
            Self::Boolean => f.write_str("true or false"),
            Self::OneOf(words) => write!(f, "one of {}", words.join(", ")),
            Self::List => f.write_str("a list of texts"),
            Self::Table => f.write_str("a table of keys and values"),
        }
    }
}

/// The documentation of every key, by dotted path.
#[must_use]
pub fn key_docs() -> &'static BTreeMap<String, KeyDoc> {
    static DOCS: LazyLock<BTreeMap<String, KeyDoc>> = LazyLock::new(read_docs);
    &DOCS
}

fn read_docs() -> BTreeMap<String, KeyDoc> {
    let schema = config_schema();
    RunConfig::default().keys().into_iter().filter_map(|row| Some((row.key.clone(), doc(&schema, &row.key)?))).collect()
}

fn doc(schema: &Value, path: &str) -> Option<KeyDoc> {
    let mut node = schema;
    let mut text = None;
    for segment in path.split('.') {
        node = resolve(schema, node).get("properties")?.get(segment)?;
        text = node.get("description").and_then(Value::as_str);
    }
    let resolved = resolve(schema, node);
    let text = text.or_else(|| resolved.get("description").and_then(Value::as_str)).unwrap_or_default();
    let (form, nullable) = form(schema, node);
    Some(KeyDoc { text: text.split_whitespace().collect::<Vec<_>>().join(" "), form, nullable })
}

/// Follows `$ref`, also where it is one of several alternatives.
fn resolve<'a>(schema: &'a Value, node: &'a Value) -> &'a Value {
    let alternatives = node.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    let reference = std::iter::once(node).chain(alternatives).find_map(|node| node.get("$ref")).and_then(Value::as_str);
    reference.and_then(|pointer| schema.pointer(pointer.trim_start_matches('#'))).unwrap_or(node)
}

fn form(schema: &Value, node: &Value) -> (Form, bool) {
    let is_null = |node: &&Value| node.get("type").and_then(Value::as_str) == Some("null");
    let alternatives: Vec<&Value> = node.get("anyOf").and_then(Value::as_array).into_iter().flatten().collect();
    let nullable = alternatives.iter().any(is_null) || types(node).contains(&"null");
    let node = resolve(schema, alternatives.iter().find(|node| !is_null(node)).copied().unwrap_or(node));
    if let Some(words) = words(node) {
        return (Form::OneOf(words), nullable);
    }
    let list = node
        .get("anyOf")
        .and_then(Value::as_array)
        .is_some_and(|nodes| nodes.iter().any(|node| types(node).contains(&"array")));
    let form = match types(node).into_iter().find(|kind| *kind != "null") {
        Some("integer") => Form::Whole,
        Some("number") => Form::Number,
        Some("boolean") => Form::Boolean,
        Some("array") => Form::List,
        Some("object") => Form::Table,
        _ if list => Form::List,
        _ => Form::Text,
    };
    (form, nullable)
}

fn types(node: &Value) -> Vec<&str> {
    match node.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

/// The words of an enumeration.
fn words(node: &Value) -> Option<Vec<String>> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    if let Some(list) = node.get("enum").and_then(Value::as_array) {
        return Some(list.iter().filter_map(text).collect());
    }
    let list = node.get("oneOf")?.as_array()?;
    list.iter().map(|item| item.get("const").and_then(text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_is_documented() {
        let docs = key_docs();
        for row in RunConfig::default().keys() {
            let doc = docs.get(&row.key).unwrap_or_else(|| panic!("{} is not in the schema", row.key));
            assert!(doc.text.len() > 5, "{}: {doc:?}", row.key);
        }
    }

    #[test]
    fn forms_are_read_off_the_schema() {
        let docs = key_docs();
        let expected = |key: &str| docs[key].expected();
        assert_eq!(expected("gate.e_confirm"), "a number");
        assert_eq!(expected("agent.max_steps"), "a whole number");
        assert_eq!(expected("agent.skill_mode"), "one of auto, manual, none");
        assert_eq!(expected("minibatch.max_steps_per_epoch"), "a whole number or null");
        assert_eq!(expected("llm.search.model"), "text or null");
        assert_eq!(expected("llm.search.base_urls"), "a list of texts");
        assert_eq!(expected("llm.search.extra_body"), "a table of keys and values");
        assert_eq!(expected("slow.holdout"), "true or false");
        assert_eq!(expected("run.run_id"), "text or null");
        assert_eq!(expected("data.skills_version"), "text");
        assert_eq!(expected("llm.search.provider"), "one of openai, sim");
        assert_eq!(expected("pools.val_size"), "a number");
        assert_eq!(expected("llm.budget.prices"), "a table of keys and values");
    }
}
