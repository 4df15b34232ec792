//! The arguments by which every command that needs a configuration gets one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{CliError, Context};
use crate::config::{Loaded, Override};
use crate::domain::{ExitClass, Fault};
use crate::harness::workspace::{Settings, Workspace};

/// Which configuration to use, and what to change in it.
#[derive(Debug, Clone, Default, clap::Args)]
pub(super) struct ConfigArgs {
    /// Use this configuration file instead of the workspace's trm.yaml.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Set a key, such as --set gate.n_max=80; stronger than environment, .env and file. Repeatable.
    // No value parser: clap would repeat a malformed argument, which may hold a secret.
    #[arg(long = "set", value_name = "KEY=VALUE", action = clap::ArgAction::Append)]
    set: Vec<String>,
}

/// A workspace with its configuration.
#[derive(Debug)]
pub(super) struct Session {
    /// Where everything lies.
    pub(super) workspace: Workspace,
    /// The configuration and what belongs to it.
    pub(super) loaded: Loaded,
}

/// An argument of the form KEY=VALUE that is none.
#[derive(Debug, thiserror::Error)]
#[error("read argument {0} of --set: KEY=VALUE expected")]
struct SetError(usize);

impl Fault for SetError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "config.set"
    }

    fn hint(&self) -> Option<String> {
        Some("such as --set gate.n_max=80; 'trm config show' lists the keys".to_owned())
    }
}

impl ConfigArgs {
    /// The workspace and its checked configuration. Flags of the command that stand for keys come in `flags`, weaker
    /// than `--set`.
    pub(super) fn load(&self, context: &Context, flags: Vec<Override>) -> Result<Session, CliError> {
        let workspace = find_workspace(context)?;
        let (workspace, loaded) = workspace.load(&self.settings(flags)?)?;
        Ok(Session { workspace, loaded })
    }

    /// What the arguments and the environment set.
    pub(super) fn settings(&self, flags: Vec<Override>) -> Result<Settings, CliError> {
        let mut overrides = flags;
        for (index, text) in self.set.iter().enumerate() {
            let (key, value) = text.split_once('=').ok_or(SetError(index + 1))?;
            let (key, value) = (key.trim().to_owned(), value.to_owned());
            overrides.push(Override { key, value, flag: "--set".to_owned() });
        }
        Ok(Settings { file: self.config.clone(), environment: environment(), overrides })
    }
}

/// The workspace named with `-C`, else the nearest one upward.
pub(super) fn find_workspace(context: &Context) -> Result<Workspace, CliError> {
    let found =
        if context.has_directory() { Workspace::at(context.directory()) } else { Workspace::find(context.directory()) };
    Ok(found?)
}

/// The environment; variables that are no text cannot be settings.
pub(super) fn environment() -> BTreeMap<String, String> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}
