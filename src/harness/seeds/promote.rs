//! Makes a seed of a version pair that a finished evaluation vouches for.

use std::collections::BTreeSet;

use serde::Serialize;

use super::SeedError;
use crate::config::VersionChoice;
use crate::domain::{ContentHash, QuestionId, RunId};
use crate::harness::inference::now_ms;
use crate::harness::versions::resolve;
use crate::store::rows::{EvalReport, Prediction, RunMode, RunState, Seed, Version, VersionKind, VersionPair};
use crate::store::{Batch, Scope, Snapshot, Store};

/// What to promote.
#[derive(Debug, Clone)]
pub struct PromoteRequest {
    /// The seed's name.
    pub name: String,
    /// Its skills.
    pub skills: VersionChoice,
    /// Its prompts; none: those of the pointer that `skills` names, else those of the evaluation.
    pub prompts: Option<VersionChoice>,
    /// The evaluation that vouches for them.
    pub eval_run: RunId,
    /// Over a seed of the same name.
    pub replace: bool,
    /// Fingerprint of the workspace's question set.
    pub data_fingerprint: ContentHash,
    /// Its questions that can be answered: those whose video has a tree.
    pub questions: BTreeSet<QuestionId>,
}

/// What was promoted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Promoted {
    /// The seed's name.
    pub name: String,
    /// Skills.
    pub skills: String,
    /// Prompts.
    pub prompts: String,
    /// The evaluation.
    pub eval_run: String,
    /// Questions it answered.
    pub questions: usize,
    /// Of these, right.
    pub correct: usize,
}

/// Stores the seed.
///
/// # Errors
/// [`SeedError`]; each refusal has its own code, and nothing is changed then.
pub fn promote(store: &Store, request: PromoteRequest) -> Result<Promoted, SeedError> {
    store.transact_blocking(move |snapshot| plan(snapshot, &request))
}

fn plan(snapshot: &Snapshot<'_>, request: &PromoteRequest) -> Result<(Batch, Promoted), SeedError> {
    // The rules for run ids keep names harmless as file names, too.
    request.name.parse::<RunId>().map_err(SeedError::Name)?;
    if !request.replace && snapshot.seed(&request.name)?.is_some() {
        return Err(SeedError::Exists { name: request.name.clone() });
    }
    let run = request.eval_run.clone();
    let Some(row) = snapshot.run(&run)? else { return Err(SeedError::NoRun { run }) };
    if row.mode != RunMode::Eval {
        return Err(SeedError::NotEvaluation { run, mode: row.mode.name() });
    }
    if row.state != RunState::Finished {
        return Err(SeedError::Unfinished { run, state: row.state.name() });
    }
    let Some((_, report)) = snapshot.rows::<EvalReport>(&run, Scope::Eval)?.pop() else {
        return Err(SeedError::NoVersion { run });
    };
    let found = report.versions;
    let prompts = match (request.prompts, request.skills) {
        (Some(choice), _) => resolve(snapshot, VersionKind::Prompts, choice)?,
        (None, VersionChoice::Named(_)) => found.prompts,
        (None, pointer) => resolve(snapshot, VersionKind::Prompts, pointer)?,
    };
    let wanted = VersionPair { skills: resolve(snapshot, VersionKind::Skills, request.skills)?, prompts };
    if wanted != found {
        return Err(SeedError::OtherVersion { run, wanted, found });
    }
    if row.data_fingerprint != request.data_fingerprint {
        return Err(SeedError::OtherQuestions { run });
    }
    let answers = snapshot.rows::<Prediction>(&run, Scope::Eval)?;
    let answered: BTreeSet<&QuestionId> = answers.iter().map(|(key, _)| &key.question).collect();
    let questions = request.questions.len();
    if request.questions.iter().any(|question| !answered.contains(question)) {
        return Err(SeedError::Partial { run, answered: answered.len(), questions });
    }
    let files = |kind, name| -> Result<Version, SeedError> {
        let version = snapshot.version(kind, name)?;
        version.ok_or_else(|| crate::harness::versions::VersionsError::Unknown { kind, name, latest: None }.into())
    };
    let correct = answers.iter().filter(|(_, row)| row.outcome.correctness() == Some(true)).count();
    let seed = Seed {
        skills: files(VersionKind::Skills, wanted.skills)?.files,
        prompts: files(VersionKind::Prompts, wanted.prompts)?.files,
        data_fingerprint: row.data_fingerprint,
        environment_fingerprint: row.environment_fingerprint,
        eval_run: run.clone(),
        eval_versions: found,
        predictions: answers.into_iter().map(|(key, row)| (key.question, row)).collect(),
        created_ms: now_ms(),
    };
    let mut batch = Batch::new();
    batch.label("promote").put_seed(&request.name, &seed);
    let promoted = Promoted {
        name: request.name.clone(),
        skills: wanted.skills.to_string(),
        prompts: wanted.prompts.to_string(),
        eval_run: run.to_string(),
        questions: seed.predictions.len(),
        correct,
    };
    Ok((batch, promoted))
}

/// One seed of the list.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SeedLine {
    /// Its name.
    pub name: String,
    /// Skills, as the workspace that promoted it names them.
    pub skills: String,
    /// Prompts.
    pub prompts: String,
    /// The evaluation that vouches for it.
    pub eval_run: String,
    /// Answers of that evaluation that count.
    pub answers: u64,
    /// Of these, right.
    pub correct: u64,
    /// When it was promoted, in milliseconds since 1970.
    pub created_ms: i64,
}

/// All seeds, by name.
///
/// # Errors
/// The store cannot be read.
pub fn seeds(snapshot: &Snapshot<'_>) -> Result<Vec<SeedLine>, SeedError> {
    let mut lines = Vec::new();
    for name in snapshot.seeds()? {
        let Some(seed) = snapshot.seed(&name)? else { continue };
        let known: Vec<bool> = seed.predictions.iter().filter_map(|(_, row)| row.outcome.correctness()).collect();
        lines.push(SeedLine {
            name,
            skills: seed.eval_versions.skills.to_string(),
            prompts: seed.eval_versions.prompts.to_string(),
            eval_run: seed.eval_run.to_string(),
            answers: known.len() as u64,
            correct: known.iter().filter(|right| **right).count() as u64,
            created_ms: seed.created_ms,
        });
    }
    Ok(lines)
}
