//! Starts a workspace from a seed: its skills, its prompts, and its evaluation as the first run.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::SeedError;
use crate::assets::{ENV_EXAMPLE, GITIGNORE};
use crate::config::RunConfig;
use crate::data::{TreeSet, load_questions};
use crate::domain::{Phase, QuestionId, VersionName, VideoId};
use crate::harness::inference::now_ms;
use crate::harness::versions::{FileSet, initial_batch};
use crate::harness::workspace::{CONFIG_FILE, Workspace, WorkspaceError};
use crate::sim::world::TRUTH_FILE;
use crate::store::rows::{
    EvalCounts, EvalReport, ExpectedAnswers, Outcome, Prediction, Run, RunEvent, RunMode, RunState, ScopeMark, Seed,
    VersionKind, VersionPair,
};
use crate::store::{AnswerKey, Batch, OpenOptions, PhaseKey, Scope, Store, StoreReader};

/// Versions of a workspace that begins.
const FIRST: VersionPair = VersionPair { skills: VersionName::FIRST, prompts: VersionName::FIRST };

/// A seed with everything that it needs, found in the workspace that promoted it.
#[derive(Debug)]
pub struct SeedSource {
    name: String,
    seed: Seed,
    skills: FileSet,
    prompts: FileSet,
    run: Option<Run>,
    workspace: Workspace,
    config: RunConfig,
}

/// What was started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Started {
    /// The workspace.
    pub folder: PathBuf,
    /// The seed.
    pub seed: String,
    /// The run that holds its evaluation.
    pub eval_run: String,
    /// Answers that came along.
    pub answers: usize,
    /// What was made, relative to the folder.
    pub created: Vec<String>,
}

/// Reads a seed from the workspace that promoted it.
///
/// # Errors
/// There is no such seed, or a text of it is missing.
pub fn open_seed(workspace: Workspace, config: RunConfig, name: &str) -> Result<SeedSource, SeedError> {
    let snapshot = StoreReader::open(workspace.store())?.snapshot()?;
    let Some(seed) = snapshot.seed(name)? else {
        return Err(SeedError::Unknown { name: name.to_owned(), store: workspace.store(), known: snapshot.seeds()? });
    };
    let (skills, prompts) = (snapshot.texts(&seed.skills)?, snapshot.texts(&seed.prompts)?);
    let run = snapshot.run(&seed.eval_run)?;
    drop(snapshot);
    Ok(SeedSource { name: name.to_owned(), seed, skills, prompts, run, workspace, config })
}

/// Makes a workspace of `folder`, or fills an empty one, from the seed.
///
/// A new folder gets the configuration and the questions of the seed's workspace and a link to its videos. Questions and
/// trees are checked before anything is changed.
///
/// # Errors
/// [`SeedError`]; the folder is a workspace in use; or it cannot be written.
pub fn start_from(
    source: &SeedSource,
    folder: &Path,
    existing: Option<&(Workspace, RunConfig)>,
) -> Result<Started, SeedError> {
    let mut created = Vec::new();
    match existing {
        Some((workspace, config)) => {
            source.check_data(workspace, config)?;
        }
        None => source.check_data(&source.workspace, &source.config)?,
    }
    let store = existing.map_or_else(|| folder.join("trm.redb"), |(workspace, _)| workspace.store());
    refuse_if_used(&store, folder)?;
    if existing.is_none() {
        source.copy_data(folder, &mut created)?;
    }
    let is_new = !store.exists();
    let fill = source.first_batch()?;
    // An empty workspace has a store with the built-in texts: it is made again rather than carried on.
    if !is_new {
        fs::remove_file(&store).map_err(SeedError::io("replace", &store))?;
    }
    Store::open(&store, &OpenOptions::creating())?.write_blocking(fill)?;
    created.push("trm.redb".to_owned());
    if existing.is_none() {
        // Last, so that a folder whose making was interrupted is no workspace yet.
        copy(&source.workspace.config_file(), &folder.join(CONFIG_FILE))?;
        created.push(CONFIG_FILE.to_owned());
    }
    Ok(Started {
        folder: folder.to_owned(),
        seed: source.name.clone(),
        eval_run: source.seed.eval_run.to_string(),
        answers: source.seed.predictions.len(),
        created,
    })
}

/// A store in which something was done is not replaced.
fn refuse_if_used(store: &Path, folder: &Path) -> Result<(), SeedError> {
    if !store.exists() {
        return Ok(());
    }
    let snapshot = StoreReader::open(store)?.snapshot()?;
    let runs = snapshot.runs()?.len();
    let later =
        |kind| Ok::<_, SeedError>(snapshot.latest_version(kind)?.is_some_and(|latest| latest > VersionName::FIRST));
    if runs == 0 && snapshot.seeds()?.is_empty() && !later(VersionKind::Skills)? && !later(VersionKind::Prompts)? {
        return Ok(());
    }
    let holds = format!("{runs} runs, versions or seeds of its own");
    Err(WorkspaceError::Exists { folder: folder.to_owned(), holds }.into())
}

impl SeedSource {
    /// The questions are those of the seed, and each of its videos has a tree.
    fn check_data(&self, workspace: &Workspace, config: &RunConfig) -> Result<(), SeedError> {
        let questions = load_questions(&workspace.questions(config))?;
        if questions.fingerprint != self.seed.data_fingerprint {
            return Err(SeedError::QuestionsDiffer { name: self.name.clone(), workspace: workspace.root().to_owned() });
        }
        let trees = TreeSet::new(workspace.videos(config));
        let videos: BTreeSet<&VideoId> = self.seed.predictions.iter().map(|(_, row)| &row.video_id).collect();
        let missing: Vec<&VideoId> = videos.into_iter().filter(|video| !trees.contains(video)).collect();
        match missing.first() {
            Some(first) => Err(SeedError::TreesMissing {
                name: self.name.clone(),
                missing: missing.len(),
                first: (*first).clone(),
            }),
            None => Ok(()),
        }
    }

