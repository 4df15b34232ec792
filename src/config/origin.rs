//! Where a value came from.

use std::fmt;

use serde::Serialize;

/// Where a value came from, weakest source first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Origin {
    /// Nothing set it.
    Default,
    /// The configuration file.
    Yaml {
        /// The file's name, as shown.
        file: String,
        /// Line of the value, from 1.
        line: u64,
    },
    /// The `.env` file.
    DotEnv {
        /// The variable.
        name: String,
    },
    /// The environment of the process.
    Environment {
        /// The variable.
        name: String,
    },
    /// An argument.
    CommandLine {
        /// The flag, such as `--set`.
        flag: String,
    },
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Default => "default".to_owned(),
            Self::Yaml { file, line } => format!("{file}:{line}"),
            Self::DotEnv { name } => format!(".env {name}"),
            Self::Environment { name } => format!("environment {name}"),
            Self::CommandLine { flag } => format!("command line {flag}"),
        };
        f.pad(&text)
    }
}
