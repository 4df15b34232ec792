//! The appendix as a list of notes. Nothing here ever cuts inside a note.

use super::regions::{marker_in, newline_of, region_bounds};
use super::{APPENDIX_MAX_CHARS, PatchError, Region, region_inner};

/// The notes of the appendix, oldest first; none without an appendix. Tolerant.
///
/// A list item starts a note; lines below it that are no list item belong to it. A paragraph is a note too.
#[must_use]
pub fn appendix_notes(content: &str) -> Vec<String> {
    let mut notes: Vec<String> = Vec::new();
    let mut after_blank = true;
    for line in region_inner(content, Region::Appendix).lines() {
        let text = line.trim();
        if text.is_empty() {
            after_blank = true;
            continue;
        }
        match (item_text(text), notes.last_mut()) {
            (Some(item), _) => notes.push(item.to_owned()),
            (None, Some(note)) if !after_blank => {
                note.push_str(if note.is_empty() { "" } else { " " });
                note.push_str(text);
            }
            (None, _) => notes.push(text.to_owned()),
        }
        after_blank = false;
    }
    notes.retain(|note| !note.is_empty());
    notes
}

/// Adds notes at the end of the appendix, which is made at the end of the text if there is none.
///
/// What is there stays byte for byte. The caller sees to [`APPENDIX_MAX_CHARS`].
///
/// # Errors
/// Broken markers, or a note that contains a marker.
pub fn append_notes(content: &str, notes: &[String]) -> Result<String, PatchError> {
    if notes.is_empty() {
        return Ok(content.to_owned());
    }
    let newline = newline_of(content);
    let lines = note_lines(notes, newline)?;
    let Some(bounds) = region_bounds(content, Region::Appendix)? else {
        return Ok(with_new_appendix(content, &lines, newline));
    };
    let inner = content.get(bounds.inner.clone()).unwrap_or_default();
    let kept = inner.trim_end();
    let start = bounds.inner.start + kept.len();
    let mut text = content.to_owned();
    text.replace_range(start..bounds.inner.end, &format!("{newline}{lines}"));
    Ok(text)
}

/// Puts these notes in the place of all that the appendix holds.
///
/// # Errors
/// Broken markers, a note that contains a marker, or more than [`APPENDIX_MAX_CHARS`] characters.
pub fn replace_notes(content: &str, notes: &[String]) -> Result<String, PatchError> {
    let newline = newline_of(content);
    let lines = note_lines(notes, newline)?;
    let inner = format!("{newline}{lines}");
    let chars = inner.chars().count();
    if chars > APPENDIX_MAX_CHARS {
        return Err(PatchError::TooLong { region: Region::Appendix, chars, max: APPENDIX_MAX_CHARS });
    }
    match region_bounds(content, Region::Appendix)? {
        Some(bounds) => {
            let mut text = content.to_owned();
            text.replace_range(bounds.inner, &inner);
            Ok(text)
        }
        None if notes.is_empty() => Ok(content.to_owned()),
        None => Ok(with_new_appendix(content, &lines, newline)),
    }
}

/// A new appendix stands before the momentum region, else at the end.
fn with_new_appendix(content: &str, lines: &str, newline: &str) -> String {
    let region = Region::Appendix;
    let block = format!("{}{newline}{lines}{}{newline}", region.start_marker(), region.end_marker());
    if let Ok(Some(momentum)) = region_bounds(content, Region::Momentum) {
        let mut text = content.to_owned();
        text.insert_str(momentum.outer.start, &format!("{block}{newline}"));
        return text;
    }
    let mut text = content.trim_end().to_owned();
    if !text.is_empty() {
        text.push_str(newline);
        text.push_str(newline);
    }
    text.push_str(&block);
    text
}

fn note_lines(notes: &[String], newline: &str) -> Result<String, PatchError> {
    let mut lines = String::new();
    for note in notes {
        // One line per note, so that notes are told apart when they are read back.
        let line = note.split_whitespace().collect::<Vec<_>>().join(" ");
        if let Some(marker) = marker_in(&line) {
            return Err(PatchError::Injection { region: Region::Appendix, marker });
        }
        lines.push_str(&format!("- {line}{newline}"));
    }
    Ok(lines)
}

/// What follows the mark of a list item.
fn item_text(line: &str) -> Option<&str> {
    let after_mark = line.strip_prefix(['-', '*', '+']).or_else(|| {
        let digits = line.trim_start_matches(|char: char| char.is_ascii_digit());
        if digits.len() == line.len() { None } else { digits.strip_prefix(['.', ')']) }
    })?;
    (after_mark.is_empty() || after_mark.starts_with([' ', '\t'])).then(|| after_mark.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(notes: &[&str]) -> Vec<String> {
        notes.iter().map(|note| (*note).to_owned()).collect()
    }

    #[test]
    fn notes_are_items_and_paragraphs() {
        let text = "<!-- APPENDIX_START -->\nFirst\nstill first.\n\n- second\n  goes on\n* third\n4. fourth\n-\n-no item\n<!-- APPENDIX_END -->";
        assert_eq!(
            appendix_notes(text),
            ["First still first.", "second goes on", "third", "fourth", "-no item"].map(str::to_owned)
        );
        assert!(appendix_notes("<!-- APPENDIX_START -->\n- a").is_empty(), "tolerant of a missing end");
    }

    #[test]
    fn appending_keeps_what_is_there() {
        let text = "x\n<!-- APPENDIX_START -->\nold  text\n\n<!-- APPENDIX_END -->\ny";
        let grown = append_notes(text, &owned(&["a\nb", "c"])).unwrap();
        assert_eq!(grown, "x\n<!-- APPENDIX_START -->\nold  text\n- a b\n- c\n<!-- APPENDIX_END -->\ny");
        assert_eq!(append_notes(text, &[]).unwrap(), text);
    }

    #[test]
    fn an_appendix_is_made_where_it_belongs() {
        let made = append_notes("x\n\n<!-- MOMENTUM_START -->\n<!-- MOMENTUM_END -->\n", &owned(&["a"])).unwrap();
        assert_eq!(
            made,
            "x\n\n<!-- APPENDIX_START -->\n- a\n<!-- APPENDIX_END -->\n\n<!-- MOMENTUM_START -->\n<!-- MOMENTUM_END -->\n"
        );
        assert_eq!(
            append_notes("x", &owned(&["a"])).unwrap(),
            "x\n\n<!-- APPENDIX_START -->\n- a\n<!-- APPENDIX_END -->\n"
        );
    }

    #[test]
    fn replacing_reads_back_and_is_idempotent() {
        let text = append_notes("x", &owned(&["a", "b"])).unwrap();
        let replaced = replace_notes(&text, &owned(&["c"])).unwrap();
        assert_eq!(appendix_notes(&replaced), ["c"]);
        assert_eq!(replace_notes(&replaced, &owned(&["c"])).unwrap(), replaced);
        assert!(appendix_notes(&replace_notes(&replaced, &[]).unwrap()).is_empty());
        assert!(matches!(replace_notes(&text, &["a".repeat(2_000)]), Err(PatchError::TooLong { .. })));
    }

    #[test]
    fn a_note_cannot_break_out() {
        let error = append_notes("x", &owned(&["a <!-- APPENDIX_END --> b"])).unwrap_err();
        assert!(matches!(error, PatchError::Injection { .. }));
    }
}
