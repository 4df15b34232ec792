//! How a video is cut into scenes and events.

use std::str::FromStr;

/// How long the parts of one level are.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum LevelSize {
    /// About as many children everywhere: the cube root of the number of frames.
    #[default]
    Auto,
    /// So many seconds each.
    Seconds(f64),
    /// So many parts of equal length.
    Count(u32),
}

/// The sizes of both levels.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct LevelSizes {
    /// Of the scenes of a video.
    pub scenes: LevelSize,
    /// Of the events of a scene.
    pub events: LevelSize,
}

/// The text is no size of a level.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {0:?} as the size of a level: 'auto', seconds such as '60s', or a count such as '8' expected")]
pub struct LevelSizeError(String);

impl FromStr for LevelSize {
    type Err = LevelSizeError;

    /// `auto`, `60s` (seconds, above 0) or `8` (parts, above 0).
    fn from_str(text: &str) -> Result<Self, LevelSizeError> {
        let wrong = || LevelSizeError(text.chars().take(40).collect());
        if text == "auto" {
            return Ok(Self::Auto);
        }
        if let Some(seconds) = text.strip_suffix('s') {
            let seconds: f64 = seconds.parse().map_err(|_| wrong())?;
            return (seconds.is_finite() && seconds >= 0.01).then_some(Self::Seconds(seconds)).ok_or_else(wrong);
        }
        text.parse().ok().filter(|count| (1..=100_000).contains(count)).map(Self::Count).ok_or_else(wrong)
    }
}

/// Cuts a stretch of time into parts of equal length.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cuts {
    start: f64,
    end: f64,
    length: f64,
    most: u64,
}

impl Cuts {
    /// `frames` is the number of frames in the whole video.
    #[expect(clippy::cast_sign_loss, reason = "counts of parts are 1 or more")]
    pub(super) fn new(size: LevelSize, start: f64, end: f64, frames: usize) -> Self {
        let span = (end - start).max(0.0);
        let parts = |count: f64| Self { start, end, length: span / count, most: count as u64 };
        match size {
            LevelSize::Auto => parts((frames as f64).cbrt().round().max(1.0)),
            LevelSize::Count(count) => parts(f64::from(count.max(1))),
            LevelSize::Seconds(length) => Self { start, end, length, most: (span / length).ceil().max(1.0) as u64 },
        }
    }

    /// The part in which a moment lies; before the first counts as the first, after the last as the last.
    #[expect(clippy::cast_sign_loss, reason = "the quotient is 0 or more")]
    pub(super) fn part_of(&self, moment: f64) -> u64 {
        if self.length <= 0.0 {
            return 0;
        }
        (((moment - self.start) / self.length).max(0.0) as u64).min(self.most - 1)
    }

    /// Start and end of a part.
    pub(super) fn range(&self, part: u64) -> (f64, f64) {
        let from = self.start + self.length * part as f64;
        (from, (from + self.length).min(self.end).max(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_and_nonsense_refused() {
        assert_eq!("auto".parse(), Ok(LevelSize::Auto));
        assert_eq!("60s".parse(), Ok(LevelSize::Seconds(60.0)));
        assert_eq!("0.5s".parse(), Ok(LevelSize::Seconds(0.5)));
        assert_eq!("8".parse(), Ok(LevelSize::Count(8)));
        for wrong in ["", "0", "-1", "0s", "-5s", "NaNs", "infs", "8x", "1.5", "9999999"] {
            assert!(wrong.parse::<LevelSize>().is_err(), "{wrong:?} was accepted");
        }
    }

    #[test]
    fn every_moment_lies_in_one_part_inside_the_stretch() {
        let cuts = Cuts::new(LevelSize::Count(3), 10.0, 40.0, 0);
        assert_eq!([10.0, 19.9, 20.0, 39.9, 40.0, 99.0, 0.0].map(|moment| cuts.part_of(moment)), [0, 0, 1, 2, 2, 2, 0]);
        assert_eq!(cuts.range(2), (30.0, 40.0));
        let seconds = Cuts::new(LevelSize::Seconds(25.0), 0.0, 60.0, 0);
        assert_eq!((seconds.part_of(59.0), seconds.range(2)), (2, (50.0, 60.0)));
        let moment = Cuts::new(LevelSize::Auto, 5.0, 5.0, 27);
        assert_eq!((moment.part_of(5.0), moment.range(0)), (0, (5.0, 5.0)));
    }
}
