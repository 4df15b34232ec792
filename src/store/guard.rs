//! Turns a panic of the database over a damaged file into an error.
//!
//! The database verifies checksums when it repairs, not at every read, and may panic over a page that
//! changed behind its back. A run that lasts days must end with an error that says so instead.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use super::error::StoreError;

thread_local! {
    /// Whether this thread is inside the database, so that a panic will be reported as an error.
    static INSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Calls the database.
///
/// # Errors
/// Those of `call`; its panic as a damaged file.
pub(crate) fn guarded<T>(path: &Path, call: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    caught(call).unwrap_or_else(|panic| {
        let detail = format!("reading it failed with: {}", panic_text(panic.as_ref()));
        Err(StoreError::Corrupt { path: path.to_owned(), detail })
    })
}

/// Calls the database; a panic comes back as its payload and is not printed (see [`silence_guarded_panics`]).
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> std::thread::Result<T> {
    let outer = INSIDE.replace(true);
    let result = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(outer);
    result
}

/// Calls back into the caller's code from inside the database: its panics are its own.
pub(crate) fn outside<T>(call: impl FnOnce() -> T) -> Result<T, Box<dyn std::any::Any + Send>> {
    let inner = INSIDE.replace(false);
    let result = catch_unwind(AssertUnwindSafe(call));
    INSIDE.set(inner);
    result
}

/// Keeps panics that become errors from being printed as well. For the program, not for libraries:
/// it wraps the panic hook of the process.
pub fn silence_guarded_panics() {
    let previous = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        if !INSIDE.get() {
            previous(info);
        }
    }));
}

/// The message of a panic, cut.
pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic".to_owned());
    text.escape_debug().take(300).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Fault;

    #[test]
    fn a_panic_inside_the_database_is_a_damaged_file() {
        let error = guarded::<()>(Path::new("x.redb"), || panic!("index out of range")).unwrap_err();
        assert_eq!(error.code(), "store.corrupt");
        assert!(error.to_string().contains("index out of range"), "{error}");
    }

    #[test]
    fn a_panic_of_the_caller_is_handed_back_to_it() {
        let result = guarded(Path::new("x.redb"), || Ok(outside(|| panic!("mine"))));
        assert!(result.unwrap().is_err());
    }
}
