//! Why there is no configuration.

use std::io;
use std::path::PathBuf;

use crate::domain::{ExitClass, Fault, Problem};

/// Why there is no configuration. No message repeats a value: a mistyped line may hold a secret.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A file is there and cannot be read.
    #[error("read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The file is no YAML, or `.env` holds a line that is no assignment.
    #[error("read {file}:{line}:{column}: {message}")]
    Syntax {
        /// The file's name.
        file: String,
        /// From 1.
        line: u64,
        /// From 1.
        column: u64,
        /// What is wrong.
        message: String,
    },
    /// Keys or values that cannot be used: all of them.
    #[error("use the configuration: {}", count(problems.len()))]
    Invalid {
        /// Each with its place and remedy.
        problems: Vec<Problem>,
    },
    /// A stored snapshot is not of this version.
    #[error("read a stored configuration")]
    Snapshot(#[source] serde_json::Error),
    /// The configuration has no YAML form.
    #[error("write the configuration as YAML: {0}")]
    Write(String),
}

fn count(problems: usize) -> String {
    if problems == 1 { "1 problem".to_owned() } else { format!("{problems} problems") }
}

impl Fault for ConfigError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Read { .. } | Self::Syntax { .. } | Self::Invalid { .. } => ExitClass::Usage,
            Self::Snapshot(_) => ExitClass::Store,
            Self::Write(_) => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Read { .. } => "config.unreadable",
            Self::Syntax { .. } => "config.syntax",
            Self::Invalid { .. } => "config.invalid",
            Self::Snapshot(_) => "config.snapshot",
            Self::Write(_) => "config.write",
        }
    }

    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Read { .. } => "check that the file exists and that you may read it".to_owned(),
            Self::Syntax { .. } => "in YAML, indent with spaces and quote texts that hold ': ' or ' #'".to_owned(),
            Self::Invalid { .. } => "'trm config show' lists every key with its value and origin".to_owned(),
            Self::Snapshot(_) => "the run was written by another version of trm; use that one".to_owned(),
            Self::Write(_) => return None,
        })
    }

    fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems } => problems,
            Self::Read { .. } | Self::Syntax { .. } | Self::Snapshot(_) | Self::Write(_) => &[],
        }
    }
}
