//! Applying edits in order, with the frozen ranges kept up to date between them.

use std::ops::Range;

use super::PatchError;
use super::edit::{Edit, EditOp, EditReport, EditStatus};
use super::frozen::{FrozenKind, FrozenRange, FrozenSpec, frozen_ranges, unmarked_ranges};
use super::markdown::is_structural;
use super::regions::{MARKERS, marker_in, newline_of};

/// The text after all edits, and one row per edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchOutcome {
    /// The new text.
    pub content: String,
    /// What became of each edit, in order.
    pub report: Vec<EditReport>,
}

impl PatchOutcome {
    /// How many edits changed the text.
    #[must_use]
    pub fn applied(&self) -> usize {
        self.report.iter().filter(|row| row.status.is_applied()).count()
    }
}

/// Applies edits in order; those that touch a frozen range, or cannot be done, are skipped with the reason.
///
/// Targets are taken literally and found at their first occurrence, contents are trimmed. In a text with CRLF line
/// ends a target with LF is found too, and contents are written with CRLF. What is frozen before an edit stays
/// frozen after it, even if the edit changed how Markdown would be read there.
///
/// # Errors
/// Broken region markers in `content`; then nothing is applied.
pub fn apply_patch_with_report(content: &str, edits: &[Edit], spec: &FrozenSpec) -> Result<PatchOutcome, PatchError> {
    let mut document = Document {
        text: content.to_owned(),
        frozen: frozen_ranges(content, spec)?,
        newline: newline_of(content),
        spec,
    };
    let mut report = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        let status = document.apply(edit);
        report.push(EditReport::new(index, edit, status));
    }
    Ok(PatchOutcome { content: document.text, report })
}

/// The text between two edits.
#[derive(Debug)]
struct Document<'a> {
    text: String,
    frozen: Vec<FrozenRange>,
    newline: &'static str,
    spec: &'a FrozenSpec,
}

