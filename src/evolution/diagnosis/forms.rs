//! The forms of the judge's replies: JSON Schemas for `response_format`, and how a reply is read.
//!
//! A field called `analysis` comes first (schemas are ordered by name): small models judge better
//! after a sentence of reasoning than before it. It is not read.

use serde_json::{Map, Value, json};

use crate::domain::NodeId;
use crate::evolution::asking::Form;
use crate::evolution::json::Object;
use crate::evolution::types::{Cause, ReasoningSub, SpanTag, StepVerdict};

/// The most missed nodes that are asked for.
const MAX_MISSED: usize = 5;

/// What the judge says of one tool call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct SpanReply {
    pub(super) completeness: f64,
    pub(super) hallucination: f64,
    pub(super) tags: Vec<SpanTag>,
}

/// `judge.span`
pub(super) fn span_form() -> Form {
    let tags: Vec<&str> = SpanTag::ALL.iter().map(|tag| tag.name()).collect();
    form(
        "judge.span",
        [
            ("completeness", json!({"type": "number", "minimum": 0, "maximum": 1})),
            ("hallucination", json!({"type": "number", "minimum": 0, "maximum": 1})),
            ("tags", json!({"type": "array", "items": {"type": "string", "enum": tags}, "maxItems": 3})),
        ],
    )
}

pub(super) fn read_span(reply: &Object) -> Result<SpanReply, String> {
    let mut tags: Vec<SpanTag> = match reply.get("tags") {
        // Unknown tags are a matter of taste, not of form.
        Some(Value::Array(items)) => {
            items.iter().filter_map(Value::as_str).filter_map(|name| SpanTag::from_name(name.trim())).collect()
        }
        _ => Vec::new(),
    };
    tags.sort_unstable();
    tags.dedup();
    Ok(SpanReply { completeness: share(reply, "completeness")?, hallucination: share(reply, "hallucination")?, tags })
}

/// `judge.missed_nodes`, with the ids that may be named.
pub(super) fn missed_form(candidates: &[&NodeId]) -> Form {
    let ids: Vec<&str> = candidates.iter().map(|id| id.as_str()).collect();
    let items = json!({"type": "string", "enum": ids});
    form("judge.missed_nodes", [("missed_nodes", json!({"type": "array", "items": items, "maxItems": MAX_MISSED}))])
}

/// Ids that are no candidates are dropped: they name what was opened, or nothing.
pub(super) fn read_missed(reply: &Object, candidates: &[&NodeId]) -> Result<Vec<NodeId>, String> {
    let Some(Value::Array(items)) = reply.get("missed_nodes") else {
        return Err("`missed_nodes` must be a list of ids".into());
    };
    let mut missed: Vec<NodeId> = Vec::new();
    for name in items.iter().filter_map(Value::as_str) {
        let known = candidates.iter().find(|id| id.as_str() == name.trim());
        if let Some(id) = known.filter(|id| !missed.contains(id)) {
            missed.push((*id).clone());
        }
    }
    missed.truncate(MAX_MISSED);
    Ok(missed)
}

/// `judge.skill_adherence`, for that many steps.
pub(super) fn adherence_form(steps: usize) -> Form {
    let verdicts: Vec<&str> = StepVerdict::ALL.iter().map(|verdict| verdict.name()).collect();
    let item = object_schema([
        ("step", json!({"type": "integer", "minimum": 1, "maximum": steps})),
        ("verdict", json!({"type": "string", "enum": verdicts})),
    ]);
    form("judge.skill_adherence", [("steps", json!({"type": "array", "items": item, "maxItems": steps}))])
}

