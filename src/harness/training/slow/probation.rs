//! Sub-step 4: skills on probation meet the epoch's re-run: confirmed, held, or rolled back (design 04, 12).

use std::collections::BTreeMap;

use super::super::TrainError;
use super::super::material::per_unit;
use super::super::settlement::Versions;
use super::super::state::Answers;
use super::super::story::TrainEvent;
use super::super::trainer::Trainer;
use super::{At, re_run, settle_alone};
use crate::domain::{QuestionId, TaskType, UnitId};
use crate::evolution::gate::{Flips, ProbationVerdict, probation_verdict};
use crate::store::rows::{
    Checkpoint, PointerName, Pools, Probation, ProbationOutcome, ProbationSettlement, VersionPair,
};
use crate::store::{Batch, PhaseKey, StoreError};

/// 4: every account is settled; a rollback overrides the write-back of sub-step 3.
pub(super) async fn settle(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let current = trainer.current()?;
    let pools = trainer.pools()?;
    let answers = trainer.stored_answers(at.sibling(1), &PhaseKey::plain(crate::domain::Phase::SlowR))?;
    let snapshot = trainer.snapshot()?;
    let mut versions = Versions::begin(&snapshot, current.skills, trainer.made_by(at.scope()))?;
    let (mut after, mut batch) = (state.clone(), Batch::new());
    let mut events = Vec::new();
    for (task_type, account) in &state.probations {
        let settled = verdict(trainer, &pools, task_type, account, &answers)?;
        let (outcome, wins, losses) = (settled.outcome, settled.wins, settled.losses);
        let row = match outcome {
            ProbationOutcome::Hold => settled,
            ProbationOutcome::Confirm => {
                after.probations.remove(task_type);
                settled
            }
            ProbationOutcome::Rollback => {
                let text = anchor_text(&snapshot, account)?;
                let note = format!("e{} rollback {task_type}", at.epoch);
                let file = [(account.target_file.clone(), text.as_str())];
                let version = versions.advance(&snapshot, &mut batch, file, "rollback", note)?;
                roll_back(trainer, &mut after, task_type, account);
                ProbationSettlement { new_version: Some(version), ..settled }
            }
        };
        batch.put(&trainer.run, at.scope(), task_type, &row);
        events.push(TrainEvent::Probation { epoch: at.epoch, task_type: task_type.clone(), outcome, wins, losses });
    }
    if versions.current != current.skills {
        let pair = VersionPair { skills: versions.current, ..current };
        batch.put_pointer(PointerName::Current, &trainer.moved(at.scope(), pair, None));
    }
    drop(snapshot);
    let evaluated = re_run(trainer, at)?.versions;
    let after = settle_alone(trainer, at, after, evaluated, batch).await?;
    events.iter().for_each(|event| trainer.report.event(event));
    Ok(after)
}

/// The account's snapshot (base) against R (candidate), over all validation units of the type; units that failed in R or
/// were unknown to the snapshot drop out.
fn verdict(
    trainer: &Trainer<'_>,
    pools: &Pools,
    task_type: &TaskType,
    account: &Probation,
    answers: &Answers,
) -> Result<ProbationSettlement, TrainError> {
    let known: BTreeMap<QuestionId, bool> =
        answers.iter().filter_map(|(question, correct)| Some((question.clone(), (*correct)?))).collect();
    let units = pools.validation.iter().filter(|unit| unit.task_type == *task_type);
    let units: Vec<_> = units.filter_map(|unit| trainer.material.units.get(&unit.unit_id)).collect();
    let cand = per_unit(units, &known);
    let both: Vec<UnitId> = cand.keys().filter(|unit| account.unit_snapshot.contains_key(*unit)).cloned().collect();
    let of = |side: &BTreeMap<UnitId, bool>| -> Vec<bool> {
        both.iter().filter_map(|unit| side.get(unit).copied()).collect()
    };
    let (base, cand) = (of(&account.unit_snapshot), of(&cand));
    let flips = |from: bool, to: bool| base.iter().zip(&cand).filter(|(b, c)| (**b, **c) == (from, to)).count();
    let (wins, losses) = (flips(false, true), flips(true, false));
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let signed = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    let pair = Flips::new(signed(wins), signed(losses)).map_err(|error| trainer.missing(error.to_string()))?;
    let found =
        probation_verdict(pair, &trainer.config().gate.params()).map_err(|error| trainer.missing(error.to_string()))?;
    Ok(ProbationSettlement {
        outcome: match found.verdict {
            ProbationVerdict::Confirm => ProbationOutcome::Confirm,
            ProbationVerdict::Hold => ProbationOutcome::Hold,
            ProbationVerdict::Rollback => ProbationOutcome::Rollback,
        },
        wins: count(wins),
        losses: count(losses),
        n: count(both.len()),
        e_value: found.e_value,
        e_swapped: found.e_swapped,
        opened_step: account.opened_step,
        target_file: account.target_file.clone(),
        anchor_skills_version: account.anchor_skills_version,
        new_version: None,
    })
}

/// The file as it was in the last confirmed version.
fn anchor_text(snapshot: &crate::store::Snapshot<'_>, account: &Probation) -> Result<String, TrainError> {
    let skills = crate::harness::versions::VersionedSkills::load(snapshot, account.anchor_skills_version)?;
    let text = skills.files().get(&account.target_file).cloned();
    text.ok_or_else(|| {
        StoreError::Conflict {
            what: format!("roll {} back: skills {} lack it", account.target_file, account.anchor_skills_version),
        }
        .into()
    })
}

/// The state as it was before the acceptance; its edits into the memory, the type rests.
fn roll_back(trainer: &Trainer<'_>, state: &mut Checkpoint, task_type: &TaskType, account: &Probation) {
    for unit in trainer.material.units.values().filter(|unit| unit.task_type == *task_type) {
        for question in &unit.question_ids {
            match account.correctness_snapshot.get(question) {
                Some(correct) => state.correctness.insert(question.clone(), *correct),
                None => state.correctness.remove(question),
            };
        }
        match account.unit_snapshot.get(&unit.unit_id) {
            Some(correct) => state.unit_correctness.insert(unit.unit_id.clone(), *correct),
            None => state.unit_correctness.remove(&unit.unit_id),
        };
    }
    state.probations.remove(task_type);
    state.rejected_edits.entry(task_type.clone()).or_default().extend(account.pending_edits.iter().cloned());
    let rest = trainer.config().gate.cooldown_steps;
    if rest > 0 {
        state.gate_cooldown.insert(task_type.clone(), rest);
    }
}
