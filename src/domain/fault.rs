//! What every error of the project tells: its class (exit code), its stable code, its remedy.

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
}
