//! From a path to its records: which format, which files.

use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use super::{array, jsonl, parquet};
use crate::data::error::DataError;
use crate::data::intake::Intake;
use crate::data::lines::BYTE_ORDER_MARK;
use crate::data::problem::{Problem, Spot};

/// A file of questions and the video that its name implies, if any.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct QuestionFile {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    pub(super) video: Option<String>,
}

/// The files behind a path: itself, or all `.json`, `.jsonl`, `.ndjson` and `.parquet` files of a folder by name.
pub(super) fn find_files(path: &Path) -> Result<Vec<QuestionFile>, DataError> {
    let metadata = fs::metadata(path).map_err(|error| DataError::reading(path, error))?;
    if metadata.is_file() {
        return Ok(vec![QuestionFile { path: path.to_path_buf(), bytes: metadata.len(), video: None }]);
    }
    if !metadata.is_dir() {
        return Err(DataError::WrongKind {
            path: path.to_path_buf(),
            what: "it is neither a file nor a folder",
            hint: "write the questions to a file first",
        });
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(path).map_err(|error| DataError::reading(path, error))? {
        let path = entry.map_err(|error| DataError::reading(path, error))?.path();
        let known = path.extension().and_then(|extension| extension.to_str()).is_some_and(|extension| {
            ["json", "jsonl", "ndjson", "parquet"].iter().any(|known| extension.eq_ignore_ascii_case(known))
        });
        let Some(metadata) = known.then(|| fs::metadata(&path).ok()).flatten().filter(fs::Metadata::is_file) else {
            continue;
        };
        let video = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        files.push(QuestionFile { path, bytes: metadata.len(), video });
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    if files.is_empty() {
        return Err(DataError::WrongKind {
            path: path.to_path_buf(),
            what: "the folder holds no .json, .jsonl, .ndjson or .parquet file",
            hint: "name a file of questions, or a folder of such files",
        });
    }
    Ok(files)
}

/// Reads all records of one file, whatever its format.
pub(super) fn read_file(path: &Path, intake: &mut dyn Intake) -> Result<(), DataError> {
    let reading = |error| DataError::reading(path, error);
    let mut file = File::open(path).map_err(reading)?;
    let spot = Spot::whole(path);
    let (format, start) = sniff(&mut file).map_err(reading)?;
    file.seek(io::SeekFrom::Start(start)).map_err(reading)?;
    match format {
        Format::Parquet => parquet::read(file, &spot, intake),
        Format::Lines => jsonl::read(BufReader::with_capacity(1 << 16, file), &spot, intake),
        Format::Array => array::read(BufReader::with_capacity(1 << 16, file), &spot, intake),
        Format::Other(what, hint) => {
            intake.problem(Problem::error("file.format", &spot, what, hint));
            Ok(())
        }
    }
    .map_err(reading)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Parquet,
    Lines,
    Array,
    Other(&'static str, &'static str),
}

/// The format by the first bytes, which do not lie as names do; and where its content begins.
fn sniff(file: &mut File) -> io::Result<(Format, u64)> {
    let mut head = Vec::new();
    file.take(4_096).read_to_end(&mut head)?;
    if head.starts_with(b"PAR1") {
        return Ok((Format::Parquet, 0));
    }
    if head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") {
        return Ok((Format::Other("the file is UTF-16", "save it as UTF-8"), 0));
    }
    if head.starts_with(b"\x1f\x8b") || head.starts_with(b"PK\x03\x04") || head.starts_with(b"\x28\xb5\x2f\xfd") {
        return Ok((Format::Other("the file is compressed", "unpack it first"), 0));
    }
    let text = head.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&head);
    let mark = (head.len() - text.len()) as u64;
    Ok(match text.trim_ascii_start().first() {
        Some(b'[') => (Format::Array, mark),
        Some(_) => (Format::Lines, mark),
        None if head.len() < 4_096 => (Format::Other("the file is empty", "write one question per line, as JSON"), 0),
        None => (Format::Lines, mark),
    })
}
