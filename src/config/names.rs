//! Which names a key goes by, and what is nearest to one that does not exist.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::RunConfig;
use super::urls::names_a_secret;
use crate::domain::Role;

/// The pseudo-role whose settings count for the four text roles.
pub(super) const DEFAULT_ROLE: &str = "llm.default.";

/// The roles that [`DEFAULT_ROLE`] stands for: a text model is no vision model and makes no embeddings.
const TEXT_ROLES: [Role; 4] = [Role::Search, Role::Tool, Role::Judge, Role::Evolve];

/// What a name stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Known {
    /// A key; its canonical path.
    Leaf(String),
    /// A group of keys; its canonical path.
    Group(String),
}

/// All names.
#[derive(Debug)]
pub(super) struct Names {
    leaves: BTreeSet<String>,
    groups: BTreeSet<String>,
    /// Names that design 02 uses without a group, such as `gate_e_confirm` or `val_size`, where they are unique.
    flat: BTreeMap<String, String>,
}

impl Names {
    /// The names of this version.
    pub(super) fn all() -> &'static Self {
        static NAMES: LazyLock<Names> = LazyLock::new(Names::new);
        &NAMES
    }

    fn new() -> Self {
        let mut leaves: BTreeSet<String> = RunConfig::default().keys().into_iter().map(|row| row.key).collect();
        let role_keys: Vec<String> =
            leaves.iter().filter_map(|key| key.strip_prefix("llm.search.").map(str::to_owned)).collect();
        leaves.extend(role_keys.iter().map(|key| format!("{DEFAULT_ROLE}{key}")));
        let mut groups = BTreeSet::new();
        for leaf in &leaves {
            groups.extend(leaf.match_indices('.').filter_map(|(end, _)| leaf.get(..end)).map(str::to_owned));
        }
        Self { flat: flat_names(&leaves), leaves, groups }
    }

    /// What `key` means inside `group` (empty at the top); `is_table` tells whether its value is a table.
    pub(super) fn child(&self, group: &str, key: &str, is_table: bool) -> Option<Known> {
        let path = if group.is_empty() { key.to_owned() } else { format!("{group}.{key}") };
        let flat = || (group.is_empty()).then(|| self.flat.get(key).cloned()).flatten();
        if self.groups.contains(&path) && (is_table || flat().is_none()) {
            return Some(Known::Group(path));
        }
        if self.leaves.contains(&path) {
            return Some(Known::Leaf(path));
        }
        if let Some(leaf) = flat() {
            return Some(Known::Leaf(leaf));
        }
        // `gate.gate_e_confirm` repeats its group.
        let own = key.strip_prefix(group).and_then(|rest| rest.strip_prefix('_')).map(|rest| format!("{group}.{rest}"));
        // A single address is `base_url`.
        let single = (key == "base_url").then(|| format!("{group}.base_urls"));
        own.into_iter().chain(single).find(|path| self.leaves.contains(path)).map(Known::Leaf)
    }

    /// The key that a dotted path names.
    pub(super) fn leaf(&self, dotted: &str) -> Option<String> {
        let mut group = String::new();
        let mut segments = dotted.split('.').peekable();
        while let Some(segment) = segments.next() {
            let last = segments.peek().is_none();
            match self.child(&group, segment, !last)? {
                Known::Leaf(path) => return last.then_some(path),
                Known::Group(path) => group = path,
            }
        }
        None
    }

    /// The known key nearest to one that does not exist, if any is near.
    pub(super) fn nearest(&self, dotted: &str) -> Option<&str> {
        let wanted = dotted.to_lowercase();
        let last = |path: &str| path.rsplit('.').next().map(str::to_owned).unwrap_or_default();
        let score = |candidate: &str| {
            let whole = strsim::normalized_damerau_levenshtein(&wanted, candidate);
            let name = strsim::normalized_damerau_levenshtein(&last(&wanted), &last(candidate));
            // The right name in the wrong group is nearer than a similar path.
            whole.max(0.9 * name)
        };
        self.leaves
            .iter()
            .chain(&self.groups)
            .map(|candidate| (score(candidate), candidate))
            .max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)))
            .filter(|(score, _)| *score >= 0.6)
            .map(|(_, candidate)| candidate.as_str())
    }
}

