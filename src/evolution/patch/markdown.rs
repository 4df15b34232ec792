//! As much Markdown as freezing needs: front matter, headings, code fences.

use std::collections::BTreeMap;
use std::ops::Range;

/// The block between two `---` lines at the start of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMatter {
    /// From the start of the text to past the closing line.
    pub range: Range<usize>,
    /// The `key: value` lines, trimmed.
    pub fields: BTreeMap<String, String>,
}

/// The front matter of a text; none if it does not start with one or it is not closed.
#[must_use]
pub fn front_matter(content: &str) -> Option<FrontMatter> {
    let mut fields = BTreeMap::new();
    let mut offset = 0;
    for (index, line) in content.split_inclusive('\n').enumerate() {
        offset += line.len();
        let text = line.trim_end();
        if index == 0 {
            if text.trim_start_matches('\u{feff}') != "---" {
                return None;
            }
        } else if text == "---" {
            return Some(FrontMatter { range: 0..offset, fields });
        } else if let Some((key, value)) = text.split_once(':') {
            fields.insert(key.trim().to_owned(), value.trim().to_owned());
        }
    }
    None
}

/// Whether every code fence that is opened is closed.
#[must_use]
pub fn fences_closed(content: &str) -> bool {
    let mut fence = Fence::default();
    for line in content.lines() {
        fence.pass(line);
    }
    !fence.is_open()
}

/// A heading outside of code fences.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heading<'a> {
    /// Where its line starts.
    pub(super) start: usize,
    /// 1 to 6.
    pub(super) level: usize,
    /// Its text, without marks and white space at the ends.
    pub(super) text: &'a str,
}

/// All headings (`#` style) outside of code fences, in order.
pub(super) fn headings(content: &str) -> Vec<Heading<'_>> {
    let mut found = Vec::new();
    let mut fence = Fence::default();
    let mut offset = 0;
    for line in content.split_inclusive('\n') {
        let inside = fence.is_open();
        fence.pass(line);
        if !inside
            && !fence.is_open()
            && let Some((level, text)) = heading(line)
        {
            found.push(Heading { start: offset, level, text });
        }
        offset += line.len();
    }
    found
}

/// Level and text of a heading line.
fn heading(line: &str) -> Option<(usize, &str)> {
    let line = line.trim_start_matches('\u{feff}');
    let marks = line.trim_start_matches(' ');
    if line.len() - marks.len() > 3 {
        return None;
    }
    let text = marks.trim_start_matches('#');
    let level = marks.len() - text.len();
    let fits = (1..=6).contains(&level) && (text.trim().is_empty() || text.starts_with([' ', '\t']));
    fits.then(|| (level, text.trim().trim_end_matches('#').trim_end()))
}

/// Whether a line may be part of what freezing looks at: heading, fence, front matter, byte order mark.
pub(super) fn is_structural(line: &str) -> bool {
    line.trim_start().starts_with(['#', '`', '~', '-', '\u{feff}'])
}

/// Where in code we are.
#[derive(Debug, Default)]
struct Fence {
    /// The mark and how many of it opened the fence.
    open: Option<(char, usize)>,
}

impl Fence {
    fn is_open(&self) -> bool {
        self.open.is_some()
    }

    fn pass(&mut self, line: &str) {
        let text = line.trim();
        let Some(mark) = text.chars().next().filter(|mark| matches!(mark, '`' | '~')) else { return };
        let rest = text.trim_start_matches(mark);
        let count = text.len() - rest.len();
        if count < 3 {
            return;
        }
        match self.open {
            // Backticks in the info string mean inline code, not a fence.
            None if mark == '`' && rest.contains('`') => {}
            None => self.open = Some((mark, count)),
            Some((opening, needed)) if opening == mark && count >= needed && rest.trim().is_empty() => self.open = None,
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn front_matter_needs_both_lines() {
        let found = front_matter("---\nname: a\ntask_type: b: c\n---\nbody").unwrap();
        assert_eq!(found.range, 0..32);
        assert_eq!(found.fields["task_type"], "b: c");
        assert!(front_matter("\u{feff}---\r\nname: a\r\n---\r\n").is_some());
        for text in ["", "---", "---\nname: a", "body\n---\n---\n", " ---\n---\n"] {
            assert_eq!(front_matter(text), None, "{text:?}");
        }
    }

    #[test]
    fn headings_inside_fences_are_code() {
        let text = "# a\n```sh\n# no\n~~~\n```\n## b ##\n#no\n    # no\n~~~\n# no\n";
        let found: Vec<_> = headings(text).into_iter().map(|heading| (heading.level, heading.text)).collect();
        assert_eq!(found, [(1, "a"), (2, "b")]);
        assert!(!fences_closed(text));
    }

    #[test]
    fn a_fence_closes_with_its_own_mark_and_length() {
        assert!(fences_closed("````\n```\n````\n"));
        assert!(!fences_closed("````\n```\n"));
        assert!(fences_closed("```inline``` text"));
        assert!(!fences_closed("  ```\ncode\n``` x\n"));
    }
}
