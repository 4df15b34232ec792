//! The lasting state of a training: pools, ladders, the checkpoint in short, evaluations, pointers.

use super::lasting::{SmallDataset, wanted_runs};
use crate::domain::{RunId, TaskType};
use crate::export::column::ColumnType::{Bool, Float64, Label, Text, TextList, Timestamp, UInt32};
use crate::export::column::{Cell, Column, column, nullable};
use crate::export::dataset::{Dataset, Filter};
use crate::store::rows::{Checkpoint, LadderEntry, Pointer, PointerName, PoolUnit, Progress};
use crate::store::{Snapshot, StoreError};

pub(super) fn datasets() -> Vec<Box<dyn Dataset>> {
    vec![pools(), ladders(), checkpoints(), probations(), pointers(), seeds()]
}

type PoolRow = (RunId, &'static str, PoolUnit);

fn pool_rows(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<PoolRow>, StoreError> {
    let mut rows = Vec::new();
    for (run, _) in wanted_runs(snapshot, filter)? {
        let Some(pools) = snapshot.pools(&run)? else { continue };
        for (pool, units) in [("test", pools.test), ("validation", pools.validation), ("diagnosis", pools.diagnosis)] {
            rows.extend(units.into_iter().map(|unit| (run.clone(), pool, unit)));
        }
    }
    Ok(rows)
}

fn pools() -> Box<dyn Dataset> {
    let columns: Vec<Column<PoolRow>> = vec![
        column("run_id", Label, "the run", |(run, _, _)| Cell::text(run.as_str())),
        column("pool", Label, "test, validation or diagnosis", |(_, pool, _)| Cell::text(pool)),
        column("unit_id", Text, "the unit", |(_, _, unit)| Cell::text(unit.unit_id.as_str())),
        column("task_type", Label, "its task type", |(_, _, unit)| Cell::text(unit.task_type.as_str())),
        column("question_ids", TextList, "its questions", |(_, _, unit)| Cell::texts(&unit.questions)),
    ];
    let doc = "One unit of the pools of a training.";
    Box::new(SmallDataset { name: "pools", doc, columns, read: pool_rows, run: |(run, _, _)| Some(run) })
}

type LadderRow = (RunId, TaskType, LadderEntry);

fn ladder_rows(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<LadderRow>, StoreError> {
    let mut rows = Vec::new();
    for (run, _) in wanted_runs(snapshot, filter)? {
        for (task_type, ladder) in snapshot.ladders(&run)? {
            rows.extend(ladder.entries.into_iter().map(|entry| (run.clone(), task_type.clone(), entry)));
        }
    }
    Ok(rows)
}

fn ladders() -> Box<dyn Dataset> {
    let columns: Vec<Column<LadderRow>> = vec![
        column("run_id", Label, "the run", |(run, _, _)| Cell::text(run.as_str())),
        column("task_type", Label, "the task type", |(_, task_type, _)| Cell::text(task_type.as_str())),
        column("unit_id", Text, "the unit", |(_, _, entry)| Cell::text(entry.unit_id.as_str())),
        column("p_hat", Float64, "probability that the current skill answers it right", |(_, _, entry)| {
            Cell::Float(entry.p_hat)
        }),
        column("observations", UInt32, "observations behind it", |(_, _, entry)| Cell::UInt(entry.observations.into())),
    ];
    let doc = "What a training knows of one unit's difficulty.";
    Box::new(SmallDataset { name: "ladders", doc, columns, read: ladder_rows, run: |(run, _, _)| Some(run) })
}

type StateRow = (RunId, Checkpoint);

fn state_rows(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<StateRow>, StoreError> {
    let mut rows = Vec::new();
    for (run, _) in wanted_runs(snapshot, filter)? {
        rows.extend(snapshot.checkpoint(&run)?.map(|state| (run, state)));
    }
    Ok(rows)
}

/// Stage, epoch, step, sub-step and number over the run.
type Place = (&'static str, Option<u32>, Option<u32>, Option<u32>, Option<u32>);

fn place(progress: Progress) -> Place {
    match progress {
        Progress::Prepared => ("prepared", None, None, None, None),
        Progress::InEpoch { step, global_step } => {
            ("in_epoch", Some(step.epoch), Some(step.step), None, Some(global_step))
        }
        Progress::Slow { epoch, sub_step, global_step } => {
            ("slow", Some(epoch), None, Some(sub_step), Some(global_step))
        }
        Progress::EpochDone { epoch, global_step } => ("epoch_done", Some(epoch), None, None, Some(global_step)),
    }
}

fn checkpoints() -> Box<dyn Dataset> {
    let columns: Vec<Column<StateRow>> = vec![
        column("run_id", Label, "the run", |(run, _)| Cell::text(run.as_str())),
        column("progress", Label, "prepared, in_epoch, slow or epoch_done", |(_, state)| {
            Cell::text(place(state.progress).0)
        }),
        nullable("epoch", UInt32, "from 1; null before the first", |(_, state)| Cell::count(place(state.progress).1)),
        nullable("step", UInt32, "the last settled step; null outside of steps", |(_, state)| {
            Cell::count(place(state.progress).2)
        }),
        nullable("sub_step", UInt32, "done sub-steps of the slow update; null outside of it", |(_, state)| {
            Cell::count(place(state.progress).3)
        }),
        nullable("global_step", UInt32, "from 0 over the run; null before the first step", |(_, state)| {
            Cell::count(place(state.progress).4)
        }),
        nullable("eval_prev_acc", Float64, "validation accuracy of the previous evaluation", |(_, state)| {
            Cell::float(state.eval_prev_acc)
        }),
        column("steps_since_best_improved", UInt32, "steps since the best pointer moved", |(_, state)| {
            Cell::UInt(state.steps_since_best_improved.into())
        }),
        column("gate_epoch_observed", Bool, "whether ladders are in warm order", |(_, state)| {
            Cell::Bool(state.gate_epoch_observed)
        }),
        column("changed_task_types", TextList, "task types whose skill changed in this epoch", |(_, state)| {
            Cell::texts(&state.changed_task_types)
        }),
        column("resting_task_types", TextList, "task types that rest after a rollback", |(_, state)| {
            Cell::Texts(state.gate_cooldown.keys().map(|name| name.as_str().into()).collect())
        }),
    ];
    let doc = "The training state of a run in short.";
    Box::new(SmallDataset { name: "checkpoints", doc, columns, read: state_rows, run: |(run, _)| Some(run) })
}

type ProbationRow = (RunId, TaskType, crate::store::rows::Probation);

fn probation_rows(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<ProbationRow>, StoreError> {
    let states = state_rows(snapshot, filter)?;
    let of_run = |(run, state): (RunId, Checkpoint)| {
        state.probations.into_iter().map(move |(name, row)| (run.clone(), name, row)).collect::<Vec<_>>()
    };
    Ok(states.into_iter().flat_map(of_run).collect())
}

fn probations() -> Box<dyn Dataset> {
    let columns: Vec<Column<ProbationRow>> = vec![
        column("run_id", Label, "the run", |(run, _, _)| Cell::text(run.as_str())),
        column("task_type", Label, "the task type", |(_, name, _)| Cell::text(name.as_str())),
        column("file", Label, "the file on probation", |(_, _, row)| Cell::text(row.target_file.as_str())),
        column("anchor_skills_version", Label, "the last confirmed version", |(_, _, row)| {
            Cell::owned(row.anchor_skills_version.to_string())
        }),
        column("opened_step", UInt32, "number over the run of the step that opened it", |(_, _, row)| {
            Cell::UInt(row.opened_step.into())
        }),
    ];
    let doc = "A skill that is accepted provisionally and neither confirmed nor rolled back.";
    Box::new(SmallDataset { name: "probations", doc, columns, read: probation_rows, run: |(run, _, _)| Some(run) })
}

type PointerRow = (PointerName, Pointer);

fn pointer_rows(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<PointerRow>, StoreError> {
    let mut rows = Vec::new();
    for name in PointerName::ALL {
        rows.extend(snapshot.pointer(*name)?.map(|pointer| (*name, pointer)));
    }
    let by = |(_, pointer): &PointerRow| pointer.moved_by.as_ref().map(|by| by.run.clone());
    rows.retain(|row| filter.run.is_none() || by(row) == filter.run);
    Ok(rows)
}

fn pointers() -> Box<dyn Dataset> {
    let columns: Vec<Column<PointerRow>> = vec![
        column("pointer", Label, "current or best", |(name, _)| Cell::text(name.name())),
        column("skills_version", Label, "skills", |(_, row)| Cell::owned(row.versions.skills.to_string())),
        column("prompts_version", Label, "prompts", |(_, row)| Cell::owned(row.versions.prompts.to_string())),
        nullable("val_acc", Float64, "their validation accuracy", |(_, row)| Cell::float(row.val_acc)),
        nullable("moved_by_run", Label, "the run that moved it", |(_, row)| {
            Cell::opt_text(row.moved_by.as_ref().map(|by| by.run.as_str()))
        }),
        nullable("moved_by_scope", Label, "the part of that run", |(_, row)| {
            Cell::or_null(row.moved_by.as_ref(), |by| Cell::owned(by.scope.to_string()))
        }),
    ];
    Box::new(SmallDataset {
        name: "pointers",
        doc: "Where current and best point.",
        columns,
        read: pointer_rows,
        run: |(_, row)| row.moved_by.as_ref().map(|by| &by.run),
    })
}

type SeedRow = (String, crate::store::rows::Seed);

fn seed_rows(snapshot: &Snapshot<'_>, filter: &Filter) -> Result<Vec<SeedRow>, StoreError> {
    let mut rows = Vec::new();
    for name in snapshot.seeds()? {
        rows.extend(snapshot.seed(&name)?.map(|seed| (name, seed)));
    }
    rows.retain(|(_, seed)| filter.run.as_ref().is_none_or(|run| *run == seed.eval_run));
    Ok(rows)
}

fn seeds() -> Box<dyn Dataset> {
    let columns: Vec<Column<SeedRow>> = vec![
        column("seed", Label, "its name", |(name, _)| Cell::text(name)),
        column("eval_run", Label, "the evaluation that vouches for it", |(_, row)| Cell::text(row.eval_run.as_str())),
        column("skills_version", Label, "skills that it evaluated", |(_, row)| {
            Cell::owned(row.eval_versions.skills.to_string())
        }),
        column("prompts_version", Label, "prompts that it evaluated", |(_, row)| {
            Cell::owned(row.eval_versions.prompts.to_string())
        }),
        column("data_fingerprint", Text, "fingerprint of its question set", |(_, row)| {
            Cell::owned(row.data_fingerprint.to_string())
        }),
        column("created_at", Timestamp, "when it was promoted", |(_, row)| Cell::Timestamp(row.created_ms)),
    ];
    Box::new(SmallDataset {
        name: "seeds",
        doc: "A named starting point.",
        columns,
        read: seed_rows,
        run: |(_, row)| Some(&row.eval_run),
    })
}
