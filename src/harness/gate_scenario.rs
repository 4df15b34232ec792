//! Scenario files: whole gates with scripted answers and latencies, played through the real scheduler.
//!
//! The format is described in `tests/vectors/README.md`; it is how a gate is tested
//! against an independent reference, and how a person can try "what if".

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::{self, ExitClass, Fault, QuestionId, SeedRng, StopReason, TaskType, Unit, UnitId, seeded_rng};
use crate::evolution::gate::{EvidenceRow, GateParams};
use crate::evolution::scheduler::{
    Answer, ArmRef, GateFailure, GateOutcome, GateSettings, GateSpec, LaunchPolicy, Scheduler, ScriptedArm,
    VirtualReport, play,
};

/// One scenario: the gates of a step with everything that will happen in them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Scenario {
    /// Its name, repeated in the outcome.
    #[serde(default)]
    pub id: String,
    /// The thresholds.
    #[serde(default)]
    pub params: GateParams,
    /// The limit of the INFRA guard, 0 to 1.
    pub guard_err: f64,
    /// Question slots shared by all task types.
    pub concurrency: usize,
    /// In launch order.
    pub task_types: Vec<ScenarioType>,
}

/// One task type's ladder.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScenarioType {
    /// The task type.
    pub task_type: TaskType,
    /// In ladder order.
    pub units: Vec<ScenarioUnit>,
}

/// One unit.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScenarioUnit {
    /// Its id.
    pub unit_id: UnitId,
    /// The baseline cache's answer; then the `base` scripts mean nothing.
    pub base_cached: Option<bool>,
    /// One, or two for a pair.
    pub questions: Vec<ScenarioQuestion>,
}

/// One question in both arms.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct ScenarioQuestion {
    /// Its id.
    pub question_id: QuestionId,
    /// With the current skill.
    pub base: ScenarioAnswer,
    /// With the candidate.
    pub cand: ScenarioAnswer,
}

/// What happens to one question in one arm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ScenarioAnswer {
    /// Whether the answer is right; means nothing with `infra`.
    pub correct: bool,
    /// Whether it fails technically.
    pub infra: bool,
    /// How long it takes, in virtual milliseconds.
    pub latency_ms: u64,
}

/// Slots to play a scenario with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Concurrency {
    /// As the scenario says.
    AsGiven,
    /// This many.
    Slots(usize),
    /// Drawn: 1 to 64, at least the largest unit. A scenario whose largest unit exceeds its own
    /// slots is about that error and keeps them.
    Drawn(u64),
}

/// A scenario file that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ScenarioError {
    /// Not JSON at all.
    #[error("read the scenario file as JSON")]
    Json(#[source] serde_json::Error),
    /// JSON of another shape.
    #[error("read scenario {place}")]
    Shape {
        /// Its id, or its number from 1.
        place: String,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
}

impl Fault for ScenarioError {
    fn class(&self) -> ExitClass {
        ExitClass::Data
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Json(_) => "gate.scenario_json",
            Self::Shape { .. } => "gate.scenario_shape",
        }
    }

    fn hint(&self) -> Option<String> {
        Some("a scenario file is one scenario, a list of them, or {\"scenarios\": [...]}".into())
    }
}

/// Reads a file: one scenario, a list, or an object with `scenarios`.
///
/// # Errors
/// [`ScenarioError`] names the first scenario that cannot be read.
pub fn read_scenarios(text: &str) -> Result<Vec<Scenario>, ScenarioError> {
    let mut file: Value = serde_json::from_str(text).map_err(ScenarioError::Json)?;
    let inner = file.get_mut("scenarios").map(Value::take).unwrap_or(file);
    let values = if let Value::Array(values) = inner { values } else { vec![inner] };
    values.into_iter().enumerate().map(|(index, value)| read_scenario(index, value)).collect()
}

fn read_scenario(index: usize, value: Value) -> Result<Scenario, ScenarioError> {
    let number = index.saturating_add(1).to_string();
    let place = value.get("id").and_then(Value::as_str).map_or_else(|| number.clone(), str::to_owned);
    let mut scenario: Scenario =
        serde_json::from_value(value).map_err(|source| ScenarioError::Shape { place, source })?;
    if scenario.id.is_empty() {
        scenario.id = number;
    }
    Ok(scenario)
}

impl Scenario {
    /// Replaces every latency by a drawn one, 1 ms to 100 s with many ties.
    pub fn draw_latencies(&mut self, seed: u64) {
        let mut rng = seeded_rng(seed, &["gate", "scenario", "latency", &self.id]);
        for question in self.task_types.iter_mut().flat_map(|of| &mut of.units).flat_map(|unit| &mut unit.questions) {
            question.base.latency_ms = draw_latency(&mut rng);
            question.cand.latency_ms = draw_latency(&mut rng);
        }
    }

    /// Changes the slots.
    pub fn set_concurrency(&mut self, concurrency: Concurrency) {
        match concurrency {
            Concurrency::AsGiven => {}
            Concurrency::Slots(slots) => self.concurrency = slots,
            Concurrency::Drawn(seed) => {
                let largest = self.largest_unit();
                if largest <= self.concurrency {
                    let mut rng = seeded_rng(seed, &["gate", "scenario", "concurrency", &self.id]);
                    self.concurrency = rng.random_range(1..=64_usize).max(largest);
                }
            }
        }
    }

