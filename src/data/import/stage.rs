//! How an import reaches its place: everything is written beside the target, made durable, then renamed.
//!
//! Order: trees (each rename replaces one file), then the questions. A crash leaves the state before, or some new trees
//! with the old questions; the same command then completes it. Leftovers of a crash are removed by the next import.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::data::error::DataError;
use crate::data::problem::{Problems, Spot};
use crate::data::trees::{TreeSet, parse_tree};
use crate::domain::{VideoId, VideoTree};

/// Where an import goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The file of the questions, in JSON Lines.
    pub questions: PathBuf,
    /// The folder with one folder per video.
    pub videos_dir: PathBuf,
}

/// What an import does to one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    /// It was not there.
    New,
    /// It was there with other content.
    Changed,
    /// It is there with this content already.
    Unchanged,
}

/// Name of the staging folder inside `videos_dir`; no video may be called so.
pub(super) const STAGE_NAME: &str = ".trm-import";

/// What is staged so far; dropping it removes what was not published.
#[derive(Debug)]
pub(super) struct Stage<'a> {
    target: &'a Target,
    trees_dir: PathBuf,
    /// The target's folder did not exist before; it goes again if nothing is published.
    made_videos_dir: bool,
    staged: Vec<Staged>,
    questions: PathBuf,
    _locks: Vec<File>,
}

/// A file that waits to be renamed.
#[derive(Debug)]
struct Staged {
    from: PathBuf,
    to: PathBuf,
}

impl<'a> Stage<'a> {
    /// Locks the target against other imports and clears what a crash left.
    pub(super) fn begin(target: &'a Target) -> Result<Self, DataError> {
        let parent = parent_of(&target.questions);
        fs::create_dir_all(parent).map_err(|error| writing(parent, error))?;
        let mut locks = vec![lock(parent)?];
        let made_videos_dir = !target.videos_dir.is_dir();
        if !made_videos_dir && fs::canonicalize(parent).ok() != fs::canonicalize(&target.videos_dir).ok() {
            locks.push(lock(&target.videos_dir)?);
        }
        let trees_dir = target.videos_dir.join(STAGE_NAME);
        let name = target.questions.file_name().unwrap_or_default().to_string_lossy();
        let questions = parent.join(format!(".{name}{STAGE_NAME}"));
        let stage = Self { target, trees_dir, made_videos_dir, staged: Vec::new(), questions, _locks: locks };
        stage.clear()?;
        Ok(stage)
    }

    /// Stages a tree, whose written form is `bytes`, unless its video has an equal one.
    pub(super) fn tree(&mut self, tree: &VideoTree, bytes: &[u8]) -> Result<Change, DataError> {
        let to = TreeSet::new(&self.target.videos_dir).tree_file(&tree.video_id);
        let before = match fs::read(&to) {
            Ok(before) => Some(before),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(DataError::reading(&to, error)),
        };
        if before.as_ref().is_some_and(|before| *before == bytes || same_content(before, tree, &to)) {
            return Ok(Change::Unchanged);
        }
        let from = self.room(&tree.video_id)?.join("tree.json");
        fs::write(&from, bytes).map_err(|error| writing(&from, error))?;
        self.staged.push(Staged { from, to });
        Ok(if before.is_some() { Change::Changed } else { Change::New })
    }

    /// Stages a frame of a video unless an equal file is there.
    pub(super) fn frame(&mut self, video: &VideoId, source: &Path, name: &str) -> Result<Change, DataError> {
        let to = TreeSet::new(&self.target.videos_dir).frames_dir(video).join(name);
        let known = to.is_file();
        if known && same_bytes(source, &to).map_err(|error| DataError::reading(source, error))? {
            return Ok(Change::Unchanged);
        }
        let from = self.room(video)?.join(format!("frame-{name}"));
        fs::copy(source, &from).map_err(|error| writing(&from, error))?;
        self.staged.push(Staged { from, to });
        Ok(if known { Change::Changed } else { Change::New })
    }

    /// The file in which the questions are staged.
    pub(super) fn questions_writer(&self) -> Result<BufWriter<File>, DataError> {
        File::create(&self.questions)
            .map(|file| BufWriter::with_capacity(1 << 16, file))
            .map_err(|error| writing(&self.questions, error))
    }

    /// The staged questions.
    pub(super) fn staged_questions(&self) -> &Path {
        &self.questions
    }

