//! What every error of the project tells: its class (exit code), its stable code, its remedy.

use std::fmt;

use serde::Serialize;

/// The exit code classes of the command line (design 08).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExitClass {
    /// A bug or a failure that nothing else names.
    Internal,
    /// Wrong arguments or configuration.
    Usage,
    /// Input data that cannot be used.
    Data,
    /// A model endpoint or another remote service failed.
    Endpoint,
    /// The budget of money or tokens is spent; resumable.
    Budget,
    /// Interrupted by the user; resumable.
    Interrupted,
    /// The store could not be opened, read or written.
    Store,
    /// A recomputed verdict differs from the stored one.
    VerdictMismatch,
}

impl ExitClass {
    /// The process exit code of this class, 1 to 8.
    #[must_use]
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Data => 3,
            Self::Endpoint => 4,
            Self::Budget => 5,
            Self::Interrupted => 6,
            Self::Store => 7,
            Self::VerdictMismatch => 8,
        }
    }
}

/// One of several things that are wrong at once, with its place and remedy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    /// Where: `file:line`, a record, a variable, a flag.
    pub place: Option<String>,
    /// What is wrong, as a lower-case fragment that begins with the thing concerned.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = &self.place {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.message)?;
        match &self.hint {
            Some(hint) => write!(f, " ({hint})"),
            None => Ok(()),
        }
    }
}

/// An error that can be shown to a person and matched by a program.
///
/// The `Display` text is a lower-case fragment that fits "failed to …" and names
/// what and where; the remedy is separate.
pub trait Fault: std::error::Error + Send + Sync + 'static {
    /// Which exit code the process ends with.
    fn class(&self) -> ExitClass;

    /// A stable identifier such as `store.disk_full`; never reused for another meaning.
    fn code(&self) -> &'static str;

    /// What to do about it, as one sentence or two.
    fn hint(&self) -> Option<String> {
        None
    }

    /// All that is wrong, where the error stands for several problems found at once.
    fn problems(&self) -> &[Problem] {
        &[]
    }
}
