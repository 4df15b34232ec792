//! One tree: from bytes, and to bytes.

use std::fs;
use std::io;
use std::path::Path;

use super::{check, raw};
use crate::data::error::DataError;
use crate::data::problem::{Problem, Problems, Spot};
use crate::domain::{ContentHash, Hasher, VideoId, VideoTree};

/// A checked tree with its content hash.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredTree {
    /// The tree.
    pub tree: VideoTree,
    /// The hash of its content: white space and the order of fields in the file do not matter.
    pub hash: ContentHash,
    /// What is worth knowing about it.
    pub warnings: Problems,
}

/// Reads and checks the bytes of a `tree.json`; all that is wrong goes to `problems`.
pub(in crate::data) fn parse_tree(bytes: &[u8], file: &Spot, problems: &mut Problems) -> Option<VideoTree> {
    let raw = raw::read(bytes, file, problems)?;
    check::check(raw, file, problems)
}

/// The one form in which `trm` writes a tree: compact JSON, nodes sorted by id.
pub(in crate::data) fn tree_bytes(tree: &VideoTree) -> Result<Vec<u8>, serde_json::Error> {
    let mut bytes = serde_json::to_vec(tree)?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The hash of a tree's content, of its written form.
pub(in crate::data) fn tree_hash(bytes: &[u8]) -> ContentHash {
    Hasher::new("trm.tree.v1").part(bytes).finish()
}

/// Reads the tree file of a video.
pub(in crate::data) fn read_tree(path: &Path, video: &VideoId) -> Result<StoredTree, DataError> {
    let bytes = fs::read(path).map_err(|error| {
        if error.kind() == io::ErrorKind::NotFound {
            return DataError::TreeMissing { video: video.clone(), path: path.to_path_buf() };
        }
        DataError::reading(path, error)
    })?;
    let mut problems = Problems::default();
    let spot = Spot::whole(path);
    let tree = parse_tree(&bytes, &spot, &mut problems);
    if let Some(tree) = &tree
        && tree.video_id != *video
    {
        let what = format!("the tree of video {} lies in the folder of video {video}", tree.video_id);
        let hint = "the folder has the name of the video";
        problems.push(Problem::error("tree.other_video", &spot.at("videoID"), what, hint));
    }
    match tree {
        Some(tree) if !problems.has_errors() => {
            let bytes = tree_bytes(&tree).map_err(|error| DataError::reading(path, error.into()))?;
            Ok(StoredTree { tree, hash: tree_hash(&bytes), warnings: problems })
        }
        _ => Err(DataError::invalid(path, problems)),
    }
}
