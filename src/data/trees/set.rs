//! The trees of a workspace, read when asked for.

use std::collections::{BTreeMap, VecDeque};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::file::{StoredTree, read_tree};
use crate::data::error::DataError;
use crate::domain::{ContentHash, Hasher, VideoId};

/// How many trees stay in memory: as many as questions usually run at once, a few megabytes each at most.
const KEPT_TREES: usize = 64;

/// The trees below `videos_dir`, one folder per video. Reading is blocking file I/O.
#[derive(Debug)]
pub struct TreeSet {
    videos_dir: PathBuf,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    trees: BTreeMap<VideoId, Arc<StoredTree>>,
    order: VecDeque<VideoId>,
}

impl TreeSet {
    /// The trees below this folder; nothing is read yet, and the folder need not exist.
    #[must_use]
    pub fn new(videos_dir: impl Into<PathBuf>) -> Self {
        Self { videos_dir: videos_dir.into(), kept: Mutex::default() }
    }

    /// The folder of a video.
    #[must_use]
    pub fn video_dir(&self, video: &VideoId) -> PathBuf {
        self.videos_dir.join(video.as_str())
    }

    /// The tree file of a video.
    #[must_use]
    pub fn tree_file(&self, video: &VideoId) -> PathBuf {
        self.video_dir(video).join("tree.json")
    }

    /// The folder of a video's frames.
    #[must_use]
    pub fn frames_dir(&self, video: &VideoId) -> PathBuf {
        self.video_dir(video).join("frames")
    }

    /// Whether a tree file is there, without reading it.
    #[must_use]
    pub fn contains(&self, video: &VideoId) -> bool {
        self.tree_file(video).is_file()
    }

    /// All videos that have a tree file, sorted. Names that are no video ids are passed over.
    ///
    /// # Errors
    /// The folder cannot be listed; a missing folder is an empty list.
    pub fn videos(&self) -> Result<Vec<VideoId>, DataError> {
        let reading = |error| DataError::reading(&self.videos_dir, error);
        let entries = match fs::read_dir(&self.videos_dir) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(reading(error)),
        };
        let mut videos = Vec::new();
        for entry in entries {
            let name = entry.map_err(reading)?.file_name();
            videos.extend(name.to_str().and_then(|name| name.parse().ok()).filter(|video| self.contains(video)));
        }
        videos.sort_unstable();
        Ok(videos)
    }

    /// The tree of a video, checked; kept in memory for a while.
    ///
    /// # Errors
    /// [`DataError::TreeMissing`], [`DataError::Unreadable`], or [`DataError::Invalid`] with every problem.
    pub fn get(&self, video: &VideoId) -> Result<Arc<StoredTree>, DataError> {
        if let Some(tree) = self.lock().trees.get(video) {
            return Ok(tree.clone());
        }
        let tree = Arc::new(read_tree(&self.tree_file(video), video)?);
        let mut kept = self.lock();
        if kept.trees.insert(video.clone(), tree.clone()).is_none() {
            kept.order.push_back(video.clone());
        }
        if kept.order.len() > KEPT_TREES
            && let Some(oldest) = kept.order.pop_front()
        {
            kept.trees.remove(&oldest);
        }
        Ok(tree)
    }

    /// The hash over the trees of these videos, whatever their order: part of a run's environment.
    ///
    /// A video without a tree counts as such; so the hash changes when its tree is added.
    ///
    /// # Errors
    /// A tree that is there cannot be read or is invalid.
    pub fn fingerprint<'a>(&self, videos: impl IntoIterator<Item = &'a VideoId>) -> Result<ContentHash, DataError> {
        let mut hashes = BTreeMap::new();
        for video in videos {
            let hash = match self.get(video) {
                Ok(tree) => Some(tree.hash),
                Err(DataError::TreeMissing { .. }) => None,
                Err(error) => return Err(error),
            };
            hashes.insert(video, hash);
        }
        let mut hasher = Hasher::new("trm.trees.v1");
        for (video, hash) in hashes {
            hasher.part(video.as_str());
            hasher.part(hash.as_ref().map_or(&[][..], |hash| hash.as_bytes()));
        }
        Ok(hasher.finish())
    }

    /// The folder of all videos.
    #[must_use]
    pub fn videos_dir(&self) -> &Path {
        &self.videos_dir
    }

    /// A panic elsewhere cannot leave the map half changed in a way that matters: it only caches.
    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
