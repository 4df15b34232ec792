//! What differs between two sets of files.

use serde::Serialize;
use similar::TextDiff;

use super::FileSet;
use crate::domain::FileName;

/// How one file differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileChange {
    /// The file.
    pub file: FileName,
    /// How it differs.
    pub change: ChangeKind,
    /// Lines that only the newer one has.
    pub added_lines: usize,
    /// Lines that only the older one has.
    pub removed_lines: usize,
}

/// How a file differs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// Only the newer set has it.
    Added,
    /// Only the older set has it.
    Removed,
    /// Both have it, with other text.
    Changed,
}

impl ChangeKind {
    /// As one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
        }
    }
}

/// The files that differ, by name.
#[must_use]
pub fn compare(old: &FileSet, new: &FileSet) -> Vec<FileChange> {
    let mut names: Vec<&FileName> = old.keys().chain(new.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter_map(|file| {
            let (before, after) = (old.get(file), new.get(file));
            let change = match (before, after) {
                (None, Some(_)) => ChangeKind::Added,
                (Some(_), None) => ChangeKind::Removed,
                (Some(before), Some(after)) if before != after => ChangeKind::Changed,
                _ => return None,
            };
            let (added_lines, removed_lines) = count_lines(text_of(before), text_of(after));
            Some(FileChange { file: file.clone(), change, added_lines, removed_lines })
        })
        .collect()
}

/// The difference as a unified diff, file by file; empty for equal sets.
#[must_use]
pub fn unified_diff(old: &FileSet, new: &FileSet, old_name: &str, new_name: &str) -> String {
    compare(old, new)
        .iter()
        .map(|change| {
            let file = &change.file;
            let (before, after) = (text_of(old.get(file)), text_of(new.get(file)));
            let side =
                |name: &str, exists: bool| if exists { format!("{name}/{file}") } else { "/dev/null".to_owned() };
            TextDiff::from_lines(before, after)
                .unified_diff()
                .context_radius(3)
                .header(&side(old_name, old.contains_key(file)), &side(new_name, new.contains_key(file)))
                .to_string()
        })
        .collect()
}

fn text_of(text: Option<&String>) -> &str {
    text.map_or("", String::as_str)
}

fn count_lines(before: &str, after: &str) -> (usize, usize) {
    let diff = TextDiff::from_lines(before, after);
    let count = |tag| diff.iter_all_changes().filter(|change| change.tag() == tag).count();
    (count(similar::ChangeTag::Insert), count(similar::ChangeTag::Delete))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_added_removed_and_changed() {
        let set = |files: &[(&str, &str)]| -> FileSet {
            files.iter().map(|(name, text)| (name.parse().unwrap(), (*text).to_owned())).collect()
        };
        let old = set(&[("a.md", "1\n2\n"), ("b.md", "x\n"), ("same.md", "s")]);
        let new = set(&[("a.md", "1\n3\n4\n"), ("c.md", "y\n"), ("same.md", "s")]);
        let changes = compare(&old, &new);
        let short: Vec<_> =
            changes.iter().map(|c| (c.file.as_str(), c.change.name(), c.added_lines, c.removed_lines)).collect();
        assert_eq!(short, [("a.md", "changed", 2, 1), ("b.md", "removed", 0, 1), ("c.md", "added", 1, 0)]);
        let diff = unified_diff(&old, &new, "v1", "v2");
        assert!(diff.contains("--- v1/a.md\n+++ v2/a.md\n"), "{diff}");
        assert!(diff.contains("--- /dev/null\n+++ v2/c.md\n"), "{diff}");
        assert_eq!(unified_diff(&old, &old, "v1", "v1"), "");
    }
}
