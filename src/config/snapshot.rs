//! The configuration as the store keeps it, and what changed between two of them.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Map, Value};

use super::keys::KeyClass;
use super::tree::{canonical, insert};
use super::{ConfigError, RunConfig};
use crate::domain::{ContentHash, Hasher};

/// One key that differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// Dotted path.
    pub key: String,
    /// What the change means for a resumed run.
    pub class: KeyClass,
    /// The value before; null also where the key did not exist.
    pub old: Value,
    /// The value now; null also where the key no longer exists.
    pub new: Value,
}

impl RunConfig {
    /// The whole configuration as canonical JSON (sorted keys, no white space), for the store. Holds no secret.
    #[must_use]
    pub fn snapshot(&self) -> String {
        canonical(&self.to_value())
    }

    /// A configuration from its snapshot.
    ///
    /// # Errors
    /// [`ConfigError::Snapshot`]: the text is no snapshot of this version; use [`diff_snapshot`] across versions.
    pub fn from_snapshot(text: &str) -> Result<Self, ConfigError> {
        serde_json::from_str(text).map_err(ConfigError::Snapshot)
    }

    /// The hash of the snapshot: equal exactly for equal configurations.
    #[must_use]
    pub fn fingerprint(&self) -> ContentHash {
        Hasher::new("trm.config").part(self.snapshot()).finish()
    }

    /// The hash of the structural keys: equal exactly for configurations that a resume accepts.
    #[must_use]
    pub fn structural_fingerprint(&self) -> ContentHash {
        let mut hasher = Hasher::new("trm.config.structural");
        for row in self.keys().into_iter().filter(|row| row.class == KeyClass::Structural) {
            hasher.part(&row.key).part(canonical(&row.value));
        }
        hasher.finish()
    }

    pub(super) fn to_value(&self) -> Value {
        let mut tree = Value::Object(Map::new());
        for row in self.keys() {
            insert(&mut tree, &row.key, row.value);
        }
        tree
    }
}

/// What differs between two configurations, in the order of the keys.
#[must_use]
pub fn diff(old: &RunConfig, new: &RunConfig) -> Vec<Change> {
    let old = old.keys().into_iter().map(|row| (row.key, row.value)).collect();
    diff_rows(&old, new)
}

/// What differs between a stored snapshot and a configuration.
///
/// A key that the snapshot lacks, because an older version wrote it, counts as its default then; a key
/// that no longer exists is reported as a decision.
///
/// # Errors
/// [`ConfigError::Snapshot`]: the text is no JSON object.
pub fn diff_snapshot(old: &str, new: &RunConfig) -> Result<Vec<Change>, ConfigError> {
    let tree: Map<String, Value> = serde_json::from_str(old).map_err(ConfigError::Snapshot)?;
    let defaults = RunConfig::default().keys();
    let mut rows = BTreeMap::new();
    for row in &defaults {
        rows.insert(row.key.clone(), take(&tree, &row.key).unwrap_or_else(|| row.value.clone()));
    }
    let mut changes = diff_rows(&rows, new);
    for (key, old) in leaves(&tree, &rows) {
        changes.push(Change { key, class: KeyClass::Decision, old, new: Value::Null });
    }
    Ok(changes)
}

fn diff_rows(old: &BTreeMap<String, Value>, new: &RunConfig) -> Vec<Change> {
    new.keys()
        .into_iter()
        .filter_map(|row| {
            let before = old.get(&row.key).cloned().unwrap_or(Value::Null);
            let changed = canonical(&before) != canonical(&row.value);
            changed.then_some(Change { key: row.key, class: row.class, old: before, new: row.value })
        })
        .collect()
}

fn take(tree: &Map<String, Value>, path: &str) -> Option<Value> {
    let (first, rest) = match path.split_once('.') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    };
    let value = tree.get(first)?;
    match rest {
        Some(rest) => take(value.as_object()?, rest),
        None => Some(value.clone()),
    }
}

/// Values of `tree` that no key of `known` covers.
fn leaves(tree: &Map<String, Value>, known: &BTreeMap<String, Value>) -> Vec<(String, Value)> {
    let mut unknown = Vec::new();
    let mut open: Vec<(String, &Value)> = tree.iter().map(|(key, value)| (key.clone(), value)).collect();
    while let Some((path, value)) = open.pop() {
        if known.contains_key(&path) {
            continue;
        }
        match value {
            Value::Object(fields) => open.extend(fields.iter().map(|(key, value)| (format!("{path}.{key}"), value))),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                unknown.push((path, value.clone()));
            }
        }
    }
    unknown.sort_by(|a, b| a.0.cmp(&b.0));
    unknown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_restores_the_configuration_and_its_fingerprint() {
        let mut config = RunConfig::default();
        config.run.seed = u64::MAX;
        config.llm.search.extra_body.insert("z".into(), serde_json::json!({"b": 1, "a": [1.5]}));
        let again = RunConfig::from_snapshot(&config.snapshot()).unwrap();
        assert_eq!(again, config);
        assert_eq!(again.fingerprint(), config.fingerprint());
        assert_ne!(RunConfig::default().fingerprint(), config.fingerprint());
    }

    #[test]
    fn a_snapshot_with_a_missing_key_is_refused_instead_of_defaulted() {
        let text = RunConfig::default().snapshot().replace("\"seed\":42,", "");
        assert!(matches!(RunConfig::from_snapshot(&text), Err(ConfigError::Snapshot(_))));
    }

    #[test]
    fn a_change_is_named_with_class_old_and_new() {
        let old = RunConfig::default();
        let mut new = old.clone();
        new.gate.e_confirm = 50.0;
        new.run.seed = 7;
        let changes = diff(&old, &new);
        assert_eq!(changes.len(), 2);
        assert_eq!((changes[0].key.as_str(), changes[0].class), ("run.seed", KeyClass::Structural));
        assert_eq!((&changes[1].old, &changes[1].new), (&serde_json::json!(20.0), &serde_json::json!(50.0)));
        assert_ne!(old.structural_fingerprint(), new.structural_fingerprint());
        new.run.seed = 42;
        assert_eq!(old.structural_fingerprint(), new.structural_fingerprint());
    }

    #[test]
    fn snapshots_of_older_and_newer_versions_compare() {
        let new = RunConfig::default();
        let older = new.snapshot().replace("\"seed\":42,", "").replace("\"mode\":\"tree\"", "\"mode\":\"direct\"");
        let older = older.replacen('{', "{\"gone\":{\"key\":3},", 1);
        let changes = diff_snapshot(&older, &new).unwrap();
        let keys: Vec<_> = changes.iter().map(|change| change.key.as_str()).collect();
        assert_eq!(keys, ["agent.mode", "gone.key"]);
        assert!(diff_snapshot("[1]", &new).is_err());
    }
}
