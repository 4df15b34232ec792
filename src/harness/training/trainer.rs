//! What every part of a training works with: the session, the run, the questions, and how answers are obtained.

use std::sync::Arc;

use super::material::Material;
use super::state::Answers;
use super::{TrainError, TrainReport};
use crate::agent::AgentTexts;
use crate::config::RunConfig;
use crate::domain::{Phase, QuestionId, RunId};
use crate::harness::inference::{AnswerPlan, answer_all, now_ms};
use crate::harness::session::Session;
use crate::store::rows::{
    Checkpoint, ExpectedAnswers, GateThresholds, MadeBy, Outcome, Pointer, PointerName, Pools, ScopeMark, StartState,
    VersionPair,
};
use crate::store::{Batch, PhaseKey, Scope, Snapshot};

/// A training at work. It holds no state of its own: that is the checkpoint, which is passed along.
pub(super) struct Trainer<'a> {
    pub(super) session: &'a Session,
    pub(super) run: RunId,
    pub(super) material: Arc<Material>,
    pub(super) report: &'a dyn TrainReport,
}

impl Trainer<'_> {
    pub(super) fn config(&self) -> &RunConfig {
        &self.session.config
    }

    pub(super) fn snapshot(&self) -> Result<Snapshot<'static>, TrainError> {
        Ok(self.session.bench.store.snapshot()?)
    }

    pub(super) async fn write(&self, batch: Batch) -> Result<(), TrainError> {
        Ok(self.session.bench.store.write(batch).await?)
    }

    pub(super) fn missing(&self, what: impl Into<String>) -> TrainError {
        TrainError::Missing { run: self.run.clone(), what: what.into() }
    }

    pub(super) fn pointer(&self, name: PointerName) -> Result<Pointer, TrainError> {
        self.snapshot()?.pointer(name)?.ok_or_else(|| self.missing(format!("the pointer {}", name.name())))
    }

    /// What is trained on.
    pub(super) fn current(&self) -> Result<VersionPair, TrainError> {
        Ok(self.pointer(PointerName::Current)?.versions)
    }

    pub(super) fn pools(&self) -> Result<Pools, TrainError> {
        self.snapshot()?.pools(&self.run)?.ok_or_else(|| self.missing("its pools"))
    }

    pub(super) fn texts(&self, pair: VersionPair) -> Result<Arc<AgentTexts>, TrainError> {
        Ok(self.session.texts(pair)?)
    }

    pub(super) fn made_by(&self, scope: Scope) -> MadeBy {
        MadeBy { run: self.run.clone(), scope }
    }

    /// A pointer that this part of the run moves.
    pub(super) fn moved(&self, scope: Scope, versions: VersionPair, val_acc: Option<f64>) -> Pointer {
        Pointer { versions, val_acc, moved_by: Some(self.made_by(scope)) }
    }

    /// The mark of a scope that begins now.
    pub(super) fn mark(
        &self,
        global_step: Option<u32>,
        versions: VersionPair,
        expected: &[(&PhaseKey, &[QuestionId])],
    ) -> ScopeMark {
        let expected = expected
            .iter()
            .map(|(phase, questions)| ExpectedAnswers { phase: phase.to_string(), questions: questions.to_vec() })
            .collect();
        ScopeMark { global_step, versions, expected, settled: false, begun_ms: now_ms() }
    }

    /// Answers questions in a phase, or takes what is durable of it, and tells for each whether it is right.
    ///
    /// # Errors
    /// Too many technical failures, an interruption, a spent budget, a broken store.
    pub(super) async fn answer(
        &self,
        scope: Scope,
        phase: &PhaseKey,
        questions: &[QuestionId],
        versions: VersionPair,
    ) -> Result<Answers, TrainError> {
        let plan = AnswerPlan {
            run: self.run.clone(),
            scope,
            phase: phase.clone(),
            questions: self.material.questions_of(questions),
            texts: self.texts(versions)?,
            versions,
        };
        let answered = answer_all(&self.session.bench, &plan, self.config().gate.guard_err, self.report).await?;
        Ok(answered.into_iter().map(|answer| (answer.question, correctness(answer.prediction.outcome))).collect())
    }

    /// The answers that a settled scope holds for a phase.
    pub(super) fn stored_answers(&self, scope: Scope, phase: &PhaseKey) -> Result<Answers, TrainError> {
        let rows = self.snapshot()?.rows_of::<crate::store::rows::Prediction>(&self.run, scope, phase)?;
        Ok(rows.into_iter().map(|(key, row)| (key.question, correctness(row.outcome))).collect())
    }

    /// The textual run id of a phase.
    pub(super) fn run_id_of(&self, phase: Phase, scope: Scope) -> String {
        PhaseKey::plain(phase).run_id(&self.run, scope)
    }

    /// What a step or a slow update begins with, so that it can be run again and audited.
    pub(super) fn start_state(&self, state: &Checkpoint, current: VersionPair) -> Result<StartState, TrainError> {
        let best = self.pointer(PointerName::Best)?;
        let gate = &self.config().gate;
        Ok(StartState {
            state: state.clone(),
            current,
            best: best.versions,
            best_val_acc: best.val_acc,
            ladders: self.snapshot()?.ladders(&self.run)?,
            thresholds: GateThresholds {
                e_confirm: gate.e_confirm,
                e_provisional: gate.e_provisional,
                w_net_min: gate.w_net_min,
                delta_min: gate.delta_min,
                lambda_dir: gate.lambda_dir,
                e_rollback: gate.e_rollback,
            },
        })
    }

    /// The training state; none before the baseline is done.
    pub(super) fn checkpoint(&self) -> Result<Option<Checkpoint>, TrainError> {
        Ok(self.snapshot()?.checkpoint(&self.run)?)
    }
}

/// Right, wrong (an unreadable answer is wrong), or none for a technical failure.
pub(super) fn correctness(outcome: Outcome) -> Option<bool> {
    match outcome {
        Outcome::Correct => Some(true),
        Outcome::Wrong | Outcome::Unparsed => Some(false),
        Outcome::Infra => None,
    }
}

/// Right and counted among answers.
pub(super) fn counts(answers: &Answers) -> (usize, usize, usize) {
    let right = answers.values().filter(|correct| **correct == Some(true)).count();
    let answered = answers.values().flatten().count();
    (right, answered, answers.len() - answered)
}

/// Share of right ones among the answers that count; none without any.
#[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
pub(super) fn share_right(answers: &Answers) -> Option<f64> {
    let (right, answered, _) = counts(answers);
    (answered > 0).then(|| right as f64 / answered as f64)
}
