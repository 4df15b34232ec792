//! Writes a world as the files that `trm import` reads, and reads its truth again.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::json;

use super::error::WorldError;
use super::spec::{Truth, World};
use crate::domain::{Question, VideoTree};

/// The file of the questions.
pub const QUESTIONS_FILE: &str = "questions.jsonl";
/// The folder of the videos.
pub const VIDEOS_FOLDER: &str = "videos";
/// The file of the truth, which the simulated model reads and the agent never sees.
pub const TRUTH_FILE: &str = "sim-truth.json";

/// What was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Number of files.
    pub files: usize,
    /// Bytes of questions, trees and frames.
    pub world_bytes: u64,
    /// Bytes of the truth file.
    pub truth_bytes: u64,
}

impl World {
    /// Every file of the world with its path inside the target folder, sorted by path: questions, trees, frames, truth.
    ///
    /// # Errors
    /// A value without a JSON form: a bug.
    pub fn files(&self) -> Result<Vec<(PathBuf, Vec<u8>)>, WorldError> {
        let mut files = vec![(PathBuf::from(QUESTIONS_FILE), questions_file(&self.questions)?)];
        let mut truth = to_json("the truth", &self.truth)?;
        truth.push('\n');
        files.push((PathBuf::from(TRUTH_FILE), truth.into_bytes()));
        for tree in &self.trees {
            let folder = Path::new(VIDEOS_FOLDER).join(tree.video_id.as_str());
            files.push((folder.join("tree.json"), tree_file(tree)?));
            for (name, png) in self.frames.get(&tree.video_id).into_iter().flatten() {
                files.push((folder.join("frames").join(name), png.clone()));
            }
        }
        files.sort();
        Ok(files)
    }

    /// Writes all files below `folder`, which is created if it is missing. Files of equal content are left alone.
    ///
    /// # Errors
    /// Without `force`, a file of other content in the way (nothing is written then); a failure of the disk.
    pub fn write_to(&self, folder: &Path, force: bool) -> Result<Written, WorldError> {
        let files = self.files()?;
        let mut missing = Vec::new();
        for (path, bytes) in &files {
            let path = folder.join(path);
            match fs::read(&path) {
                Ok(present) if present == *bytes => {}
                Ok(_) if !force => return Err(WorldError::Exists { path }),
                Err(source) if source.kind() != io::ErrorKind::NotFound => {
                    return Err(WorldError::Write { path, source });
                }
                Ok(_) | Err(_) => missing.push((path, bytes)),
            }
        }
        for (path, bytes) in missing {
            write(&path, bytes)?;
        }
        let size = |truth: bool| {
            let wanted = files.iter().filter(|(path, _)| (path == Path::new(TRUTH_FILE)) == truth);
            wanted.map(|(_, bytes)| bytes.len() as u64).sum()
        };
        Ok(Written { files: files.len(), world_bytes: size(false), truth_bytes: size(true) })
    }
}

impl Truth {
    /// Reads a truth file.
    ///
    /// # Errors
    /// A text that is no truth file of this version.
    pub fn from_json(text: &str) -> Result<Self, WorldError> {
        let json_error = |source| WorldError::Json { what: TRUTH_FILE.to_owned(), source };
        let truth: Self = serde_json::from_str(text).map_err(json_error)?;
        if truth.version != Self::VERSION {
            let what =
                format!("a truth file of version {} (this program reads version {})", truth.version, Self::VERSION);
            return Err(WorldError::Spec(what));
        }
        Ok(truth)
    }
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), WorldError> {
    let failed = |source| WorldError::Write { path: path.to_owned(), source };
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    fs::write(path, bytes).map_err(failed)
}

fn to_json(what: &str, value: &impl Serialize) -> Result<String, WorldError> {
    serde_json::to_string(value).map_err(|source| WorldError::Json { what: what.to_owned(), source })
}

fn questions_file(questions: &[Question]) -> Result<Vec<u8>, WorldError> {
    let mut text = String::new();
    for question in questions {
        let options: Vec<String> =
            question.options.iter().map(|choice| format!("{}. {}", choice.letter, choice.text)).collect();
        let row = json!({
            "question_id": question.question_id,
            "video_id": question.video_id,
            "task_type": question.task_type,
            "question": question.question,
            "options": options,
            "answer": question.answer,
            "pair_id": question.pair_id,
            "source_nodes": question.source_nodes,
            "difficulty": question.difficulty,
        });
        text.push_str(&to_json("a question", &row)?);
        text.push('\n');
    }
    Ok(text.into_bytes())
}

/// One node on a line: as small as without any layout, but people can read it and see what changed.
fn tree_file(tree: &VideoTree) -> Result<Vec<u8>, WorldError> {
    let head = VideoTree { nodes: [].into(), ..tree.clone() };
    let head = to_json("a tree", &head)?;
    let mut text = head.strip_suffix("}}").unwrap_or(&head).to_owned();
    for (place, (id, node)) in tree.nodes.iter().enumerate() {
        text.push_str(if place == 0 { "\n" } else { ",\n" });
        text.push_str(&format!("{}:{}", to_json("a node id", id)?, to_json("a node", node)?));
    }
    text.push_str("\n}}\n");
    Ok(text.into_bytes())
}