    /// Makes everything durable and renames it to its place; `keep_as` is a second name for the questions before.
    pub(super) fn publish(mut self, with_questions: bool, keep_as: Option<&Path>) -> Result<(), DataError> {
        let staged = std::mem::take(&mut self.staged);
        make_durable(staged.iter().map(|staged| staged.from.as_path()), &self.trees_dir)?;
        for Staged { from, to } in &staged {
            let folder = parent_of(to);
            fs::create_dir_all(folder).map_err(|error| writing(folder, error))?;
            fs::rename(from, to).map_err(|error| writing(to, error))?;
            self.made_videos_dir = false;
        }
        make_durable(staged.iter().map(|staged| parent_of(&staged.to)), &self.target.videos_dir)?;
        if with_questions {
            self.publish_questions(keep_as)?;
        }
        Ok(())
    }

    fn publish_questions(&self, keep_as: Option<&Path>) -> Result<(), DataError> {
        let to = &self.target.questions;
        File::open(&self.questions)
            .and_then(|file| file.sync_all())
            .map_err(|error| writing(&self.questions, error))?;
        if let Some(keep_as) = keep_as {
            match fs::hard_link(to, keep_as) {
                // The name is made of the content: the same content was kept under it before.
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    fs::copy(to, keep_as).map_err(|error| writing(keep_as, error))?;
                }
                Ok(()) | Err(_) => {}
            }
        }
        fs::rename(&self.questions, to).map_err(|error| writing(to, error))?;
        sync(parent_of(to))
    }

    /// The staging folder of one video.
    fn room(&self, video: &VideoId) -> Result<PathBuf, DataError> {
        let room = self.trees_dir.join(video.as_str());
        fs::create_dir_all(&room).map_err(|error| writing(&room, error))?;
        Ok(room)
    }

    fn clear(&self) -> Result<(), DataError> {
        for (path, result) in [
            (&self.trees_dir, fs::remove_dir_all(&self.trees_dir)),
            (&self.questions, fs::remove_file(&self.questions)),
        ] {
            match result {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(writing(path, error)),
                Ok(()) | Err(_) => {}
            }
        }
        Ok(())
    }
}

impl Drop for Stage<'_> {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next import; the reason to stop is already on its way up.
        let _leftover = self.clear();
        if self.made_videos_dir {
            let _not_empty = fs::remove_dir(&self.target.videos_dir);
        }
    }
}

/// The folder of a file; of a bare name the current one.
pub(super) fn parent_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."))
}

/// The error of a failed write.
pub(super) fn writing(path: &Path, source: io::Error) -> DataError {
    DataError::Unwritable { path: path.to_path_buf(), source }
}

fn lock(folder: &Path) -> Result<File, DataError> {
    let file = File::open(folder).map_err(|error| DataError::reading(folder, error))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(DataError::Busy { path: folder.to_path_buf() }),
        Err(TryLockError::Error(error)) => Err(writing(folder, error)),
    }
}

/// Few files are synced one by one; many with one call for their file system, which takes one flush instead of hundreds.
fn make_durable<'p>(paths: impl ExactSizeIterator<Item = &'p Path>, folder: &Path) -> Result<(), DataError> {
    const FEW: usize = 16;
    if paths.len() > FEW && sync_file_system(folder)? {
        return Ok(());
    }
    paths.into_iter().try_for_each(sync)
}

#[cfg(target_os = "linux")]
fn sync_file_system(folder: &Path) -> Result<bool, DataError> {
    let file = File::open(folder).map_err(|error| writing(folder, error))?;
    rustix::fs::syncfs(&file).map_err(|error| writing(folder, error.into()))?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn sync_file_system(_: &Path) -> Result<bool, DataError> {
    Ok(false)
}

fn sync(path: &Path) -> Result<(), DataError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(|error| writing(path, error))
}

/// A tree that somebody wrote by hand has other bytes and maybe the same content.
fn same_content(bytes: &[u8], tree: &VideoTree, path: &Path) -> bool {
    parse_tree(bytes, &Spot::whole(path), &mut Problems::default()).is_some_and(|before| before == *tree)
}

fn same_bytes(one: &Path, other: &Path) -> io::Result<bool> {
    use io::Read as _;

    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let count = one.read(&mut left)?;
        let (Some(left), Some(right)) = (left.get(..count), right.get_mut(..count)) else {
            return Ok(false);
        };
        if count == 0 {
            return Ok(true);
        }
        other.read_exact(right)?;
        if left != right {
            return Ok(false);
        }
    }
}

/// Writes a file beside its place, then renames it there.
pub(super) fn replace_file(path: &Path, bytes: &[u8]) -> Result<(), DataError> {
    let mut file = tempfile::NamedTempFile::new_in(parent_of(path)).map_err(|error| writing(path, error))?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(|error| writing(path, error))?;
    file.persist(path).map_err(|error| writing(path, error.error))?;
    sync(parent_of(path))
}
