//! Texts whose managed regions the patch engine refuses to touch.

use crate::domain::{ExitClass, Fault};

use super::Region;

/// Broken region markers, or guidance that would break them. Both markers absent is fine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// One marker without the other.
    #[error("find the {region} region: it has {present} and no {absent}")]
    Unpaired {
        /// The region.
        region: Region,
        /// The marker that is there.
        present: &'static str,
        /// The marker that is not.
        absent: &'static str,
    },
    /// A marker that stands there more than once.
    #[error("find the {region} region: {marker} occurs {count} times")]
    Duplicated {
        /// The region.
        region: Region,
        /// The marker.
        marker: &'static str,
        /// How often.
        count: usize,
    },
    /// The end before the start.
    #[error("find the {region} region: its end marker stands before its start marker")]
    Inverted {
        /// The region.
        region: Region,
    },
    /// One region inside or across the other.
    #[error("find the managed regions: appendix and momentum overlap")]
    Overlapping,
    /// Text that would end or open a region from within.
    #[error("write into the {region} region: the text contains the marker {marker}")]
    Injection {
        /// The region.
        region: Region,
        /// The marker in the text.
        marker: &'static str,
    },
    /// More than the region may hold.
    #[error("write into the {region} region: {chars} characters are more than the {max} it may hold")]
    TooLong {
        /// The region.
        region: Region,
        /// The characters of the text.
        chars: usize,
        /// The limit.
        max: usize,
    },
}

impl Fault for PatchError {
    fn class(&self) -> ExitClass {
        ExitClass::Data
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Unpaired { .. } => "patch.unpaired_marker",
            Self::Duplicated { .. } => "patch.duplicated_marker",
            Self::Inverted { .. } => "patch.inverted_markers",
            Self::Overlapping => "patch.overlapping_regions",
            Self::Injection { .. } => "patch.marker_injection",
            Self::TooLong { .. } => "patch.too_long",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unpaired { .. } | Self::Duplicated { .. } | Self::Inverted { .. } | Self::Overlapping => Some(
                "a managed region is a start marker and an end marker, each once; remove both to do without it".into(),
            ),
            Self::Injection { .. } | Self::TooLong { .. } => None,
        }
    }
}
