//! A tree as its file says it, node by node, with whatever is wrong in any of them.

use std::collections::BTreeSet;

use serde_json::Value;
use serde_json::value::RawValue;

use super::line_table::LineTable;
use crate::data::json::{Fields, syntax_problem, type_name};
use crate::data::printable::quoted;
use crate::data::problem::{Place, Problem, Problems, Spot};

/// What the file says; absent fields were reported as missing or wrong, unless they are optional.
#[derive(Debug, Default)]
pub(super) struct RawTree {
    pub(super) video_id: Option<String>,
    pub(super) duration_category: Option<String>,
    pub(super) duration_seconds: Option<f64>,
    pub(super) domain: Option<String>,
    pub(super) nodes: Vec<RawNode>,
}

/// One node.
#[derive(Debug)]
pub(super) struct RawNode {
    pub(super) id: String,
    pub(super) spot: Spot,
    pub(super) level: Option<u8>,
    pub(super) time_range: Option<(f64, f64)>,
    pub(super) card: Value,
    pub(super) subtitle: Option<String>,
    /// None if nobody can know them, which was reported.
    pub(super) children: Option<Vec<String>>,
    pub(super) frame: Option<String>,
}

/// Reads the bytes of a file; none if they are not the JSON of an object.
pub(super) fn read(bytes: &[u8], file: &Spot, problems: &mut Problems) -> Option<RawTree> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if bytes.trim_ascii().is_empty() {
        problems.push(Problem::error("file.empty", file, "the file is empty", "write the tree again"));
        return None;
    }
    let fields: Fields<&RawValue> = match serde_json::from_slice(bytes) {
        Ok(fields) => fields,
        Err(error) if error.is_data() => {
            problems.push(Problem::error("tree.shape", file, format!("not a tree: {error}"), "write one object"));
            return None;
        }
        Err(error) => {
            problems.push(syntax_problem(&error, file, 0));
            return None;
        }
    };
    let mut reader = Reader { bytes, lines: LineTable::default(), file, problems, unknown: 0 };
    Some(reader.tree(fields))
}

struct Reader<'a> {
    bytes: &'a [u8],
    lines: LineTable,
    file: &'a Spot,
    problems: &'a mut Problems,
    unknown: usize,
}

/// Unknown fields that are reported one by one; a node's own extra field repeats thousands of times.
const UNKNOWN_SHOWN: usize = 10;