/// The verdict on each step; the first one counts. A step that the judge left out did not apply.
pub(super) fn read_adherence(reply: &Object, steps: usize) -> Result<Vec<StepVerdict>, String> {
    let Some(Value::Array(items)) = reply.get("steps") else {
        return Err("`steps` must be a list".into());
    };
    let mut verdicts: Vec<Option<StepVerdict>> = vec![None; steps];
    for item in items {
        let number = item.get("step").and_then(Value::as_u64).and_then(|step| usize::try_from(step).ok());
        let verdict = item.get("verdict").and_then(Value::as_str).and_then(|name| StepVerdict::from_name(name.trim()));
        let (Some(number), Some(verdict)) = (number, verdict) else {
            return Err("each of `steps` must have the number of a `step` and a `verdict`".into());
        };
        if let Some(place) = number.checked_sub(1).and_then(|index| verdicts.get_mut(index)) {
            place.get_or_insert(verdict);
        }
    }
    if verdicts.iter().all(Option::is_none) {
        return Err("`steps` must judge every step".into());
    }
    Ok(verdicts.into_iter().map(|verdict| verdict.unwrap_or(StepVerdict::NotApplicable)).collect())
}

/// `judge.confirmation_bias`
pub(super) fn bias_form() -> Form {
    form("judge.confirmation_bias", [("analysis", sentence()), ("biased", json!({"type": "boolean"}))])
}

pub(super) fn read_bias(reply: &Object) -> Result<bool, String> {
    flag(reply, "biased")
}

/// `judge.evidence_sufficiency`
pub(super) fn sufficiency_form() -> Form {
    form("judge.evidence_sufficiency", [("analysis", sentence()), ("sufficient", json!({"type": "boolean"}))])
}

pub(super) fn read_sufficiency(reply: &Object) -> Result<bool, String> {
    flag(reply, "sufficient")
}

/// `judge.defect_vs_lapse`
pub(super) fn cause_form() -> Form {
    let causes: Vec<&str> = Cause::ALL.iter().map(|cause| cause.name()).collect();
    form(
        "judge.defect_vs_lapse",
        [
            ("analysis", sentence()),
            ("cause", json!({"type": "string", "enum": causes})),
            ("lapse_note", json!({"type": "string", "maxLength": 300})),
        ],
    )
}

/// The cause, and the reminder as it was written.
pub(super) fn read_cause(reply: &Object) -> Result<(Cause, String), String> {
    let cause = named(reply, "cause", Cause::from_name)?;
    let note = match reply.get("lapse_note") {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(note)) => note.clone(),
        Some(_) => return Err("`lapse_note` must be text".into()),
    };
    Ok((cause, note))
}

/// `judge.reasoning_sub`
pub(super) fn sub_form() -> Form {
    let subs: Vec<&str> = ReasoningSub::ALL.iter().map(|sub| sub.name()).collect();
    form("judge.reasoning_sub", [("analysis", sentence()), ("sub_type", json!({"type": "string", "enum": subs}))])
}

pub(super) fn read_sub(reply: &Object) -> Result<ReasoningSub, String> {
    named(reply, "sub_type", ReasoningSub::from_name)
}

fn sentence() -> Value {
    json!({"type": "string", "maxLength": 300})
}

fn form<const N: usize>(purpose: &'static str, fields: [(&str, Value); N]) -> Form {
    Form { purpose, schema: object_schema(fields) }
}

/// An object with exactly these fields, all required.
fn object_schema<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let required = json!(required);
    let properties: Map<String, Value> = fields.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

/// A number from 0 to 1, also as text.
fn share(reply: &Object, field: &str) -> Result<f64, String> {
    let number = match reply.get(field) {
        Some(Value::Number(number)) => number.as_f64(),
        Some(Value::String(text)) => text.trim().parse().ok(),
        _ => None,
    };
    number
        .filter(|number| (0.0..=1.0).contains(number))
        .ok_or_else(|| format!("`{field}` must be a number from 0 to 1"))
}

/// True or false, also as text.
fn flag(reply: &Object, field: &str) -> Result<bool, String> {
    let flag = match reply.get(field) {
        Some(Value::Bool(flag)) => Some(*flag),
        Some(Value::String(text)) => match text.trim().to_lowercase().as_str() {
            "true" | "yes" => Some(true),
            "false" | "no" => Some(false),
            _ => None,
        },
        _ => None,
    };
    flag.ok_or_else(|| format!("`{field}` must be true or false"))
}