impl Document<'_> {
    fn apply(&mut self, edit: &Edit) -> EditStatus {
        let payload = self.in_own_line_ends(edit.content.trim());
        match &edit.op {
            EditOp::Append if payload.is_empty() => EditStatus::SkippedEmptyContent,
            EditOp::Append => self.append(&payload, EditStatus::Applied),
            EditOp::InsertAfter if payload.is_empty() => EditStatus::SkippedEmptyContent,
            EditOp::InsertAfter => match self.find(&edit.target) {
                Some(found) => self.insert_after(found, &payload),
                None => self.append(&payload, EditStatus::AppliedAppend),
            },
            EditOp::Replace | EditOp::Delete if edit.target.is_empty() => EditStatus::SkippedEmptyTarget,
            EditOp::Replace => match self.find(&edit.target) {
                Some(found) => self.splice(found, payload, EditStatus::Applied),
                None => EditStatus::SkippedTargetNotFound,
            },
            EditOp::Delete => match self.find(&edit.target) {
                Some(found) => self.splice(found, String::new(), EditStatus::Applied),
                None => EditStatus::SkippedTargetNotFound,
            },
            EditOp::Other(_) => EditStatus::SkippedUnknownOp,
        }
    }

    /// The first occurrence of a target that is not empty.
    fn find(&self, target: &str) -> Option<Range<usize>> {
        if target.is_empty() {
            return None;
        }
        let literal = self.text.find(target).map(|start| start..start + target.len());
        if literal.is_some() || self.newline == "\n" || !target.contains('\n') {
            return literal;
        }
        let target = self.in_own_line_ends(target);
        self.text.find(&target).map(|start| start..start + target.len())
    }

    fn in_own_line_ends(&self, text: &str) -> String {
        match self.newline {
            "\r\n" => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            _ => text.to_owned(),
        }
    }

    fn append(&mut self, payload: &str, status: EditStatus) -> EditStatus {
        let place = self
            .frozen
            .iter()
            .filter(|frozen| frozen.kind != FrozenKind::FrontMatter)
            .map(|frozen| frozen.range.start)
            .min()
            .unwrap_or(self.text.len());
        let newline = self.newline;
        let before = self.text.get(..place).unwrap_or_default();
        let mut block = String::with_capacity(payload.len() + 8);
        if !before.trim().is_empty() {
            let has = usize::from(before.ends_with('\n'))
                + usize::from(before.ends_with("\n\n") || before.ends_with("\n\r\n"));
            block.push_str(&newline.repeat(2 - has));
        }
        block.push_str(payload);
        block.push_str(newline);
        if place < self.text.len() {
            block.push_str(newline);
        }
        self.splice(place..place, block, status)
    }

    /// Puts the content below the line in which the target ends: it comes in lines of its own.
    fn insert_after(&mut self, target: Range<usize>, payload: &str) -> EditStatus {
        if self.touches_frozen(&target) {
            return EditStatus::SkippedFrozen;
        }
        let newline = self.newline;
        let after = self.text.get(target.end..).unwrap_or_default();
        let at_line_start = self.text.get(..target.end).is_some_and(|before| before.ends_with('\n'));
        let line_end = if at_line_start {
            target.end
        } else {
            let line = after.split('\n').next().unwrap_or_default();
            target.end + line.trim_end_matches('\r').len()
        };
        // A frozen range that starts in the rest of the line is a border.
        let border = self.frozen.iter().map(|frozen| frozen.range.start).filter(|start| *start >= target.end).min();
        let place = border.map_or(line_end, |border| border.min(line_end));
        let follows = self.text.get(place..).unwrap_or_default();
        let gap = if is_list_item(payload) { "" } else { newline };
        let mut block = String::with_capacity(payload.len() + 8);
        block.push_str(if at_line_start { "" } else { newline });
        block.push_str(gap);
        block.push_str(payload);
        if at_line_start || place < line_end {
            block.push_str(newline);
        }
        let blank_follows = follows.trim_start_matches(['\r', '\n']).len() + 2 * newline.len() <= follows.len();
        if !gap.is_empty() && !follows.is_empty() && !blank_follows {
            block.push_str(newline);
        }
        self.splice(place..place, block, EditStatus::Applied)
    }

    /// The one place that changes the text.
    fn splice(&mut self, range: Range<usize>, mut new: String, status: EditStatus) -> EditStatus {
        if self.touches_frozen(&range) {
            return EditStatus::SkippedFrozen;
        }
        if marker_in(&new).is_some() {
            return EditStatus::SkippedMarker;
        }
        self.keep_line_start(&range, &mut new);
        if self.text.get(range.clone()) == Some(new.as_str()) {
            return EditStatus::SkippedNoChange;
        }
        if self.makes_marker(&range, &new) {
            return EditStatus::SkippedMarker;
        }
        let structural = self.is_structural_around(range.clone());
        let new_end = range.start + new.len();
        self.text.replace_range(range.clone(), &new);
        for frozen in &mut self.frozen {
            if frozen.range.start >= range.end {
                let length = frozen.range.end - frozen.range.start;
                frozen.range.start = frozen.range.start - range.end + new_end;
                frozen.range.end = frozen.range.start + length;
            }
        }
        if structural || self.is_structural_around(range.start..new_end) {
            self.refreeze();
        }
        status
    }

    /// Whether a change of this range would change what is frozen, or put something before the front matter.
    fn touches_frozen(&self, range: &Range<usize>) -> bool {
        self.frozen.iter().any(|frozen| {
            let inside = range.start < frozen.range.end && frozen.range.start < range.end;
            let before_front = frozen.kind == FrozenKind::FrontMatter && range.start < frozen.range.end;
            let insertion_inside =
                range.is_empty() && frozen.range.start < range.start && range.start < frozen.range.end;
            inside || before_front || insertion_inside
        })
    }

    /// A frozen range that starts a line shall still do so, or its heading would be none any more.
    fn keep_line_start(&self, range: &Range<usize>, new: &mut String) {
        let borders = self.frozen.iter().any(|frozen| frozen.range.start == range.end);
        let ends_line = |text: &str| text.is_empty() || text.ends_with('\n');
        let before = |place: usize| self.text.get(..place).unwrap_or_default();
        let after_change = if new.is_empty() { before(range.start) } else { new.as_str() };
        if borders && ends_line(before(range.end)) && !ends_line(after_change) {
            new.push_str(self.newline);
        }
    }

    /// Whether a marker would arise where old and new text meet.
    fn makes_marker(&self, range: &Range<usize>, new: &str) -> bool {
        const REACH: usize = 32;
        let bytes = self.text.as_bytes();
        let before = bytes.get(range.start.saturating_sub(REACH)..range.start).unwrap_or_default();
        let after_end = bytes.len().min(range.end + REACH);
        let after = bytes.get(range.end..after_end).unwrap_or_default();
        let joined = [before, new.as_bytes(), after].concat();
        let count = |bytes: &[u8]| -> usize {
            MARKERS
                .iter()
                .map(|marker| bytes.windows(marker.len()).filter(|window| *window == marker.as_bytes()).count())
                .sum()
        };
        // The new text itself holds none.
        count(&joined) > count(before) + count(after)
    }

    /// Whether the lines of this range, and the one after it, matter to what is frozen.
    fn is_structural_around(&self, range: Range<usize>) -> bool {
        let start = self.text.get(..range.start).and_then(|before| before.rfind('\n')).map_or(0, |place| place + 1);
        let lines = self.text.get(start..).unwrap_or_default();
        let mut offset = start;
        for line in lines.split_inclusive('\n') {
            if is_structural(line) {
                return true;
            }
            offset += line.len();
            if offset > range.end {
                return false;
            }
        }
        false
    }

    /// Adds what became frozen. What was frozen stays so: an edit cannot thaw a section by opening a fence above it.
    fn refreeze(&mut self) {
        for found in unmarked_ranges(&self.text, self.spec) {
            let within = self
                .frozen
                .iter()
                .any(|known| known.range.start <= found.range.start && found.range.end <= known.range.end);
            if !within {
                self.frozen.push(found);
            }
        }
        self.frozen.sort_by_key(|frozen| (frozen.range.start, frozen.range.end));
    }
}

