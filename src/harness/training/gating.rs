//! The gates of a step on real inference.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use futures::future::try_join_all;

use super::TrainError;
use super::candidates::Plan;
use super::trainer::Trainer;
use crate::agent::{Agent, AgentRecord, AgentTexts, CallPlace};
use crate::config::SkillMode;
use crate::domain::{Arm, ContentHash, EpochStep, Hasher, Question, StopReason, TaskType, UnitId};
use crate::evolution::scheduler::{Answer, Board, GateFailure, GateSettings, GateSpec, SettledGate};
use crate::harness::gate_executor::{
    ArmLaunch, ArmRecord, ArmReturn, ArmRunner, GateInput, GatePlan, GateRunError, run_gates,
};
use crate::harness::gate_policy::launch_policy;
use crate::harness::inference::{
    AnswerPlace, Cut, InferenceError, PULSE, SignOfLife, add_calls, answer_on_task, now_ms, put_answer,
};
use crate::harness::session::SessionError;
use crate::harness::versions::{DEFAULT_SKILL, FileSet, VersionedPrompts, VersionedSkills, skill_fields};
use crate::store::rows::{BaselineEntry, BaselineKey, GateEvidence, MadeBy, VersionPair};
use crate::store::{Batch, PhaseKey, Scope};

/// The settled gates of a step.
pub(super) struct Gated {
    pub(super) settled: BTreeMap<TaskType, SettledGate>,
    pub(super) wall_ms: u64,
}

/// Tests all candidates of a step at once.
///
/// # Errors
/// Too many technical failures, an interruption, a spent budget: the step has to run again, and nothing is decided.
pub(super) async fn run_step_gates(
    trainer: &Trainer<'_>,
    place: EpochStep,
    current: VersionPair,
    skills: &VersionedSkills,
    plans: &BTreeMap<TaskType, Plan>,
) -> Result<Gated, TrainError> {
    let started = Instant::now();
    let arms = StepArms::new(trainer, place, current, skills, plans)?;
    let config = trainer.config();
    let plan = GatePlan {
        gates: arms.inputs(plans)?,
        settings: GateSettings {
            params: config.gate.params(),
            guard_err: config.gate.guard_err,
            concurrency: config.agent.concurrency,
        },
        policy: launch_policy(config.gate.launch_policy, config.gate.need_tau),
    };
    if plan.gates.is_empty() {
        return Ok(Gated { settled: BTreeMap::new(), wall_ms: 0 });
    }
    let stop = trainer.session.bench.stop.clone();
    let gates = run_gates(plan, &arms, async move { stop.stopped().await });
    let result = tokio::select! {
        result = gates => result,
        never = arms.pulse() => match never {},
    };
    arms.flush_calls().await?;
    let settled = result.map_err(|error| arms.ended(error))?;
    let settled = settled.into_iter().map(|gate| (gate.outcome.task_type.clone(), gate)).collect();
    let wall_ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    Ok(Gated { settled, wall_ms })
}

/// Both arms of one task type.
struct TypeArms {
    base: Agent,
    cand: Agent,
    /// Everything of the skills that the agent of this type can load: part of the baseline cache's key.
    skill_hash: ContentHash,
}

struct StepArms<'a> {
    trainer: &'a Trainer<'a>,
    scope: Scope,
    place: EpochStep,
    current: VersionPair,
    types: BTreeMap<TaskType, TypeArms>,
    answered: AtomicUsize,
    planned: AtomicUsize,
    in_flight: Mutex<usize>,
}

impl<'a> StepArms<'a> {
    fn new(
        trainer: &'a Trainer<'a>,
        place: EpochStep,
        current: VersionPair,
        skills: &VersionedSkills,
        plans: &BTreeMap<TaskType, Plan>,
    ) -> Result<Self, TrainError> {
        let prompts = VersionedPrompts::load(&trainer.snapshot()?, current.prompts)?;
        let bench = &trainer.session.bench;
        let texts = |skills: &VersionedSkills| -> Result<Arc<AgentTexts>, TrainError> {
            Ok(Arc::new(AgentTexts::load(skills, &prompts).map_err(SessionError::from)?))
        };
        let base = bench.agent(texts(skills)?);
        let mut types = BTreeMap::new();
        for (task_type, plan) in plans {
            let Plan::Candidate(candidate) = plan else { continue };
            let file = task_type.skill_file();
            let cand = skills.with(file, candidate.record.evolved_content.clone());
            let arms = TypeArms {
                base: base.clone(),
                cand: bench.agent(texts(&cand)?),
                skill_hash: loadable_hash(skills.files(), task_type, trainer.config().agent.skill_mode),
            };
            types.insert(task_type.clone(), arms);
        }
        Ok(Self {
            trainer,
            scope: Scope::Step(place),
            place,
            current,
            types,
            answered: AtomicUsize::new(0),
            planned: AtomicUsize::new(0),
            in_flight: Mutex::new(0),
        })
    }

