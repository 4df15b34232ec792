//! How a failure reaches the person: one `error:` line, its causes, a `hint:` line.

use std::error::Error;
use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use super::text::printable;
use crate::domain::{ExitClass, Fault, Problem};

/// Any [`Fault`], ready to be shown: the error itself, its class, code and hint.
pub struct CliError {
    source: Box<dyn Error + Send + Sync>,
    class: ExitClass,
    code: &'static str,
    hint: Option<String>,
    problems: Vec<Problem>,
}

/// How many problems a person is shown: the rest is mostly more of the same.
const PROBLEMS_SHOWN: usize = 20;

impl CliError {
    /// Writes the failure to `out`: as one JSON object when `json`, else as lines for a person.
    ///
    /// # Errors
    /// Only those of `out`.
    pub fn write(&self, out: &mut dyn Write, json: bool) -> std::io::Result<()> {
        if json {
            let value = serde_json::json!({
                "error": self.source.to_string(),
                "code": self.code,
                "exit_code": self.class.exit_code(),
                "causes": self.causes(),
                "hint": self.hint,
                "problems": self.problems,
            });
            return writeln!(out, "{value}");
        }
        writeln!(out, "error: {} [{}]", printable(&self.source.to_string()), self.code)?;
        for cause in self.causes() {
            writeln!(out, "  caused by: {}", printable(&cause))?;
        }
        for problem in self.problems.iter().take(PROBLEMS_SHOWN) {
            writeln!(out, "  {}", printable(&problem.to_string()))?;
        }
        if let Some(more @ 1..) = self.problems.len().checked_sub(PROBLEMS_SHOWN) {
            writeln!(out, "  … and {more} more; --json lists all")?;
        }
        if let Some(hint) = &self.hint {
            writeln!(out, "hint: {}", printable(hint))?;
        }
        Ok(())
    }

    /// The stable code of this failure.
    #[must_use]
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// The exit code of the process for this failure.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.class.exit_code())
    }

    fn causes(&self) -> Vec<String> {
        let mut causes = Vec::new();
        let mut next = self.source.source();
        while let Some(cause) = next {
            causes.push(cause.to_string());
            next = cause.source();
        }
        causes
    }
}

impl<F: Fault> From<F> for CliError {
    fn from(fault: F) -> Self {
        Self {
            class: fault.class(),
            code: fault.code(),
            hint: fault.hint(),
            problems: fault.problems().to_vec(),
            source: Box::new(fault),
        }
    }
}

impl fmt::Debug for CliError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.source, self.code)
    }
}
