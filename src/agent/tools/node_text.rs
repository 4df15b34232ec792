//! How a node is written down for a model: heading, card, subtitle, children.

use serde_json::Value;

use crate::agent::text::{cut, cut_to_tokens, estimated_tokens, one_line, time_range};
use crate::agent::video::VideoEnvironment;
use crate::domain::{NodeId, TreeNode};

/// `v_L2_003 (event) [12–20 s]`.
pub(super) fn heading(id: &NodeId, node: &TreeNode) -> String {
    let kind = match node.level {
        1 => "scene",
        2 => "event",
        _ => "frame",
    };
    format!("{id} ({kind}) {}", time_range(node.time_range))
}

/// The node's own text within a number of tokens: the card first, then as much of the subtitle as fits. A card alone
/// longer than three quarters is cut to that, so that the subtitle is never lost altogether.
pub(super) fn node_text(node: &TreeNode, tokens: usize) -> String {
    let card = card_text(&node.card);
    let subtitle = node.subtitle.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let Some(subtitle) = subtitle else { return cut_to_tokens(&card, tokens) };
    let whole = format!("{card}\nSubtitle: {subtitle}");
    if estimated_tokens(&whole) <= tokens {
        return whole;
    }
    let card = cut_to_tokens(&card, tokens * 3 / 4);
    let left = tokens.saturating_sub(estimated_tokens(&card) + 8);
    format!("{card}\nSubtitle: {}", cut_to_tokens(subtitle, left))
}

/// The card as lines `field: text`; nested values keep their names.
fn card_text(card: &Value) -> String {
    let mut lines = Vec::new();
    collect_lines(card, "", &mut lines);
    if lines.is_empty() { "(no description)".to_owned() } else { lines.join("\n") }
}

/// Depth is bounded by the JSON parser's own recursion limit (128).
fn collect_lines(value: &Value, name: &str, lines: &mut Vec<String>) {
    let mut push = |text: String| {
        if !text.trim().is_empty() {
            lines.push(if name.is_empty() { text } else { format!("{name}: {text}") });
        }
    };
    match value {
        Value::Null => {}
        Value::Bool(_) | Value::Number(_) => push(value.to_string()),
        Value::String(text) => push(one_line(text)),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            let texts: Vec<String> =
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), one_line)).collect();
            push(texts.join("; "));
        }
        Value::Array(items) => items.iter().for_each(|item| collect_lines(item, name, lines)),
        Value::Object(fields) => {
            for (field, inner) in fields {
                let path = if name.is_empty() { field.clone() } else { format!("{name}.{field}") };
                collect_lines(inner, &path, lines);
            }
        }
    }
}

/// The children that exist, in order of time, then id.
pub(super) fn children<'a>(node: &TreeNode, video: &'a VideoEnvironment) -> Vec<(&'a NodeId, &'a TreeNode)> {
    let nodes = &video.tree().nodes;
    let mut found: Vec<_> = node.children_ids.iter().filter_map(|id| nodes.get_key_value(id)).collect();
    found.sort_by(|(a_id, a), (b_id, b)| a.time_range.0.total_cmp(&b.time_range.0).then(a_id.cmp(b_id)));
    found
}

/// One line per child with the start of its summary. All children get the same share of `tokens`; when even bare
/// headings do not fit, the last children are left out and counted.
pub(super) fn children_lines(children: &[(&NodeId, &TreeNode)], tokens: usize) -> Vec<String> {
    let share = tokens / children.len().max(1);
    let mut left = tokens;
    let mut lines = Vec::new();
    for (place, (id, node)) in children.iter().enumerate() {
        let heading = format!("- {}", heading(id, node));
        let bare = estimated_tokens(&heading);
        if left < bare {
            lines.push(format!("- … and {} more; search_similar finds them", children.len() - place));
            break;
        }
        let room = share.saturating_sub(bare + 2);
        let summary = cut(&one_line(&node.summary()), 300);
        let line = if room < 4 { heading } else { format!("{heading}: {}", cut_to_tokens(&summary, room)) };
        left = left.saturating_sub(estimated_tokens(&line));
        lines.push(line);
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(card: Value, subtitle: Option<&str>) -> TreeNode {
        TreeNode {
            level: 2,
            time_range: (0.0, 1.0),
            card,
            subtitle: subtitle.map(str::to_owned),
            children_ids: vec![],
            frame: None,
        }
    }

    #[test]
    fn cards_of_any_shape_become_named_lines() {
        let card = json!({"event_description": "they\nleave", "key": ["a", 2], "people": [{"name": "Bo"}, {"name": "Al"}], "n": null});
        assert_eq!(card_text(&card), "event_description: they leave\nkey: a; 2\npeople.name: Bo\npeople.name: Al");
        assert_eq!(card_text(&Value::Null), "(no description)");
    }

    #[test]
    fn a_long_card_leaves_room_for_the_subtitle() {
        let long = node(json!("word ".repeat(500)), Some("what is said"));
        let text = node_text(&long, 100);
        assert!(text.contains("Subtitle: what is said") && estimated_tokens(&text) <= 104, "{text}");
    }

    #[test]
    fn children_share_the_room_and_the_rest_is_counted() {
        let one = node(json!("word ".repeat(100)), None);
        let ids: Vec<NodeId> = (0..40).map(|place| format!("v_L3_{place:03}").parse().unwrap()).collect();
        let children: Vec<(&NodeId, &TreeNode)> = ids.iter().map(|id| (id, &one)).collect();
        let lines = children_lines(&children, 200);
        assert!(lines.last().unwrap().contains("more; search_similar"), "{lines:?}");
        assert!(lines.iter().map(|line| estimated_tokens(line)).sum::<usize>() < 230);
        assert_eq!(children_lines(&children[..2], 200).len(), 2);
    }
}
