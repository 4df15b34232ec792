//! Why there is no object in a text.

use crate::domain::{ExitClass, Fault};

/// No strategy found an object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// Nothing but white space.
    #[error("read a JSON object: the text is empty")]
    Empty,
    /// Not a single opening brace.
    #[error("read a JSON object: there is none in {excerpt:?}")]
    NoObject {
        /// The start of the text, at most 80 characters.
        excerpt: String,
    },
    /// Braces, but nothing that could be a key between them.
    #[error("read a JSON object: no key was found after the first brace in {excerpt:?}")]
    NoKey {
        /// The start of the text, at most 80 characters.
        excerpt: String,
    },
    /// Nested deeper than any reply has reason to be.
    #[error("read a JSON object: it is nested deeper than {limit}")]
    TooDeep {
        /// The limit.
        limit: usize,
    },
}

impl JsonError {
    pub(super) fn excerpt(text: &str) -> String {
        text.trim_start().chars().take(80).collect()
    }
}

impl Fault for JsonError {
    fn class(&self) -> ExitClass {
        ExitClass::Endpoint
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Empty => "json.empty",
            Self::NoObject { .. } => "json.no_object",
            Self::NoKey { .. } => "json.no_key",
            Self::TooDeep { .. } => "json.too_deep",
        }
    }
}
