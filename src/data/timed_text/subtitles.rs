//! SRT and WebVTT, as they are found in the wild: one reader for both, since files mix their habits.
//!
//! Cues are found by their timing line, so that missing or repeated numbers, missing blank lines, comma or dot before
//! the milliseconds and cues out of order do no harm.

use super::clock::seconds;
use super::cue::{TimedText, sort_by_start};
use super::markup::plain;
use crate::data::printable::quoted;
use crate::data::problem::{Place, Problem, Problems, Spot};

/// Reads all cues, by start. A timing line that cannot be read is an error; an end before its start is mended.
pub(super) fn read(text: &str, file: &Spot, problems: &mut Problems) -> Vec<TimedText> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let lines: Vec<&str> = text.lines_at_feeds().collect();
    let is_vtt = text.starts_with("WEBVTT");
    let mut cues = Cues { lines: &lines, is_vtt, file, problems, found: Vec::new() };
    cues.read();
    let rolling = is_vtt && lines.iter().any(|line| has_inline_time(line));
    let mut cues = cues.found;
    if rolling {
        drop_repeated_lines(&mut cues);
    }
    let mut texts: Vec<TimedText> =
        cues.iter().filter_map(|cue| TimedText::new(cue.start, Some(cue.end), &cue.lines.join(" "))).collect();
    sort_by_start(&mut texts);
    texts
}

/// Lines split at `\n` only.
trait LinesAtFeeds {
    fn lines_at_feeds(&self) -> impl Iterator<Item = &str>;
}

impl LinesAtFeeds for str {
    fn lines_at_feeds(&self) -> impl Iterator<Item = &str> {
        self.split('\n')
    }
}

#[derive(Debug)]
struct Cue {
    start: f64,
    end: f64,
    lines: Vec<String>,
}

struct Cues<'a> {
    lines: &'a [&'a str],
    is_vtt: bool,
    file: &'a Spot,
    problems: &'a mut Problems,
    found: Vec<Cue>,
}

impl Cues<'_> {
    fn read(&mut self) {
        let mut place = 0;
        while let Some(line) = self.lines.get(place) {
            let number = place as u64 + 1;
            if self.is_vtt && is_comment(line) {
                place = self.end_of_block(place);
            } else if line.contains("-->") {
                let end = self.end_of_cue(place + 1);
                self.cue(line, number, place + 1, end);
                place = end;
            } else {
                self.stray_line(line, place);
                place += 1;
            }
        }
    }

    fn cue(&mut self, timing: &str, number: u64, first: usize, end: usize) {
        let spot = self.file.with(Place::line(number));
        let Some((start, stop)) = timing_of(timing) else {
            let what = format!("the times of {} cannot be read", quoted(timing.trim()));
            let hint = "write 00:00:01,000 --> 00:00:02,500 (hours:minutes:seconds,milliseconds)";
            self.problems.push(Problem::error("subtitle.time", &spot, what, hint));
            return;
        };
        if stop < start {
            let what = "the cue ends before it starts: taken as a moment";
            self.problems.push(Problem::warning("subtitle.order", &spot, what, "correct its times"));
        }
        let lines = self.lines.get(first..end).unwrap_or_default().iter();
        let lines = lines.map(|line| plain(line)).filter(|line| !line.trim().is_empty()).collect();
        self.found.push(Cue { start, end: stop.max(start), lines });
    }

    /// Where the text of a cue ends: at a blank line, or before the number or time of a next cue that follows without.
    fn end_of_cue(&self, first: usize) -> usize {
        let mut place = first;
        while let Some(line) = self.lines.get(place) {
            let next_is_timing = self.lines.get(place + 1).is_some_and(|next| next.contains("-->"));
            let is_number = !line.trim().is_empty() && line.trim().bytes().all(|byte| byte.is_ascii_digit());
            if self.is_blank(line) || line.contains("-->") || next_is_timing && is_number {
                return place;
            }
            place += 1;
        }
        place
    }

    /// In WebVTT a line of spaces is text, and automatic captions begin with one.
    fn is_blank(&self, line: &str) -> bool {
        if self.is_vtt { line.is_empty() } else { line.trim().is_empty() }
    }

    fn end_of_block(&self, first: usize) -> usize {
        let rest = self.lines.get(first..).unwrap_or_default();
        first + rest.iter().position(|line| line.trim().is_empty()).unwrap_or(rest.len())
    }

    /// Cue numbers and names stand before their time; other text outside cues belongs to nothing.
    fn stray_line(&mut self, line: &str, place: usize) {
        let names_a_cue = self.lines.get(place + 1).is_some_and(|next| next.contains("-->"));
        let is_header = self.is_vtt && place < self.end_of_block(0);
        let is_number = line.trim().bytes().all(|byte| byte.is_ascii_digit());
        if line.trim().is_empty() || names_a_cue || is_header || is_number {
            return;
        }
        let spot = self.file.with(Place::line(place as u64 + 1));
        let what = format!("the text {} has no time: left out", quoted(line.trim()));
        let hint = "text of a cue follows its time without a blank line";
        self.problems.push(Problem::warning("subtitle.stray_text", &spot, what, hint));
    }
}