fn is_list_item(payload: &str) -> bool {
    let after_digits = payload.trim_start_matches(|char: char| char.is_ascii_digit());
    payload.starts_with("- ")
        || payload.starts_with("* ")
        || payload.starts_with("+ ")
        || (after_digits.len() < payload.len() && (after_digits.starts_with(". ") || after_digits.starts_with(") ")))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::evolution::patch::FrozenHeadings;

    fn edit(op: &str, target: &str, content: &str) -> Edit {
        Edit { op: op.to_owned().into(), target: target.into(), content: content.into() }
    }

    /// The text after one edit, and its status.
    fn patched(text: &str, op: &str, target: &str, content: &str) -> (String, EditStatus) {
        let spec = FrozenHeadings::default().system_spec();
        let outcome = apply_patch_with_report(text, &[edit(op, target, content)], &spec).unwrap();
        (outcome.content, outcome.report[0].status)
    }

    #[test]
    fn append_goes_before_the_earliest_frozen_range_that_is_not_front_matter() {
        let text = "---\na: b\n---\n# x\n\n## Output format\njson\n\n<!-- APPENDIX_START --><!-- APPENDIX_END -->\n";
        let (new, status) = patched(text, "append", "ignored", " new\n");
        assert_eq!(status, EditStatus::Applied);
        assert_eq!(new, text.replace("## Output", "new\n\n## Output"));
        assert_eq!(patched("a", "append", "", "b").0, "a\n\nb\n");
        assert_eq!(patched("", "append", "", "b").0, "b\n");
        assert_eq!(patched("---\na: b\n---\n", "append", "", "b").0, "---\na: b\n---\n\nb\n");
    }

    #[test]
    fn insert_after_adds_lines_below_the_line_of_the_target() {
        assert_eq!(patched("- a b\n- c\n", "insert_after", "a", "- new").0, "- a b\n- new\n- c\n");
        assert_eq!(patched("a\nb\n", "insert_after", "a", "new").0, "a\n\nnew\n\nb\n");
        assert_eq!(patched("a\n\nb\n", "insert_after", "a", "new").0, "a\n\nnew\n\nb\n");
        assert_eq!(patched("a\nb\n", "insert_after", "a\n", "- new").0, "a\n- new\nb\n");
        assert_eq!(patched("a", "insert_after", "a", "new").0, "a\n\nnew");
    }

    #[test]
    fn insert_after_degrades_to_append_if_its_target_is_absent() {
        for target in ["nowhere", ""] {
            assert_eq!(patched("a\n", "insert_after", target, "b"), ("a\n\nb\n".into(), EditStatus::AppliedAppend));
        }
    }

    #[test]
    fn replace_and_delete_take_the_first_occurrence_once() {
        assert_eq!(patched("x x x", "replace", "x", "y "), ("y x x".into(), EditStatus::Applied));
        assert_eq!(patched("x x x", "delete", "x", "ignored"), (" x x".into(), EditStatus::Applied));
        assert_eq!(patched("x", "replace", "z", "y"), ("x".into(), EditStatus::SkippedTargetNotFound));
        assert_eq!(patched("x", "delete", "", ""), ("x".into(), EditStatus::SkippedEmptyTarget));
        assert_eq!(patched("x", "replace", "x", " x "), ("x".into(), EditStatus::SkippedNoChange));
    }

    #[test]
    fn targets_are_literal_and_not_trimmed() {
        assert_eq!(patched("a b", "replace", " b", "c").0, "ac");
        assert_eq!(patched("a b", "replace", "b ", "c").1, EditStatus::SkippedTargetNotFound);
        assert_eq!(patched("a.b", "replace", "a.", "c").0, "cb");
        assert_eq!(patched("e\u{301}", "replace", "e", "x").0, "x\u{301}");
    }

    #[test]
    fn what_is_frozen_is_skipped_with_the_reason() {
        let text = "---\nname: a\n---\nbody\n## Output format\njson\n# next\n<!-- APPENDIX_START -->\n- n\n<!-- APPENDIX_END -->\n";
        for target in
            ["name: a", "body\n## Output", "json", "json\n# next", "- n", "APPENDIX_START", "---\nbody", "\n- n"]
        {
            for op in ["replace", "delete", "insert_after"] {
                let (new, status) = patched(text, op, target, "z");
                assert_eq!((new.as_str(), status), (text, EditStatus::SkippedFrozen), "{op} {target:?}");
            }
        }
    }

    #[test]
    fn a_change_at_the_border_keeps_the_heading_a_heading() {
        let text = "body\n## Output format\njson\n";
        assert_eq!(patched(text, "delete", "\n", "").1, EditStatus::SkippedNoChange);
        assert_eq!(patched(text, "replace", "body\n", "new").0, "new\n## Output format\njson\n");
        assert_eq!(patched(text, "delete", "body\n", "").0, "## Output format\njson\n");
        assert_eq!(patched(text, "insert_after", "body", "new").0, "body\n\nnew\n\n## Output format\njson\n");
        let inline = "a <!-- MOMENTUM_START --><!-- MOMENTUM_END -->";
        assert_eq!(
            patched(inline, "insert_after", "a", "b").0,
            "a \n\nb\n\n<!-- MOMENTUM_START --><!-- MOMENTUM_END -->"
        );
    }

    #[test]
    fn no_edit_makes_a_marker() {
        assert_eq!(patched("a", "append", "", "x <!-- APPENDIX_START --> y").1, EditStatus::SkippedMarker);
        let split = "<!-- MOMENTUM_xSTART -->";
        assert_eq!(patched(split, "delete", "x", ""), (split.into(), EditStatus::SkippedMarker));
        let split = "<!-- MOMENTUM -->";
        assert_eq!(patched(split, "replace", "UM", "UM_END").1, EditStatus::SkippedMarker);
    }

    #[test]
    fn a_fence_opened_above_a_frozen_section_does_not_thaw_it() {
        let spec = FrozenHeadings::default().system_spec();
        let text = "body\n\n## Output format\njson\n";
        let edits = [edit("insert_after", "body", "```"), edit("replace", "json", "xml")];
        let outcome = apply_patch_with_report(text, &edits, &spec).unwrap();
        assert_eq!(outcome.report[1].status, EditStatus::SkippedFrozen);
        assert!(outcome.content.ends_with("## Output format\njson\n"));
    }

    #[test]
    fn a_section_that_an_edit_makes_is_frozen_at_once() {
        let spec = FrozenHeadings::default().tool_spec();
        let edits = [edit("append", "", "## Output format\nxml"), edit("replace", "xml", "json")];
        let outcome = apply_patch_with_report("body\n", &edits, &spec).unwrap();
        assert_eq!(outcome.report[1].status, EditStatus::SkippedFrozen);
    }

    #[test]
    fn a_text_with_crlf_keeps_its_line_ends() {
        let text = "a\r\nb\r\nc\r\n";
        assert_eq!(patched(text, "replace", "a\nb", "x\ny").0, "x\r\ny\r\nc\r\n");
        assert_eq!(patched(text, "insert_after", "a\r\nb", "- x").0, "a\r\nb\r\n- x\r\nc\r\n");
        assert_eq!(patched(text, "append", "", "x\ny").0, "a\r\nb\r\nc\r\n\r\nx\r\ny\r\n");
    }

    #[test]
    fn unknown_operations_and_empty_contents_are_reported() {
        assert_eq!(patched("a", "rewrite", "a", "b").1, EditStatus::SkippedUnknownOp);
        assert_eq!(patched("a", "append", "", " \n").1, EditStatus::SkippedEmptyContent);
        assert_eq!(patched("a", "insert_after", "a", "").1, EditStatus::SkippedEmptyContent);
    }

    proptest! {
        /// The shortcut that shifts known ranges instead of searching again finds all that a search would.
        #[test]
        fn frozen_ranges_are_current_after_every_edit(
            lines in proptest::collection::vec(prop_oneof![
                Just("## Output format"), Just("# x"), Just("```"), Just("---"), Just("a"), Just("b c"), Just(""),
                Just("\u{feff}"), Just("name: y"), Just("<!-- APPENDIX_START -->\nq\n<!-- APPENDIX_END -->"),
            ], 0..12),
            edits in proptest::collection::vec((
                prop_oneof![Just("append"), Just("insert_after"), Just("replace"), Just("delete")],
                prop_oneof![Just("a"), Just("\n"), Just("b c\n"), Just("#"), Just("```"), Just("x"), Just("---\n"), Just(" ")],
                prop_oneof![Just("# x"), Just("```"), Just("## Output format"), Just("z"), Just("---\nb: c\n---"), Just("")],
            ), 0..10),
        ) {
            let text = lines.join("\n");
            let spec = FrozenHeadings::default().system_spec();
            let Ok(frozen) = frozen_ranges(&text, &spec) else { return Ok(()) };
            let mut document = Document { newline: newline_of(&text), text, frozen, spec: &spec };
            for (op, target, content) in edits {
                document.apply(&edit(op, target, content));
                for found in frozen_ranges(&document.text, &spec).unwrap() {
                    let covered = document.frozen.iter().any(|known| {
                        known.range.start <= found.range.start && found.range.end <= known.range.end
                    });
                    prop_assert!(covered, "{found:?} is not known in {:?}", document.text);
                }
            }
        }
    }
}