impl Reader<'_> {
    fn tree(&mut self, fields: Fields<&RawValue>) -> RawTree {
        let mut tree = RawTree::default();
        let mut seen: Vec<String> = Vec::new();
        for (name, raw) in fields.0 {
            let spot = self.spot(self.file, raw).at(&name);
            if seen.contains(&name) {
                self.error("json.repeated_key", &spot, "the field stands twice in one object", "keep one of the two");
                continue;
            }
            match name.as_str() {
                "videoID" => tree.video_id = self.text(raw, &spot),
                "duration_category" => tree.duration_category = self.optional_text(raw, &spot),
                "duration_seconds" => tree.duration_seconds = self.duration(raw, &spot),
                "domain" => tree.domain = self.optional_text(raw, &spot),
                "nodes" => tree.nodes = self.nodes(raw, &spot),
                _ => self.unknown(&name, &spot),
            }
            seen.push(name);
        }
        for name in ["videoID", "duration_seconds", "nodes"] {
            if !seen.iter().any(|seen| seen == name) {
                let hint = format!("add \"{name}\" to the tree");
                let what = format!("the field \"{name}\" is missing");
                self.problems.push(Problem::error("tree.missing_field", self.file, what, hint));
            }
        }
        tree
    }

    fn nodes(&mut self, raw: &RawValue, spot: &Spot) -> Vec<RawNode> {
        let parsed: Result<Fields<&RawValue>, _> = serde_json::from_str(raw.get());
        let fields = match parsed {
            Ok(fields) => fields.0,
            Err(error) => {
                self.parse_error(&error, raw, spot, "an object of nodes by id");
                return Vec::new();
            }
        };
        if fields.is_empty() {
            self.error("tree.no_nodes", spot, "there is no node", "a tree needs one node of level 1 at least");
        }
        let mut nodes = Vec::with_capacity(fields.len());
        for (id, raw) in fields {
            let spot = self.spot(spot, raw).at(&id);
            nodes.push(self.node(id, raw, &spot));
        }
        nodes
    }

    /// A node that cannot be read stays in the list, so that its parent's reference to it is no second problem.
    fn node(&mut self, id: String, raw: &RawValue, spot: &Spot) -> RawNode {
        let mut node = RawNode {
            id,
            spot: spot.clone(),
            level: None,
            time_range: None,
            card: Value::Null,
            subtitle: None,
            children: None,
            frame: None,
        };
        let fields: Fields<Value> = match serde_json::from_str(raw.get()) {
            Ok(fields) => fields,
            Err(error) => {
                self.parse_error(&error, raw, spot, "an object (a node)");
                return node;
            }
        };
        node.children = Some(Vec::new());
        let mut seen = [false; 2];
        let [has_level, has_time] = &mut seen;
        let mut names = BTreeSet::new();
        for (name, value) in fields.0 {
            let spot = spot.at(&name);
            if names.contains(&name) {
                self.error("json.repeated_key", &spot, "the field stands twice in one object", "keep one of the two");
                continue;
            }
            match name.as_str() {
                "level" => (node.level, *has_level) = (self.level(&value, &spot), true),
                "time_range" => (node.time_range, *has_time) = (self.time_range(&value, &spot), true),
                "card" => node.card = value,
                "subtitle" => node.subtitle = self.text_value(value, &spot),
                "children_ids" => node.children = self.children(value, &spot),
                "frame" => node.frame = self.frame(value, &spot),
                _ => self.unknown(&name, &spot),
            }
            names.insert(name);
        }
        for (seen, name) in seen.into_iter().zip(["level", "time_range"]) {
            if !seen {
                let what = format!("the field \"{name}\" is missing");
                self.problems.push(Problem::error("tree.missing_field", spot, what, "every node needs it"));
            }
        }
        node
    }

    fn level(&mut self, value: &Value, spot: &Spot) -> Option<u8> {
        let level = value.as_u64().and_then(|level| u8::try_from(level).ok()).filter(|level| (1..=3).contains(level));
        if level.is_none() {
            self.error("tree.level", spot, "the level is not 1, 2 or 3", "1 is a scene, 2 an event, 3 a frame");
        }
        level
    }

    fn time_range(&mut self, value: &Value, spot: &Spot) -> Option<(f64, f64)> {
        let numbers: Vec<f64> = value.as_array().into_iter().flatten().filter_map(Value::as_f64).collect();
        let what = match (numbers.as_slice(), value.as_array().map(Vec::len)) {
            ([start, end], Some(2)) if *start >= 0.0 && end >= start && end.is_finite() => return Some((*start, *end)),
            ([start, end], Some(2)) if *start < 0.0 || *end < 0.0 => "a time is negative",
            ([_, _], Some(2)) => "the end is before the start",
            _ => "a time range is two numbers",
        };
        self.error("tree.time_range", spot, what, "write [start, end] in seconds, 0 ≤ start ≤ end");
        None
    }

    fn children(&mut self, value: Value, spot: &Spot) -> Option<Vec<String>> {
        let items = match value {
            Value::Null => return Some(Vec::new()),
            Value::Array(items) => items,
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => {
                self.wrong_type(&value, spot, "a list of node ids");
                return None;
            }
        };
        let mut children = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            if let Value::String(id) = item {
                children.push(id);
            } else {
                self.wrong_type(&item, &spot.at(&index.to_string()), "a node id (a text)");
            }
        }
        Some(children)
    }

    fn frame(&mut self, value: Value, spot: &Spot) -> Option<String> {
        let name = self.text_value(value, spot)?;
        let plain = !name.trim().is_empty() && !name.contains(['/', '\\', '\0']) && name != "." && name != "..";
        if !plain || name.chars().any(char::is_control) || name.len() > 255 {
            let what = format!("the frame {} is not the name of a file", quoted(&name));
            let hint = "name a file in the frames folder of the video, without a path";
            self.problems.push(Problem::error("tree.frame", spot, what, hint));
            return None;
        }
        Some(name)
    }

    fn duration(&mut self, raw: &RawValue, spot: &Spot) -> Option<f64> {
        let value = self.value(raw, spot)?;
        let Some(seconds) = value.as_f64() else {
            self.wrong_type(&value, spot, "a number of seconds");
            return None;
        };
        if seconds > 0.0 {
            return Some(seconds);
        }
        self.error("tree.duration", spot, "the duration is not above 0", "write the length of the video in seconds");
        None
    }

    fn text(&mut self, raw: &RawValue, spot: &Spot) -> Option<String> {
        let value = self.value(raw, spot)?;
        if value.is_null() {
            self.wrong_type(&value, spot, "a text");
        }
        self.text_value(value, spot)
    }

    fn optional_text(&mut self, raw: &RawValue, spot: &Spot) -> Option<String> {
        let value = self.value(raw, spot)?;
        self.text_value(value, spot)
    }

    fn text_value(&mut self, value: Value, spot: &Spot) -> Option<String> {
        match value {
            Value::String(text) => Some(text),
            Value::Null => None,
            Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
                self.wrong_type(&value, spot, "a text");
                None
            }
        }
    }

    fn value(&mut self, raw: &RawValue, spot: &Spot) -> Option<Value> {
        match serde_json::from_str(raw.get()) {
            Ok(value) => Some(value),
            Err(error) => {
                self.parse_error(&error, raw, spot, "a value");
                None
            }
        }
    }

    fn parse_error(&mut self, error: &serde_json::Error, raw: &RawValue, spot: &Spot, expected: &str) {
        if error.is_data() {
            let what = format!("{} where {expected} is expected", raw_type(raw));
            self.problems.push(Problem::error("tree.wrong_type", spot, what, format!("write {expected}")));
            return;
        }
        let first_line = self.line(raw);
        self.problems.push(syntax_problem(error, spot, first_line.saturating_sub(1)));
    }

    fn wrong_type(&mut self, value: &Value, spot: &Spot, expected: &str) {
        let what = format!("{} where {expected} is expected", type_name(value));
        self.problems.push(Problem::error("tree.wrong_type", spot, what, format!("write {expected}")));
    }

    fn unknown(&mut self, name: &str, spot: &Spot) {
        self.unknown += 1;
        if self.unknown <= UNKNOWN_SHOWN {
            let what = format!("the field {} is not kept", quoted(name));
            let hint = "put free-form content into the card";
            self.problems.push(Problem::warning("tree.unknown_field", spot, what, hint));
        }
    }

    fn error(&mut self, rule: &'static str, spot: &Spot, what: &str, hint: &str) {
        self.problems.push(Problem::error(rule, spot, what, hint));
    }

    /// The place of a part of the file: its line, and the pointer of `parent`.
    fn spot(&self, parent: &Spot, raw: &RawValue) -> Spot {
        parent.with(Place { line: Some(self.line(raw)), ..parent.place.clone() })
    }

    fn line(&self, raw: &RawValue) -> u64 {
        let offset = (raw.get().as_ptr() as usize).saturating_sub(self.bytes.as_ptr() as usize);
        self.lines.line_of(self.bytes, offset)
    }
}

fn raw_type(raw: &RawValue) -> &'static str {
    match raw.get().bytes().next() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}