    fn largest_unit(&self) -> usize {
        self.task_types.iter().flat_map(|of| &of.units).map(|unit| unit.questions.len()).max().unwrap_or(0)
    }

    /// Plays the scenario in virtual time.
    #[must_use]
    pub fn play(&self, policy: Box<dyn LaunchPolicy>) -> VirtualReport {
        let settings = GateSettings { params: self.params, guard_err: self.guard_err, concurrency: self.concurrency };
        match self.specs().and_then(|specs| Scheduler::new(specs, settings, policy)) {
            Ok(scheduler) => play(scheduler, self.cached(), |arm| self.script(arm)),
            Err(failure) => VirtualReport { result: Err(failure), makespan: 0, decided_at: 0, peak_questions: 0 },
        }
    }

    fn specs(&self) -> Result<Vec<GateSpec>, GateFailure> {
        let video = domain::VideoId::new("scenario").map_err(|error| GateFailure::Protocol(error.to_string()))?;
        let unit = |of: &ScenarioType, unit: &ScenarioUnit| Unit {
            unit_id: unit.unit_id.clone(),
            task_type: of.task_type.clone(),
            video_id: video.clone(),
            question_ids: unit.questions.iter().map(|question| question.question_id.clone()).collect(),
        };
        let spec = |of: &ScenarioType| GateSpec {
            task_type: of.task_type.clone(),
            target_file: of.task_type.skill_file(),
            base_content: Arc::from(""),
            candidate_content: Arc::from(""),
            units: of.units.iter().map(|one| unit(of, one)).collect(),
            run_prefix: format!("scenario_gate_{}", of.task_type.slug()),
        };
        Ok(self.task_types.iter().map(spec).collect())
    }

    fn cached(&self) -> impl Iterator<Item = (usize, usize, bool)> {
        self.task_types.iter().enumerate().flat_map(|(type_index, of)| {
            let hit = move |(rank, unit): (usize, &ScenarioUnit)| Some((type_index, rank, unit.base_cached?));
            of.units.iter().enumerate().filter_map(hit)
        })
    }

    fn script(&self, arm: ArmRef) -> ScriptedArm {
        let unit = self.task_types.get(arm.type_index).and_then(|of| of.units.get(arm.rank));
        let questions = unit.map(|unit| unit.questions.as_slice()).unwrap_or_default();
        let answer = |question: &ScenarioQuestion| match arm.arm {
            domain::Arm::Base => question.base,
            domain::Arm::Cand => question.cand,
        };
        ScriptedArm {
            answers: questions.iter().map(|question| answer(question).into()).collect(),
            // The questions of a unit start together, and the arm ends with its slowest.
            duration: questions.iter().map(|question| answer(question).latency_ms).max().unwrap_or(0),
        }
    }
}

impl From<ScenarioAnswer> for Answer {
    fn from(answer: ScenarioAnswer) -> Self {
        let stop_reason = if answer.infra { StopReason::Error } else { StopReason::Finished };
        Self { correct: answer.correct, stop_reason }
    }
}

fn draw_latency(rng: &mut SeedRng) -> u64 {
    // Five magnitudes with few digits each: wide spread and frequent ties.
    let magnitude = 10_u64.pow(rng.random_range(0..5));
    rng.random_range(1..=10_u64).saturating_mul(magnitude)
}

/// The outcome of a played scenario as JSON, in the format of the vectors, with its `id`.
#[must_use]
pub fn scenario_outcome(id: &str, report: &VirtualReport) -> Value {
    match &report.result {
        Ok(settled) => {
            let outcomes: BTreeMap<&str, Value> =
                settled.iter().map(|gate| (gate.outcome.task_type.as_str(), outcome_value(&gate.outcome))).collect();
            json!({"id": id, "outcomes": outcomes})
        }
        Err(failure) => {
            let code = failure.code();
            json!({
                "id": id,
                "error": code.strip_prefix("gate.").unwrap_or(code),
                "task_type": failure.task_type(),
                "message": failure.to_string(),
            })
        }
    }
}

fn outcome_value(outcome: &GateOutcome) -> Value {
    let consumed = outcome.evidence.iter().filter(|row| row.is_consumed());
    json!({
        "action": outcome.action,
        "stop_reason": outcome.stop_reason,
        "w": outcome.w,
        "l": outcome.l,
        "n_used": outcome.n_used,
        "n_excluded": outcome.n_excluded,
        "e_value": outcome.e_value,
        "delta_hat": outcome.delta_hat,
        "delta_shrunk": outcome.delta_shrunk,
        "baseline_acc": outcome.baseline_acc,
        "candidate_acc": outcome.candidate_acc,
        "quadrants": outcome.quadrants,
        "candidate_correctness": outcome.candidate_correctness,
        "evidence": consumed.map(evidence_value).collect::<Vec<_>>(),
    })
}

fn evidence_value(row: &EvidenceRow) -> Value {
    json!({
        "question_id": row.unit_id,
        "ladder_rank": row.ladder_rank,
        "baseline_correct": row.baseline_correct,
        "candidate_correct": row.candidate_correct,
        "e_value": row.e_value,
        "stop_reason": row.stop_reason.map_or("", |stop| stop.name()),
    })
}
