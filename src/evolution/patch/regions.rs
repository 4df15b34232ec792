//! The two managed regions, and the momentum region's guidance.

use std::fmt;
use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::PatchError;

/// The most characters that the appendix may hold between its markers.
pub const APPENDIX_MAX_CHARS: usize = 2_000;
/// The most characters that the momentum guidance may have.
pub const MOMENTUM_MAX_CHARS: usize = 2_000;
/// The line that precedes the guidance inside its region; it is no part of the guidance.
pub const MOMENTUM_HEADING: &str = "## Guidance from earlier epochs";

/// A managed region: frozen to ordinary edits (design 02).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Region {
    /// Short lessons from lapses.
    Appendix,
    /// Guidance of the slow update.
    Momentum,
}

impl Region {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Appendix, Self::Momentum];

    /// What opens it.
    #[must_use]
    pub fn start_marker(self) -> &'static str {
        match self {
            Self::Appendix => "<!-- APPENDIX_START -->",
            Self::Momentum => "<!-- MOMENTUM_START -->",
        }
    }

    /// What closes it.
    #[must_use]
    pub fn end_marker(self) -> &'static str {
        match self {
            Self::Appendix => "<!-- APPENDIX_END -->",
            Self::Momentum => "<!-- MOMENTUM_END -->",
        }
    }
}

impl fmt::Display for Region {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Appendix => "appendix",
            Self::Momentum => "momentum",
        })
    }
}

/// All four markers.
pub(super) const MARKERS: [&str; 4] =
    ["<!-- APPENDIX_START -->", "<!-- APPENDIX_END -->", "<!-- MOMENTUM_START -->", "<!-- MOMENTUM_END -->"];

/// The first marker that `text` contains.
pub(super) fn marker_in(text: &str) -> Option<&'static str> {
    MARKERS.into_iter().find(|marker| text.contains(marker))
}

/// Where a region lies: half-open byte ranges on character boundaries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegionBounds {
    /// With its markers.
    pub outer: Range<usize>,
    /// Between its markers.
    pub inner: Range<usize>,
}

/// The bounds of a region; none if neither marker occurs. Strict.
///
/// # Errors
/// A marker without its counterpart, twice, or in the wrong order.
pub fn region_bounds(content: &str, region: Region) -> Result<Option<RegionBounds>, PatchError> {
    let (start_marker, end_marker) = (region.start_marker(), region.end_marker());
    let start = single(content, region, start_marker)?;
    let end = single(content, region, end_marker)?;
    let unpaired = |present, absent| PatchError::Unpaired { region, present, absent };
    let (start, end) = match (start, end) {
        (None, None) => return Ok(None),
        (Some(start), Some(end)) => (start, end),
        (Some(_), None) => return Err(unpaired(start_marker, end_marker)),
        (None, Some(_)) => return Err(unpaired(end_marker, start_marker)),
    };
    if end < start {
        return Err(PatchError::Inverted { region });
    }
    Ok(Some(RegionBounds { outer: start..end + end_marker.len(), inner: start + start_marker.len()..end }))
}

/// The bounds of all regions, by place; overlapping ones are refused.
pub(super) fn all_bounds(content: &str) -> Result<Vec<(Region, RegionBounds)>, PatchError> {
    let mut bounds = Vec::new();
    for region in Region::ALL {
        bounds.extend(region_bounds(content, region)?.map(|found| (region, found)));
    }
    bounds.sort_by_key(|(_, found)| found.outer.start);
    if let [(_, first), (_, second)] = bounds.as_slice()
        && first.outer.end > second.outer.start
    {
        return Err(PatchError::Overlapping);
    }
    Ok(bounds)
}

fn single(content: &str, region: Region, marker: &'static str) -> Result<Option<usize>, PatchError> {
    let mut places = content.match_indices(marker);
    let first = places.next().map(|(place, _)| place);
    match places.count() {
        0 => Ok(first),
        more => Err(PatchError::Duplicated { region, marker, count: more + 1 }),
    }
}

/// What a region holds; empty if there is no whole region. Tolerant, for showing and measuring.
#[must_use]
pub fn region_inner(content: &str, region: Region) -> &str {
    match region_bounds(content, region) {
        Ok(Some(bounds)) => content.get(bounds.inner).unwrap_or_default(),
        Ok(None) | Err(_) => "",
    }
}

/// The text without its managed regions. Tolerant: broken markers leave the text as it is.
#[must_use]
pub fn without_regions(content: &str) -> String {
    let mut text = content.to_owned();
    if let Ok(bounds) = all_bounds(content) {
        for (_, found) in bounds.into_iter().rev() {
            text.replace_range(found.outer, "");
        }
    }
    text
}

/// The current guidance, without the region's heading; empty if there is none. Tolerant.
#[must_use]
pub fn momentum_inner(content: &str) -> &str {
    without_heading(region_inner(content, Region::Momentum))
}

