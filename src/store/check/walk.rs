//! Checks a snapshot: one pass over the step rows, scope by scope, so that memory is bounded by one scope.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use redb::{ReadableTableMetadata, TableHandle};

use super::report::{CheckReport, Invariant};
use super::scope_rows::ScopeRows;
use super::{answers, gates, references, state};
use crate::domain::RunId;
use crate::store::error::StoreError;
use crate::store::keys::Scope;
use crate::store::schema::for_each_table;
use crate::store::snapshot::{RawStepKey, Snapshot, with_table};

/// Checks every invariant that can be seen in a snapshot.
///
/// # Errors
/// The file cannot be read at all; what can be read and does not hold is in the report.
pub fn check(snapshot: &Snapshot<'_>) -> Result<CheckReport, StoreError> {
    let mut report = CheckReport::new();
    tables(snapshot, &mut report)?;
    if !report.is_clean() {
        // Every other invariant reads these tables.
        return Ok(report);
    }
    let known = references::check(snapshot, &mut report)?;
    let mut walk = Walk { known: &known, settled: state::SettledSteps::new(), open: None, unknown: BTreeSet::new() };
    walk.step_rows(snapshot, &mut report)?;
    walk.finish_scope(&mut report);
    let settled = walk.settled;
    state::check(snapshot, &known, &settled, &mut report)?;
    Ok(report)
}

fn tables(snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<(), StoreError> {
    macro_rules! opens {
        ($table:expr) => {
            if let Err(error) = with_table!(snapshot, $table, |table| {
                let _rows = table.len().map_err(|error| snapshot.redb_error(error))?;
                Ok(())
            }) {
                let StoreError::NotAStore { detail, .. } = error else { return Err(error) };
                report.add(Invariant::Tables, $table.name(), detail);
            }
        };
    }
    for_each_table!(opens);
    Ok(())
}

struct Walk<'k> {
    known: &'k references::Known,
    settled: state::SettledSteps,
    /// The scope whose rows are being read.
    open: Option<ScopeRows>,
    /// Runs that were reported as unknown, each once.
    unknown: BTreeSet<String>,
}

impl Walk<'_> {
    fn step_rows(&mut self, snapshot: &Snapshot<'_>, report: &mut CheckReport) -> Result<(), StoreError> {
        snapshot.visit_every(|key, value| {
            report.rows += 1;
            self.step_row(snapshot, &key, value, report);
            Ok(ControlFlow::Continue(()))
        })
    }

    fn step_row(&mut self, snapshot: &Snapshot<'_>, key: &RawStepKey<'_>, value: &[u8], report: &mut CheckReport) {
        let (Ok(run), Some(scope)) = (key.run.parse::<RunId>(), Scope::from_columns(key.scope)) else {
            report.add(Invariant::Key, key.describe(), "nothing writes such a key");
            return;
        };
        let same = self.open.as_ref().is_some_and(|open| open.run == run && open.scope == scope);
        if !same {
            self.finish_scope(report);
            if !self.known.runs.contains_key(&run) && self.unknown.insert(run.to_string()) {
                self.known.needs_run(&run, &format!("step_rows {run} {scope}"), report);
            }
        }
        self.open.get_or_insert_with(|| ScopeRows::new(run, scope)).take(snapshot, key, value, report);
    }

    fn finish_scope(&mut self, report: &mut CheckReport) {
        let Some(rows) = self.open.take() else { return };
        let mode = self.known.runs.get(&rows.run).map(|run| run.mode);
        answers::check(&rows, mode, report);
        gates::check(&rows, report);
        let mut named = BTreeSet::new();
        for (kind, name, by) in &rows.versions {
            if named.insert((kind, name, by)) {
                self.known.needs_version(*kind, *name, &format!("{} {by}", rows.place()), report);
            }
        }
        if let Some(mark) = rows.mark.as_ref().filter(|mark| mark.settled) {
            self.settled.entry(rows.run.clone()).or_default().insert(rows.scope, mark.global_step);
        }
    }
}
