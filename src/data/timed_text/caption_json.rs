//! Captions as JSON: an object from seconds to captions, or a list in one of several shapes.

use serde_json::Value;

use super::clock::{LONGEST_SECONDS, seconds};
use super::cue::{TimedText, sort_by_start};
use crate::data::json::{Fields, syntax_problem, type_name};
use crate::data::printable::quoted;
use crate::data::problem::{Problem, Problems, Spot};

const START_NAMES: [&str; 5] = ["start", "second", "time", "timestamp", "t"];
const TEXT_NAMES: [&str; 4] = ["caption", "text", "description", "subtitle"];
const LIST_NAMES: [&str; 3] = ["captions", "segments", "subtitles"];

/// Reads all captions, by start.
pub(super) fn read(text: &str, file: &Spot, problems: &mut Problems) -> Vec<TimedText> {
    let is_object = text.trim_start().starts_with('{');
    let parsed = if is_object {
        serde_json::from_str::<Fields<Value>>(text).map(Document::Object)
    } else {
        serde_json::from_str::<Value>(text).map(Document::Other)
    };
    let mut reader = Reader { problems, found: Vec::new() };
    match parsed {
        Ok(Document::Object(fields)) => reader.object(&fields, file),
        Ok(Document::Other(Value::Array(items))) => reader.list(&items, file),
        Ok(Document::Other(other)) => reader.shape(file, type_name(&other)),
        Err(error) => reader.problems.push(syntax_problem(&error, file, 0)),
    }
    let mut found = reader.found;
    sort_by_start(&mut found);
    found
}

enum Document {
    Object(Fields<Value>),
    Other(Value),
}

struct Reader<'a> {
    problems: &'a mut Problems,
    found: Vec<TimedText>,
}

impl Reader<'_> {
    fn object(&mut self, fields: &Fields<Value>, file: &Spot) {
        let list = fields.0.iter().find(|(name, value)| LIST_NAMES.contains(&name.as_str()) && value.is_array());
        if let Some((name, Value::Array(items))) = list {
            self.list(items, &file.at(name));
            return;
        }
        for (name, value) in &fields.0 {
            let spot = file.at(name);
            let Some(start) = seconds(name) else {
                let what = format!("the key {} is not a number of seconds", quoted(name));
                self.problems.push(Problem::error("caption.time", &spot, what, "write {\"0\": \"…\", \"1\": \"…\"}"));
                continue;
            };
            self.add(start, None, value, &spot);
        }
    }

    fn list(&mut self, items: &[Value], spot: &Spot) {
        for (index, item) in items.iter().enumerate() {
            let spot = spot.at(&index.to_string());
            match item {
                Value::String(_) => self.add(index as f64, None, item, &spot),
                Value::Array(parts) => self.row(parts, &spot),
                Value::Object(fields) => self.entry(fields, &spot),
                Value::Null | Value::Bool(_) | Value::Number(_) => self.shape(&spot, type_name(item)),
            }
        }
    }

    /// `[time, text]` or `[start, end, text]`.
    fn row(&mut self, parts: &[Value], spot: &Spot) {
        let (start, end, text) = match parts {
            [start, text] => (start, None, text),
            [start, end, text] => (start, Some(end), text),
            _ => return self.shape(spot, "a list of another length"),
        };
        let Some(start) = self.time(start, &spot.at("0")) else {
            return;
        };
        let end = end.map(|end| self.time(end, &spot.at("1")));
        if end == Some(None) {
            return;
        }
        self.add(start, end.flatten(), text, &spot.at(&(parts.len() - 1).to_string()));
    }

    fn entry(&mut self, fields: &serde_json::Map<String, Value>, spot: &Spot) {
        let find = |names: &[&str]| {
            names.iter().find_map(|name| {
                fields.get(*name).filter(|value| !value.is_null()).map(|value| ((*name).to_owned(), value))
            })
        };
        let (Some((start_name, start)), Some((text_name, text))) = (find(&START_NAMES), find(&TEXT_NAMES)) else {
            let what = "a caption without a time or without a text";
            let hint =
                format!("name the time one of {}, the text one of {}", START_NAMES.join(", "), TEXT_NAMES.join(", "));
            self.problems.push(Problem::error("caption.fields", spot, what, hint));
            return;
        };
        // A pair of times in one field, as in {"timestamp": [0, 5]}.
        let pair = start.as_array().filter(|pair| pair.len() == 2);
        let (start, end) = (pair.and_then(|pair| pair.first()).unwrap_or(start), pair.and_then(|pair| pair.last()));
        let end = end.or_else(|| fields.get("end")).filter(|end| !end.is_null());
        let Some(start) = self.time(start, &spot.at(&start_name)) else {
            return;
        };
        let end = end.map(|end| self.time(end, &spot.at("end")));
        if end == Some(None) {
            return;
        }
        let duration = fields.get("duration").and_then(Value::as_f64).filter(|duration| *duration >= 0.0);
        let end = end.flatten().or(duration.map(|duration| start + duration));
        self.add(start, end, text, &spot.at(&text_name));
    }

    fn time(&mut self, value: &Value, spot: &Spot) -> Option<f64> {
        let time = match value {
            Value::Number(number) => number.as_f64().filter(|time| (0.0..=LONGEST_SECONDS).contains(time)),
            Value::String(text) => seconds(text),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
        };
        if time.is_none() {
            let what = format!("{} is not a time", quoted(&value.to_string()));
            let hint = "write seconds (12.5) or a clock time (\"00:00:12.500\"), 0 or more";
            self.problems.push(Problem::error("caption.time", spot, what, hint));
        }
        time
    }

    fn add(&mut self, start: f64, end: Option<f64>, text: &Value, spot: &Spot) {
        let Value::String(text) = text else {
            let what = format!("{} where a caption (a text) is expected", type_name(text));
            self.problems.push(Problem::error("caption.wrong_type", spot, what, "write the caption as a text"));
            return;
        };
        let end = checked_end(start, end, spot, self.problems);
        self.found.extend(TimedText::new(start, end, text));
    }

    fn shape(&mut self, spot: &Spot, found: &str) {
        let what = format!("{found} where captions are expected");
        let hint =
            "write {\"0\": \"…\"}, a list of texts (one per second), or of {\"start\": …, \"end\": …, \"text\": …}";
        self.problems.push(Problem::error("caption.wrong_type", spot, what, hint));
    }
}

