//! The reference under `docs/reference` says what the program does: its generated parts are compared with it.
//!
//! `TRM_UPDATE_DOCS=1` writes them anew.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Command, CommandFactory};
use serde_json::Value;
use trm::cli::Cli;
use trm::config::{Form, KeyClass, KeyDoc, KeyRow, RunConfig, key_docs};

const BEGIN: &str = "<!-- generated from the program; TRM_UPDATE_DOCS=1 cargo test --test it docs:: writes it -->\n";
const END: &str = "<!-- end of the generated part -->\n";

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/reference").join(name)
}

/// The generated part of a file is `expected`, or is made so.
#[track_caller]
fn assert_generated(name: &str, expected: &str) {
    let path = file(name);
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap_or_else(|| panic!("{name} has no generated part"));
    let (kept, after) = rest.split_once(END).unwrap_or_else(|| panic!("the generated part of {name} has no end"));
    if kept == expected {
        return;
    }
    if std::env::var_os("TRM_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    let difference = expected.lines().find(|line| !kept.lines().any(|known| known == *line));
    let gone = kept.lines().find(|line| !expected.lines().any(|known| known == *line));
    panic!("docs/reference/{name} is out of date (TRM_UPDATE_DOCS=1 mends it): new {difference:?}, gone {gone:?}");
}

/// Text inside a cell of a table.
fn cell(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|")
}

// ------------------------------------------------------------------ configuration

/// In what a key is counted: by its name, or as its text says.
fn unit(key: &str) -> &'static str {
    let name = key.rsplit('.').next().unwrap_or(key);
    let by_name = [
        ("_s", "seconds"),
        ("_ms", "milliseconds"),
        ("_days", "days"),
        ("_usd", "US dollars"),
        ("_tokens", "tokens"),
        ("_steps", "steps"),
        ("_epochs", "epochs"),
    ];
    let by_key = [
        ("rpm", "requests a minute"),
        ("tpm", "tokens a minute"),
        ("max_concurrency", "requests at once"),
        ("concurrency", "questions at once"),
        ("retries", "tries"),
        ("max_parse_retries", "tries"),
        ("prices", "US dollars per million tokens"),
        ("batch_size", "questions"),
        ("min_class_per_batch", "questions"),
        ("eval_min_per_class", "questions"),
        ("momentum_sample", "questions"),
        ("test_size", "questions, or a share"),
        ("val_size", "questions, or a share"),
        ("diag_size", "questions, or a share"),
        ("n_max", "units"),
        ("probe_every", "steps"),
        ("edit_budget_start", "edits"),
        ("edit_budget_end", "edits"),
        ("appendix_consolidate_threshold", "notes"),
        ("epochs", "epochs"),
        ("max_steps_per_epoch", "steps"),
        ("samples", "answers a question"),
    ];
    let exact = by_key.iter().find(|(known, _)| *known == name).map(|(_, unit)| *unit);
    let ending = || by_name.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, unit)| *unit);
    exact.or_else(ending).unwrap_or("")
}

fn class(class: KeyClass) -> &'static str {
    match class {
        KeyClass::Structural => "structural",
        KeyClass::Decision => "decision",
    }
}

fn form(doc: &KeyDoc) -> String {
    let form = match &doc.form {
        Form::OneOf(words) => words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", "),
        Form::Whole => "whole number".to_owned(),
        Form::Text | Form::Number | Form::Boolean | Form::List | Form::Table => {
            let text = doc.form.to_string();
            text.strip_prefix("a ").unwrap_or(&text).to_owned()
        }
    };
    if doc.nullable { format!("{form} or null") } else { form }
}

fn default(value: &Value) -> String {
    format!("`{value}`")
}

fn table(text: &mut String, rows: &[[String; 6]]) {
    text.push_str("| key | type | default | unit | class | |\n|---|---|---|---|---|---|\n");
    for row in rows {
        writeln!(text, "| {} |", row.each_ref().map(|text| cell(text)).join(" | ")).unwrap();
    }
    text.push('\n');
}

