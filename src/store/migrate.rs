//! Brings an older store up to date, in one transaction.

use std::path::Path;

use redb::Database;

use super::error::StoreError;
use super::schema::SCHEMA_VERSION;

/// Migrates from schema `found`, which is older than this program's.
///
/// # Errors
/// The schema was never written by a released program, or the file cannot be read or written.
pub(crate) fn migrate(path: &Path, _database: &Database, found: u32) -> Result<(), StoreError> {
    let detail = "no program wrote such a schema".to_owned();
    Err(StoreError::OlderSchema { path: path.to_owned(), found, known: SCHEMA_VERSION, detail })
}