fn is_comment(line: &str) -> bool {
    ["NOTE", "STYLE", "REGION"]
        .iter()
        .any(|word| line.strip_prefix(word).is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t'])))
        && !line.contains("-->")
}

/// Start and end of `00:00:01,000 --> 00:00:02,000 settings`.
fn timing_of(line: &str) -> Option<(f64, f64)> {
    let (start, rest) = line.split_once("-->")?;
    let end = rest.split_whitespace().next()?;
    Some((seconds(start)?, seconds(end)?))
}

/// `<00:00:01.500>`: the mark of automatic captions that roll up line by line.
fn has_inline_time(line: &str) -> bool {
    let mut pieces = line.split('<');
    pieces.next();
    pieces.any(|piece| {
        let inside = piece.split('>').next().unwrap_or_default();
        inside.contains(':') && seconds(inside).is_some()
    })
}

/// In rolling captions each cue repeats the line of the one before.
fn drop_repeated_lines(cues: &mut [Cue]) {
    let mut previous: Vec<String> = Vec::new();
    for cue in cues {
        let shown = cue.lines.clone();
        cue.lines.retain(|line| !previous.iter().any(|known| known.trim() == line.trim()));
        previous = shown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cues(text: &str) -> (Vec<(f64, f64, String)>, Vec<String>) {
        let mut problems = Problems::default();
        let found = read(text, &Spot::whole("f"), &mut problems);
        let cues = found.into_iter().map(|cue| (cue.start, cue.end.unwrap(), cue.text)).collect();
        (cues, problems.list().iter().map(|problem| format!("{} {}", problem.rule, problem.place)).collect())
    }

    fn texts(text: &str) -> Vec<String> {
        let (cues, problems) = cues(text);
        assert_eq!(problems, [] as [String; 0]);
        cues.into_iter().map(|(_, _, text)| text).collect()
    }

    #[test]
    fn srt_is_read_with_numbers_tags_and_several_lines() {
        let (found, problems) = cues(
            "1\r\n00:00:01,000 --> 00:00:02,500\r\n<i>Good</i>\r\nmorning\r\n\r\n2\r\n00:01:00,000 --> 00:01:01,000\r\n{\\an8}42\r\n",
        );
        assert_eq!(problems, [] as [String; 0]);
        assert_eq!(found, [(1.0, 2.5, "Good morning".to_owned()), (60.0, 61.0, "42".to_owned())]);
    }

    #[test]
    fn missing_numbers_and_blank_lines_and_dots_do_no_harm() {
        let text = "00:00:01.000 --> 00:00:02.000\none\n2\n00:00:03,000 --> 00:00:04,000\ntwo\n00:05 --> 00:06\nthree";
        assert_eq!(texts(text), ["one", "two", "three"]);
    }

    #[test]
    fn cues_may_overlap_and_stand_in_any_order() {
        let text = "00:03,000 --> 00:09,000\nlate\n\n00:01,000 --> 00:05,000\nearly\n";
        assert_eq!(texts(text), ["early", "late"]);
    }

    #[test]
    fn webvtt_headers_notes_styles_names_and_settings_are_no_text() {
        let text = "WEBVTT - title\nKind: captions\n\nNOTE\nnothing\nhere\n\nSTYLE\n::cue { color: red }\n\nintro\n\
                    00:01.000 --> 00:02.000 align:start position:0%\n<v Anna>Hi &amp; bye</v>\n\n00:03.000 --> 00:04.000\nNOTES matter\n";
        assert_eq!(texts(text), ["Anna: Hi & bye", "NOTES matter"]);
    }

    #[test]
    fn rolling_captions_are_told_once() {
        let text = "WEBVTT\n\n00:00.000 --> 00:02.000\n \nwe<00:00.500><c> go</c>\n\n00:02.000 --> 00:02.010\nwe go\n \n\n\
                    00:02.010 --> 00:04.000\nwe go\nhome<00:03.000><c> now</c>\n";
        assert_eq!(texts(text), ["we go", "home now"]);
        let spoken_twice = "00:00.000 --> 00:01.000\nNo!\n\n00:01.000 --> 00:02.000\nNo!\n";
        assert_eq!(texts(spoken_twice), ["No!", "No!"]);
    }

    #[test]
    fn bad_times_are_errors_with_their_line_and_stray_text_is_told() {
        let text = "junk\n\n1\n00:00:01,000 --> soon\nx\n\n2\n00:00:05,000 --> 00:00:04,000\ny\n\n3\n00:99:00,000 --> 00:99:01,000\nz\n";
        let (found, problems) = cues(text);
        assert_eq!(found, [(5.0, 5.0, "y".to_owned())]);
        let expected =
            ["subtitle.stray_text line 1", "subtitle.time line 4", "subtitle.order line 8", "subtitle.time line 12"];
        assert_eq!(problems, expected);
    }
}