/// The keys that a canonical path sets: itself, or one per text role for `llm.default`.
pub(super) fn expand(path: &str) -> Vec<String> {
    match path.strip_prefix(DEFAULT_ROLE) {
        Some(key) => TEXT_ROLES.iter().map(|role| format!("llm.{}.{key}", role.name())).collect(),
        None => vec![path.to_owned()],
    }
}

/// Why a name that does not exist is refused with more than a suggestion: message and hint.
pub(super) fn refusal(dotted: &str) -> Option<(&'static str, &'static str)> {
    let name = dotted.rsplit('.').next().unwrap_or(dotted);
    if name == "gate_block" || dotted == "gate.block" {
        return Some(("is no key any more", "removed: the gate now decides after every pair along the ladder"));
    }
    if names_a_secret(name) || name.eq_ignore_ascii_case("redis_url") {
        return Some((
            "would hold a secret, and secrets do not belong into the configuration",
            "put it into the environment or .env: REDIS_URL for Redis, any name for an API key, and name that variable \
             in api_key_env",
        ));
    }
    None
}

/// Leaf names, also with their group in front, that name one key only. Those of models have none.
fn flat_names(leaves: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut owners: BTreeMap<String, BTreeSet<&String>> = BTreeMap::new();
    for leaf in leaves.iter().filter(|leaf| !leaf.starts_with("llm.") && !leaf.starts_with("sim.")) {
        let Some((group, name)) = leaf.split_once('.') else { continue };
        owners.entry(name.to_owned()).or_default().insert(leaf);
        owners.entry(format!("{group}_{name}")).or_default().insert(leaf);
    }
    let unique = |(name, owners): (String, BTreeSet<&String>)| match owners.len() {
        1 => owners.first().map(|leaf| (name, (*leaf).clone())),
        _ => None,
    };
    owners.into_iter().filter_map(unique).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_canonical_path_whatever_it_is_called() {
        let names = Names::all();
        for (name, path) in [
            ("gate.e_confirm", "gate.e_confirm"),
            ("gate.gate_e_confirm", "gate.e_confirm"),
            ("gate_e_confirm", "gate.e_confirm"),
            ("slow_system", "slow.system"),
            ("val_size", "pools.val_size"),
            ("seed", "run.seed"),
            ("epochs", "epochs.epochs"),
            ("epochs.epochs", "epochs.epochs"),
            ("llm.search.base_url", "llm.search.base_urls"),
            ("llm.default.model", "llm.default.model"),
        ] {
            assert_eq!(names.leaf(name).as_deref(), Some(path), "{name}");
        }
        for unknown in ["mode", "gate", "gate.x", "model", "llm.search", "gate.e_confirm.x", "", "."] {
            assert_eq!(names.leaf(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn the_nearest_key_is_suggested() {
        let names = Names::all();
        assert_eq!(names.nearest("gate.e_confrim"), Some("gate.e_confirm"));
        assert_eq!(names.nearest("gate.batch_size"), Some("minibatch.batch_size"));
        assert_eq!(names.nearest("agnet"), Some("agent"));
        assert_eq!(names.nearest("llm.serach.model"), Some("llm.search.model"));
        assert_eq!(names.nearest("zzzzzzzzzzzz"), None);
    }

    #[test]
    fn variables_of_the_environment_are_unambiguous() {
        let names = Names::all();
        let variables: BTreeSet<String> = names.leaves.iter().map(|leaf| leaf.replace('.', "__")).collect();
        assert_eq!(variables.len(), names.leaves.len());
        assert!(names.leaves.iter().all(|leaf| !leaf.contains("__")));
    }
}
