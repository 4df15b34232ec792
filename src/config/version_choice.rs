//! Which version a run starts from.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::domain::{IdError, VersionName};

/// A version by name, or by what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum VersionChoice {
    /// The newest version that no run made: `v1`, until others are imported or scaffolded. Training in a workspace
    /// that was trained before starts from the same texts again.
    #[default]
    Initial,
    /// What the last training works on.
    Current,
    /// What the last training found best.
    Best,
    /// This one.
    Named(VersionName),
}

impl fmt::Display for VersionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Initial => f.pad("initial"),
            Self::Current => f.pad("current"),
            Self::Best => f.pad("best"),
            Self::Named(name) => name.fmt(f),
        }
    }
}

impl FromStr for VersionChoice {
    type Err = IdError;

    fn from_str(text: &str) -> Result<Self, IdError> {
        match text {
            "initial" => Ok(Self::Initial),
            "current" => Ok(Self::Current),
            "best" => Ok(Self::Best),
            _ => text.parse().map(Self::Named).map_err(|_| IdError::Form {
                id: text.chars().take(80).collect(),
                kind: "a version",
                expected: "'v' and a number such as 'v3', or initial, current or best",
            }),
        }
    }
}

impl TryFrom<String> for VersionChoice {
    type Error = IdError;

    fn try_from(text: String) -> Result<Self, IdError> {
        text.parse()
    }
}

impl From<VersionChoice> for String {
    fn from(choice: VersionChoice) -> Self {
        choice.to_string()
    }
}

impl JsonSchema for VersionChoice {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "VersionChoice".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A version such as v3, or: initial (the newest that no run made), current, best.",
            "type": "string",
            "pattern": "^(v[1-9][0-9]*|initial|current|best)$"
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_round_trips_as_text() {
        for text in ["initial", "current", "best", "v12"] {
            assert_eq!(text.parse::<VersionChoice>().unwrap().to_string(), text);
        }
        for bad in ["", "v0", "V1", "latest", "1"] {
            assert!(bad.parse::<VersionChoice>().is_err(), "{bad}");
        }
    }
}
