//! Captions and subtitles: texts with their times, from JSON, CSV, SRT and WebVTT.

mod caption_json;
mod caption_table;
mod clock;
mod cue;
mod markup;
mod read;
mod subtitles;

pub use cue::TimedText;
pub(super) use read::read_into;
pub use read::read_timed_text;