/// The same for all roles, or what each has.
fn by_role<T: PartialEq>(of_roles: &[(&str, T)], show: impl Fn(&T) -> String) -> String {
    let Some((_, first)) = of_roles.first() else { return String::new() };
    if of_roles.iter().all(|(_, value)| value == first) {
        return show(first);
    }
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for (role, value) in of_roles {
        let shown = show(value);
        match groups.iter_mut().find(|(known, _)| *known == shown) {
            Some((_, roles)) => roles.push(role),
            None => groups.push((shown, vec![role])),
        }
    }
    groups.iter().map(|(shown, roles)| format!("{shown} ({})", roles.join(", "))).collect::<Vec<_>>().join("; ")
}

fn configuration() -> String {
    const ROLES: [&str; 6] = ["search", "tool", "judge", "evolve", "vision", "embed"];
    let keys = RunConfig::default().keys();
    let docs = key_docs();
    let row = |key: &KeyRow| {
        let doc = &docs[&key.key];
        let unit = unit(&key.key).to_owned();
        let shown = default(&key.value);
        [format!("`{}`", key.key), form(doc), shown, unit, class(key.class).to_owned(), doc.text.clone()]
    };
    let role_of = |key: &str| ROLES.into_iter().find(|role| key.starts_with(&format!("llm.{role}.")));
    let mut groups: BTreeMap<usize, (String, Vec<[String; 6]>)> = BTreeMap::new();
    let mut order: Vec<String> = Vec::new();
    let mut roles: Vec<(String, Vec<(&str, &KeyRow)>)> = Vec::new();
    for key in &keys {
        if let Some(role) = role_of(&key.key) {
            let name = key.key.rsplit('.').next().unwrap().to_owned();
            match roles.iter_mut().find(|(known, _)| *known == name) {
                Some((_, of_roles)) => of_roles.push((role, key)),
                None => roles.push((name, vec![(role, key)])),
            }
            continue;
        }
        let group = key.key.rsplit_once('.').map_or("", |(group, _)| group).to_owned();
        let place = order.iter().position(|known| *known == group).unwrap_or_else(|| {
            order.push(group.clone());
            order.len() - 1
        });
        groups.entry(place).or_insert_with(|| (group, Vec::new())).1.push(row(key));
    }
    let role_rows: Vec<[String; 6]> = roles
        .iter()
        .map(|(name, of_roles)| {
            let (_, first) = of_roles.first().unwrap();
            let values: Vec<_> = of_roles.iter().map(|(role, key)| (*role, key.value.clone())).collect();
            let classes: Vec<_> = of_roles.iter().map(|(role, key)| (*role, key.class)).collect();
            let doc = &docs[&first.key];
            [
                format!("`llm.<role>.{name}`"),
                form(doc),
                by_role(&values, default),
                unit(&first.key).to_owned(),
                by_role(&classes, |found| class(*found).to_owned()),
                doc.text.clone(),
            ]
        })
        .collect();
    let mut text = format!("\n{} keys.\n\n", keys.len());
    for (group, rows) in groups.values() {
        if group == "llm.cache" {
            writeln!(text, "## llm.search, llm.tool, llm.judge, llm.evolve, llm.vision, llm.embed\n").unwrap();
            table(&mut text, &role_rows);
        }
        writeln!(text, "## {group}\n").unwrap();
        table(&mut text, rows);
    }
    text
}

#[test]
fn the_reference_of_the_configuration_names_every_key() {
    let generated = configuration();
    for row in RunConfig::default().keys() {
        let name = row.key.rsplit('.').next().unwrap();
        let known =
            generated.contains(&format!("`{}`", row.key)) || generated.contains(&format!("`llm.<role>.{name}`"));
        assert!(known, "{} is missing", row.key);
    }
    assert!(
        generated.lines().filter(|line| line.starts_with("| `")).all(|line| !line.ends_with("|  |")),
        "a key without a text"
    );
    assert_generated("configuration.md", &generated);
}

