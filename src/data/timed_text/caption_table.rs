//! Captions as a table with a header: CSV, or the same with tabs or semicolons.

use csv::{ReaderBuilder, StringRecord};

use super::caption_json::checked_end;
use super::clock::seconds;
use super::cue::{TimedText, sort_by_start};
use crate::data::printable::quoted;
use crate::data::problem::{Place, Problem, Problems, Spot};

const START_NAMES: [&str; 5] = ["start", "second", "time", "timestamp", "t"];
const TEXT_NAMES: [&str; 4] = ["caption", "text", "description", "subtitle"];

/// Reads all rows, by start.
pub(super) fn read(text: &str, file: &Spot, problems: &mut Problems) -> Vec<TimedText> {
    let header = text.lines().next().unwrap_or_default();
    let delimiter = [b'\t', b';'].into_iter().find(|mark| header.contains(char::from(*mark))).unwrap_or(b',');
    let mut reader = ReaderBuilder::new().delimiter(delimiter).flexible(true).from_reader(text.as_bytes());
    let columns = reader.headers().ok().and_then(columns);
    let Some((start, end, caption)) = columns else {
        let what = "the first line names no column of times or none of captions";
        let hint = format!(
            "name the columns start, end (optional) and text; also known: {}, {}",
            START_NAMES.join(", "),
            TEXT_NAMES.join(", ")
        );
        problems.push(Problem::error("caption.columns", &file.with(Place::line(1)), what, hint));
        return Vec::new();
    };
    let mut found = Vec::new();
    for row in reader.records() {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                problems.push(Problem::error("caption.row", file, error, "correct this row"));
                continue;
            }
        };
        let line = row.position().map(csv::Position::line);
        let spot = file.with(Place { line, ..Place::whole() });
        let Some(from) = time(row.get(start), &spot, problems) else {
            continue;
        };
        let until = match end.and_then(|end| row.get(end)).filter(|text| !text.trim().is_empty()) {
            Some(text) => match time(Some(text), &spot, problems) {
                Some(until) => Some(until),
                None => continue,
            },
            None => None,
        };
        let until = checked_end(from, until, &spot, problems);
        found.extend(TimedText::new(from, until, row.get(caption).unwrap_or_default()));
    }
    sort_by_start(&mut found);
    found
}

fn columns(header: &StringRecord) -> Option<(usize, Option<usize>, usize)> {
    let place = |names: &[&str]| header.iter().position(|name| names.contains(&name.trim().to_lowercase().as_str()));
    Some((place(&START_NAMES)?, place(&["end"]), place(&TEXT_NAMES)?))
}

fn time(text: Option<&str>, spot: &Spot, problems: &mut Problems) -> Option<f64> {
    let found = text.and_then(seconds);
    if found.is_none() {
        let what = format!("{} is not a time", quoted(text.unwrap_or_default()));
        let hint = "write seconds (12.5) or a clock time (00:00:12.500), 0 or more";
        problems.push(Problem::error("caption.time", spot, what, hint));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    type Caption = (f64, Option<f64>, String);

    fn captions(text: &str) -> (Vec<Caption>, Vec<String>) {
        let mut problems = Problems::default();
        let found = read(text, &Spot::whole("f"), &mut problems);
        let found = found.into_iter().map(|text| (text.start, text.end, text.text)).collect();
        (found, problems.list().iter().map(|problem| format!("{} {}", problem.rule, problem.place)).collect())
    }

    #[test]
    fn tables_with_any_usual_delimiter_are_read() {
        let expected = (vec![(0.0, Some(2.0), "a, b".to_owned()), (62.0, None, "c".to_owned())], vec![]);
        assert_eq!(captions("start,end,text\n1:02,,c\r\n0,2,\"a,\nb\"\n"), expected);
        assert_eq!(captions("Time\tEnd\tCaption\n0\t2\ta, b\n1:02\t\tc\n"), expected);
        assert_eq!(captions("second;end;caption\n0;2;a, b\n62;;c\n"), expected);
    }

    #[test]
    fn everything_wrong_is_told_with_its_line() {
        assert_eq!(captions("a,b\n1,2\n").1, ["caption.columns line 1"]);
        assert_eq!(captions("").1, ["caption.columns line 1"]);
        let (found, problems) = captions("start,end,text\nx,1,a\n-1,2,b\n3,y,c\n5,4,d\n6\n");
        assert_eq!(found, [(5.0, Some(5.0), "d".to_owned())]);
        assert_eq!(
            problems,
            ["caption.time line 2", "caption.time line 3", "caption.time line 4", "caption.order line 5"]
        );
    }
}
