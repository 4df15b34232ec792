//! Predictions: traces are complete, nothing hangs in the air, settled scopes lost none and hold none twice.

use std::collections::{BTreeMap, BTreeSet};

use super::report::{CheckReport, Invariant};
use super::scope_rows::ScopeRows;
use crate::domain::QuestionId;
use crate::store::rows::RunMode;

pub(super) fn check(rows: &ScopeRows, mode: Option<RunMode>, report: &mut CheckReport) {
    traces(rows, report);
    // A diagnosis stores its metrics apart from the run whose answers it read.
    if mode != Some(RunMode::Diagnose) {
        attached(rows, report);
    }
    if rows.mark.as_ref().is_some_and(|mark| mark.settled) {
        settled(rows, report);
    }
}

fn traces(rows: &ScopeRows, report: &mut CheckReport) {
    for (answer, spans) in &rows.spans {
        let place = || format!("{} {} {}", rows.place(), answer.phase, answer.question);
        match rows.predictions.get(answer) {
            None => report.add(Invariant::Trace, place(), format!("{} spans without a prediction", spans.len())),
            Some(prediction) => {
                let whole: Vec<u32> = (0..prediction.spans).collect();
                if *spans != whole {
                    let found = format!("the prediction has {} spans, stored are {spans:?}", prediction.spans);
                    report.add(Invariant::Trace, place(), found);
                }
            }
        }
    }
    for (answer, prediction) in &rows.predictions {
        if prediction.spans > 0 && !rows.spans.contains_key(answer) {
            let place = format!("{} {} {}", rows.place(), answer.phase, answer.question);
            report.add(Invariant::Trace, place, format!("none of its {} spans is stored", prediction.spans));
        }
    }
}

fn attached(rows: &ScopeRows, report: &mut CheckReport) {
    for (answer, kind) in &rows.attached {
        if !rows.predictions.contains_key(answer) {
            let place = format!("{} {kind} {} {}", rows.place(), answer.phase, answer.question);
            report.add(Invariant::Prediction, place, "there is no such prediction");
        }
    }
    let answered: BTreeSet<&QuestionId> = rows.predictions.keys().map(|answer| &answer.question).collect();
    for question in &rows.metrics {
        if !answered.contains(question) {
            let place = format!("{} question_metrics {question}", rows.place());
            report.add(Invariant::Prediction, place, "the question has no prediction in this scope");
        }
    }
}

/// Outside gates a settled scope holds exactly what its mark announced.
fn settled(rows: &ScopeRows, report: &mut CheckReport) {
    let Some(mark) = &rows.mark else { return };
    let mut expected: BTreeMap<&str, BTreeSet<&QuestionId>> = BTreeMap::new();
    for phase in &mark.expected {
        let questions = expected.entry(&phase.phase).or_default();
        for question in &phase.questions {
            if !questions.insert(question) {
                let place = format!("{} {} {question}", rows.place(), phase.phase);
                report.add(Invariant::Settled, place, "the mark announces the question twice");
            }
        }
    }
    let mut found: BTreeMap<String, BTreeSet<&QuestionId>> = BTreeMap::new();
    for answer in rows.predictions.keys().filter(|answer| answer.phase.arm().is_none()) {
        found.entry(answer.phase.to_string()).or_default().insert(&answer.question);
    }
    for (phase, questions) in &expected {
        let stored = found.remove(*phase).unwrap_or_default();
        for question in questions.difference(&stored).filter(|_| rows.complete) {
            report.add(Invariant::Settled, format!("{} {phase} {question}", rows.place()), "the prediction is lost");
        }
        for question in stored.difference(questions) {
            let place = format!("{} {phase} {question}", rows.place());
            report.add(Invariant::Settled, place, "the scope is settled and does not answer this question");
        }
    }
    for (phase, questions) in found {
        let place = format!("{} {phase}", rows.place());
        let extra = format!("the scope is settled and does not announce these {} predictions", questions.len());
        report.add(Invariant::Settled, place, extra);
    }
}
