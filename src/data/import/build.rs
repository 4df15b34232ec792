//! `trm tree build`: captions and subtitles of one or many videos into trees.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::report::ImportReport;
use super::stage::{Stage, Target, replace_file};
use super::trees::{StagedTrees, still_without};
use crate::data::build::{BuildError, LevelSizes, TreeSource, build_tree};
use crate::data::error::DataError;
use crate::data::intake::Progress;
use crate::data::problem::{Problem, Problems, Spot};
use crate::data::questions::id_problem;
use crate::data::timed_text::read_into;
use crate::data::trees::tree_bytes;
use crate::domain::{VideoId, VideoTree};

/// Where the texts are, and how to cut them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BuildOptions {
    /// A file of captions, or a folder with one file per video.
    pub captions: Option<PathBuf>,
    /// A file of subtitles, or a folder with one file per video.
    pub subtitles: Option<PathBuf>,
    /// The video of single files; without it, their name.
    pub video: Option<VideoId>,
    /// The length of a single video in seconds; without it, until its last text ends.
    pub duration: Option<f64>,
    /// A free label such as `Sports`.
    pub domain: Option<String>,
    /// How videos are cut into scenes and events.
    pub sizes: LevelSizes,
}

/// Builds the trees and puts them into the target as an import does.
///
/// # Errors
/// As [`super::import_trees`].
pub fn build_trees(
    options: &BuildOptions,
    target: &Target,
    progress: &dyn Progress,
) -> Result<ImportReport, DataError> {
    let mut problems = Problems::default();
    let texts = find_texts(options, &mut problems)?;
    progress.expect(texts.len() as u64);
    let mut trees = StagedTrees::new(Stage::begin(target)?);
    for (video, files) in texts {
        let source = files.read(video, options, &mut problems)?;
        add_built(&source, &options.sizes, &Spot::whole(files.first()), &mut trees, &mut problems)?;
        progress.advance(1);
    }
    invalid_if_errors(options, &problems)?;
    let without_tree = still_without(&trees, target, &mut problems)?;
    let (stage, report) = trees.finish();
    let changed = report.new + report.changed > 0;
    stage.publish(false, None)?;
    Ok(ImportReport { changed, questions: None, trees: Some(report), without_tree, problems })
}

/// Builds the tree of one video and writes it to a file.
///
/// # Errors
/// The texts are missing or invalid, belong to several videos, or the file cannot be written.
pub fn build_tree_file(options: &BuildOptions, output: &Path) -> Result<(VideoTree, Problems), DataError> {
    let mut problems = Problems::default();
    let mut texts = find_texts(options, &mut problems)?.into_iter();
    let (Some((video, files)), None) = (texts.next(), texts.next()) else {
        return Err(DataError::WrongKind {
            path: output.to_path_buf(),
            what: "one file cannot hold the trees of several videos",
            hint: "leave out --output to put each tree into the workspace",
        });
    };
    let source = files.read(video, options, &mut problems)?;
    let tree = built(&source, &options.sizes, &Spot::whole(files.first()), &mut problems);
    invalid_if_errors(options, &problems)?;
    let Some(tree) = tree else {
        return Err(DataError::invalid(files.first(), problems));
    };
    let bytes = tree_bytes(&tree).map_err(|error| super::stage::writing(output, error.into()))?;
    replace_file(output, &bytes)?;
    Ok((tree, problems))
}

/// Builds one tree and stages it.
pub(super) fn add_built(
    source: &TreeSource,
    sizes: &LevelSizes,
    spot: &Spot,
    trees: &mut StagedTrees<'_>,
    problems: &mut Problems,
) -> Result<(), DataError> {
    match built(source, sizes, spot, problems) {
        Some(tree) => trees.add(&tree, spot, problems),
        None => Ok(()),
    }
}

fn built(source: &TreeSource, sizes: &LevelSizes, spot: &Spot, problems: &mut Problems) -> Option<VideoTree> {
    match build_tree(source, sizes) {
        Ok(tree) => {
            let end = tree.nodes.values().map(|node| node.time_range.1).fold(0.0, f64::max);
            if end > tree.duration_seconds + 1.0 {
                let what = format!("the last text ends at {end} s, the video at {} s", tree.duration_seconds);
                problems.push(Problem::warning("tree.beyond_end", spot, what, "check the duration and the times"));
            }
            Some(tree)
        }
        // A file without text was reported when it was read.
        Err(BuildError::NoText(_)) => None,
        Err(error @ BuildError::Id { .. }) => {
            problems.push(Problem::error("id.refused", spot, error, "give the video a shorter id"));
            None
        }
    }
}