/// Puts `guidance` into the momentum region, under [`MOMENTUM_HEADING`]. A text without the region gets one at its
/// end. Empty guidance clears the region and keeps its heading. Idempotent.
///
/// # Errors
/// Guidance that contains a region marker (it could end the region from within) or is longer than
/// [`MOMENTUM_MAX_CHARS`]; broken markers in `content`.
pub fn replace_momentum(content: &str, guidance: &str) -> Result<String, PatchError> {
    let region = Region::Momentum;
    if let Some(marker) = marker_in(guidance) {
        return Err(PatchError::Injection { region, marker });
    }
    let guidance = without_heading(guidance);
    let chars = guidance.chars().count();
    if chars > MOMENTUM_MAX_CHARS {
        return Err(PatchError::TooLong { region, chars, max: MOMENTUM_MAX_CHARS });
    }
    let bounds = all_bounds(content)?.into_iter().find(|(found, _)| *found == region).map(|(_, bounds)| bounds);
    let had_heading = bounds
        .as_ref()
        .and_then(|bounds| content.get(bounds.inner.clone()))
        .is_some_and(|inner| inner.trim_start().starts_with(MOMENTUM_HEADING));
    let newline = newline_of(content);
    let inner = match (guidance.is_empty(), had_heading) {
        (true, false) => newline.to_owned(),
        (true, true) => format!("{newline}{MOMENTUM_HEADING}{newline}"),
        (false, _) => format!("{newline}{MOMENTUM_HEADING}{newline}{newline}{guidance}{newline}"),
    };
    let mut text = content.to_owned();
    match bounds {
        Some(bounds) => text.replace_range(bounds.inner, &inner),
        None => {
            if !text.is_empty() {
                text.truncate(text.trim_end().len());
                text.push_str(newline);
                text.push_str(newline);
            }
            text.push_str(region.start_marker());
            text.push_str(&inner);
            text.push_str(region.end_marker());
            text.push_str(newline);
        }
    }
    Ok(text)
}

fn without_heading(guidance: &str) -> &str {
    let mut rest = guidance.trim();
    // Repeated, so that what is written reads back as it was given.
    while let Some(after) = rest.strip_prefix(MOMENTUM_HEADING) {
        if !after.is_empty() && !after.starts_with(['\n', '\r']) {
            break;
        }
        rest = after.trim();
    }
    rest
}

/// The line end that the text uses: CRLF if its first line ends so.
pub(in crate::evolution) fn newline_of(content: &str) -> &'static str {
    match content.find('\n') {
        Some(place) if content.get(..place).is_some_and(|line| line.ends_with('\r')) => "\r\n",
        _ => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKILL: &str = "body\n\n<!-- APPENDIX_START -->\n- a\n<!-- APPENDIX_END -->\n\n<!-- MOMENTUM_START -->\n<!-- MOMENTUM_END -->\n";

    #[test]
    fn broken_markers_are_refused() {
        let both = Region::Appendix;
        let (start, end) = (both.start_marker(), both.end_marker());
        let found = |text: String| region_bounds(&text, both);
        assert_eq!(found("none".into()), Ok(None));
        assert!(matches!(found(start.into()), Err(PatchError::Unpaired { present, .. }) if present == start));
        assert!(matches!(found(end.into()), Err(PatchError::Unpaired { present, .. }) if present == end));
        assert!(matches!(found(format!("{end}{start}")), Err(PatchError::Inverted { .. })));
        assert!(matches!(found(format!("{start}{start}{end}")), Err(PatchError::Duplicated { count: 2, .. })));
        let momentum = Region::Momentum;
        let across = format!("{start}{}{end}{}", momentum.start_marker(), momentum.end_marker());
        assert_eq!(all_bounds(&across), Err(PatchError::Overlapping));
        assert_eq!(without_regions(&across), across);
    }

    #[test]
    fn guidance_reads_back_as_it_was_given() {
        let text = replace_momentum(SKILL, "  Check both ends.\n").unwrap();
        assert_eq!(momentum_inner(&text), "Check both ends.");
        assert!(text.contains(MOMENTUM_HEADING));
        assert_eq!(replace_momentum(&text, "Check both ends.").unwrap(), text, "it is idempotent");
        let with_heading = replace_momentum(SKILL, &format!("{MOMENTUM_HEADING}\n\nCheck both ends.")).unwrap();
        assert_eq!(with_heading, text);
        assert_eq!(
            replace_momentum(&text, "## Own heading\nx").as_deref().map(momentum_inner),
            Ok("## Own heading\nx")
        );
    }

    #[test]
    fn empty_guidance_clears_and_keeps_the_heading() {
        let text = replace_momentum(SKILL, "x").unwrap();
        let cleared = replace_momentum(&text, " ").unwrap();
        assert_eq!(momentum_inner(&cleared), "");
        assert!(cleared.contains(MOMENTUM_HEADING));
        assert_eq!(replace_momentum(SKILL, "").unwrap(), SKILL);
    }

    #[test]
    fn guidance_that_breaks_its_region_is_refused() {
        for marker in MARKERS {
            let error = replace_momentum(SKILL, &format!("a {marker} b")).unwrap_err();
            assert_eq!(error, PatchError::Injection { region: Region::Momentum, marker });
        }
        let error = replace_momentum(SKILL, &"ü".repeat(2_001)).unwrap_err();
        assert!(matches!(error, PatchError::TooLong { chars: 2_001, .. }));
        assert!(replace_momentum(SKILL, &"ü".repeat(2_000)).is_ok());
    }

    #[test]
    fn a_text_without_the_region_gets_one_in_its_own_line_ends() {
        assert_eq!(
            replace_momentum("a\r\nb", "x").unwrap(),
            format!(
                "a\r\nb\r\n\r\n<!-- MOMENTUM_START -->\r\n{MOMENTUM_HEADING}\r\n\r\nx\r\n<!-- MOMENTUM_END -->\r\n"
            )
        );
        assert!(replace_momentum("", "x").unwrap().starts_with("<!-- MOMENTUM_START -->"));
    }

    #[test]
    fn regions_are_cut_out() {
        assert_eq!(without_regions(SKILL), "body\n\n\n\n\n");
    }
}
