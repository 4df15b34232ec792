//! The slow update and evaluations.

use super::step::{Item, dataset, with_phase};
use crate::export::column::ColumnType::{Bool, Float64, Label, Text, TextList, UInt32};
use crate::export::column::{Cell, Column, column, nullable};
use crate::export::dataset::Dataset;
use crate::store::rows::{DualMetricEval, EpochReport, HoldoutEval, Momentum, ProbationSettlement, ShadowGate};

pub(super) fn datasets() -> Vec<Box<dyn Dataset>> {
    vec![dual_metrics(), shadow_gates(), holdout(), momentum(), probations(), epoch_reports()]
}

fn dual_metrics() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<DualMetricEval>>> = vec![
        column("skills_version", Label, "evaluated skills", |item| Cell::owned(item.row.versions.skills.to_string())),
        column("prompts_version", Label, "evaluated prompts", |item| {
            Cell::owned(item.row.versions.prompts.to_string())
        }),
        nullable("hard", Float64, "share correct", |item| Cell::float(item.row.hard)),
        nullable("soft", Float64, "mean graded credit; null if there is none", |item| Cell::float(item.row.soft)),
        nullable("mixed", Float64, "(hard + soft) / 2; null if soft is", |item| Cell::float(item.row.mixed)),
        column("n", UInt32, "questions that count", |item| Cell::UInt(item.row.n.into())),
        column("n_infra", UInt32, "questions left out as technical failures", |item| {
            Cell::UInt(item.row.n_infra.into())
        }),
    ];
    dataset("dual_metric_evals", "Accuracy of a run over a pool by three scores.", with_phase(columns))
}

fn shadow_gates() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<ShadowGate>>> = vec![
        column("shadow_skills", Label, "skills that are best by the mixed score", |item| {
            Cell::owned(item.row.shadow_best.skills.to_string())
        }),
        column("shadow_prompts", Label, "prompts that are best by the mixed score", |item| {
            Cell::owned(item.row.shadow_best.prompts.to_string())
        }),
        nullable("shadow_mixed", Float64, "their mixed score", |item| Cell::float(item.row.shadow_mixed)),
        column("best_skills", Label, "skills of the best pointer", |item| {
            Cell::owned(item.row.best.skills.to_string())
        }),
        column("best_prompts", Label, "prompts of the best pointer", |item| {
            Cell::owned(item.row.best.prompts.to_string())
        }),
        nullable("best_mixed", Float64, "their mixed score", |item| Cell::float(item.row.best_mixed)),
        column("differs", Bool, "whether the two pairs differ", |item| Cell::Bool(item.row.differs)),
    ];
    dataset("shadow_gates", "What would be best by the mixed score; observation only.", columns)
}

fn holdout() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<HoldoutEval>>> = vec![
        column("skills_from", Label, "start or end of the epoch", |item| Cell::text(&item.row.skills_from)),
        column("prompts_from", Label, "start or end of the epoch", |item| Cell::text(&item.row.prompts_from)),
        column("skills_version", Label, "evaluated skills", |item| Cell::owned(item.row.versions.skills.to_string())),
        column("prompts_version", Label, "evaluated prompts", |item| {
            Cell::owned(item.row.versions.prompts.to_string())
        }),
        nullable("accuracy", Float64, "share correct on the test pool", |item| Cell::float(item.row.accuracy)),
        nullable("soft", Float64, "mean graded credit; null if there is none", |item| Cell::float(item.row.soft)),
        column("n", UInt32, "questions that count", |item| Cell::UInt(item.row.n.into())),
        column("n_infra", UInt32, "questions left out as technical failures", |item| {
            Cell::UInt(item.row.n_infra.into())
        }),
    ];
    dataset("holdout_evals", "One of the four version pairs on the test pool.", with_phase(columns))
}

