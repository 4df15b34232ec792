//! One video as the agent's tools see it: its tree, what lies where, its frames.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::domain::{ContentHash, Hasher, NodeId, VideoTree};

/// A tree with what follows from it, made once per video and shared by its questions.
#[derive(Debug)]
pub struct VideoEnvironment {
    tree: Arc<VideoTree>,
    parents: BTreeMap<NodeId, NodeId>,
    hash: ContentHash,
    folder: Option<PathBuf>,
    has_frames: bool,
}

impl VideoEnvironment {
    /// An environment of this tree; `folder` is the video's own folder (`videos/<video_id>`), whose `frames/` is looked
    /// for once.
    #[must_use]
    pub fn new(tree: Arc<VideoTree>, folder: Option<PathBuf>) -> Self {
        let parents = tree.parents().into_iter().map(|(child, parent)| (child.clone(), parent.clone())).collect();
        let has_frames = folder.as_deref().is_some_and(has_files);
        Self { hash: tree_hash(&tree), parents, tree, folder, has_frames }
    }

    /// The tree.
    #[must_use]
    pub fn tree(&self) -> &VideoTree {
        &self.tree
    }

    /// Content hash of all that the index depends on.
    #[must_use]
    pub fn hash(&self) -> ContentHash {
        self.hash
    }

    /// Whether the video's folder holds frames.
    #[must_use]
    pub fn has_frames(&self) -> bool {
        self.has_frames
    }

    pub(super) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Whether `ancestor` lies above `node`.
    pub(super) fn is_ancestor(&self, ancestor: &NodeId, node: &NodeId) -> bool {
        let mut place = node;
        // Bounded: a tree has three levels, and a broken one may hold a cycle.
        for _ in 0..16 {
            match self.parents.get(place) {
                None => return false,
                Some(parent) if parent == ancestor => return true,
                Some(parent) => place = parent,
            }
        }
        false
    }
}

fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder.join("frames")).is_ok_and(|mut entries| entries.next().is_some())
}

/// Over ids, levels, times and texts, in order of ids.
fn tree_hash(tree: &VideoTree) -> ContentHash {
    let mut hasher = Hasher::new("trm.agent.tree");
    hasher.part(tree.video_id.as_str());
    for (id, node) in &tree.nodes {
        hasher.part(id.as_str()).part([node.level]);
        hasher.part(node.time_range.0.to_le_bytes()).part(node.time_range.1.to_le_bytes());
        hasher.part(node.card.to_string()).part(node.subtitle.as_deref().unwrap_or_default());
        for child in &node.children_ids {
            hasher.part(child.as_str());
        }
    }
    hasher.finish()
}
