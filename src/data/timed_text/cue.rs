//! A text and when it holds.

/// One caption or one subtitle.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedText {
    /// When it begins, in seconds from the start of the video; 0 or more, finite.
    pub start: f64,
    /// When it ends, not before it begins; none where the source gives only a point in time.
    pub end: Option<f64>,
    /// The text: not empty, one line, without mark-up.
    pub text: String,
}

impl TimedText {
    /// A text with its white space reduced to single spaces; none if nothing is left.
    pub(super) fn new(start: f64, end: Option<f64>, text: &str) -> Option<Self> {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        (!text.is_empty()).then_some(Self { start, end, text })
    }
}

/// Sorts by start; what begins at the same time stays in its order.
pub(super) fn sort_by_start(texts: &mut [TimedText]) {
    texts.sort_by(|a, b| a.start.total_cmp(&b.start));
}
