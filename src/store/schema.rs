//! The tables of the file and the number of their layout.

use redb::TableDefinition;

/// The layout that this program writes. A change of a table or of a record's fields raises it,
/// with a migration (see `migrate`).
pub const SCHEMA_VERSION: u32 = 2;

/// Run, stage, epoch, part, number, kind, sub-key, item, index: typed order, so that a step is one
/// contiguous range (design 03).
pub(crate) type StepKey<'a> = (&'a str, u8, u32, u8, u32, u8, &'a str, &'a str, u32);
/// Environment, task type, skill hash, prompts version, unit.
pub(crate) type BaselineColumns<'a> = (&'a [u8; 32], &'a str, &'a [u8; 32], u32, &'a str);
/// Run, stage, epoch, part, number, phase, role.
pub(crate) type UsageColumns<'a> = (&'a str, u8, u32, u8, u32, &'a str, &'a str);

pub(crate) type Definition<K> = TableDefinition<'static, K, &'static [u8]>;

/// All rows that a step produces.
pub(crate) const STEP_ROWS: Definition<StepKey<'static>> = TableDefinition::new("step_rows");
/// Schema version and named texts.
pub(crate) const META: Definition<&str> = TableDefinition::new("meta");
/// By run id.
pub(crate) const RUNS: Definition<&str> = TableDefinition::new("runs");
/// By hash of the text.
pub(crate) const CONTENTS: Definition<&[u8; 32]> = TableDefinition::new("contents");
/// By kind and number.
pub(crate) const VERSIONS: Definition<(u8, u32)> = TableDefinition::new("versions");
/// `current` and `best`.
pub(crate) const MANIFEST: Definition<&str> = TableDefinition::new("manifest");
/// By name.
pub(crate) const SEEDS: Definition<&str> = TableDefinition::new("seeds");
/// By run id.
pub(crate) const POOLS: Definition<&str> = TableDefinition::new("pools");
/// By run id and task type.
pub(crate) const LADDERS: Definition<(&str, &str)> = TableDefinition::new("ladders");
/// By what the answer depends on.
pub(crate) const BASELINE_CACHE: Definition<BaselineColumns<'static>> = TableDefinition::new("baseline_cache");
/// By run id and slot: 0 current, 1 previous.
pub(crate) const CHECKPOINTS: Definition<(&str, u8)> = TableDefinition::new("checkpoints");
/// By run, scope, phase and role.
pub(crate) const USAGE: Definition<UsageColumns<'static>> = TableDefinition::new("usage");
/// By run id.
pub(crate) const HEARTBEATS: Definition<&str> = TableDefinition::new("heartbeats");

/// The key of the schema version in [`META`].
pub(crate) const SCHEMA_KEY: &str = "schema";
/// Prefix of the keys of named texts in [`META`].
pub(crate) const TEXT_PREFIX: &str = "text/";

/// Calls a macro once per table; the one list of all tables.
macro_rules! for_each_table {
    ($with:ident) => {
        $with!(crate::store::schema::STEP_ROWS);
        $with!(crate::store::schema::META);
        $with!(crate::store::schema::RUNS);
        $with!(crate::store::schema::CONTENTS);
        $with!(crate::store::schema::VERSIONS);
        $with!(crate::store::schema::MANIFEST);
        $with!(crate::store::schema::SEEDS);
        $with!(crate::store::schema::POOLS);
        $with!(crate::store::schema::LADDERS);
        $with!(crate::store::schema::BASELINE_CACHE);
        $with!(crate::store::schema::CHECKPOINTS);
        $with!(crate::store::schema::USAGE);
        $with!(crate::store::schema::HEARTBEATS);
    };
}

pub(crate) use for_each_table;
