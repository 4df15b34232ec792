//! Sources become assignments: one value per key, from the strongest source that has one.

use std::collections::BTreeMap;

use super::Origin;
use super::docs::KeyDoc;
use super::document::{Node, Placed};
use super::load::Override;
use super::names::{DEFAULT_ROLE, Known, Names, expand, refusal};
use super::text::read_value;
use crate::domain::Problem;

/// Variables that begin so and contain `__` are keys: `TRM_GATE__E_CONFIRM` is `gate.e_confirm`.
const VARIABLE_PREFIX: &str = "TRM_";

/// A value and where it is from.
#[derive(Debug, Clone)]
pub(super) struct Assigned {
    pub(super) value: Placed,
    pub(super) origin: Origin,
    rank: Rank,
}

/// Which of two assignments of one key counts: the stronger source, and within one source the more specific name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    layer: Layer,
    is_specific: bool,
}

/// The sources, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    Yaml,
    DotEnv,
    Environment,
    CommandLine,
}

/// What the sources say, and what is wrong with their names.
#[derive(Debug)]
pub(super) struct Assignments {
    pub(super) values: BTreeMap<String, Assigned>,
    pub(super) problems: Vec<Problem>,
    names: &'static Names,
    docs: &'static BTreeMap<String, KeyDoc>,
}

impl Assignments {
    pub(super) fn new(names: &'static Names, docs: &'static BTreeMap<String, KeyDoc>) -> Self {
        Self { values: BTreeMap::new(), problems: Vec::new(), names, docs }
    }

    /// Everything in a YAML file.
    pub(super) fn yaml(&mut self, root: &Placed, file: &str) {
        match &root.node {
            Node::Table(entries) => self.table("", entries, file),
            Node::Scalar(serde_json::Value::Null) => {}
            Node::Scalar(_) | Node::NotFinite | Node::List(_) => self.problems.push(Problem {
                place: Some(format!("{file}:{}", root.line)),
                message: format!("the file must be a table of groups, not {}", root.kind()),
                hint: Some("write 'group:' and below it, indented, 'key: value'".to_owned()),
            }),
        }
    }

    /// The variables of the environment, or of `.env`, that are keys.
    pub(super) fn variables(&mut self, variables: &BTreeMap<String, String>, layer: Layer) {
        for (name, text) in variables {
            let Some(rest) = name.strip_prefix(VARIABLE_PREFIX).filter(|rest| rest.contains("__")) else { continue };
            let dotted = rest.to_lowercase().replace("__", ".");
            self.text(&dotted, text, &variable_origin(name, layer), layer);
        }
    }

    /// `--set key=value` and the flags that stand for a key.
    pub(super) fn overrides(&mut self, overrides: &[Override]) {
        for item in overrides {
            let origin = Origin::CommandLine { flag: item.flag.clone() };
            self.text(&item.key, &item.value, &origin, Layer::CommandLine);
        }
    }

    /// `REDIS_CACHE_TTL`: seconds, weaker than the key's own variable.
    pub(super) fn cache_ttl(&mut self, seconds: &str, layer: Layer) {
        let origin = variable_origin("REDIS_CACHE_TTL", layer);
        match seconds.trim().parse::<u32>() {
            Ok(seconds) if seconds > 0 => {
                let days =
                    read_value(&format!("{:?}", f64::from(seconds) / 86_400.0), self.docs.get("llm.cache.ttl_days"));
                self.put("llm.cache.ttl_days", &days, &origin, Rank { layer, is_specific: false });
            }
            _ => self.problems.push(Problem {
                place: Some(origin.to_string()),
                message: "REDIS_CACHE_TTL must be a whole number of seconds, at least 1".to_owned(),
                hint: Some("the default is 604800, 7 days".to_owned()),
            }),
        }
    }

    fn table(&mut self, group: &str, entries: &[(String, u64, Placed)], file: &str) {
        for (key, line, value) in entries {
            let is_table = matches!(value.node, Node::Table(_) | Node::Scalar(serde_json::Value::Null));
            let place = format!("{file}:{line}");
            match self.names.child(group, key, is_table) {
                Some(Known::Leaf(path)) => {
                    let origin = Origin::Yaml { file: file.to_owned(), line: *line };
                    let rank = Rank { layer: Layer::Yaml, is_specific: !path.starts_with(DEFAULT_ROLE) };
                    self.put(&path, value, &origin, rank);
                }
                Some(Known::Group(path)) => match &value.node {
                    Node::Table(entries) => self.table(&path, entries, file),
                    Node::Scalar(serde_json::Value::Null) => {}
                    Node::Scalar(_) | Node::NotFinite | Node::List(_) => self.problems.push(Problem {
                        place: Some(place),
                        message: format!("{path} is a group and must be a table of keys, not {}", value.kind()),
                        hint: None,
                    }),
                },
                None => {
                    let dotted = if group.is_empty() { key.clone() } else { format!("{group}.{key}") };
                    self.unknown(&dotted, place);
                }
            }
        }
    }

    fn text(&mut self, dotted: &str, text: &str, origin: &Origin, layer: Layer) {
        let Some(path) = self.names.leaf(dotted) else {
            self.unknown(dotted, origin.to_string());
            return;
        };
        let is_specific = !path.starts_with(DEFAULT_ROLE);
        let documented = expand(&path).into_iter().next().unwrap_or_default();
        let value = read_value(text, self.docs.get(&documented));
        self.put(&path, &value, origin, Rank { layer, is_specific });
    }

    fn put(&mut self, path: &str, value: &Placed, origin: &Origin, rank: Rank) {
        for key in expand(path) {
            let old_rank = self.values.get(&key).map(|old| old.rank);
            // Two spellings of one key in one file contradict each other; a later argument wins.
            if old_rank == Some(rank) && rank.layer == Layer::Yaml {
                self.problems.push(Problem {
                    place: Some(origin.to_string()),
                    message: format!("{path} is given twice"),
                    hint: self.values.get(&key).map(|old| format!("also at {}", old.origin)),
                });
            } else if old_rank.is_none_or(|old| old <= rank) {
                self.values.insert(key, Assigned { value: value.clone(), origin: origin.clone(), rank });
            }
        }
    }

    fn unknown(&mut self, dotted: &str, place: String) {
        let (message, hint) = match refusal(dotted) {
            Some((message, hint)) => (message, Some(hint.to_owned())),
            None => ("is no key", self.names.nearest(dotted).map(|near| format!("did you mean {near}?"))),
        };
        let shown: String = dotted.chars().take(80).collect();
        self.problems.push(Problem { place: Some(place), message: format!("{shown} {message}"), hint });
    }
}

pub(super) fn variable_origin(name: &str, layer: Layer) -> Origin {
    let name = name.to_owned();
    match layer {
        Layer::DotEnv => Origin::DotEnv { name },
        Layer::Yaml | Layer::Environment | Layer::CommandLine => Origin::Environment { name },
    }
}
