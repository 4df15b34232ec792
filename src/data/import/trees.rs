//! Importing trees that exist already, with their frames.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::questions::report_without_tree;
use super::report::{ImportReport, TreesReport, WithoutTree};
use super::stage::{STAGE_NAME, Stage, Target};
use crate::data::error::DataError;
use crate::data::intake::{NoProgress, Progress};
use crate::data::printable::quoted;
use crate::data::problem::{Problem, Problems, Spot};
use crate::data::questions::{VideoIdField, scan_questions};
use crate::data::trees::{TreeSet, parse_tree, tree_bytes, tree_hash};
use crate::domain::{ContentHash, Hasher, VideoId, VideoTree};

/// Imports trees: one file, a folder of `<video>/tree.json` (with `frames/`), or a folder of tree files.
///
/// Trees of other videos stay as they are.
///
/// # Errors
/// The source is missing, unreadable or invalid (every problem of every tree is listed, and nothing changes), another
/// import runs, or the target cannot be written.
pub fn import_trees(source: &Path, target: &Target, progress: &dyn Progress) -> Result<ImportReport, DataError> {
    let mut problems = Problems::default();
    let files = find_trees(source, &mut problems)?;
    progress.expect(files.len() as u64);
    let mut trees = StagedTrees::new(Stage::begin(target)?);
    for file in &files {
        let bytes = fs::read(&file.path).map_err(|error| DataError::reading(&file.path, error))?;
        let spot = Spot::whole(&file.path);
        if let Some(tree) = parse_tree(&bytes, &spot, &mut problems) {
            check_folder(&tree, file, &spot, &mut problems);
            trees.add(&tree, &spot, &mut problems)?;
            if let Some(frames) = &file.frames {
                trees.add_frames(&tree.video_id, frames, &mut problems)?;
            }
        }
        progress.advance(1);
    }
    if problems.has_errors() {
        return Err(DataError::invalid(source, problems));
    }
    let without_tree = still_without(&trees, target, &mut problems)?;
    let (stage, report) = trees.finish();
    let changed = report.new + report.changed + report.frames_copied > 0;
    stage.publish(false, None)?;
    Ok(ImportReport { changed, questions: None, trees: Some(report), without_tree, problems })
}

/// Trees on their way into the target.
pub(super) struct StagedTrees<'a> {
    stage: Stage<'a>,
    report: TreesReport,
    hashes: BTreeMap<VideoId, (ContentHash, PathBuf)>,
}

impl<'a> StagedTrees<'a> {
    pub(super) fn new(stage: Stage<'a>) -> Self {
        Self { stage, report: TreesReport::default(), hashes: BTreeMap::new() }
    }

    /// Stages one tree; after an error nothing more is written, but everything is still checked.
    pub(super) fn add(&mut self, tree: &VideoTree, spot: &Spot, problems: &mut Problems) -> Result<(), DataError> {
        let video = &tree.video_id;
        if video.as_str() == STAGE_NAME {
            let what = format!("the video id {STAGE_NAME} is the name of a folder that imports use");
            problems.push(Problem::error("tree.reserved", spot, what, "rename the video"));
            return Ok(());
        }
        if let Some((_, other)) = self.hashes.get(video) {
            let what = format!("the tree of video {} stands in {} too", quoted(video.as_str()), other.display());
            problems.push(Problem::error("tree.repeated_video", spot, what, "keep one of the two"));
            return Ok(());
        }
        let bytes = tree_bytes(tree).map_err(|error| DataError::reading(&spot.file, error.into()))?;
        self.hashes.insert(video.clone(), (tree_hash(&bytes), spot.file.to_path_buf()));
        self.report.nodes += tree.nodes.len() as u64;
        if !problems.has_errors() {
            let change = self.stage.tree(tree, &bytes)?;
            self.report.count(change);
        }
        Ok(())
    }

