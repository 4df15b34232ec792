//! Values given as text: variables and arguments.

use serde_json::Value;

use super::docs::{Form, KeyDoc};
use super::document::{Node, Placed, parse};

/// Reads a value given as text in the form that its key takes.
///
/// A key that takes text gets it as it is, without YAML's rules: `--set llm.search.model=1.5` names a model.
pub(super) fn read_value(text: &str, doc: Option<&KeyDoc>) -> Placed {
    let as_text = |text: &str| Placed { node: Node::Scalar(Value::String(text.to_owned())), line: 1 };
    let Some(doc) = doc else { return as_text(text) };
    if doc.nullable && matches!(text.trim(), "null" | "~") {
        return Placed { node: Node::Scalar(Value::Null), line: 1 };
    }
    match doc.form {
        Form::Text | Form::OneOf(_) => as_text(text),
        Form::List if !text.trim_start().starts_with('[') => {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty()).map(as_text);
            Placed { node: Node::List(items.collect()), line: 1 }
        }
        Form::Whole | Form::Number | Form::Boolean | Form::List | Form::Table => {
            parse(text, "value").unwrap_or_else(|_| as_text(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::config::key_docs;

    #[test]
    fn text_takes_the_form_of_its_key() {
        let docs = key_docs();
        let read = |key: &str, text: &str| read_value(text, docs.get(key)).to_json().unwrap();
        assert_eq!(read("llm.search.model", "1.5"), json!("1.5"));
        assert_eq!(read("llm.search.model", "null"), json!(null));
        assert_eq!(read("gate.e_confirm", "50"), json!(50));
        assert_eq!(read("pools.val_size", "0.4"), json!(0.4));
        assert_eq!(read("llm.search.base_urls", "http://a/v1, http://b/v1"), json!(["http://a/v1", "http://b/v1"]));
        assert_eq!(read("llm.search.extra_body", "{a: [1]}"), json!({"a": [1]}));
        assert_eq!(read("llm.cache.backend", "off"), json!("off"));
        assert_eq!(read("slow.holdout", "false"), json!(false));
        assert_eq!(read("gate.n_max", "{"), json!("{"));
    }
}