/// The end of a caption; an end before the start is told and left out.
pub(super) fn checked_end(start: f64, end: Option<f64>, spot: &Spot, problems: &mut Problems) -> Option<f64> {
    if end.is_some_and(|end| end < start) {
        let what = "the caption ends before it starts: taken as a moment";
        problems.push(Problem::warning("caption.order", spot, what, "correct its times"));
        return Some(start);
    }
    end
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

    #[track_caller]
    fn reads(text: &str, expected: &[(f64, Option<f64>, &str)]) {
        let expected = expected.iter().map(|(start, end, text)| (*start, *end, (*text).to_owned())).collect();
        assert_eq!(captions(text), (expected, vec![]));
    }

    #[test]
    fn every_shape_is_read() {
        reads(r#"{"10": "b", "2": "a", "2.5": " "}"#, &[(2.0, None, "a"), (10.0, None, "b")]);
        reads(r#"["a", "b"]"#, &[(0.0, None, "a"), (1.0, None, "b")]);
        reads(r#"[[1, "a"], ["00:02", 3, "b"]]"#, &[(1.0, None, "a"), (2.0, Some(3.0), "b")]);
        reads(
            r#"[{"second": 1, "caption": "a"}, {"start": 2, "end": 3, "text": "b"}, {"timestamp": [4, 5], "text": "c"},
                {"time": "6", "duration": 2, "description": "d"}]"#,
            &[(1.0, None, "a"), (2.0, Some(3.0), "b"), (4.0, Some(5.0), "c"), (6.0, Some(8.0), "d")],
        );
        reads(r#"{"text": "a", "segments": [{"start": 0, "end": 1, "text": "a"}]}"#, &[(0.0, Some(1.0), "a")]);
    }

    #[test]
    fn everything_wrong_is_told_with_its_pointer() {
        let (_, problems) = captions(r#"{"one": "a", "-1": "b", "3": 4, "NaN": ""}"#);
        assert_eq!(problems, ["caption.time /one", "caption.time /-1", "caption.wrong_type /3", "caption.time /NaN"]);
        let (_, problems) = captions(r#"[1, [1], [-1, "x"], {"text": "x"}, {"start": 1e9, "text": "x"}, [3, 2, "x"]]"#);
        assert_eq!(
            problems,
            [
                "caption.wrong_type /0",
                "caption.wrong_type /1",
                "caption.time /2/0",
                "caption.fields /3",
                "caption.time /4/start",
                "caption.order /5/2"
            ]
        );
        assert_eq!(captions("3").1, ["caption.wrong_type "]);
        assert_eq!(captions("{\"0\": ").1, ["json.syntax line 1"]);
    }
}