fn momentum() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<Momentum>>> = vec![
        column("file", Label, "the skill file", |item| Cell::text(item.key.as_str())),
        column("status", Label, "updated, kept or skipped", |item| Cell::text(item.row.status.name())),
        nullable("reason", Text, "why the previous guidance stays", |item| Cell::opt_text(item.row.reason.as_deref())),
        column("previous", Text, "guidance before", |item| Cell::text(&item.row.previous)),
        column("guidance", Text, "guidance after", |item| Cell::text(&item.row.guidance)),
        column("improved", UInt32, "sampled questions that improved", |item| Cell::UInt(item.row.improved.into())),
        column("regressed", UInt32, "that regressed", |item| Cell::UInt(item.row.regressed.into())),
        column("persistent_fail", UInt32, "wrong twice", |item| Cell::UInt(item.row.persistent_fail.into())),
        column("stable_success", UInt32, "right twice", |item| Cell::UInt(item.row.stable_success.into())),
    ];
    dataset("momentum", "The momentum of one skill file.", columns)
}

fn probations() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<ProbationSettlement>>> = vec![
        column("task_type", Label, "the task type", |item| Cell::text(item.key.as_str())),
        column("outcome", Label, "confirm, hold or rollback", |item| Cell::text(item.row.outcome.name())),
        column("wins", UInt32, "units that the re-run got right and the snapshot wrong", |item| {
            Cell::UInt(item.row.wins.into())
        }),
        column("losses", UInt32, "units the other way round", |item| Cell::UInt(item.row.losses.into())),
        column("n", UInt32, "units that could be compared", |item| Cell::UInt(item.row.n.into())),
        nullable("e_value", Float64, "E(W, L)", |item| Cell::float(Some(item.row.e_value))),
        nullable("e_swapped", Float64, "E(L, W)", |item| Cell::float(Some(item.row.e_swapped))),
        column("opened_step", UInt32, "number over the run of the step that opened it", |item| {
            Cell::UInt(item.row.opened_step.into())
        }),
        column("file", Label, "the file on probation", |item| Cell::text(item.row.target_file.as_str())),
        column("anchor_skills_version", Label, "the last confirmed version", |item| {
            Cell::owned(item.row.anchor_skills_version.to_string())
        }),
        nullable("new_version", Label, "the version that a rollback made", |item| {
            item.row.new_version.map_or(Cell::Null, |version| Cell::owned(version.to_string()))
        }),
    ];
    dataset("probation_settlements", "What the epoch's re-run says about a skill on probation.", columns)
}

fn epoch_reports() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<EpochReport>>> = vec![
        column("system_tool_action", Label, "none, kept or reverted", |item| {
            Cell::text(item.row.system_tool_action.name())
        }),
        column("momentum_task_types", TextList, "task types with new momentum", |item| {
            Cell::texts(&item.row.momentum_updated_task_types)
        }),
        nullable("best_val_acc", Float64, "validation accuracy of the best pointer", |item| {
            Cell::float(item.row.best_val_acc)
        }),
        column("best_skills", Label, "skills of the best pointer", |item| {
            Cell::owned(item.row.best.skills.to_string())
        }),
        column("best_prompts", Label, "prompts of the best pointer", |item| {
            Cell::owned(item.row.best.prompts.to_string())
        }),
        nullable("r_accuracy", Float64, "accuracy of the re-run R", |item| Cell::float(item.row.r_accuracy)),
        nullable("r2_accuracy", Float64, "accuracy of R2; null if it did not run", |item| {
            Cell::float(item.row.r2_accuracy)
        }),
        column("start_skills", Label, "skills at the epoch's start", |item| {
            Cell::owned(item.row.start.skills.to_string())
        }),
        column("start_prompts", Label, "prompts at the epoch's start", |item| {
            Cell::owned(item.row.start.prompts.to_string())
        }),
        column("end_skills", Label, "skills at the epoch's end", |item| Cell::owned(item.row.end.skills.to_string())),
        column("end_prompts", Label, "prompts at the epoch's end", |item| {
            Cell::owned(item.row.end.prompts.to_string())
        }),
    ];
    dataset("epoch_reports", "The outcome of an epoch.", columns)
}
