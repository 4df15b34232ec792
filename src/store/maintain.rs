//! What needs the file for itself: compacting it, and verifying its pages.

use std::path::Path;

use redb::{Database, DatabaseError};
use serde::Serialize;

use super::check::{CheckReport, Invariant, check};
use super::error::StoreError;
use super::guard::guarded;
use super::open::{OpenListener, OpenOptions, open_writable, verify_pages};
use super::reader::StoreReader;

/// What compacting did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct CompactReport {
    /// Size of the file before, in bytes.
    pub before_bytes: u64,
    /// Size of the file after, in bytes.
    pub after_bytes: u64,
}

/// Moves rows together and gives the free space back to the file system.
///
/// # Errors
/// Another process writes or reads the store, or the file cannot be read or written.
pub fn compact(path: &Path, listener: Option<&OpenListener>) -> Result<CompactReport, StoreError> {
    let before_bytes = file_bytes(path)?;
    let options = OpenOptions { listener: listener.cloned(), ..OpenOptions::default() };
    let mut database = open_writable(path, &options).map_err(|error| {
        if matches!(error, StoreError::Locked { .. }) {
            return StoreError::Busy { path: path.to_owned(), action: "compact" };
        }
        error
    })?;
    guarded(path, || {
        // One pass frees what the pass before it moved.
        while database.compact().map_err(|error| StoreError::from_redb(path, error))? {}
        Ok(())
    })?;
    close(path, database)?;
    Ok(CompactReport { before_bytes, after_bytes: file_bytes(path)? })
}

/// Checks every invariant; verifies the checksum of every page too if nothing else uses the store.
///
/// # Errors
/// The file cannot be opened or read at all.
pub fn check_file(path: &Path, listener: Option<&OpenListener>) -> Result<CheckReport, StoreError> {
    let verified = verify_pages(path, listener);
    if let Err(error) = verified.as_ref()
        && matches!(error, StoreError::Corrupt { .. })
    {
        // Nothing below a broken page can be trusted, so the rows are not read.
        let mut report = CheckReport::new();
        report.add(Invariant::Pages, path.display().to_string(), error.to_string());
        report.pages_verified = true;
        return Ok(report);
    }
    let pages_verified = verified?;
    let reader = StoreReader::open_with(path, listener)?;
    let report = check(&reader.snapshot()?)?;
    Ok(CheckReport { pages_verified, ..report })
}

fn file_bytes(path: &Path) -> Result<u64, StoreError> {
    Ok(std::fs::metadata(path).map_err(|error| StoreError::from_io(path, error))?.len())
}

fn close(path: &Path, database: Database) -> Result<(), StoreError> {
    database.close().map_err(|error: DatabaseError| StoreError::from_redb(path, error))
}
