//! The inference plug-ins: malformed answer fields, and cited nodes that do not exist or were never visited.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::answer::Extraction;
use super::record::{AgentRecord, AnchorCheck};
use super::reply::{as_text, stated_confidence};
use super::text::cut;
use super::tools::Submission;
use super::video::VideoEnvironment;
use crate::domain::NodeId;

/// Fills in what the plug-ins say about a submission.
pub(super) fn check_submission(
    record: &mut AgentRecord,
    submission: &Submission,
    video: &VideoEnvironment,
    visited: &BTreeSet<NodeId>,
) {
    let flags = flags(submission, record.extraction);
    let details: BTreeMap<&str, &Value> = flags.iter().map(|(name, detail)| (*name, detail)).collect();
    record.validation_details = json!(details).to_string();
    record.validation_flags = flags.keys().map(|name| (*name).to_owned()).collect();
    record.anchor_check = anchor_check(submission.evidence.as_ref(), video, visited);
}

/// Stable names of what is malformed, with what was found there.
fn flags(submission: &Submission, extraction: Extraction) -> BTreeMap<&'static str, Value> {
    let mut flags = BTreeMap::new();
    let shown = |value: &Value| json!(cut(&as_text(value), 200));
    if !submission.answer.is_string() {
        flags.insert("answer_not_text", shown(&submission.answer));
    }
    if let Extraction::Unparsed { reason } = extraction {
        flags.insert("answer_unparsed", json!(reason.name()));
    }
    match &submission.evidence {
        None => {
            flags.insert("evidence_missing", Value::Null);
        }
        Some(Value::String(_)) => {}
        Some(Value::Array(items)) if items.iter().all(Value::is_string) => {}
        Some(other) => {
            flags.insert("evidence_not_text", shown(other));
        }
    }
    match &submission.reasoning {
        None => {
            flags.insert("reasoning_missing", Value::Null);
        }
        Some(Value::String(_)) => {}
        Some(other) => {
            flags.insert("reasoning_not_text", shown(other));
        }
    }
    if let Some(confidence) = &submission.confidence
        && stated_confidence(confidence).is_none()
    {
        flags.insert("confidence_malformed", shown(confidence));
    }
    if !submission.unknown.is_empty() {
        let names: Vec<String> = submission.unknown.iter().map(|name| cut(name, 80)).collect();
        flags.insert("unknown_fields", json!(names));
    }
    flags
}

/// Node ids in the evidence: what the tree knows, and what only looks like an id.
fn anchor_check(evidence: Option<&Value>, video: &VideoEnvironment, visited: &BTreeSet<NodeId>) -> AnchorCheck {
    let mut check = AnchorCheck::default();
    let prefix = format!("{}_", video.tree().video_id);
    for (text, alone) in evidence.map(words).unwrap_or_default() {
        if check.cited.contains(&text) {
            continue;
        }
        match NodeId::new(text.as_str()) {
            Ok(id) if video.tree().nodes.contains_key(&id) => {
                if !visited.contains(&id) {
                    check.unvisited.push(text.clone());
                }
                check.cited.push(text);
            }
            _ if text.starts_with(&prefix) || alone => {
                check.missing.push(text.clone());
                check.cited.push(text);
            }
            _ => {}
        }
    }
    check
}

/// What of an evidence could be node ids, in order, and whether it stands alone as an item of a list. A sentence in a
/// list is a quotation, not an id.
fn words(evidence: &Value) -> Vec<(String, bool)> {
    match evidence {
        Value::String(text) => split(text).map(|word| (word, false)).collect(),
        Value::Array(items) => items
            .iter()
            .flat_map(|item| match item.as_str().filter(|text| !text.trim().contains(char::is_whitespace)) {
                Some(text) => split(text).map(|word| (word, true)).collect(),
                None => words(item),
            })
            .collect(),
        Value::Object(fields) => fields.values().flat_map(words).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

fn split(text: &str) -> impl Iterator<Item = String> {
    text.split(|char: char| char.is_whitespace() || ",;()[]{}<>\"'`“”，；、".contains(char))
        .map(|word| word.trim_matches(['.', ':', '!', '?', '。', '：']))
        .filter(|word| !word.is_empty())
        .map(|word| cut(word, 200))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::answer::UnparsedReason;
    use crate::agent::testing::video;

    fn check(evidence: &Value) -> AnchorCheck {
        let visited: BTreeSet<NodeId> = [NodeId::new("v_L2_000").unwrap()].into();
        anchor_check(Some(evidence), &video(), &visited)
    }

    #[test]
    fn cited_nodes_are_found_in_lists_and_in_prose() {
        let expected = AnchorCheck {
            cited: vec!["v_L2_000".into(), "v_L3_000".into(), "v_L9_000".into()],
            missing: vec!["v_L9_000".into()],
            unvisited: vec!["v_L3_000".into()],
        };
        assert_eq!(check(&json!(["v_L2_000", "v_L3_000", "v_L9_000", "v_L2_000"])), expected);
        assert_eq!(check(&json!("Seen in v_L2_000, then (v_L3_000) and \"v_L9_000\".")), expected);
        assert_eq!(check(&json!({"nodes": ["v_L2_000", "v_L3_000 shows a dog"], "other": "v_L9_000"})), expected);
        assert_eq!(check(&json!(["The dog barks.", 3])), AnchorCheck::default());
        assert_eq!(check(&json!(["elsewhere"])).missing, ["elsewhere"]);
    }

    #[test]
    fn malformed_fields_are_flagged_by_name() {
        let submission = Submission {
            answer: json!(3),
            evidence: Some(json!(7)),
            reasoning: Some(json!(["x"])),
            confidence: Some(json!("sure")),
            unknown: vec!["mood".into()],
        };
        let found = flags(&submission, Extraction::Unparsed { reason: UnparsedReason::NoAnswer });
        let names: Vec<_> = found.keys().copied().collect();
        assert_eq!(
            names,
            [
                "answer_not_text",
                "answer_unparsed",
                "confidence_malformed",
                "evidence_not_text",
                "reasoning_not_text",
                "unknown_fields"
            ]
        );
    }
}