/// The files of one video.
#[derive(Debug, Default)]
struct Texts {
    captions: Option<PathBuf>,
    subtitles: Option<PathBuf>,
}

impl Texts {
    fn first(&self) -> &Path {
        self.captions.as_deref().or(self.subtitles.as_deref()).unwrap_or_else(|| Path::new(""))
    }

    fn read(
        &self,
        video_id: VideoId,
        options: &BuildOptions,
        problems: &mut Problems,
    ) -> Result<TreeSource, DataError> {
        let mut read = |path: &Option<PathBuf>| match path {
            Some(path) => read_into(path, problems),
            None => Ok(Vec::new()),
        };
        Ok(TreeSource {
            captions: read(&self.captions)?,
            subtitles: read(&self.subtitles)?,
            duration: options.duration,
            domain: options.domain.clone(),
            video_id,
        })
    }
}

/// What files of captions and subtitles end with.
const EXTENSIONS: [&str; 6] = ["json", "csv", "tsv", "txt", "srt", "vtt"];

fn find_texts(options: &BuildOptions, problems: &mut Problems) -> Result<BTreeMap<VideoId, Texts>, DataError> {
    let mut texts: BTreeMap<VideoId, Texts> = BTreeMap::new();
    for (source, is_captions) in [(&options.captions, true), (&options.subtitles, false)] {
        let Some(source) = source else {
            continue;
        };
        if (options.video.is_some() || options.duration.is_some()) && source.is_dir() {
            return Err(DataError::WrongKind {
                path: source.clone(),
                what: "a video or a duration is given for a whole folder",
                hint: "leave them out: each file names its video, and its last text ends it",
            });
        }
        for path in files_of(source)? {
            let video = match &options.video {
                Some(video) if path == *source => Some(video.clone()),
                _ => video_of(&path, problems),
            };
            let Some(video) = video else {
                continue;
            };
            let entry = texts.entry(video).or_default();
            let place = if is_captions { &mut entry.captions } else { &mut entry.subtitles };
            if let Some(other) = place {
                let what = format!("the file is about the same video as {}", other.display());
                let hint = "keep one file of captions and one of subtitles per video";
                problems.push(Problem::error("tree.repeated_video", &Spot::whole(&path), what, hint));
            } else {
                *place = Some(path);
            }
        }
    }
    Ok(texts)
}

fn files_of(source: &Path) -> Result<Vec<PathBuf>, DataError> {
    let reading = |error| DataError::reading(source, error);
    if !fs::metadata(source).map_err(reading)?.is_dir() {
        return Ok(vec![source.to_path_buf()]);
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(source).map_err(reading)? {
        let path = entry.map_err(reading)?.path();
        let known = path.extension().and_then(|extension| extension.to_str());
        let known = known.is_some_and(|extension| EXTENSIONS.iter().any(|name| extension.eq_ignore_ascii_case(name)));
        if known && path.is_file() {
            files.push(path);
        }
    }
    files.sort_unstable();
    if files.is_empty() {
        return Err(DataError::WrongKind {
            path: source.to_path_buf(),
            what: "the folder holds no .json, .csv, .tsv, .txt, .srt or .vtt file",
            hint: "name a file of captions or subtitles, or a folder with one file per video",
        });
    }
    Ok(files)
}

/// The video that a file's name names: `abc.json`, `abc_cap.json`, `abc.en.srt`.
fn video_of(path: &Path, problems: &mut Problems) -> Option<VideoId> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let language = |end: &str| (2..=3).contains(&end.len()) && end.bytes().all(|byte| byte.is_ascii_lowercase());
    let stem = match stem.rsplit_once('.') {
        Some((name, end)) if language(end) && !name.is_empty() => name,
        _ => &stem,
    };
    match VideoId::new(stem.strip_suffix("_cap").unwrap_or(stem)) {
        Ok(video) => Some(video),
        Err(error) => {
            problems.push(id_problem(&error, &Spot::whole(path)));
            None
        }
    }
}

fn invalid_if_errors(options: &BuildOptions, problems: &Problems) -> Result<(), DataError> {
    if !problems.has_errors() {
        return Ok(());
    }
    let path = options.captions.as_ref().or(options.subtitles.as_ref()).cloned().unwrap_or_default();
    Err(DataError::invalid(&path, problems.clone()))
}
