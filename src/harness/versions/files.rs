//! Sets of files on disk.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::VersionsError;
use super::check::check_set;
use crate::domain::{FileName, Problem};
use crate::store::rows::VersionKind;

/// The files of one version, by name.
pub type FileSet = BTreeMap<FileName, String>;

/// No skill or prompt is anywhere near this; a mistaken path soon is.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Reads a folder of Markdown files as one whole version and checks it. Other files and hidden ones are left alone.
///
/// # Errors
/// The folder cannot be read, or [`VersionsError::Invalid`] with everything that is wrong.
pub fn read_folder(folder: &Path, kind: VersionKind) -> Result<FileSet, VersionsError> {
    let entries = fs::read_dir(folder).map_err(|source| VersionsError::io("read", folder, source))?;
    let (mut files, mut problems) = (FileSet::new(), Vec::new());
    for entry in entries {
        let entry = entry.map_err(|source| VersionsError::io("read", folder, source))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.starts_with('.') || !name.to_ascii_lowercase().ends_with(".md") || entry.path().is_dir() {
            continue;
        }
        match read_checked(&entry.path(), &name)? {
            Ok((name, text)) => {
                files.insert(name, text);
            }
            Err(problem) => problems.push(problem),
        }
    }
    problems.extend(check_set(kind, &files));
    finish(folder, kind, files, problems)
}

/// Reads one Markdown file to be put over the files of `base`, and checks the result as a whole.
///
/// # Errors
/// As [`read_folder`].
pub fn read_file(path: &Path, kind: VersionKind, base: &FileSet) -> Result<FileSet, VersionsError> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    match read_checked(path, &name)? {
        Ok((name, text)) => {
            let mut files = base.clone();
            files.insert(name, text);
            let problems = check_set(kind, &files);
            finish(path, kind, files, problems)
        }
        Err(problem) => finish(path, kind, FileSet::new(), vec![problem]),
    }
}

fn finish(
    place: &Path,
    kind: VersionKind,
    files: FileSet,
    mut problems: Vec<Problem>,
) -> Result<FileSet, VersionsError> {
    if problems.is_empty() {
        return Ok(files);
    }
    problems.sort();
    Err(VersionsError::Invalid { kind, place: place.to_owned(), problems })
}

fn read_checked(path: &Path, name: &str) -> Result<Result<(FileName, String), Problem>, VersionsError> {
    let problem = |message: String| Ok(Err(Problem { place: Some(name.to_owned()), message, hint: None }));
    let size = fs::metadata(path).map_err(|source| VersionsError::io("read", path, source))?.len();
    if size > MAX_FILE_BYTES {
        return problem(format!("is {size} bytes long, more than the {MAX_FILE_BYTES} that a text may have"));
    }
    let bytes = fs::read(path).map_err(|source| VersionsError::io("read", path, source))?;
    let Ok(text) = String::from_utf8(bytes) else { return problem("is not UTF-8 text".to_owned()) };
    match FileName::new(name) {
        Ok(name) => Ok(Ok((name, text))),
        Err(error) => problem(error.to_string()),
    }
}
