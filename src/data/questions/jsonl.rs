//! One JSON object per line.

use std::io::{self, BufRead};

use crate::data::intake::Intake;
use crate::data::json::{Element, syntax_problem};
use crate::data::lines::{Line, LineText, Lines, RECORD_LIMIT};
use crate::data::problem::{Place, Problem, Spot};

/// Reads all lines; a bad one is reported and the next one read.
pub(super) fn read(reader: impl BufRead, file: &Spot, intake: &mut dyn Intake) -> io::Result<()> {
    let mut lines = Lines::new(reader);
    let mut read_before = 0;
    while let Some(line) = lines.next_line()? {
        let pretty_printed = read_line(&line, file, intake);
        let read_now = lines.bytes_read();
        intake.advance(read_now - read_before);
        read_before = read_now;
        if pretty_printed {
            return Ok(());
        }
    }
    Ok(())
}

/// Returns whether the file is one object over many lines, where every line would be reported in vain.
fn read_line(line: &Line<'_>, file: &Spot, intake: &mut dyn Intake) -> bool {
    let spot = file.with(Place::line(line.number));
    let bytes = match line.text {
        LineText::Bytes(bytes) => bytes,
        LineText::TooLong => {
            intake.problem(Problem::error(
                "record.too_long",
                &spot,
                format!("the line is longer than {} MiB", RECORD_LIMIT >> 20),
                "one question is one line of a few kilobytes; is this the right file?",
            ));
            return false;
        }
    };
    let content = bytes.trim_ascii();
    if content.is_empty() {
        return false;
    }
    if line.number == 1 && content == b"{" {
        intake.problem(Problem::error(
            "record.not_lines",
            &spot,
            "an object that goes over several lines",
            "write one object per line, or a JSON list of objects",
        ));
        return true;
    }
    match serde_json::from_slice(content) {
        Ok(Element::Object(fields)) => intake.record(&spot, fields),
        Ok(Element::Other(found)) => intake.problem(not_an_object(found, &spot)),
        Err(error) => intake.problem(syntax_problem(&error, &spot, line.number - 1)),
    }
    false
}

/// A record of the wrong JSON type.
pub(super) fn not_an_object(found: &str, spot: &Spot) -> Problem {
    let what = format!("{found} where a question (an object) is expected");
    Problem::error("record.wrong_type", spot, what, "write an object with question_id, video_id, task_type, …")
}
