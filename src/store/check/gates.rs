//! Gates: the evidence follows from itself, and predictions, quadrants and reports agree with it.

use std::collections::BTreeSet;

use super::report::{CheckReport, Invariant};
use super::scope_rows::ScopeRows;
use crate::domain::{Arm, TaskType};
use crate::store::keys::{AnswerKey, PhaseKey};
use crate::store::rows::{FailedArm, GateEvidence, Outcome, Quadrant, StepAction};

pub(super) fn check(rows: &ScopeRows, report: &mut CheckReport) {
    for (task_type, evidence) in &rows.evidence {
        chain(rows, task_type, evidence, report);
        for (rank, row) in evidence {
            answers(rows, task_type, *rank, row, report);
        }
    }
    if rows.complete {
        reports(rows, report);
        quadrants(rows, report);
    }
}

fn place(rows: &ScopeRows, task_type: &TaskType, rank: u32) -> String {
    format!("{} {task_type:?} rank {rank}", rows.place())
}

/// Ranks, counts and the stop reason.
fn chain(rows: &ScopeRows, task_type: &TaskType, evidence: &[(u32, GateEvidence)], report: &mut CheckReport) {
    let last_consumed = evidence.iter().rposition(|(_, row)| !row.excluded);
    let mut units = BTreeSet::new();
    let (mut wins, mut losses, mut used, mut left) = (0, 0, 0, None::<u32>);
    for (index, (rank, row)) in evidence.iter().enumerate() {
        let mut wrong = |found: String| report.add(Invariant::Evidence, place(rows, task_type, *rank), found);
        if usize::try_from(*rank) != Ok(index) {
            wrong(format!("it is row {index} of the ladder: ranks have a gap"));
        }
        if !units.insert(&row.unit_id) {
            wrong(format!("unit {} is consumed twice", row.unit_id));
        }
        match (row.excluded, row.base_correct, row.cand_correct) {
            (false, Some(base), Some(cand)) => {
                used += 1;
                wins += u32::from(!base && cand);
                losses += u32::from(base && !cand);
            }
            (true, None, None) if row.excluded_arm.is_some() => {}
            _ => wrong("an excluded unit names its arm and has no correctness, any other unit has both".to_owned()),
        }
        if (row.wins, row.losses, row.n_used) != (wins, losses, used) {
            let stored = (row.wins, row.losses, row.n_used);
            wrong(format!("W, L, n are {stored:?}, the pairs so far give {:?}", (wins, losses, used)));
        }
        if left.is_some_and(|left| left.checked_sub(1) != Some(row.n_remaining)) {
            wrong(format!("n_remaining is {}, the row before had {}", row.n_remaining, left.unwrap_or_default()));
        }
        left = Some(row.n_remaining);
        if row.stop_reason.is_some() != (Some(index) == last_consumed) {
            wrong("the stop reason stands on the last consumed unit only".to_owned());
        }
    }
}

/// The arms' predictions.
fn answers(rows: &ScopeRows, task_type: &TaskType, rank: u32, row: &GateEvidence, report: &mut CheckReport) {
    let arms = [(Arm::Base, row.base_correct), (Arm::Cand, row.cand_correct)];
    for (arm, correct) in arms.into_iter().filter(|(arm, _)| !(row.base_cached && *arm == Arm::Base)) {
        let outcomes: Vec<Option<Outcome>> = row
            .questions
            .iter()
            .map(|question| {
                let key = AnswerKey { phase: PhaseKey::gate(task_type, arm), question: question.clone() };
                rows.predictions.get(&key).map(|prediction| prediction.outcome)
            })
            .collect();
        let found = match correct {
            Some(correct) => {
                let all: Option<Vec<bool>> =
                    outcomes.iter().map(|outcome| outcome.and_then(Outcome::correctness)).collect();
                match all {
                    None => rows.complete.then(|| "a prediction of the unit is lost".to_owned()),
                    Some(all) if all.iter().all(|right| *right) != correct => {
                        Some("its correctness is not that of its predictions".to_owned())
                    }
                    Some(_) => None,
                }
            }
            None => (failed(row, arm) && !outcomes.contains(&Some(Outcome::Infra)) && rows.complete)
                .then(|| "it is excluded, but none of its predictions failed".to_owned()),
        };
        if let Some(found) = found {
            let place = format!("{} {} {}", place(rows, task_type, rank), row.unit_id, arm.name());
            report.add(Invariant::EvidenceAnswers, place, found);
        }
    }
}

fn failed(row: &GateEvidence, arm: Arm) -> bool {
    match row.excluded_arm {
        Some(FailedArm::Both) => true,
        Some(FailedArm::Base) => arm == Arm::Base,
        Some(FailedArm::Cand) => arm == Arm::Cand,
        None => false,
    }
}

/// A settlement stores evidence and report together.
fn reports(rows: &ScopeRows, report: &mut CheckReport) {
    for task_type in rows.evidence.keys() {
        if !rows.reports.contains_key(task_type) {
            let place = format!("{} {task_type:?}", rows.place());
            report.add(Invariant::Report, place, "there is evidence of a gate, and no report of it");
        }
    }
    for (task_type, row) in &rows.reports {
        let gated = match row.action {
            StepAction::AcceptConfirmed | StepAction::AcceptProvisional | StepAction::Reject => true,
            StepAction::Skipped | StepAction::Cooldown => false,
        };
        let evidence = rows.evidence.get(task_type).map_or(&[][..], Vec::as_slice);
        let mut wrong = |found: &str| report.add(Invariant::Report, format!("{} {task_type:?}", rows.place()), found);
        if !gated {
            if !evidence.is_empty() || row.wins.is_some() || row.stop_reason.is_some() {
                wrong("without a gate there is no evidence, and all gate fields are null");
            }
            continue;
        }
        let excluded = evidence.iter().filter(|(_, unit)| unit.excluded).count();
        let last = evidence.iter().rev().find(|(_, unit)| !unit.excluded).map(|(_, unit)| unit);
        let Some(last) = last else {
            wrong("there is no evidence of its gate");
            continue;
        };
        let numbers = (row.wins, row.losses, row.n_used, row.stop_reason);
        if numbers != (Some(last.wins), Some(last.losses), Some(last.n_used), last.stop_reason) {
            wrong("W, L, n_used or the stop reason are not those of its evidence");
        }
        if row.n_excluded.and_then(|count| usize::try_from(count).ok()) != Some(excluded) {
            wrong("n_excluded is not the number of excluded units of its evidence");
        }
        let accepted = row.action != StepAction::Reject;
        if accepted != row.new_version.is_some() {
            wrong("an acceptance makes a version, and nothing else does");
        }
    }
}

fn quadrants(rows: &ScopeRows, report: &mut CheckReport) {
    let types: BTreeSet<&TaskType> = rows.evidence.keys().chain(rows.quadrants.keys()).collect();
    for task_type in types {
        let mut stored = rows.quadrants.get(task_type).cloned().unwrap_or_default();
        for (rank, row) in rows.evidence.get(task_type).into_iter().flatten() {
            let (Some(base), Some(cand)) = (row.base_correct, row.cand_correct) else { continue };
            if stored.remove(&row.unit_id) != Some(Quadrant::of(base, cand)) {
                report.add(
                    Invariant::Quadrant,
                    place(rows, task_type, *rank),
                    "its quadrant is missing or another one",
                );
            }
        }
        for unit in stored.keys() {
            let place = format!("{} {task_type:?} {unit}", rows.place());
            report.add(Invariant::Quadrant, place, "the gate did not consume this unit");
        }
    }
}
