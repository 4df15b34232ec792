//! From a file to its timed texts.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::cue::TimedText;
use super::{caption_json, caption_table, subtitles};
use crate::data::error::DataError;
use crate::data::problem::{Problem, Problems, Spot};

/// The largest file that is read; captions of a day's video take a tenth of it.
const LARGEST_FILE: u64 = 256 << 20;

/// Reads captions or subtitles: JSON, CSV (or tabs, semicolons), SRT or WebVTT, told apart by their content.
///
/// # Errors
/// The file cannot be read, or [`DataError::Invalid`] with every problem in it.
pub fn read_timed_text(path: &Path) -> Result<(Vec<TimedText>, Problems), DataError> {
    let mut problems = Problems::default();
    let texts = read_into(path, &mut problems)?;
    if problems.has_errors() {
        return Err(DataError::invalid(path, problems));
    }
    Ok((texts, problems))
}

/// Like [`read_timed_text`], but adds what is wrong with the content to a longer list.
pub(in crate::data) fn read_into(path: &Path, problems: &mut Problems) -> Result<Vec<TimedText>, DataError> {
    let reading = |error| DataError::reading(path, error);
    let file = File::open(path).map_err(reading)?;
    let metadata = file.metadata().map_err(reading)?;
    if !metadata.is_file() {
        return Err(DataError::WrongKind {
            path: path.to_path_buf(),
            what: "it is not a file",
            hint: "name a file of captions or subtitles",
        });
    }
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(reading)?;
    let spot = Spot::whole(path);
    if bytes.len() as u64 > LARGEST_FILE {
        let what = format!("the file is larger than {} MiB", LARGEST_FILE >> 20);
        problems.push(Problem::error("file.too_large", &spot, what, "is this a file of captions or subtitles?"));
        return Ok(Vec::new());
    }
    Ok(parse(&bytes, &spot, problems))
}

/// Parses the bytes of a file, whatever their format.
pub(super) fn parse(bytes: &[u8], spot: &Spot, problems: &mut Problems) -> Vec<TimedText> {
    let before = problems.errors();
    let Some(text) = decode(bytes) else {
        let hint = "convert it to UTF-8, for example with: iconv -f WINDOWS-1252 -t UTF-8";
        problems.push(Problem::error("file.encoding", spot, "the text is not UTF-8", hint));
        return Vec::new();
    };
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let start = text.trim_start();
    let texts = if start.starts_with('{') && !start.starts_with("{\\") || start.starts_with('[') {
        caption_json::read(text, spot, problems)
    } else if text.contains("-->") || text.starts_with("WEBVTT") {
        subtitles::read(text, spot, problems)
    } else {
        caption_table::read(text, spot, problems)
    };
    if texts.is_empty() && problems.errors() == before {
        let hint = "captions are JSON or CSV, subtitles SRT or WebVTT; see docs/reference/data-formats.md";
        problems.push(Problem::error("file.no_text", spot, "there is no timed text in the file", hint));
    }
    texts
}

/// UTF-8, or UTF-16 with a byte order mark as some subtitle editors write it.
fn decode(bytes: &[u8]) -> Option<String> {
    let (little, rest) = match bytes {
        [0xff, 0xfe, rest @ ..] => (true, rest),
        [0xfe, 0xff, rest @ ..] => (false, rest),
        _ => return String::from_utf8(bytes.to_vec()).ok(),
    };
    let units = rest.chunks(2).map(|pair| match pair {
        [first, second] if little => u16::from_le_bytes([*first, *second]),
        [first, second] => u16::from_be_bytes([*first, *second]),
        // Half a unit at the end: an unpaired surrogate, which no text holds.
        _ => 0xd800,
    });
    char::decode_utf16(units).collect::<Result<_, _>>().ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(bytes: &[u8]) -> (Vec<String>, Vec<&'static str>) {
        let mut problems = Problems::default();
        let texts = parse(bytes, &Spot::whole("f"), &mut problems);
        (
            texts.into_iter().map(|text| text.text).collect(),
            problems.list().iter().map(|problem| problem.rule).collect(),
        )
    }

    #[test]
    fn formats_and_encodings_are_told_apart_by_content() {
        let srt = "\u{feff}1\n00:00:01,000 --> 00:00:02,000\nélan\n";
        let expected = (vec!["élan".to_owned()], vec![]);
        assert_eq!(texts(srt.as_bytes()), expected);
        let little: Vec<u8> = srt.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = srt.encode_utf16().flat_map(u16::to_be_bytes).collect();
        assert_eq!(texts(&little), expected);
        assert_eq!(texts(&big), expected);
        assert_eq!(texts(b"{\"0\": \"\xc3\xa9lan\"}"), expected);
        assert_eq!(texts("time,text\n0,élan\n".as_bytes()), expected);
    }

    #[test]
    fn files_without_text_are_refused() {
        assert_eq!(texts(b"1\n00:00:01,000 --> 00:00:02,000\n\xe9lan\n").1, ["file.encoding"]);
        assert_eq!(texts(b"\xff\xfea").1, ["file.encoding"]);
        assert_eq!(texts(b"WEBVTT\n").1, ["file.no_text"]);
        assert_eq!(texts(b"{}").1, ["file.no_text"]);
        assert_eq!(texts(b"").1, ["caption.columns"]);
    }

    proptest! {
        #[test]
        fn no_bytes_panic_and_every_text_is_in_order(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut problems = Problems::default();
            let texts = parse(&bytes, &Spot::whole("f"), &mut problems);
            prop_assert!(!texts.is_empty() || problems.has_errors());
        }

        #[test]
        fn nothing_that_looks_like_subtitles_panics(text in "(WEBVTT\n)?([0-9:,.\\-> \n\r<>&{}/vci\\\\a]|-->|00:0[0-9]){0,60}") {
            let mut problems = Problems::default();
            for text in parse(text.as_bytes(), &Spot::whole("f"), &mut problems) {
                prop_assert!(text.start >= 0.0 && text.end.is_none_or(|end| end >= text.start));
                prop_assert!(!text.text.trim().is_empty());
            }
        }
    }
}
