//! Sub-step 9: the epoch's report, and its start and end on the test pool (design 07, 12).

use std::collections::BTreeSet;

use super::super::TrainError;
use super::super::material::pool_questions;
use super::super::trainer::Trainer;
use super::closed_loop::action_of;
use super::rerun::{answered, dual_metric};
use super::{At, accuracy, begin, evaluation, re_run, settle};
use crate::domain::{Phase, TaskType};
use crate::store::rows::{Checkpoint, EpochReport, HoldoutEval, Momentum, MomentumStatus, PointerName, VersionPair};
use crate::store::{Batch, PhaseKey};

/// 9: labels, report, four-way held-out. Nothing ever selects on the test pool.
pub(super) async fn report(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let (current, evaluated) = (trainer.current()?, re_run(trainer, at)?);
    let start = VersionPair { skills: state.epoch_start_skills_version, prompts: evaluated.versions.prompts };
    let test = pool_questions(&trainer.pools()?.test);
    let quarters = if trainer.config().slow.holdout { quarters(start, current) } else { Vec::new() };
    let phases: Vec<PhaseKey> = quarters.iter().map(|quarter| quarter.phase()).collect();
    let expected: Vec<(&PhaseKey, &[_])> = phases.iter().map(|phase| (phase, test.as_slice())).collect();
    let mark = begin(trainer, at, current, &expected).await?;
    let mut batch = Batch::new();
    for (quarter, phase) in quarters.iter().zip(&phases) {
        trainer.answer(at.scope(), phase, &test, quarter.versions).await?;
        let metric = dual_metric(quarter.versions, &answered(trainer, at.scope(), phase)?);
        let row = HoldoutEval {
            versions: quarter.versions,
            skills_from: quarter.skills_from.to_owned(),
            prompts_from: quarter.prompts_from.to_owned(),
            accuracy: metric.hard,
            soft: metric.soft,
            n: metric.n,
            n_infra: metric.n_infra,
        };
        batch.put(&trainer.run, at.scope(), phase, &row);
    }
    let best = trainer.pointer(PointerName::Best)?;
    let row = EpochReport {
        system_tool_action: action_of(trainer, at)?,
        momentum_updated_task_types: momentum_types(trainer, at)?,
        best_val_acc: best.val_acc,
        best: best.versions,
        r_accuracy: accuracy(&evaluated),
        r2_accuracy: evaluation(trainer, at, Phase::SlowR2)?.as_ref().and_then(accuracy),
        start,
        evaluated: evaluated.versions,
        end: current,
    };
    batch.put(&trainer.run, at.scope(), &(), &row);
    settle(trainer, at, state.clone(), mark, batch).await
}

/// One of the version pairs {start, end} × {start, end}.
struct Quarter {
    versions: VersionPair,
    skills_from: &'static str,
    prompts_from: &'static str,
}

impl Quarter {
    fn phase(&self) -> PhaseKey {
        PhaseKey::versions(Phase::Holdout, self.versions.skills, self.versions.prompts)
    }
}

/// Equal pairs are evaluated once, named after the start.
fn quarters(start: VersionPair, end: VersionPair) -> Vec<Quarter> {
    let mut seen = BTreeSet::new();
    let all = [("start", start.skills), ("end", end.skills)].into_iter().flat_map(|(skills_from, skills)| {
        [("start", start.prompts), ("end", end.prompts)].map(|(prompts_from, prompts)| Quarter {
            versions: VersionPair { skills, prompts },
            skills_from,
            prompts_from,
        })
    });
    all.filter(|quarter| seen.insert(quarter.versions)).collect()
}

/// Types whose skill got new guidance, sorted.
fn momentum_types(trainer: &Trainer<'_>, at: At) -> Result<Vec<TaskType>, TrainError> {
    let rows = trainer.snapshot()?.rows::<Momentum>(&trainer.run, at.sibling(6))?;
    let updated: BTreeSet<_> =
        rows.into_iter().filter(|(_, row)| row.status == MomentumStatus::Updated).map(|(file, _)| file).collect();
    Ok(trainer.material.task_types().into_iter().filter(|name| updated.contains(&name.skill_file())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::VersionName;

    #[test]
    fn equal_pairs_are_evaluated_once() {
        let v = |number| VersionName::from_number(number).unwrap();
        let pair = |skills, prompts| VersionPair { skills: v(skills), prompts: v(prompts) };
        assert_eq!(quarters(pair(1, 1), pair(1, 1)).len(), 1);
        assert_eq!(quarters(pair(1, 1), pair(3, 1)).len(), 2);
        let four = quarters(pair(1, 1), pair(3, 2));
        assert_eq!(four.len(), 4);
        assert_eq!((four[1].skills_from, four[1].prompts_from), ("start", "end"));
    }
}
