//! The gate: evidence, quadrants, step reports.

use super::step::{Item, dataset};
use crate::export::column::ColumnType::{Bool, Float64, Label, Text, TextList, UInt32, UInt64};
use crate::export::column::{Cell, Column, column, nullable};
use crate::export::dataset::Dataset;
use crate::store::rows::{FailedArm, GateEvidence, GateStop, QuadrantPair, StepReport};

pub(super) fn datasets() -> Vec<Box<dyn Dataset>> {
    vec![evidence(), quadrants(), step_reports()]
}

fn evidence() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<GateEvidence>>> = vec![
        column("task_type", Label, "the gate's task type", |item| Cell::text(item.key.task_type.as_str())),
        column("ladder_rank", UInt32, "position in the plan, from 0", |item| Cell::UInt(item.key.rank.into())),
        column("unit_id", Text, "the unit", |item| Cell::text(item.row.unit_id.as_str())),
        column("question_ids", TextList, "its questions", |item| Cell::texts(&item.row.questions)),
        nullable("base_correct", Bool, "the current skill's correctness; null when excluded", |item| {
            Cell::or_null(item.row.base_correct, Cell::Bool)
        }),
        nullable("cand_correct", Bool, "the candidate's correctness; null when excluded", |item| {
            Cell::or_null(item.row.cand_correct, Cell::Bool)
        }),
        column("base_cached", Bool, "whether the base arm came from the baseline cache", |item| {
            Cell::Bool(item.row.base_cached)
        }),
        column("excluded", Bool, "whether a technical failure took it out of the pairs", |item| {
            Cell::Bool(item.row.excluded)
        }),
        nullable("excluded_arm", Label, "base, cand or both", |item| {
            Cell::opt_text(item.row.excluded_arm.map(FailedArm::name))
        }),
        column("w", UInt32, "wins after this unit", |item| Cell::UInt(item.row.wins.into())),
        column("l", UInt32, "losses after this unit", |item| Cell::UInt(item.row.losses.into())),
        column("n_used", UInt32, "pairs consumed after this unit", |item| Cell::UInt(item.row.n_used.into())),
        column("n_remaining", UInt32, "units left after this one", |item| Cell::UInt(item.row.n_remaining.into())),
        column("e_value", Float64, "E(W, L) after this unit", |item| Cell::Float(item.row.e_value)),
        column("lambda", Float64, "Wald lambda after this unit", |item| Cell::Float(item.row.lambda)),
        nullable("stop_reason", Label, "on the last consumed unit only", |item| {
            Cell::opt_text(item.row.stop_reason.map(GateStop::name))
        }),
        column("curtailed", UInt32, "units settled by curtailment after this one", |item| {
            Cell::UInt(item.row.curtailed.into())
        }),
    ];
    dataset("gate_evidence", "One unit of a gate, at its place of the ladder.", columns)
}

fn quadrants() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<QuadrantPair>>> = vec![
        column("task_type", Label, "the gate's task type", |item| Cell::text(item.key.task_type.as_str())),
        column("unit_id", Text, "the unit", |item| Cell::text(item.key.unit.as_str())),
        column("quadrant", Label, "improvement, regression, persistent_fail or stable_success", |item| {
            Cell::text(item.row.quadrant.name())
        }),
    ];
    dataset("quadrant_pairs", "What happened to a unit between the arms of a gate.", columns)
}

fn step_reports() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<StepReport>>> = vec![
        column("task_type", Label, "the task type", |item| Cell::text(item.key.as_str())),
        column("global_step", UInt32, "from 0 over the run", |item| Cell::UInt(item.row.global_step.into())),
        column("action", Label, "accept_confirmed, accept_provisional, reject, skipped or cooldown", |item| {
            Cell::text(item.row.action.name())
        }),
        nullable("stop_reason", Label, "why the gate stopped; null without a gate", |item| {
            Cell::opt_text(item.row.stop_reason.map(GateStop::name))
        }),
        nullable("note", Text, "why nothing was gated", |item| Cell::opt_text(item.row.note.as_deref())),
        nullable("baseline_acc", Float64, "per consumed unit; without a gate the current correctness", |item| {
            Cell::float(item.row.baseline_acc)
        }),
        nullable("candidate_acc", Float64, "per consumed unit; null without a gate", |item| {
            Cell::float(item.row.candidate_acc)
        }),
        nullable("w", UInt32, "wins; null without a gate", |item| Cell::count(item.row.wins)),
        nullable("l", UInt32, "losses; null without a gate", |item| Cell::count(item.row.losses)),
        nullable("e_value", Float64, "E(W, L); null without a gate", |item| Cell::float(item.row.e_value)),
        nullable("lambda", Float64, "Wald lambda; null without a gate", |item| Cell::float(item.row.lambda)),
        nullable("delta_hat", Float64, "(W - L) / n_used", |item| Cell::float(item.row.delta_hat)),
        nullable("delta_shrunk", Float64, "(W - L) / (n_used + 4)", |item| Cell::float(item.row.delta_shrunk)),
        nullable("n_plan", UInt32, "units of the plan", |item| Cell::count(item.row.n_plan)),
        nullable("n_used", UInt32, "pairs consumed", |item| Cell::count(item.row.n_used)),
        nullable("n_excluded", UInt32, "units excluded by technical failures", |item| Cell::count(item.row.n_excluded)),
        nullable("errors", UInt32, "units with a failed arm, as the guard counted", |item| {
            Cell::count(item.row.errors)
        }),
        nullable("inferences", UInt32, "question inferences that finished", |item| Cell::count(item.row.inferences)),
        nullable("wasted_runs", UInt32, "inferences that the verdict did not need", |item| {
            Cell::count(item.row.wasted_runs)
        }),
        nullable("wall_ms", UInt64, "wall time of the gate in milliseconds", |item| {
            Cell::or_null(item.row.wall_ms, Cell::UInt)
        }),
        nullable("edit_budget", UInt32, "edits allowed", |item| Cell::count(item.row.edit_budget)),
        nullable("clipped", Bool, "whether edits were clipped", |item| Cell::or_null(item.row.clipped, Cell::Bool)),
        column("source_version", Label, "the skills version the step began with", |item| {
            Cell::owned(item.row.source_version.to_string())
        }),
        nullable("new_version", Label, "the skills version this acceptance made", |item| {
            Cell::or_null(item.row.new_version, |version| Cell::owned(version.to_string()))
        }),
        nullable("target_file", Label, "the changed file", |item| {
            Cell::opt_text(item.row.target_file.as_ref().map(AsRef::as_ref))
        }),
    ];
    dataset("step_reports", "One task type's outcome of a step.", columns)
}
