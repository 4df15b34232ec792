//! Why a set of templates cannot be used.

use crate::domain::{ExitClass, Fault};

/// A template that would fail in the middle of a run is refused before anything is spent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// A template that the kernel needs is not there.
    #[error("load the template {name}: it is missing")]
    Missing {
        /// Its name, without `.md`.
        name: &'static str,
    },
    /// A template that nobody asks for: most likely a misspelt name.
    #[error("load the template {name:?}: there is no such template")]
    Unknown {
        /// The name, without `.md`.
        name: String,
        /// All names there are.
        known: Vec<&'static str>,
    },
    /// Nothing but white space.
    #[error("load the template {name}: it is empty")]
    Empty {
        /// Its name.
        name: &'static str,
    },
    /// A place that the text must have, or the model would not see what it is asked about.
    #[error("load the template {name}: the placeholder {{{{{placeholder}}}}} is missing")]
    PlaceholderMissing {
        /// Its name.
        name: &'static str,
        /// The place.
        placeholder: &'static str,
    },
    /// A place for which there is no value.
    #[error("load the template {name}: there is no value for the placeholder {{{{{placeholder}}}}}")]
    PlaceholderUnknown {
        /// Its name.
        name: &'static str,
        /// The place.
        placeholder: String,
        /// All places it may have.
        known: Vec<&'static str>,
    },
    /// The kernel forgot a value: a bug.
    #[error("fill the template {name}: no value was given for {{{{{placeholder}}}}}")]
    NoValue {
        /// Its name.
        name: &'static str,
        /// The place.
        placeholder: &'static str,
    },
}

impl Fault for TemplateError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Missing { .. }
            | Self::Unknown { .. }
            | Self::Empty { .. }
            | Self::PlaceholderMissing { .. }
            | Self::PlaceholderUnknown { .. } => ExitClass::Usage,
            Self::NoValue { .. } => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Missing { .. } => "template.missing",
            Self::Unknown { .. } => "template.unknown",
            Self::Empty { .. } => "template.empty",
            Self::PlaceholderMissing { .. } => "template.placeholder_missing",
            Self::PlaceholderUnknown { .. } => "template.placeholder_unknown",
            Self::NoValue { .. } => "template.no_value",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Unknown { known, .. } => Some(format!("the templates are {}", known.join(", "))),
            Self::PlaceholderUnknown { known, .. } if known.is_empty() => {
                Some("this template takes no placeholders".into())
            }
            Self::PlaceholderUnknown { known, .. } => {
                Some(format!("this template takes {{{{{}}}}}", known.join("}}, {{")))
            }
            Self::PlaceholderMissing { .. } | Self::Missing { .. } | Self::Empty { .. } => {
                Some("remove your own copy to use the one that ships with the program".into())
            }
            Self::NoValue { .. } => None,
        }
    }
}
