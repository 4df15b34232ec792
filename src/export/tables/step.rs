//! Datasets over the table of step rows: a stream of one kind, scope by scope.

use std::ops::ControlFlow;

use crate::domain::{Arm, RunId};
use crate::export::column::ColumnType::{Label, UInt32};
use crate::export::column::{Cell, Column, ColumnDoc, column, nullable};
use crate::export::dataset::{Dataset, Filter, Partition, RowSink};
use crate::export::error::ExportError;
use crate::store::rows::StepRow;
use crate::store::{AnswerKey, PhaseKey, Scope, SpanKey, StoreReader};

/// One row with its place.
pub(super) struct Item<R: StepRow> {
    pub(super) run: RunId,
    pub(super) scope: Scope,
    pub(super) key: R::Key,
    pub(super) row: R,
}

/// A dataset of one kind of step row.
pub(super) struct StepDataset<R: StepRow> {
    pub(super) name: &'static str,
    pub(super) doc: &'static str,
    pub(super) columns: Vec<Column<Item<R>>>,
}

/// A dataset whose first columns name the place of the row.
pub(super) fn dataset<R>(name: &'static str, doc: &'static str, columns: Vec<Column<Item<R>>>) -> Box<dyn Dataset>
where
    R: StepRow + Send + Sync + 'static,
    R::Key: Sync,
{
    let mut all: Vec<Column<Item<R>>> = vec![
        column("run_id", Label, "the run", |item| Cell::text(item.run.as_str())),
        column("stage", Label, "baseline, step, slow, final, eval or adhoc", |item| Cell::text(stage(item.scope))),
        nullable("epoch", UInt32, "from 1; null outside of epochs", |item| Cell::count(item.scope.epoch())),
        nullable("step", UInt32, "from 0 within the epoch; null outside of steps", |item| match item.scope {
            Scope::Step(place) => Cell::UInt(place.step.into()),
            Scope::Baseline | Scope::Slow { .. } | Scope::Final | Scope::Eval | Scope::Adhoc => Cell::Null,
        }),
        nullable("sub_step", UInt32, "1 to 10 in the slow update; null outside of it", |item| match item.scope {
            Scope::Slow { sub_step, .. } => Cell::UInt(sub_step.into()),
            Scope::Baseline | Scope::Step(_) | Scope::Final | Scope::Eval | Scope::Adhoc => Cell::Null,
        }),
    ];
    all.extend(columns);
    Box::new(StepDataset { name, doc, columns: all })
}

fn stage(scope: Scope) -> &'static str {
    match scope {
        Scope::Baseline => "baseline",
        Scope::Step(_) => "step",
        Scope::Slow { .. } => "slow",
        Scope::Final => "final",
        Scope::Eval => "eval",
        Scope::Adhoc => "adhoc",
    }
}

/// A key that names a phase.
pub(super) trait HasPhase {
    fn phase_key(&self) -> &PhaseKey;
}

impl HasPhase for PhaseKey {
    fn phase_key(&self) -> &PhaseKey {
        self
    }
}

impl HasPhase for AnswerKey {
    fn phase_key(&self) -> &PhaseKey {
        &self.phase
    }
}

impl HasPhase for SpanKey {
    fn phase_key(&self) -> &PhaseKey {
        &self.answer.phase
    }
}

/// These columns behind those that name the row's phase.
pub(super) fn with_phase<R>(columns: Vec<Column<Item<R>>>) -> Vec<Column<Item<R>>>
where
    R: StepRow,
    R::Key: HasPhase,
{
    let mut all: Vec<Column<Item<R>>> = vec![
        column("phase", Label, "what the answer was produced for", |item| {
            Cell::text(item.key.phase_key().phase().name())
        }),
        nullable("arm", Label, "base or cand in a gate, else null", |item| {
            Cell::opt_text(item.key.phase_key().arm().map(Arm::name))
        }),
        column(
            "phase_run_id",
            Label,
            "textual run id of the phase, such as r1_e1_s0_gate_action-reasoning_base",
            |item| Cell::owned(item.key.phase_key().run_id(&item.run, item.scope)),
        ),
    ];
    all.extend(columns);
    all
}

impl<R> Dataset for StepDataset<R>
where
    R: StepRow + Send + Sync + 'static,
    R::Key: Sync,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn doc(&self) -> &'static str {
        self.doc
    }

    fn columns(&self) -> Vec<ColumnDoc> {
        self.columns.iter().map(|column| column.doc.clone()).collect()
    }

    fn stream(&self, reader: &StoreReader, filter: &Filter, sink: &mut dyn RowSink) -> Result<(), ExportError> {
        // A snapshot per scope: a long export must not pin an old state of a growing file (design 03).
        let mut runs: Vec<RunId> = reader.snapshot()?.runs()?.into_iter().map(|(run, _)| run).collect();
        runs.retain(|run| filter.run.as_ref().is_none_or(|wanted| wanted == run));
        for run in runs {
            let scopes = reader.snapshot()?.scopes(&run)?;
            for scope in scopes {
                if filter.epoch.is_some_and(|epoch| scope.epoch() != Some(epoch)) {
                    continue;
                }
                self.stream_scope(reader, &run, scope, sink)?;
            }
        }
        Ok(())
    }
}

impl<R: StepRow> StepDataset<R> {
    fn stream_scope(
        &self,
        reader: &StoreReader,
        run: &RunId,
        scope: Scope,
        sink: &mut dyn RowSink,
    ) -> Result<(), ExportError> {
        let partition = Partition { run: Some(run.clone()), epoch: scope.epoch() };
        let mut failure = None;
        reader.snapshot()?.visit::<R>(run, scope, |key, row| {
            let item = Item { run: run.clone(), scope, key, row };
            let cells: Vec<Cell<'_>> = self.columns.iter().map(|column| (column.get)(&item)).collect();
            match sink.row(&partition, &cells) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        })?;
        failure.map_or(Ok(()), Err)
    }
}
