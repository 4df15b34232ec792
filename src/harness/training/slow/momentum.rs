//! Sub-step 6: what the epoch's changes of each skill did, as guidance for the next epoch (design 07, 12).

use std::collections::{BTreeMap, VecDeque};

use rand::seq::SliceRandom;

use super::super::TrainError;
use super::super::settlement::Versions;
use super::super::story::TrainEvent;
use super::super::trainer::{Trainer, correctness};
use super::{At, begin, settle, settle_alone};
use crate::domain::{FileName, Phase, QuestionId, TaskType, seeded_rng};
use crate::evolution::momentum::{self, ComparedAnswer, MomentumOutcome, VersionAnswer, put_guidance};
use crate::harness::evolving::{EvolvePlace, write_guidance};
use crate::harness::kernel_error::KernelError;
use crate::harness::versions::VersionedSkills;
use crate::store::rows::{
    Checkpoint, Momentum, MomentumStatus, PointerName, Pools, Prediction, VersionKind, VersionPair,
};
use crate::store::{Batch, PhaseKey};

/// 6: both versions of each changed file answer the same sample; the guidance of all files makes one new version.
pub(super) async fn write(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let current = trainer.current()?;
    let start = VersionPair { skills: state.epoch_start_skills_version, ..current };
    let changed = changed_types(trainer, state, current)?;
    let sample = sample(trainer, &trainer.pools()?, &changed, at.epoch);
    if sample.is_empty() {
        return settle_alone(trainer, at, state.clone(), current, Batch::new()).await;
    }
    let all: Vec<QuestionId> = sample.values().flatten().cloned().collect();
    let (before, after) = (PhaseKey::plain(Phase::MomentumStart), PhaseKey::plain(Phase::MomentumEnd));
    let mark = begin(trainer, at, current, &[(&before, &all), (&after, &all)]).await?;
    trainer.answer(at.scope(), &before, &all, start).await?;
    trainer.answer(at.scope(), &after, &all, current).await?;
    let answers = Compared { start: predictions(trainer, at, &before)?, end: predictions(trainer, at, &after)? };

    let skills = VersionedSkills::load(&trainer.snapshot()?, current.skills)?;
    let mut texts: BTreeMap<FileName, String> = BTreeMap::new();
    let (mut rows, mut kept) = (Batch::new(), 0);
    for (task_type, questions) in &sample {
        let file = task_type.skill_file();
        let Some(skill) = skills.files().get(&file) else { continue };
        let compared = answers.of(trainer, questions);
        let place = EvolvePlace { run: trainer.run.clone(), scope: at.scope() };
        let outcome = write_guidance(trainer.session, &place, &file, skill, &compared).await?;
        if outcome.status == momentum::MomentumStatus::Updated {
            texts.insert(file.clone(), put_guidance(&file, skill, &outcome.guidance).map_err(KernelError::from)?);
        } else {
            kept += 1;
        }
        rows.put(&trainer.run, at.scope(), &file, &row(outcome, (start, current)));
    }
    let updated = texts.len();
    if updated > 0 {
        let snapshot = trainer.snapshot()?;
        let mut versions = Versions::begin(&snapshot, current.skills, trainer.made_by(at.scope()))?;
        let replaced = texts.iter().map(|(file, text)| (file.clone(), text.as_str()));
        let note = format!("e{} momentum", at.epoch);
        let version = versions.advance(&snapshot, &mut rows, replaced, "momentum", note)?;
        let pair = VersionPair { skills: version, ..current };
        rows.put_pointer(PointerName::Current, &trainer.moved(at.scope(), pair, None));
    }
    let state = settle(trainer, at, state.clone(), mark, rows).await?;
    trainer.report.event(&TrainEvent::Momentum { epoch: at.epoch, updated, kept });
    Ok(state)
}

