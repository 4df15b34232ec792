//! The shape of `tree.json`, for its schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::domain::TreeNode;

/// One video as a tree of scenes (level 1), events (level 2) and frames (level 3): `videos/<videoID>/tree.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(title = "Video tree")]
pub struct TreeRecord {
    /// The video: equal to the name of its folder; at most 200 bytes, no path separators, no control characters.
    #[serde(rename = "videoID")]
    #[schemars(length(min = 1))]
    pub video_id: String,
    /// A free label: `short`, `medium`, `long`.
    #[serde(default)]
    pub duration_category: Option<String>,
    /// Length in seconds, above 0.
    #[schemars(range(min = 0))]
    pub duration_seconds: f64,
    /// A free label such as `Sports`.
    #[serde(default)]
    pub domain: Option<String>,
    /// All nodes by id. Ids are opaque: structure comes from `level` and `children_ids`.
    pub nodes: BTreeMap<String, TreeNode>,
}
