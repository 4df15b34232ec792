//! One record as it came, field by field; every wrong field is reported, not only the first.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use serde_json::Value;

use crate::data::json::{Fields, type_name};
use crate::data::printable::quoted;
use crate::data::problem::{Problem, Problems, Spot};

/// The fields of one record that nobody has taken yet.
#[derive(Debug)]
pub(super) struct RecordFields<'a> {
    values: BTreeMap<String, Value>,
    spot: &'a Spot,
}

impl<'a> RecordFields<'a> {
    /// Repeated keys are errors: no reader could know which value is meant.
    pub(super) fn new(fields: Fields<Value>, spot: &'a Spot, problems: &mut Problems) -> Self {
        let mut values = BTreeMap::new();
        for (name, value) in fields.0 {
            match values.entry(name) {
                Entry::Vacant(free) => {
                    free.insert(value);
                }
                Entry::Occupied(taken) => problems.push(Problem::error(
                    "json.repeated_key",
                    &spot.at(taken.key()),
                    format!("the field {} stands twice in one object", quoted(taken.key())),
                    "keep one of the two",
                )),
            }
        }
        Self { values, spot }
    }

    /// Takes a field; null counts as absent.
    pub(super) fn take(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name).filter(|value| !value.is_null())
    }

    /// Takes a text that may be absent. The outer `Err` says that it was reported as wrong.
    pub(super) fn optional_text(&mut self, name: &str, problems: &mut Problems) -> Result<Option<String>, Reported> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong_type(name, &other, "a text", problems)),
        }
    }

    /// Takes a text that must be there.
    pub(super) fn text(&mut self, name: &str, problems: &mut Problems) -> Result<String, Reported> {
        match self.optional_text(name, problems)? {
            Some(text) => Ok(text),
            None => Err(self.missing(name, problems)),
        }
    }

    /// Takes a list of texts; none if the field is absent.
    pub(super) fn texts(&mut self, name: &str, problems: &mut Problems) -> Result<Option<Vec<String>>, Reported> {
        let items = match self.take(name) {
            None => return Ok(None),
            Some(Value::Array(items)) => items,
            Some(other) => return Err(self.wrong_type(name, &other, "a list of texts", problems)),
        };
        let mut texts = Vec::with_capacity(items.len());
        let mut wrong = None;
        for (index, item) in items.into_iter().enumerate() {
            if let Value::String(text) = item {
                texts.push(text);
            } else {
                let spot = self.spot.at(name).at(&index.to_string());
                wrong = Some(report_type(&spot, &item, "a text", problems));
            }
        }
        wrong.map_or(Ok(Some(texts)), Err)
    }

    /// Reports that a field must be there.
    pub(super) fn missing(&self, name: &str, problems: &mut Problems) -> Reported {
        problems.push(Problem::error(
            "record.missing_field",
            self.spot,
            format!("the field \"{name}\" is missing"),
            format!("add \"{name}\" to this record"),
        ));
        Reported
    }

    /// The place of the whole record.
    pub(super) fn spot(&self) -> &'a Spot {
        self.spot
    }

    /// What is left, by name.
    pub(super) fn left(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str)
    }

    fn wrong_type(&self, name: &str, value: &Value, expected: &str, problems: &mut Problems) -> Reported {
        report_type(&self.spot.at(name), value, expected, problems)
    }
}

/// A problem was pushed; there is nothing more to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Reported;

fn report_type(spot: &Spot, value: &Value, expected: &str, problems: &mut Problems) -> Reported {
    let hint = match value {
        Value::Number(_) | Value::Bool(_) => format!("write {expected}, in quotes"),
        Value::Null | Value::String(_) | Value::Array(_) | Value::Object(_) => format!("write {expected}"),
    };
    let what = format!("{} where {expected} is expected", type_name(value));
    problems.push(Problem::error("record.wrong_type", spot, what, hint));
    Reported
}