/// Task types whose skill file differs from the epoch's start.
fn changed_types(trainer: &Trainer<'_>, state: &Checkpoint, current: VersionPair) -> Result<Vec<TaskType>, TrainError> {
    let version = trainer.snapshot()?.version(VersionKind::Skills, current.skills)?;
    let files = version.map(|version| version.files).unwrap_or_default();
    let differs = |task_type: &TaskType| {
        let file = task_type.skill_file();
        files.get(&file) != state.epoch_start_skills.get(&file)
    };
    Ok(trainer.material.task_types().into_iter().filter(differs).collect())
}

/// So many diagnosis questions in all, dealt to the changed types in turn. Validation stays out: what is written from
/// these answers is later measured there.
fn sample(
    trainer: &Trainer<'_>,
    pools: &Pools,
    changed: &[TaskType],
    epoch: u32,
) -> BTreeMap<TaskType, Vec<QuestionId>> {
    let mut queues: Vec<(TaskType, VecDeque<QuestionId>)> = changed
        .iter()
        .map(|task_type| {
            let units = pools.diagnosis.iter().filter(|unit| unit.task_type == *task_type);
            let mut questions: Vec<QuestionId> = units.flat_map(|unit| unit.questions.iter().cloned()).collect();
            let seed = trainer.config().run.seed;
            questions.shuffle(&mut seeded_rng(seed, &["momentum", &epoch.to_string(), task_type.as_str()]));
            (task_type.clone(), questions.into())
        })
        .collect();
    let mut left = trainer.config().slow.momentum_sample;
    let mut sample: BTreeMap<TaskType, Vec<QuestionId>> = BTreeMap::new();
    while left > 0 && queues.iter().any(|(_, queue)| !queue.is_empty()) {
        for (task_type, queue) in &mut queues {
            if left > 0
                && let Some(question) = queue.pop_front()
            {
                sample.entry(task_type.clone()).or_default().push(question);
                left -= 1;
            }
        }
    }
    sample
}

type Predictions = BTreeMap<QuestionId, Prediction>;

fn predictions(trainer: &Trainer<'_>, at: At, phase: &PhaseKey) -> Result<Predictions, TrainError> {
    let rows = trainer.snapshot()?.rows_of::<Prediction>(&trainer.run, at.scope(), phase)?;
    Ok(rows.into_iter().map(|(key, row)| (key.question, row)).collect())
}

struct Compared {
    start: Predictions,
    end: Predictions,
}

impl Compared {
    /// The questions that both versions answered without technical failure.
    fn of(&self, trainer: &Trainer<'_>, questions: &[QuestionId]) -> Vec<ComparedAnswer> {
        let compared = questions.iter().filter_map(|id| {
            Some(ComparedAnswer {
                question: trainer.material.questions.get(id)?.clone(),
                start: answer(self.start.get(id)?)?,
                end: answer(self.end.get(id)?)?,
            })
        });
        compared.collect()
    }
}

fn answer(prediction: &Prediction) -> Option<VersionAnswer> {
    Some(VersionAnswer {
        answer: prediction.answer.as_ref().and_then(|letter| letter.chars().next()),
        correct: correctness(prediction.outcome)?,
        reasoning: prediction.reasoning.clone(),
    })
}

fn row(outcome: MomentumOutcome, compared: (VersionPair, VersionPair)) -> Momentum {
    Momentum {
        status: match outcome.status {
            momentum::MomentumStatus::Updated => MomentumStatus::Updated,
            momentum::MomentumStatus::Kept => MomentumStatus::Kept,
            momentum::MomentumStatus::Skipped => MomentumStatus::Skipped,
        },
        reason: (!outcome.reason.is_empty()).then_some(outcome.reason),
        compared,
        previous: outcome.previous,
        guidance: outcome.guidance,
        improved: outcome.counts.improved,
        regressed: outcome.counts.regressed,
        persistent_fail: outcome.counts.persistent_fail,
        stable_success: outcome.counts.stable_success,
    }
}