fn named<T>(reply: &Object, field: &str, read: fn(&str) -> Option<T>) -> Result<T, String> {
    let name = reply.get(field).and_then(Value::as_str).map(|name| name.trim().to_lowercase());
    name.and_then(|name| read(&name)).ok_or_else(|| format!("`{field}` must be one of the listed words"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(value: &Value) -> Object {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn figures_must_be_shares() {
        let reply = |value: Value| read_span(&object(&json!({"completeness": value, "hallucination": 0})));
        assert_eq!(reply(json!(0.25)).unwrap().completeness, 0.25);
        assert_eq!(reply(json!(" 1 ")).unwrap().completeness, 1.0);
        for wrong in [json!(1.5), json!(-0.1), json!("high"), json!(null), json!([1]), json!("NaN"), json!(true)] {
            assert!(reply(wrong.clone()).is_err(), "{wrong}");
        }
    }

    #[test]
    fn tags_are_known_sorted_and_distinct() {
        let reply = json!({"completeness": 1, "hallucination": 0,
            "tags": ["too_vague", "odd", 3, "missing_detail", "too_vague"]});
        assert_eq!(read_span(&object(&reply)).unwrap().tags, [SpanTag::MissingDetail, SpanTag::TooVague]);
    }

    #[test]
    fn missed_nodes_are_candidates_each_once() {
        let (a, b): (NodeId, NodeId) = ("a".parse().unwrap(), "b".parse().unwrap());
        let read = |value: Value| read_missed(&object(&value), &[&a, &b]);
        assert_eq!(read(json!({"missed_nodes": ["b", "c", " b", 1]})), Ok(vec![b.clone()]));
        assert_eq!(read(json!({"missed_nodes": []})), Ok(vec![]));
        assert!(read(json!({"missed_nodes": "b"})).is_err());
        assert!(read(json!({})).is_err());
    }

    #[test]
    fn a_step_that_is_left_out_did_not_apply() {
        let reply = json!({"steps": [{"step": 2, "verdict": "followed"}, {"step": 9, "verdict": "followed"},
            {"step": 2, "verdict": "not_followed"}]});
        let verdicts = read_adherence(&object(&reply), 2).unwrap();
        assert_eq!(verdicts, [StepVerdict::NotApplicable, StepVerdict::Followed]);
        assert!(read_adherence(&object(&json!({"steps": []})), 2).is_err());
        assert!(read_adherence(&object(&json!({"steps": [{"step": true, "verdict": "followed"}]})), 2).is_err());
    }

    #[test]
    fn words_and_flags_are_read_in_their_usual_spellings() {
        assert_eq!(read_cause(&object(&json!({"cause": " Lapse "}))), Ok((Cause::Lapse, String::new())));
        assert!(read_cause(&object(&json!({"cause": "both"}))).is_err());
        assert!(read_cause(&object(&json!({"cause": "lapse", "lapse_note": 1}))).is_err());
        assert_eq!(read_bias(&object(&json!({"biased": "No"}))), Ok(false));
        assert!(read_bias(&object(&json!({"biased": 0}))).is_err());
    }

    #[test]
    fn every_form_is_a_closed_schema_that_accepts_its_own_replies() {
        let id: NodeId = "n".parse().unwrap();
        let cases = [
            (span_form(), json!({"completeness": 0.5, "hallucination": 0, "tags": ["too_vague"]})),
            (missed_form(&[&id]), json!({"missed_nodes": ["n"]})),
            (adherence_form(2), json!({"steps": [{"step": 2, "verdict": "followed"}]})),
            (bias_form(), json!({"analysis": "x", "biased": true})),
            (sufficiency_form(), json!({"analysis": "x", "sufficient": true})),
            (cause_form(), json!({"analysis": "x", "cause": "defect", "lapse_note": ""})),
            (sub_form(), json!({"analysis": "x", "sub_type": "other"})),
        ];
        for (form, reply) in cases {
            let validator = jsonschema::validator_for(&form.schema).unwrap();
            assert!(validator.is_valid(&reply), "{}: {reply}", form.purpose);
            let mut more = reply;
            more["more"] = json!(1);
            assert!(!validator.is_valid(&more), "{}", form.purpose);
        }
    }
}