    fn add_frames(&mut self, video: &VideoId, frames: &Path, problems: &mut Problems) -> Result<(), DataError> {
        let reading = |error| DataError::reading(frames, error);
        for entry in fs::read_dir(frames).map_err(reading)? {
            let entry = entry.map_err(reading)?;
            let is_file = entry.file_type().map_err(reading)?.is_file();
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|_| is_file) else {
                let what = "not a plain file with a readable name: left out";
                let hint = "frames are image files; links are not followed";
                problems.push(Problem::warning("tree.frame_skipped", &Spot::whole(entry.path()), what, hint));
                continue;
            };
            if problems.has_errors() {
                continue;
            }
            match self.stage.frame(video, &entry.path(), name)? {
                super::stage::Change::Unchanged => self.report.frames_unchanged += 1,
                super::stage::Change::New | super::stage::Change::Changed => self.report.frames_copied += 1,
            }
        }
        Ok(())
    }

    pub(super) fn contains(&self, video: &VideoId) -> bool {
        self.hashes.contains_key(video)
    }

    pub(super) fn stage(&self) -> &Stage<'a> {
        &self.stage
    }

    pub(super) fn finish(self) -> (Stage<'a>, TreesReport) {
        let mut hasher = Hasher::new("trm.trees.v1");
        for (video, (hash, _)) in &self.hashes {
            hasher.part(video.as_str()).part(hash.as_bytes());
        }
        (self.stage, TreesReport { fingerprint: Some(hasher.finish()), ..self.report })
    }
}

/// The questions of the workspace that still have no tree; no questions, nothing to say.
pub(super) fn still_without(
    trees: &StagedTrees<'_>,
    target: &Target,
    problems: &mut Problems,
) -> Result<WithoutTree, DataError> {
    let scan = match scan_questions(&target.questions, VideoIdField::VideoId, &NoProgress, &mut |_| {}) {
        Err(DataError::NotFound { .. }) => return Ok(WithoutTree::default()),
        other => other?,
    };
    let present = TreeSet::new(&target.videos_dir);
    let has_tree = |video: &VideoId| trees.contains(video) || present.contains(video);
    Ok(report_without_tree(&scan.facts.videos, has_tree, &target.questions, problems))
}

/// A file that should hold a tree.
#[derive(Debug)]
struct TreeFile {
    path: PathBuf,
    /// The name of its folder, if that names the video.
    folder: Option<String>,
    frames: Option<PathBuf>,
}

impl TreeFile {
    fn in_folder(folder: &Path, named: bool) -> Self {
        let frames = folder.join("frames");
        Self {
            path: folder.join("tree.json"),
            folder: folder.file_name().filter(|_| named).map(|name| name.to_string_lossy().into_owned()),
            frames: frames.is_dir().then_some(frames),
        }
    }
}

fn find_trees(source: &Path, problems: &mut Problems) -> Result<Vec<TreeFile>, DataError> {
    let metadata = fs::metadata(source).map_err(|error| DataError::reading(source, error))?;
    if metadata.is_file() {
        return Ok(vec![TreeFile { path: source.to_path_buf(), folder: None, frames: None }]);
    }
    if metadata.is_dir() && source.join("tree.json").is_file() {
        return Ok(vec![TreeFile::in_folder(source, false)]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(source).map_err(|error| DataError::reading(source, error))? {
        let path = entry.map_err(|error| DataError::reading(source, error))?.path();
        let is_json = path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json"));
        if path.join("tree.json").is_file() {
            files.push(TreeFile::in_folder(&path, true));
        } else if is_json && path.is_file() {
            files.push(TreeFile { path, folder: None, frames: None });
        } else if path.is_dir() && path.file_name().is_some_and(|name| name != STAGE_NAME) {
            let what = "there is no tree.json in this folder: left out";
            let hint = "a folder of a video holds tree.json and, optionally, frames";
            problems.push(Problem::warning("tree.folder_without", &Spot::whole(path), what, hint));
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    if files.is_empty() {
        return Err(DataError::WrongKind {
            path: source.to_path_buf(),
            what: "the folder holds no tree",
            hint: "name a tree file, a folder of <video>/tree.json, or a folder of tree files",
        });
    }
    Ok(files)
}

fn check_folder(tree: &VideoTree, file: &TreeFile, spot: &Spot, problems: &mut Problems) {
    if let Some(folder) = file.folder.as_deref().filter(|folder| *folder != tree.video_id.as_str()) {
        let what =
            format!("the tree of video {} lies in the folder {}", quoted(tree.video_id.as_str()), quoted(folder));
        problems.push(Problem::error(
            "tree.other_video",
            &spot.at("videoID"),
            what,
            "the folder has the name of the video",
        ));
    }
}
