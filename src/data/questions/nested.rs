//! Records per video that hold a list of questions, as in the JSON of Video-MME.

use serde_json::Value;

use super::jsonl::not_an_object;
use crate::data::json::{Fields, type_name};
use crate::data::problem::{Problems, Spot};

/// A plain record as it is; a record with a list `questions` and no `question` as one record per entry, each with the
/// fields of the video that it does not have itself.
pub(super) fn unfold(spot: &Spot, fields: Fields<Value>, problems: &mut Problems) -> Vec<(Spot, Fields<Value>)> {
    let is_list = |(name, value): &(String, Value)| name == "questions" && value.is_array();
    if fields.0.iter().any(|(name, _)| name == "question") || !fields.0.iter().any(is_list) {
        return vec![(spot.clone(), fields)];
    }
    let (lists, shared): (Vec<_>, Vec<_>) = fields.0.into_iter().partition(is_list);
    let mut records = Vec::new();
    for (index, entry) in lists.into_iter().filter_map(|(_, list)| into_list(list)).flatten().enumerate() {
        let spot = spot.at("questions").at(&index.to_string());
        let Value::Object(own) = entry else {
            problems.push(not_an_object(type_name(&entry), &spot));
            continue;
        };
        let inherited: Vec<_> = shared.iter().filter(|(name, _)| !own.contains_key(name)).cloned().collect();
        records.push((spot, Fields(own.into_iter().chain(inherited).collect())));
    }
    records
}

fn into_list(value: Value) -> Option<Vec<Value>> {
    if let Value::Array(items) = value { Some(items) } else { None }
}