    /// Questions are copied, videos are linked: they may be large, and neither is changed by a training.
    fn copy_data(&self, folder: &Path, created: &mut Vec<String>) -> Result<(), SeedError> {
        fs::create_dir_all(folder).map_err(SeedError::io("create", folder))?;
        for (name, text) in [(".env.example", ENV_EXAMPLE), (".gitignore", GITIGNORE)] {
            let path = folder.join(name);
            if !path.exists() {
                fs::write(&path, text).map_err(SeedError::io("write", &path))?;
                created.push(name.to_owned());
            }
        }
        let data = &self.config.data;
        for (relative, from) in [
            (data.questions.as_path(), self.workspace.questions(&self.config)),
            (Path::new(TRUTH_FILE), self.workspace.root().join(TRUTH_FILE)),
        ] {
            let to = folder.join(relative);
            if relative.is_relative() && from.exists() && !to.exists() {
                copy(&from, &to)?;
                created.push(relative.display().to_string());
            }
        }
        let to = folder.join(&data.videos_dir);
        if data.videos_dir.is_relative() && !to.exists() {
            let from = self.workspace.videos(&self.config);
            let from = fs::canonicalize(&from).map_err(SeedError::io("find", &from))?;
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(SeedError::io("create", parent))?;
            }
            std::os::unix::fs::symlink(&from, &to).map_err(SeedError::io("link", &to))?;
            created.push(format!("{} (a link to {})", data.videos_dir.display(), from.display()));
        }
        Ok(())
    }

    /// The first versions, the seed, and its evaluation as a finished run on these versions.
    fn first_batch(&self) -> Result<Batch, SeedError> {
        let mut batch = initial_batch(&self.skills, &self.prompts, &format!("seed {}", self.name));
        let run = &self.seed.eval_run;
        batch.create_run(run, self.run_row());
        let mut report = EvalReport { versions: FIRST, total: EvalCounts::default(), by_task_type: Vec::new() };
        let mut by_type = std::collections::BTreeMap::<_, EvalCounts>::new();
        let phase = PhaseKey::plain(Phase::Eval);
        for (question, row) in &self.seed.predictions {
            count(&mut report.total, row.outcome);
            count(by_type.entry(row.task_type.clone()).or_default(), row.outcome);
            let key = AnswerKey { phase: phase.clone(), question: question.clone() };
            batch.put(run, Scope::Eval, &key, &carried(row));
        }
        report.by_task_type = by_type.into_iter().collect();
        batch.put(run, Scope::Eval, &phase, &report);
        let questions: Vec<QuestionId> = self.seed.predictions.iter().map(|(question, _)| question.clone()).collect();
        let expected = vec![ExpectedAnswers { phase: phase.to_string(), questions }];
        let mark =
            ScopeMark { global_step: None, versions: FIRST, expected, settled: true, begun_ms: self.seed.created_ms };
        batch.put(run, Scope::Eval, &(), &mark);
        let seed = Seed {
            eval_versions: FIRST,
            predictions: self.seed.predictions.iter().map(|(question, row)| (question.clone(), carried(row))).collect(),
            ..self.seed.clone()
        };
        batch.put_seed(&self.name, &seed);
        Ok(batch)
    }

    fn run_row(&self) -> Run {
        let note = format!("from seed {} of {}", self.name, self.workspace.root().display());
        let event = RunEvent { at_ms: now_ms(), what: "carried over".to_owned(), note };
        let of_source = |run: &Run| Run { versions: FIRST, sequence: 0, ..run.clone() };
        let mut row = self.run.as_ref().map_or_else(|| self.bare_run(), of_source);
        row.history.push(event);
        row
    }

    /// The evaluation's run where its own row is gone.
    fn bare_run(&self) -> Run {
        Run {
            sequence: 0,
            mode: RunMode::Eval,
            state: RunState::Finished,
            config: self.config.snapshot(),
            config_fingerprint: self.config.structural_fingerprint(),
            data_fingerprint: self.seed.data_fingerprint,
            environment_fingerprint: self.seed.environment_fingerprint,
            seed: self.config.run.seed,
            versions: FIRST,
            program_version: env!("CARGO_PKG_VERSION").to_owned(),
            created_ms: self.seed.created_ms,
            finished_ms: Some(self.seed.created_ms),
            history: Vec::new(),
            summary: None,
        }
    }
}

/// The answer as it is kept where its trace is not.
fn carried(row: &Prediction) -> Prediction {
    Prediction { skills_version: FIRST.skills, prompts_version: FIRST.prompts, spans: 0, ..row.clone() }
}

fn count(counts: &mut EvalCounts, outcome: Outcome) {
    match outcome {
        Outcome::Correct => counts.correct += 1,
        Outcome::Wrong => counts.wrong += 1,
        Outcome::Unparsed => {
            counts.wrong += 1;
            counts.unparsed += 1;
        }
        Outcome::Infra => counts.infra += 1,
    }
}

/// A file, or a folder with everything in it.
fn copy(from: &Path, to: &Path) -> Result<(), SeedError> {
    if !from.is_dir() {
        if let Some(parent) = to.parent() {
            fs::create_dir_all(parent).map_err(SeedError::io("create", parent))?;
        }
        return fs::copy(from, to).map(drop).map_err(SeedError::io("write", to));
    }
    fs::create_dir_all(to).map_err(SeedError::io("create", to))?;
    for entry in fs::read_dir(from).map_err(SeedError::io("read", from))? {
        let entry = entry.map_err(SeedError::io("read", from))?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
