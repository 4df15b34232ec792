//! The documented form of what users write: questions and trees, as JSON Schema from the types that read them.

use schemars::{Schema, schema_for};

use super::{QuestionRecord, TreeRecord};

/// The schema of one question.
#[must_use]
pub fn question_schema() -> Schema {
    schema_for!(QuestionRecord)
}

/// The schema of a tree file.
#[must_use]
pub fn tree_schema() -> Schema {
    schema_for!(TreeRecord)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// `TRM_UPDATE_SCHEMA=1 cargo test` rewrites the files.
    fn is_current(name: &str, value: &impl serde::Serialize) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema").join(name);
        let text = format!("{}\n", serde_json::to_string_pretty(value).unwrap());
        if std::env::var_os("TRM_UPDATE_SCHEMA").is_some() {
            std::fs::write(&path, &text).unwrap();
        }
        let stored = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(stored, text, "{name} is out of date: run TRM_UPDATE_SCHEMA=1 cargo test schema");
    }

    #[test]
    fn the_schemas_of_data_and_exports_are_current() {
        is_current("question.schema.json", &question_schema());
        is_current("tree.schema.json", &tree_schema());
        is_current("export.json", &crate::export::documented_schema());
    }
}
