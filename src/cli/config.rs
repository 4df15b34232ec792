//! `trm config …`: what is configured, where it is from, whether it is right.

use clap::Subcommand;
use serde::Serialize;
use serde_json::{Value, json};

use super::settings::{ConfigArgs, Session};
use super::table::table;
use super::text::printable;
use super::{CliError, Context};
use crate::config::{KeyClass, KeyDoc, Origin, config_schema_text, key_docs};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Print each key with its value and where it is from.
    Show(ShowArgs),
    /// Check the configuration and say everything that is wrong with it.
    Validate(ValidateArgs),
    /// Print the JSON Schema of trm.yaml, for editors that complete and check it.
    Schema,
}

#[derive(Debug, clap::Args)]
struct ShowArgs {
    /// Only keys that begin with one of these, such as gate or llm.search.
    keys: Vec<String>,

    /// Only keys that something sets.
    #[arg(long)]
    set_only: bool,

    /// Print the complete configuration as YAML instead.
    #[arg(long, conflicts_with_all = ["keys", "set_only"])]
    yaml: bool,

    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, clap::Args)]
struct ValidateArgs {
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    match &args.command {
        Command::Show(args) => show(args, context),
        Command::Validate(args) => validate(args, context),
        Command::Schema => context.write_bytes(config_schema_text().as_bytes()),
    }
}

/// One key, as `--json` gives it.
#[derive(Debug, Serialize)]
struct ShownKey {
    key: String,
    value: Value,
    origin: Origin,
    class: KeyClass,
    #[serde(flatten)]
    doc: Option<KeyDoc>,
}

fn show(args: &ShowArgs, context: &mut Context) -> Result<(), CliError> {
    let session = args.config.load(context, Vec::new())?;
    if args.yaml {
        let yaml = session.loaded.config.to_yaml()?;
        return context.write_bytes(yaml.as_bytes());
    }
    let keys = shown_keys(args, &session);
    if context.json() {
        return context.write_json(&keys);
    }
    let rows = keys.into_iter().map(|key| [key.key, plain(&key.value), key.origin.to_string()]).collect();
    let text = table(["KEY", "VALUE", "FROM"], rows, context.width());
    context.line(text)
}

fn shown_keys(args: &ShowArgs, session: &Session) -> Vec<ShownKey> {
    let wanted = |key: &str| {
        args.keys.is_empty()
            || args.keys.iter().any(|prefix| key.strip_prefix(prefix.as_str()).is_some_and(ends_segment))
    };
    let rows = session.loaded.config.keys().into_iter().filter(|row| wanted(&row.key));
    let shown = rows.map(|row| ShownKey {
        origin: session.loaded.origins.get(&row.key).cloned().unwrap_or(Origin::Default),
        doc: key_docs().get(&row.key).cloned(),
        key: row.key,
        value: row.value,
        class: row.class,
    });
    shown.filter(|key| !args.set_only || key.origin != Origin::Default).collect()
}

/// `gate` is a prefix of `gate.n_max`, and not of `gates.x`.
fn ends_segment(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with('.')
}

/// A value for people: texts without quotes, unless they are empty.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        Value::Null => "-".to_owned(),
        Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

fn validate(args: &ValidateArgs, context: &mut Context) -> Result<(), CliError> {
    let Session { workspace, loaded } = args.config.load(context, Vec::new())?;
    let set = loaded.origins.values().filter(|origin| **origin != Origin::Default).count();
    let total = loaded.origins.len();
    if context.json() {
        return context.write_json(&json!({
            "valid": true,
            "workspace": workspace.root(),
            "keys": total,
            "keys_set": set,
            "fingerprint": loaded.config.fingerprint().to_string(),
            "structural_fingerprint": loaded.config.structural_fingerprint().to_string(),
            "warnings": loaded.warnings,
        }));
    }
    for warning in &loaded.warnings {
        context.line(format_args!("warning: {}", printable(&warning.to_string())))?;
    }
    context.line(format_args!("the configuration is valid: {set} of {total} keys set, the others at their defaults"))
}
