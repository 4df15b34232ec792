//! Diagnosis and evolution.

use super::step::{Item, dataset};
use crate::export::column::ColumnType::{Bool, Float64, Label, Text, TextList, UInt32};
use crate::export::column::{Cell, Column, column, nullable};
use crate::export::dataset::Dataset;
use crate::store::rows::{CasePack, Evolution, QuestionMetrics};

pub(super) fn datasets() -> Vec<Box<dyn Dataset>> {
    vec![metrics(), case_packs(), evolutions()]
}

fn metrics() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<QuestionMetrics>>> = vec![
        column("question_id", Text, "the question", |item| Cell::text(item.key.as_str())),
        column("task_type", Label, "the task type", |item| Cell::text(item.row.task_type.as_str())),
        column("correct", Bool, "whether the answer was right", |item| Cell::Bool(item.row.correct)),
        column("format_ok", Bool, "rule: whether the output kept its format", |item| Cell::Bool(item.row.format_ok)),
        column("budget_used", Float64, "rule: share of the step budget used, 0 to 1", |item| {
            Cell::Float(item.row.budget_used)
        }),
        nullable("calibration", Label, "rule: high_conf_wrong, low_conf_right or null", |item| {
            Cell::opt_text(item.row.calibration.as_deref())
        }),
        column("repeat_visit_rate", Float64, "rule: share of visits that repeat one", |item| {
            Cell::Float(item.row.repeat_visit_rate)
        }),
        column("query_repetition", Float64, "rule: maximum trigram similarity of consecutive queries", |item| {
            Cell::Float(item.row.query_repetition)
        }),
        column("level_jumps", Text, "rule: JSON text", |item| Cell::text(&item.row.level_jumps)),
        column("tool_usage", Text, "rule: JSON text", |item| Cell::text(&item.row.tool_usage)),
        nullable("span_quality", Text, "judge: JSON text; null if it could not be read", |item| {
            Cell::opt_text(item.row.span_quality.as_deref())
        }),
        nullable("missed_nodes", Text, "judge: JSON text; null if it could not be read", |item| {
            Cell::opt_text(item.row.missed_nodes.as_deref())
        }),
        nullable("skill_adherence", Text, "judge: JSON text; null if it could not be read", |item| {
            Cell::opt_text(item.row.skill_adherence.as_deref())
        }),
        nullable("confirmation_bias", Text, "judge: JSON text; null if it could not be read", |item| {
            Cell::opt_text(item.row.confirmation_bias.as_deref())
        }),
        nullable("evidence_sufficiency", Text, "judge: JSON text; null if it could not be read", |item| {
            Cell::opt_text(item.row.evidence_sufficiency.as_deref())
        }),
        column("degraded", Bool, "whether a judge metric is null because it could not be read", |item| {
            Cell::Bool(item.row.degraded)
        }),
        nullable("error_type", Label, "attribution; null for right answers", |item| {
            Cell::opt_text(item.row.error_type.as_deref())
        }),
        nullable("error_subtype", Label, "sub-class of a reasoning failure", |item| {
            Cell::opt_text(item.row.error_subtype.as_deref())
        }),
        nullable("cause", Label, "defect or lapse", |item| Cell::opt_text(item.row.cause_category.as_deref())),
        nullable("lapse_note", Text, "the note of a lapse", |item| Cell::opt_text(item.row.lapse_note.as_deref())),
    ];
    dataset("question_metrics", "The diagnosis of one answer.", columns)
}

fn case_packs() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<CasePack>>> = vec![
        column("target", Label, "skill:TYPE, system or tool:NAME", |item| Cell::owned(item.key.to_string())),
        column("questions", TextList, "questions whose cases it holds", |item| Cell::texts(&item.row.questions)),
        column("failures", UInt32, "of these, failures", |item| Cell::UInt(item.row.failures.into())),
        column("successes", UInt32, "of these, successes", |item| Cell::UInt(item.row.successes.into())),
        column("pack", Text, "what the writer was shown, JSON text", |item| Cell::text(&item.row.pack)),
    ];
    dataset("case_packs", "What was shown to the writer model.", columns)
}

fn evolutions() -> Box<dyn Dataset> {
    let columns: Vec<Column<Item<Evolution>>> = vec![
        column("target", Label, "skill:TYPE, system or tool:NAME", |item| Cell::owned(item.key.to_string())),
        column("status", Label, "applied, applied_append, rejected or skipped", |item| {
            Cell::text(item.row.status.name())
        }),
        nullable("reason", Text, "why, when rejected or skipped", |item| Cell::opt_text(item.row.reason.as_deref())),
        column("branch", Label, "lapse, rewrite or patch", |item| Cell::text(&item.row.branch)),
        column("source_version", Label, "the version it started from", |item| {
            Cell::owned(item.row.source_version.to_string())
        }),
        column("candidate_files", TextList, "files of the candidate", |item| {
            Cell::Texts(item.row.candidate.iter().map(|(file, _)| file.as_str().into()).collect())
        }),
        column("candidate_texts", TextList, "their full texts, in the same order", |item| {
            Cell::Texts(item.row.candidate.iter().map(|(_, text)| text.as_str().into()).collect())
        }),
        column("edits", Text, "JSON text", |item| Cell::text(&item.row.edits)),
        column("apply_report", Text, "JSON text, in the order of the edits", |item| Cell::text(&item.row.apply_report)),
        nullable("ranking", Text, "JSON text; null if nothing was ranked", |item| {
            Cell::opt_text(item.row.ranking.as_deref())
        }),
        nullable("clipped", Bool, "whether edits were clipped; null if nothing was counted", |item| {
            Cell::or_null(item.row.clip, |clip| Cell::Bool(clip.triggered))
        }),
        column("edit_budget", UInt32, "edits allowed", |item| Cell::UInt(item.row.edit_budget.into())),
        column("retries", UInt32, "attempts after the first", |item| Cell::UInt(item.row.retries.into())),
        column("lapse_notes", TextList, "notes added to the appendix", |item| Cell::texts(&item.row.lapse_notes)),
    ];
    dataset("evolutions", "What the writer model made of a case pack.", columns)
}