    /// Specs and what the baseline cache knows about their units.
    fn inputs(&self, plans: &BTreeMap<TaskType, Plan>) -> Result<Vec<GateInput>, TrainError> {
        let mut consumed = Consumed { trainer: self.trainer, scope: self.scope, seen: BTreeMap::new() };
        let mut inputs = Vec::new();
        for (task_type, plan) in plans {
            let Plan::Candidate(candidate) = plan else { continue };
            let base = PhaseKey::gate(task_type, Arm::Base).run_id(&self.trainer.run, self.scope);
            let spec = GateSpec {
                task_type: task_type.clone(),
                target_file: task_type.skill_file(),
                base_content: candidate.record.original_content.as_str().into(),
                candidate_content: candidate.record.evolved_content.as_str().into(),
                units: candidate.units.clone(),
                run_prefix: base.strip_suffix("_base").unwrap_or(&base).to_owned(),
            };
            let questions: usize = spec.units.iter().map(|unit| unit.question_ids.len()).sum();
            self.planned.fetch_add(2 * questions, Ordering::Relaxed);
            let mut base_cached = BTreeMap::new();
            for unit in &spec.units {
                if let Some(correct) = consumed.base_answer(&self.baseline_key(task_type, &unit.unit_id))? {
                    base_cached.insert(unit.unit_id.clone(), correct);
                }
            }
            inputs.push(GateInput { spec, base_cached });
        }
        Ok(inputs)
    }

    fn baseline_key(&self, task_type: &TaskType, unit: &UnitId) -> BaselineKey {
        let skill_hash = self.types.get(task_type).map_or_else(|| ContentHash::of(""), |arms| arms.skill_hash);
        BaselineKey {
            environment: self.trainer.session.environment,
            task_type: task_type.clone(),
            skill_hash,
            prompts_version: self.current.prompts,
            unit_id: unit.clone(),
        }
    }

    fn failed(&self, question: &Question, cut: Cut) -> InferenceError {
        match cut {
            Cut::Interrupted(cut) if cut.by_budget => {
                let (phase, done, total) = self.progress();
                InferenceError::Budget { phase, done, total }
            }
            Cut::Interrupted(_) => self.interrupted(),
            Cut::Video(source) => InferenceError::Video { question: question.question_id.clone(), source },
            Cut::Panic => InferenceError::Panic(question.question_id.clone()),
        }
    }

    /// A wish to stop is told like that of any other phase, with how far the gates were.
    fn ended(&self, error: GateRunError<InferenceError>) -> TrainError {
        if matches!(error, GateRunError::Gate(GateFailure::Cancelled)) {
            self.interrupted().into()
        } else {
            error.into()
        }
    }

    fn interrupted(&self) -> InferenceError {
        let (phase, done, total) = self.progress();
        InferenceError::Interrupted { phase, done, total }
    }

    fn progress(&self) -> (String, usize, usize) {
        let (done, total) = (self.answered.load(Ordering::Relaxed), self.planned.load(Ordering::Relaxed));
        (format!("gates of {}", self.place), done, total)
    }

    /// Calls of questions that were cut off were paid for all the same.
    async fn flush_calls(&self) -> Result<(), TrainError> {
        let mut batch = Batch::new();
        for task_type in self.types.keys() {
            for arm in [Arm::Base, Arm::Cand] {
                let phase = PhaseKey::gate(task_type, arm);
                let waiting = self.trainer.session.bench.sink.take_phase(&phase.run_id(&self.trainer.run, self.scope));
                for (item, calls) in waiting {
                    add_calls(&mut batch, &self.trainer.run, self.scope, &phase.to_string(), (&item, 0), &calls);
                }
            }
        }
        if batch.is_empty() { Ok(()) } else { self.trainer.write(batch).await }
    }

    /// Writes signs of life until the gates end.
    async fn pulse(&self) -> std::convert::Infallible {
        let mut pulse = tokio::time::interval(PULSE);
        loop {
            pulse.tick().await;
            let sign = SignOfLife {
                scope: self.scope,
                activity: "gate",
                done: self.answered.load(Ordering::Relaxed),
                total: self.planned.load(Ordering::Relaxed),
                in_flight: Some(*self.in_flight.lock().unwrap_or_else(PoisonError::into_inner)),
                per_minute: None,
            };
            if let Err(error) = sign.write(&self.trainer.session.bench, &self.trainer.run).await {
                tracing::debug!(%error, "no sign of life could be written");
            }
        }
    }
}

