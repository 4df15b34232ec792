//! Which answers of a run a diagnosis looks at.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::versions::{VersionedSkills, VersionsError};
use crate::domain::{ContentHash, ExitClass, Fault, Phase, QuestionId, RunId};
use crate::store::rows::{Outcome, Prediction, Run, RunMode, ScopeMark, VersionPair};
use crate::store::{PhaseKey, Scope, Snapshot, StoreError};

/// The answers of one phase, as a report names them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceName {
    /// The run.
    pub run: RunId,
    /// The part of it, such as `eval` or `e1 s0`.
    pub scope: Scope,
    /// What the answers were produced for.
    pub phase: String,
}

/// Answers that can be diagnosed.
#[derive(Debug, Clone)]
pub struct AnsweredPhase {
    /// The run.
    pub run: RunId,
    /// The part of it.
    pub scope: Scope,
    /// What the answers were produced for.
    pub phase: PhaseKey,
    /// The versions that were read.
    pub versions: VersionPair,
    /// The skills that were read.
    pub skills: Arc<VersionedSkills>,
    /// The questions that have an answer.
    pub questions: Vec<QuestionId>,
    /// Of these, technical failures.
    pub n_infra: usize,
}

impl AnsweredPhase {
    /// What a report calls it.
    #[must_use]
    pub fn name(&self) -> SourceName {
        SourceName { run: self.run.clone(), scope: self.scope, phase: self.phase.to_string() }
    }
}

/// Why there are no answers to diagnose.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The skills of the answers.
    #[error(transparent)]
    Versions(#[from] VersionsError),
    /// There is no such run.
    #[error("diagnose run {run}: there is no such run")]
    UnknownRun {
        /// The run.
        run: RunId,
    },
    /// The run has no such part, or it has no answers that are diagnosed.
    #[error("diagnose run {run} ({scope}): it has no answers there")]
    NoScope {
        /// The run.
        run: RunId,
        /// The part.
        scope: Scope,
        /// Those that have.
        known: Vec<Scope>,
    },
    /// Nothing was answered yet.
    #[error("diagnose run {run}: nothing is answered yet")]
    NoAnswers {
        /// The run.
        run: RunId,
    },
    /// The questions are others than those that were answered.
    #[error("diagnose run {run}: its question set is not the one of the workspace")]
    OtherQuestions {
        /// The run.
        run: RunId,
    },
}

impl Fault for SourceError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Versions(error) => error.class(),
            Self::UnknownRun { .. } | Self::NoScope { .. } => ExitClass::Usage,
            Self::NoAnswers { .. } | Self::OtherQuestions { .. } => ExitClass::Data,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Versions(error) => error.code(),
            Self::UnknownRun { .. } => "diagnose.unknown_run",
            Self::NoScope { .. } => "diagnose.no_scope",
            Self::NoAnswers { .. } => "diagnose.no_answers",
            Self::OtherQuestions { .. } => "diagnose.other_questions",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Versions(error) => error.hint(),
            Self::UnknownRun { .. } => Some("'trm inspect runs' lists the runs".into()),
            Self::NoScope { known, .. } => {
                let known: Vec<String> = known.iter().map(ToString::to_string).collect();
                Some(format!("parts with answers: {}", known.join(", ")))
            }
            Self::NoAnswers { .. } => Some("'trm infer' and 'trm eval' answer questions".into()),
            Self::OtherQuestions { .. } => {
                Some("diagnose it in the workspace whose questions it answered, or answer the new ones first".into())
            }
        }
    }
}

/// The run of that id.
///
/// # Errors
/// There is none, or it answered other questions than `data` is the fingerprint of.
pub fn source_run(snapshot: &Snapshot<'_>, run: &RunId, data: ContentHash) -> Result<Run, SourceError> {
    let row = snapshot.run(run)?.ok_or_else(|| SourceError::UnknownRun { run: run.clone() })?;
    if row.data_fingerprint != data {
        return Err(SourceError::OtherQuestions { run: run.clone() });
    }
    Ok(row)
}

/// The answers to diagnose: those of `scope`; without one the only ones of an inference or evaluation, of a training the
/// latest batch (its baseline before the first). Answers from inside gates are never chosen.
///
/// # Errors
/// [`SourceError`].
pub fn answered_phase(
    snapshot: &Snapshot<'_>,
    run: &RunId,
    row: &Run,
    scope: Option<Scope>,
) -> Result<AnsweredPhase, SourceError> {
    let mut known: Vec<(Scope, PhaseKey)> = Vec::new();
    for part in snapshot.scopes(run)? {
        known.extend(phase_of(snapshot, run, part)?.map(|phase| (part, phase)));
    }
    let chosen = match scope {
        Some(scope) => known.iter().find(|(part, _)| *part == scope),
        None => known.iter().rev().find(|(part, _)| row.mode != RunMode::Train || matches!(part, Scope::Step(_))),
    };
    let chosen = chosen.or_else(|| known.first().filter(|_| scope.is_none()));
    let Some((scope, phase)) = chosen else {
        let run = run.clone();
        let known = known.into_iter().map(|(part, _)| part).collect();
        return Err(match scope {
            Some(scope) => SourceError::NoScope { run, scope, known },
            None => SourceError::NoAnswers { run },
        });
    };
    let answers = snapshot.rows_of::<Prediction>(run, *scope, phase)?;
    let Some((_, first)) = answers.first() else { return Err(SourceError::NoAnswers { run: run.clone() }) };
    let versions = VersionPair { skills: first.skills_version, prompts: first.prompts_version };
    Ok(AnsweredPhase {
        run: run.clone(),
        scope: *scope,
        phase: phase.clone(),
        versions,
        skills: Arc::new(VersionedSkills::load(snapshot, versions.skills)?),
        n_infra: answers.iter().filter(|(_, answer)| answer.outcome == Outcome::Infra).count(),
        questions: answers.into_iter().map(|(key, _)| key.question).collect(),
    })
}

/// The phase of a part of a run whose answers are diagnosed; of several the last one that it was marked for.
fn phase_of(snapshot: &Snapshot<'_>, run: &RunId, scope: Scope) -> Result<Option<PhaseKey>, StoreError> {
    let Some(mark) = snapshot.row::<ScopeMark>(run, scope, &())? else { return Ok(None) };
    let phases = mark.expected.iter().filter_map(|expected| expected.phase.parse::<PhaseKey>().ok());
    let diagnosed = phases.filter(|phase| !matches!(phase.phase(), Phase::GateBase | Phase::GateCand));
    for phase in diagnosed.collect::<Vec<_>>().into_iter().rev() {
        if !snapshot.rows_of::<Prediction>(run, scope, &phase)?.is_empty() {
            return Ok(Some(phase));
        }
    }
    Ok(None)
}
