//! Task types as people write them: by name or by slug.

use super::CliError;
use crate::domain::{ExitClass, Fault, TaskType};
use crate::harness::session::Session;

/// A task type that no question has.
#[derive(Debug, thiserror::Error)]
#[error("select task type {name:?}: no question has it")]
struct UnknownType {
    name: String,
    known: Vec<String>,
}

impl Fault for UnknownType {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "run.selection"
    }

    fn hint(&self) -> Option<String> {
        Some(format!("the task types are {}", self.known.join(", ")))
    }
}

/// The task type of the question set that has this name or slug.
pub(super) fn task_type(session: &Session, name: &str) -> Result<TaskType, CliError> {
    let types = session.questions.task_types();
    let found = types.keys().find(|known| known.as_str() == name || known.slug() == name);
    let unknown = || UnknownType { name: name.to_owned(), known: types.keys().map(ToString::to_string).collect() };
    Ok(found.map(|known| (*known).clone()).ok_or_else(unknown)?)
}
