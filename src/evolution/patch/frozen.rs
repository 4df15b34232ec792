//! What edits may not touch: front matter, managed regions, and the named sections of prompts.

use std::ops::Range;

use super::PatchError;
use super::markdown::{front_matter, headings};
use super::regions::all_bounds;

/// What is frozen in a kind of text. The managed regions always are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenSpec {
    /// Whether front matter is.
    pub front_matter: bool,
    /// Headings whose sections are, in any language.
    pub sections: Vec<String>,
}

impl FrozenSpec {
    /// A skill: front matter and the managed regions.
    #[must_use]
    pub fn skill() -> Self {
        Self { front_matter: true, sections: Vec::new() }
    }
}

/// The headings of frozen sections (design 02). Configurable; the defaults hold the English and the Chinese names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenHeadings {
    /// In `system.md`: what the agent can do, the form of its output, how the tree is built.
    pub system: Vec<String>,
    /// In the tools' prompts: the form of the output.
    pub tool: Vec<String>,
}

impl Default for FrozenHeadings {
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self {
            system: owned(&[
                "Capabilities",
                "Capability boundaries",
                "Output format",
                "Video tree structure",
                "能力边界",
                "输出格式",
                "视频树结构",
            ]),
            tool: owned(&["Output format", "输出格式"]),
        }
    }
}

impl FrozenHeadings {
    /// What is frozen in `system.md`.
    #[must_use]
    pub fn system_spec(&self) -> FrozenSpec {
        FrozenSpec { front_matter: true, sections: self.system.clone() }
    }

    /// What is frozen in a tool's prompt.
    #[must_use]
    pub fn tool_spec(&self) -> FrozenSpec {
        FrozenSpec { front_matter: true, sections: self.tool.clone() }
    }
}

/// Why a range is frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrozenKind {
    /// The block between `---` lines at the start.
    FrontMatter,
    /// A named section of a prompt.
    Section,
    /// Appendix or momentum, markers included.
    Region,
}

/// A frozen range: half-open byte range on character boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrozenRange {
    /// Where.
    pub range: Range<usize>,
    /// Why.
    pub kind: FrozenKind,
}

/// The frozen ranges of a text, by start. A managed region may lie inside a frozen section.
///
/// # Errors
/// Broken region markers.
pub fn frozen_ranges(content: &str, spec: &FrozenSpec) -> Result<Vec<FrozenRange>, PatchError> {
    let mut found: Vec<FrozenRange> = all_bounds(content)?
        .into_iter()
        .map(|(_, bounds)| FrozenRange { range: bounds.outer, kind: FrozenKind::Region })
        .collect();
    found.extend(unmarked_ranges(content, spec));
    found.sort_by_key(|frozen| (frozen.range.start, frozen.range.end));
    Ok(found)
}

/// Front matter and sections: the ranges that no marker shows.
pub(super) fn unmarked_ranges(content: &str, spec: &FrozenSpec) -> Vec<FrozenRange> {
    let mut found = Vec::new();
    if spec.front_matter
        && let Some(front) = front_matter(content)
    {
        found.push(FrozenRange { range: front.range, kind: FrozenKind::FrontMatter });
    }
    if spec.sections.is_empty() {
        return found;
    }
    let names: Vec<String> = spec.sections.iter().map(|name| normalised(name)).collect();
    let all = headings(content);
    for (index, heading) in all.iter().enumerate() {
        if !names.iter().any(|name| is_named(heading.text, name)) {
            continue;
        }
        let next = all.iter().skip(index + 1).find(|next| next.level <= heading.level);
        let end = next.map_or(content.len(), |next| next.start);
        found.push(FrozenRange { range: heading.start..end, kind: FrozenKind::Section });
    }
    found
}

/// Whether a heading has this name: numbering, case, marks of emphasis and what follows in brackets do not count.
fn is_named(heading: &str, name: &str) -> bool {
    let heading = normalised(heading);
    heading
        .strip_prefix(name)
        .is_some_and(|rest| !name.is_empty() && rest.chars().next().is_none_or(|next| !next.is_alphanumeric()))
}

fn normalised(text: &str) -> String {
    let numbering = |char: char| char.is_ascii_digit() || matches!(char, '.' | ')' | '、' | '*' | '_' | ' ');
    text.trim().trim_start_matches(numbering).trim_end().to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(text: &str) -> Vec<&str> {
        let found = frozen_ranges(text, &FrozenHeadings::default().system_spec()).unwrap();
        found.into_iter().map(|frozen| text.get(frozen.range).unwrap()).collect()
    }

    #[test]
    fn a_section_ends_at_the_next_heading_of_its_level() {
        let text = "# a\n## Output format\nx\n### sub\ny\n## b\nz\n";
        assert_eq!(sections(text), ["## Output format\nx\n### sub\ny\n"]);
        assert_eq!(sections("## 能力边界\nx\n# b"), ["## 能力边界\nx\n"]);
    }

    #[test]
    fn headings_are_recognised_in_their_usual_spellings() {
        for heading in [
            "## OUTPUT FORMAT",
            "# 2. Output format:",
            "## **Output format** (JSON)",
            "### 输出格式（JSON）",
            "## 三、x\n## 3、输出格式",
        ] {
            assert_eq!(sections(heading).len(), 1, "{heading}");
        }
        for heading in [
            "## Output formats",
            "## The output format",
            "Output format",
            "#Output format",
            "```\n## Output format\n```",
        ] {
            assert!(sections(heading).is_empty(), "{heading}");
        }
    }

    #[test]
    fn all_kinds_are_found_in_order() {
        let text = "---\na: b\n---\nx\n<!-- MOMENTUM_START --><!-- MOMENTUM_END -->\n## Output format\n";
        let kinds: Vec<_> = frozen_ranges(text, &FrozenHeadings::default().tool_spec())
            .unwrap()
            .into_iter()
            .map(|frozen| frozen.kind)
            .collect();
        assert_eq!(kinds, [FrozenKind::FrontMatter, FrozenKind::Region, FrozenKind::Section]);
    }
}
