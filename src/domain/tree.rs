//! The video tree: scenes (level 1), events (level 2) and frames (level 3) of one video.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ids::{NodeId, VideoId};

/// One video as a tree of nodes (design 02). Structure comes from `children_ids` and `level` only.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct VideoTree {
    /// The video.
    #[serde(rename = "videoID")]
    pub video_id: VideoId,
    /// A free label: `short`, `medium`, `long`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_category: Option<String>,
    /// Length in seconds, above 0.
    pub duration_seconds: f64,
    /// A free label such as `Sports`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// All nodes by id.
    pub nodes: BTreeMap<NodeId, TreeNode>,
}

/// One scene, event or frame.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TreeNode {
    /// 1 scene, 2 event, 3 frame.
    pub level: u8,
    /// Start and end in seconds, start ≤ end.
    pub time_range: (f64, f64),
    /// Free-form description: nested strings, lists, objects.
    #[serde(default)]
    pub card: Value,
    /// Words spoken in this range.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subtitle: Option<String>,
    /// Children, one level below.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub children_ids: Vec<NodeId>,
    /// File name of the frame in `frames/`, where it is not the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
}

impl VideoTree {
    /// The level-1 nodes, by start time, then id.
    #[must_use]
    pub fn roots(&self) -> Vec<(&NodeId, &TreeNode)> {
        let mut roots: Vec<_> = self.nodes.iter().filter(|(_, node)| node.level == 1).collect();
        roots.sort_by(|(_, a), (_, b)| a.time_range.0.total_cmp(&b.time_range.0));
        roots
    }

    /// The parent of every node that has one.
    #[must_use]
    pub fn parents(&self) -> BTreeMap<&NodeId, &NodeId> {
        self.nodes.iter().flat_map(|(id, node)| node.children_ids.iter().map(move |child| (child, id))).collect()
    }

    /// The frame file of a level-3 node: its `frame` field, else its id without the `<videoID>_` prefix, plus `.jpg`.
    #[must_use]
    pub fn frame_file(&self, id: &NodeId, node: &TreeNode) -> String {
        if let Some(frame) = &node.frame {
            return frame.clone();
        }
        let prefix = format!("{}_", self.video_id);
        let stem = id.as_str().strip_prefix(&prefix).unwrap_or(id.as_str());
        format!("{stem}.jpg")
    }
}

impl TreeNode {
    /// The summary: the field of its level, else the concatenation of all strings of the card.
    #[must_use]
    pub fn summary(&self) -> String {
        let field = match self.level {
            1 => "scene_summary",
            2 => "event_description",
            _ => "frame_summary",
        };
        match self.card.get(field).and_then(Value::as_str) {
            Some(text) if !text.trim().is_empty() => text.to_owned(),
            _ => self.card_text(),
        }
    }

    /// All strings of the card, depth first, joined by a space.
    #[must_use]
    pub fn card_text(&self) -> String {
        let mut strings = Vec::new();
        collect_strings(&self.card, &mut strings);
        strings.join(" ")
    }
}

/// Depth is bounded by the JSON parser's own recursion limit (128).
fn collect_strings<'a>(value: &'a Value, strings: &mut Vec<&'a str>) {
    match value {
        Value::String(text) if !text.trim().is_empty() => strings.push(text),
        Value::Array(items) => items.iter().for_each(|item| collect_strings(item, strings)),
        Value::Object(fields) => fields.values().for_each(|item| collect_strings(item, strings)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summary_falls_back_to_all_strings() {
        let mut node = TreeNode {
            level: 2,
            time_range: (0.0, 1.0),
            card: serde_json::json!({"a": ["x", {"b": "y"}], "n": 3}),
            subtitle: None,
            children_ids: vec![],
            frame: None,
        };
        assert_eq!(node.summary(), "x y");
        node.card = serde_json::json!({"event_description": "they leave", "a": "x"});
        assert_eq!(node.summary(), "they leave");
    }
}