// ------------------------------------------------------------------ command line

fn option(arg: &Arg) -> Option<String> {
    if arg.is_hide_set()
        || matches!(arg.get_action(), ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version)
    {
        return None;
    }
    let takes = arg.get_action().takes_values();
    let names: Vec<String> = arg.get_value_names().unwrap_or_default().iter().map(|name| format!("<{name}>")).collect();
    let value = if takes { names.join(" ") } else { String::new() };
    let mut shown = if arg.is_positional() {
        let name = if names.is_empty() { format!("<{}>", arg.get_id().as_str().to_uppercase()) } else { value };
        let many = arg.get_num_args().is_some_and(|count| count.max_values() > 1);
        let name = if many { format!("{name}…") } else { name };
        if arg.is_required_set() { name } else { format!("[{name}]") }
    } else {
        let short = arg.get_short().map(|short| format!("-{short}"));
        let long = arg.get_long().map(|long| format!("--{long}"));
        let flags = short.into_iter().chain(long).collect::<Vec<_>>().join(", ");
        if value.is_empty() { flags } else { format!("{flags} {value}") }
    };
    shown = format!("`{shown}`");
    let mut text = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let words: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|word| takes && !word.is_hide_set())
        .map(|word| format!("`{}`", word.get_name()))
        .collect();
    // A shell's own list of words is no help here.
    if !words.is_empty() && words.len() <= 8 {
        write!(text, " ({})", words.join(", ")).unwrap();
    }
    let defaults: Vec<_> =
        arg.get_default_values().iter().filter(|_| takes).map(|value| value.to_string_lossy()).collect();
    if !defaults.is_empty() && !arg.is_hide_default_value_set() {
        write!(text, " [default: {}]", defaults.join(" ")).unwrap();
    }
    Some(format!("| {} | {} |", cell(&shown), cell(&text)))
}

fn command(text: &mut String, path: &str, command: &Command, at_the_top: bool) {
    if !at_the_top {
        writeln!(text, "## {path}\n").unwrap();
        writeln!(text, "{}\n", command.get_about().map(ToString::to_string).unwrap_or_default()).unwrap();
    }
    let rows: Vec<String> =
        command.get_arguments().filter(|arg| at_the_top || !arg.is_global_set()).filter_map(option).collect();
    if !rows.is_empty() {
        if at_the_top {
            text.push_str("## Options of every command\n\n");
        }
        writeln!(text, "| | |\n|---|---|\n{}\n", rows.join("\n")).unwrap();
    }
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        self::command(text, &format!("{path} {}", sub.get_name()), sub, false);
    }
}

#[test]
fn the_reference_of_the_command_line_names_every_command_and_option() {
    let mut generated = String::from("\n");
    command(&mut generated, "trm", &Cli::command(), true);
    for line in generated.lines().filter(|line| line.starts_with("| `")) {
        assert!(!line.ends_with("|  |"), "an option without a help text: {line}");
    }
    assert_generated("cli.md", &generated);
}

#[test]
fn every_stable_code_of_the_exit_code_table_is_in_the_program() {
    let text = fs::read_to_string(file("exit-codes.md")).unwrap();
    let sources = sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let quoted = text.split('`').skip(1).step_by(2);
    let codes: Vec<&str> = quoted
        .filter(|code| {
            code.split_once('.').is_some_and(|(left, right)| {
                let word = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_lowercase() || c == '_');
                word(left) && word(right) && !["md", "yaml", "json", "redb"].contains(&right)
            })
        })
        .collect();
    assert!(codes.len() > 5, "{codes:?}");
    for code in codes {
        assert!(sources.contains(&format!("\"{code}\"")), "the program has no code {code}");
    }
}

fn sources(folder: &Path) -> String {
    let mut text = String::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &sources(&path);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text += &fs::read_to_string(path).unwrap();
        }
    }
    text
}
