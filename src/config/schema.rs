//! The JSON Schema of the configuration file, so that editors complete and check it.

use serde_json::{Value, json};

use super::RunConfig;

/// The JSON Schema of `trm.yaml`.
///
/// Beside the type's own schema it admits what only the file knows: `llm.default`, one address as `base_url`, and
/// an empty group. Every key is optional there.
#[must_use]
pub fn config_schema() -> Value {
    let mut schema = schemars::schema_for!(RunConfig).to_value();
    set(&mut schema, "/title", json!("trm.yaml"));
    set(&mut schema, "/$id", json!("https://trm.invalid/schema/run-config.schema.json"));
    let default_role = json!({
        "description": "Settings of the roles search, tool, judge and evolve at once; a role's own setting wins.",
        "$ref": "#/$defs/RoleGroup"
    });
    set(&mut schema, "/$defs/LlmGroup/properties/default", default_role);
    let base_url = json!({"description": "One address, as `base_urls`.", "type": "string", "pattern": "^https?://"});
    set(&mut schema, "/$defs/RoleGroup/properties/base_url", base_url);
    // The defaults of a role differ by role: a single one shown by an editor would be wrong for the others.
    for key in ["temperature", "max_tokens"] {
        if let Some(Value::Object(field)) = schema.pointer_mut(&format!("/$defs/RoleGroup/properties/{key}")) {
            field.remove("default");
        }
    }
    admit_empty_groups(&mut schema);
    schema
}

/// The schema as it is kept in `schema/run-config.schema.json`: indented, with a line break at the end.
#[must_use]
pub fn config_schema_text() -> String {
    format!("{:#}\n", config_schema())
}

/// `gate:` with nothing below it is null to YAML and means no settings.
fn admit_empty_groups(schema: &mut Value) {
    let Some(Value::Object(groups)) = schema.pointer_mut("/properties") else { return };
    for group in groups.values_mut() {
        let Some(fields) = group.as_object_mut() else { continue };
        fields.remove("default");
        if let Some(reference) = fields.remove("$ref") {
            fields.insert("anyOf".to_owned(), json!([{"$ref": reference}, {"type": "null"}]));
        }
    }
}

/// Puts a value at a JSON pointer whose parent exists.
fn set(schema: &mut Value, pointer: &str, value: Value) {
    let Some((parent, key)) = pointer.rsplit_once('/') else { return };
    if let Some(Value::Object(fields)) = schema.pointer_mut(parent) {
        fields.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;

    #[test]
    fn the_schema_in_the_repository_is_current() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schema/run-config.schema.json");
        let current = config_schema_text();
        if std::env::var_os("TRM_UPDATE_SCHEMA").is_some() {
            fs::write(&file, &current).unwrap();
        }
        let kept = fs::read_to_string(&file).unwrap_or_default();
        assert!(kept == current, "{} is out of date: run the tests with TRM_UPDATE_SCHEMA=1", file.display());
    }

    #[test]
    fn the_schema_takes_what_the_loader_takes_and_refuses_unknown_keys() {
        let validator = jsonschema::validator_for(&config_schema()).unwrap();
        let good = json!({
            "gate": {"e_confirm": 50}, "slow": null, "pools": {"val_size": 0.4, "test_size": 100},
            "llm": {"default": {"base_url": "http://localhost/v1", "model": "m"}, "search": {"temperature": null}}
        });
        assert!(validator.is_valid(&good), "{:?}", validator.iter_errors(&good).collect::<Vec<_>>());
        assert!(validator.is_valid(&serde_json::to_value(RunConfig::default()).unwrap()));
        for bad in [json!({"gate": {"e_confrim": 50}}), json!({"agent": {"skill_mode": "some"}}), json!({"other": 1})] {
            assert!(!validator.is_valid(&bad), "{bad}");
        }
    }
}