impl ArmRunner for StepArms<'_> {
    type Payload = Vec<(Question, Vec<AgentRecord>)>;
    type Error = InferenceError;

    async fn run(&self, launch: ArmLaunch) -> Result<ArmReturn<Self::Payload>, Self::Error> {
        let phase = PhaseKey::gate(&launch.spec.task_type, launch.arm.arm);
        let place = CallPlace {
            phase_run: phase.run_id(&self.trainer.run, self.scope),
            phase_path: phase.path(self.scope),
            sample: 0,
        };
        let questions = self.trainer.material.questions_of(&launch.unit.question_ids);
        let Some(arms) = self.types.get(&launch.spec.task_type) else {
            return Ok(ArmReturn { answers: Vec::new(), payload: Vec::new() });
        };
        let agent = match launch.arm.arm {
            Arm::Base => &arms.base,
            Arm::Cand => &arms.cand,
        };
        let answering = questions.into_iter().map(|question| {
            let work = answer_on_task(&self.trainer.session.bench, agent, question.clone(), &place);
            async move {
                match work.await {
                    Ok(samples) => Ok((question, samples)),
                    Err(cut) => Err(self.failed(&question, cut)),
                }
            }
        });
        let payload = try_join_all(answering).await?;
        self.answered.fetch_add(payload.len(), Ordering::Relaxed);
        let answers = payload.iter().map(|(_, samples)| answer_of(samples)).collect();
        Ok(ArmReturn { answers, payload })
    }

    async fn record(&self, record: ArmRecord<Self::Payload>) -> Result<(), Self::Error> {
        let task_type = &record.launch.spec.task_type;
        let phase = PhaseKey::gate(task_type, record.launch.arm.arm);
        let mut batch = Batch::new();
        batch.label("gate arm");
        let place = AnswerPlace {
            run: &self.trainer.run,
            scope: self.scope,
            phase: &phase,
            versions: self.current,
            now_ms: now_ms(),
        };
        let mut correct = Vec::new();
        for (question, samples) in &record.payload {
            let prediction = put_answer(&mut batch, &self.trainer.session.bench, &place, question, samples, 0)
                .ok_or_else(|| InferenceError::Panic(question.question_id.clone()))?;
            let right = prediction.outcome == crate::store::rows::Outcome::Correct;
            correct.push((question.question_id.clone(), right));
        }
        if record.base_cache.is_some() {
            let answered_by = Some(self.trainer.made_by(self.scope));
            let key = self.baseline_key(task_type, &record.launch.unit.unit_id);
            batch.put_baseline(&key, &BaselineEntry { correct, answered_by });
        }
        Ok(self.trainer.session.bench.store.write(batch).await?)
    }

    fn observe(&self, board: &Board) {
        *self.in_flight.lock().unwrap_or_else(PoisonError::into_inner) = board.in_flight();
        self.trainer.report.gates(self.place, board);
    }
}

/// The chosen sample's answer, for the scheduler.
fn answer_of(samples: &[AgentRecord]) -> Answer {
    let chosen = crate::harness::inference::majority(samples);
    Answer {
        correct: chosen.is_some_and(|record| record.outcome == crate::agent::Outcome::Correct),
        stop_reason: chosen.map_or(StopReason::Error, |record| record.stop_reason),
    }
}

/// What the baseline cache may answer: only units that the answering step consumed.
///
/// Arms that were launched ahead of a verdict are cached too, and which ones is a matter of timing; a later gate that
/// took them would decide by timing as well. What a verdict consumed is the same for every concurrency and every crash.
struct Consumed<'a> {
    trainer: &'a Trainer<'a>,
    /// The step that asks.
    scope: Scope,
    /// Consumed units with a fresh base answer, by run and scope and type.
    seen: BTreeMap<(crate::domain::RunId, Scope), BTreeSet<(TaskType, UnitId)>>,
}

impl Consumed<'_> {
    fn base_answer(&mut self, key: &BaselineKey) -> Result<Option<bool>, TrainError> {
        let snapshot = self.trainer.snapshot()?;
        let Some(entry) = snapshot.baseline(key)? else { return Ok(None) };
        // What a step that comes later answered is no past of this one, which may be running again.
        let earlier = |by: &MadeBy| by.run != self.trainer.run || by.scope < self.scope;
        let Some(by) = entry.answered_by.filter(earlier) else { return Ok(None) };
        let place = (by.run, by.scope);
        if !self.seen.contains_key(&place) {
            let rows = snapshot.rows::<GateEvidence>(&place.0, place.1)?;
            let consumed = rows.into_iter().filter(|(_, row)| !row.excluded && !row.base_cached);
            let units = consumed.map(|(rank, row)| (rank.task_type, row.unit_id)).collect();
            self.seen.insert(place.clone(), units);
        }
        let wanted = (key.task_type.clone(), key.unit_id.clone());
        let is_consumed = self.seen.get(&place).is_some_and(|units| units.contains(&wanted));
        Ok(is_consumed.then(|| entry.correct.iter().all(|(_, right)| *right)))
    }
}

/// The hash of all skill text that the agent of a task type can load (design 12): its own file or the fallback, what is
/// always loaded, and in manual mode the whole catalogue.
fn loadable_hash(files: &FileSet, task_type: &TaskType, mode: SkillMode) -> ContentHash {
    let own = task_type.skill_file();
    let has_own = files.contains_key(&own);
    let always =
        |text: &str| skill_fields(text).is_some_and(|fields| fields.get("always").is_some_and(|v| v == "true"));
    let mut hasher = Hasher::new("trm.skill.loadable");
    for (file, text) in files {
        let is_target = *file == own || (!has_own && file.as_str() == DEFAULT_SKILL);
        if is_target || mode == SkillMode::Manual || always(text) {
            hasher.part(file.as_str()).part(text);
        }
    }
    hasher.finish()
}
