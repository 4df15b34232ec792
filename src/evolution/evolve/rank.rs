//! Which edits are made if there are more than the budget allows.

use serde_json::Value;

use super::forms::{WrittenEdit, rank_form};
use super::record::ClipInfo;
use super::writer::{EvolveContext, Writer, WriterReply};
use crate::domain::Message;
use crate::evolution::EvolutionError;
use crate::evolution::json::Object;
use crate::evolution::templates::data_block;

/// Keeps at most `budget` edits. The ranking model is asked only if there are more; what it chooses is kept, in the
/// order in which the edits were proposed (a later one may build on an earlier one). If its reply is of no use, the
/// first ones are.
///
/// # Errors
/// The model could not be reached.
pub(super) async fn rank_and_clip(
    context: EvolveContext<'_>,
    writer: &mut Writer<'_>,
    target: &str,
    text: &str,
    edits: Vec<WrittenEdit>,
    budget: usize,
    attempt: u32,
) -> Result<(Vec<WrittenEdit>, ClipInfo), EvolutionError> {
    let before = edits.len();
    if before <= budget {
        return Ok((edits, ClipInfo { triggered: false, before, after: before }));
    }
    let mut numbered = String::new();
    for (index, written) in edits.iter().enumerate() {
        let edit = &written.edit;
        numbered.push_str(&format!(
            "{index}. {}\n   target: {}\n   content: {}\n",
            edit.op.name(),
            edit.target,
            edit.content
        ));
    }
    let values = [
        ("edits", data_block(&numbered)),
        ("text", data_block(text)),
        ("budget", budget.to_string()),
        ("target", target.to_owned()),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let messages = vec![Message::user(context.prompts.evolve_rank.fill(&values)?)];
    let chosen = match writer.ask(&rank_form(before, budget), messages, attempt).await? {
        WriterReply::Object(reply) => selected(&reply, before, budget),
        WriterReply::Unreadable(_) | WriterReply::Impossible => Vec::new(),
    };
    let kept: Vec<WrittenEdit> = if chosen.is_empty() {
        edits.into_iter().take(budget).collect()
    } else {
        edits.into_iter().enumerate().filter(|(index, _)| chosen.contains(index)).map(|(_, edit)| edit).collect()
    };
    let after = kept.len();
    Ok((kept, ClipInfo { triggered: true, before, after }))
}

/// The first `budget` usable numbers of `selected`: real integers (a boolean or 1.0 is none), in range, distinct.
fn selected(reply: &Object, edits: usize, budget: usize) -> Vec<usize> {
    let Some(Value::Array(items)) = reply.get("selected") else { return Vec::new() };
    let mut chosen: Vec<usize> = Vec::new();
    for index in items.iter().filter_map(Value::as_u64).filter_map(|index| usize::try_from(index).ok()) {
        if index < edits && !chosen.contains(&index) && chosen.len() < budget {
            chosen.push(index);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_must_be_integers_in_range_and_distinct() {
        let of = |value: Value| selected(json!({"selected": value}).as_object().unwrap(), 5, 3);
        assert_eq!(of(json!([4, 0, 4, 2, 1])), [4, 0, 2]);
        assert_eq!(of(json!([true, 1.0, "2", -1, 5, 3])), [3]);
        assert!(of(json!([])).is_empty());
        assert!(of(json!("0")).is_empty());
        assert!(selected(&Object::new(), 5, 3).is_empty());
    }
}
