//! Input formats and import: questions, video trees, captions, subtitles, benchmarks.
