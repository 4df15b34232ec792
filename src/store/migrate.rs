//! Brings an older store up to date, in one transaction.
//!
//! | schema | change |
//! |---|---|
//! | 1 | the first |
//! | 2 | predictions tell how the answer was read and for how many samples it stands; spans keep the plan apart and count calls; step reports count wasted runs and time |

use std::path::Path;

use redb::{Database, ReadableTable, Table, WriteTransaction};

use super::batch::OwnedStepKey;
use super::codec::{self, Record};
use super::error::StoreError;
use super::failpoint;
use super::guard::guarded;
use super::keys::Kind;
use super::open::write_schema;
use super::rows::{Prediction, Seed, StepReport, TraceSpan};
use super::schema::{SCHEMA_VERSION, SEEDS, STEP_ROWS, StepKey};
use super::snapshot::RawStepKey;

/// Migrates from schema `found`, which is older than this program's. All or nothing: a crash leaves the older store.
///
/// A value that cannot be read stays as it is, so that damage in one row does not lock the store up;
/// `trm store check` names it.
///
/// # Errors
/// No released program wrote such a schema, or the file cannot be read or written.
pub(crate) fn migrate(path: &Path, database: &Database, found: u32) -> Result<(), StoreError> {
    if found != 1 {
        let detail = "no program wrote such a schema".to_owned();
        return Err(StoreError::OlderSchema { path: path.to_owned(), found, known: SCHEMA_VERSION, detail });
    }
    guarded(path, || {
        let failed = |error: redb::Error| StoreError::from_redb(path, error);
        let mut transaction = database.begin_write().map_err(|error| failed(error.into()))?;
        transaction.set_quick_repair(true);
        step_rows_to_2(&transaction).map_err(failed)?;
        seeds_to_2(&transaction).map_err(failed)?;
        write_schema(path, &transaction, SCHEMA_VERSION)?;
        failpoint::hit("store.before_commit/migrate");
        transaction.commit().map_err(|error| failed(error.into()))?;
        failpoint::hit("store.after_commit/migrate");
        Ok(())
    })
}

/// Rows that are read before they are written anew: enough to be fast, few enough for memory.
const CHUNK: usize = 1000;

fn step_rows_to_2(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(STEP_ROWS)?;
    let mut after: Option<OwnedStepKey> = None;
    loop {
        let (rewritten, last) = next_chunk(&table, after.as_ref())?;
        for (key, value) in rewritten {
            table.insert(key.raw().columns(), value.as_slice())?;
        }
        let Some(last) = last else { return Ok(()) };
        after = Some(last);
    }
}

type Chunk = (Vec<(OwnedStepKey, Vec<u8>)>, Option<OwnedStepKey>);

/// The rows of the next chunk in their new form, and the last key seen; none at the end.
fn next_chunk(
    table: &Table<'_, StepKey<'static>, &'static [u8]>,
    after: Option<&OwnedStepKey>,
) -> Result<Chunk, redb::Error> {
    use std::ops::Bound;
    let from = after.map_or(Bound::Unbounded, |key| Bound::Excluded(key.raw().columns()));
    let (mut rewritten, mut last) = (Vec::new(), None);
    for entry in table.range::<StepKey<'_>>((from, Bound::Unbounded))?.take(CHUNK) {
        let (key, value) = entry?;
        let raw = RawStepKey::of(key.value());
        let new = match Kind::from_code(raw.kind) {
            Some(Kind::Prediction) => anew::<Prediction>(value.value()),
            Some(Kind::Trace) => anew::<TraceSpan>(value.value()),
            Some(Kind::StepReport) => anew::<StepReport>(value.value()),
            Some(_) | None => None,
        };
        let key = OwnedStepKey::of(raw);
        rewritten.extend(new.map(|value| (key.clone(), value)));
        last = Some(key);
    }
    Ok((rewritten, last))
}

fn seeds_to_2(transaction: &WriteTransaction) -> Result<(), redb::Error> {
    let mut table = transaction.open_table(SEEDS)?;
    let mut rewritten = Vec::new();
    for entry in table.iter()? {
        let (key, value) = entry?;
        rewritten.extend(anew::<Seed>(value.value()).map(|value| (key.value().to_owned(), value)));
    }
    for (key, value) in rewritten {
        table.insert(key.as_str(), value.as_slice())?;
    }
    Ok(())
}

/// A value in today's form; none if it cannot be read.
fn anew<R: Record>(value: &[u8]) -> Option<Vec<u8>> {
    codec::decode::<R>(value).and_then(|record| codec::encode(&record)).ok()
}
