//! The part of a key that is below the kind: sub-key, item, index, as one type per kind.

use std::fmt;
use std::str::FromStr;

use crate::domain::{Arm, FileName, Phase, QuestionId, RunId, TaskType, UnitId, VersionName};

use super::scope::Scope;

/// The columns below the kind: sub-key, item and index.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowColumns {
    /// The phase, the task type, the target … or nothing.
    pub sub: String,
    /// The question, the unit, the file … or nothing.
    pub item: String,
    /// The span, the ladder rank … or 0.
    pub index: u32,
}

/// A typed key of one kind of row.
pub trait RowKey: Sized + Clone + fmt::Debug + Send + 'static {
    /// Its columns.
    fn columns(&self) -> RowColumns;

    /// The key of these columns; none if nothing writes such columns.
    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self>;
}

/// What answers were produced for, with what tells apart several answers of one phase in one scope:
/// the gate's task slug, the version pair of a held-out evaluation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PhaseKey {
    phase: Phase,
    label: String,
}

impl PhaseKey {
    /// A phase that answers each question once in its scope.
    #[must_use]
    pub fn plain(phase: Phase) -> Self {
        Self { phase, label: String::new() }
    }

    /// One arm of the gate of a task type.
    #[must_use]
    pub fn gate(task_type: &TaskType, arm: Arm) -> Self {
        let phase = match arm {
            Arm::Base => Phase::GateBase,
            Arm::Cand => Phase::GateCand,
        };
        Self { phase, label: task_type.slug() }
    }

    /// A phase that runs once per version pair: `holdout`, `shadow`, `final-test`.
    #[must_use]
    pub fn versions(phase: Phase, skills: VersionName, prompts: VersionName) -> Self {
        Self { phase, label: format!("s{}-p{}", skills.number(), prompts.number()) }
    }

    /// The phase.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// The gate's slug, the version pair, or nothing.
    #[must_use]
    pub fn label(&self) -> &str {
        &self.label
    }

    /// The side of a gate pair, for gate phases.
    #[must_use]
    pub fn arm(&self) -> Option<Arm> {
        match self.phase {
            Phase::GateBase => Some(Arm::Base),
            Phase::GateCand => Some(Arm::Cand),
            Phase::Baseline
            | Phase::Rollout
            | Phase::SlowR
            | Phase::SlowR2
            | Phase::MomentumStart
            | Phase::MomentumEnd
            | Phase::Shadow
            | Phase::Holdout
            | Phase::FinalTest
            | Phase::Eval
            | Phase::Adhoc => None,
        }
    }

    /// The textual path of a phase without the run id, such as `e1_s0_gate_action-reasoning_base`.
    ///
    /// It salts the response cache and seeds the simulated world, and is unique within a run.
    #[must_use]
    pub fn path(&self, scope: Scope) -> String {
        let place = match scope {
            Scope::Baseline => "baseline".to_owned(),
            Scope::Step(place) => format!("e{}_s{}", place.epoch, place.step),
            Scope::Slow { epoch, sub_step } => format!("e{epoch}_slow{sub_step}"),
            Scope::Final => "final".to_owned(),
            Scope::Eval => "eval".to_owned(),
            Scope::Adhoc => "adhoc".to_owned(),
        };
        match (self.arm(), self.phase) {
            (Some(arm), _) => format!("{place}_gate_{}_{}", self.label, arm.name()),
            // The scope alone names the one phase that has no suffix in it (design 03).
            (None, Phase::Rollout | Phase::Baseline | Phase::Eval | Phase::Adhoc) if self.label.is_empty() => place,
            (None, phase) if self.label.is_empty() => format!("{place}_{phase}"),
            (None, phase) => format!("{place}_{phase}_{}", self.label),
        }
    }

    /// The textual run id of a phase: `{run}_e1_s0`, `{run}_e1_s0_gate_{slug}_{arm}` (design 03).
    #[must_use]
    pub fn run_id(&self, run: &RunId, scope: Scope) -> String {
        format!("{run}_{}", self.path(scope))
    }
}

impl fmt::Display for PhaseKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.label.is_empty() { f.pad(self.phase.name()) } else { f.pad(&format!("{}:{}", self.phase, self.label)) }
    }
}

/// The text names no phase of a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {0:?} as the phase of a row")]
pub struct PhaseKeyParseError(String);

impl FromStr for PhaseKey {
    type Err = PhaseKeyParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (phase, label) = text.split_once(':').unwrap_or((text, ""));
        let key = phase.parse().map(|phase| Self { phase, label: label.to_owned() });
        // A colon without a label, or a gate without a task type, is nothing that this program writes.
        key.ok()
            .filter(|key| key.to_string() == text && (key.arm().is_none() || !key.label.is_empty()))
            .ok_or_else(|| PhaseKeyParseError(text.chars().take(80).collect()))
    }
}

/// What an evolution changes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Target {
    /// The skill of a task type.
    Skill(TaskType),
    /// The system prompt.
    System,
    /// The pair of prompts of a tool, such as `view_node` or `view_node_children`.
    Tool(String),
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Skill(task_type) => write!(f, "skill:{task_type}"),
            Self::System => f.write_str("system"),
            Self::Tool(tool) => write!(f, "tool:{tool}"),
        }
    }
}

/// The text names nothing that can be evolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("read {0:?} as the target of an evolution: 'skill:TYPE', 'system' or 'tool:NAME' expected")]
pub struct TargetParseError(String);

impl FromStr for Target {
    type Err = TargetParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let target = match text.split_once(':') {
            None if text == "system" => Some(Self::System),
            Some(("skill", task_type)) => task_type.parse().ok().map(Self::Skill),
            Some(("tool", tool)) if !tool.is_empty() => Some(Self::Tool(tool.to_owned())),
            _ => None,
        };
        target.ok_or_else(|| TargetParseError(text.chars().take(80).collect()))
    }
}

/// One answer: phase and question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AnswerKey {
    /// What it was produced for.
    pub phase: PhaseKey,
    /// The question.
    pub question: QuestionId,
}

/// One span of the trace of an answer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpanKey {
    /// The answer it led to.
    pub answer: AnswerKey,
    /// From 0, running over all samples of the answer.
    pub span: u32,
}

/// One model call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    /// What it belongs to: a phase as text, `judge`, `writer` …
    pub group: String,
    /// The question, or what stands for it (a task type for a writer call).
    pub item: String,
    /// From 0 within group and item.
    pub index: u32,
}

/// One place of a ladder.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RankKey {
    /// The gate's task type.
    pub task_type: TaskType,
    /// Position in the plan, from 0.
    pub rank: u32,
}

/// One unit of a gate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GateUnitKey {
    /// The gate's task type.
    pub task_type: TaskType,
    /// The unit.
    pub unit: UnitId,
}

fn columns(sub: impl Into<String>, item: impl Into<String>, index: u32) -> RowColumns {
    RowColumns { sub: sub.into(), item: item.into(), index }
}

impl RowKey for AnswerKey {
    fn columns(&self) -> RowColumns {
        columns(self.phase.to_string(), self.question.as_str(), 0)
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        let key = Self { phase: sub.parse().ok()?, question: item.parse().ok()? };
        (index == 0).then_some(key)
    }
}

impl RowKey for SpanKey {
    fn columns(&self) -> RowColumns {
        RowColumns { index: self.span, ..self.answer.columns() }
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        Some(Self { answer: AnswerKey::from_columns(sub, item, 0)?, span: index })
    }
}

impl RowKey for CallKey {
    fn columns(&self) -> RowColumns {
        columns(&self.group, &self.item, self.index)
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        Some(Self { group: sub.to_owned(), item: item.to_owned(), index })
    }
}

impl RowKey for RankKey {
    fn columns(&self) -> RowColumns {
        columns(self.task_type.as_str(), "", self.rank)
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        let key = Self { task_type: sub.parse().ok()?, rank: index };
        item.is_empty().then_some(key)
    }
}

impl RowKey for GateUnitKey {
    fn columns(&self) -> RowColumns {
        columns(self.task_type.as_str(), self.unit.as_str(), 0)
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        let key = Self { task_type: sub.parse().ok()?, unit: item.parse().ok()? };
        (index == 0).then_some(key)
    }
}

impl RowKey for QuestionId {
    fn columns(&self) -> RowColumns {
        columns("", self.as_str(), 0)
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        item.parse().ok().filter(|_| sub.is_empty() && index == 0)
    }
}

impl RowKey for FileName {
    fn columns(&self) -> RowColumns {
        columns("", self.as_str(), 0)
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        item.parse().ok().filter(|_| sub.is_empty() && index == 0)
    }
}

macro_rules! sub_only {
    ($($key:ty),*) => {$(
        impl RowKey for $key {
            fn columns(&self) -> RowColumns {
                columns(self.to_string(), "", 0)
            }

            fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
                sub.parse().ok().filter(|_| item.is_empty() && index == 0)
            }
        }
    )*};
}

sub_only!(PhaseKey, Target, TaskType);

impl RowKey for () {
    fn columns(&self) -> RowColumns {
        columns("", "", 0)
    }

    fn from_columns(sub: &str, item: &str, index: u32) -> Option<Self> {
        (sub.is_empty() && item.is_empty() && index == 0).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round_trips<K: RowKey + PartialEq>(key: &K) {
        let columns = key.columns();
        assert_eq!(K::from_columns(&columns.sub, &columns.item, columns.index).as_ref(), Some(key));
    }

    #[test]
    fn every_key_round_trips() {
        let task_type: TaskType = "Action Reasoning".parse().unwrap();
        let gate = PhaseKey::gate(&task_type, Arm::Cand);
        let answer = AnswerKey { phase: gate.clone(), question: "q:1".parse().unwrap() };
        round_trips(&gate);
        round_trips(&answer);
        round_trips(&SpanKey { answer, span: 7 });
        round_trips(&RankKey { task_type: task_type.clone(), rank: 3 });
        round_trips(&GateUnitKey { task_type: task_type.clone(), unit: "u".parse().unwrap() });
        round_trips(&Target::Skill(task_type.clone()));
        round_trips(&Target::System);
        round_trips(&Target::Tool("view_node".into()));
        round_trips(&task_type);
        round_trips(&PhaseKey::versions(Phase::Holdout, VersionName::FIRST, VersionName::FIRST.next()));
        round_trips(&CallKey { group: "judge".into(), item: "q".into(), index: 2 });
        round_trips(&QuestionId::new("q").unwrap());
        round_trips(&FileName::new("a.md").unwrap());
        round_trips(&());
    }

    #[test]
    fn run_ids_of_phases_follow_the_design() {
        let run: RunId = "train1".parse().unwrap();
        let task_type: TaskType = "Action Reasoning".parse().unwrap();
        let rollout = PhaseKey::plain(Phase::Rollout);
        assert_eq!(rollout.run_id(&run, Scope::step(1, 0)), "train1_e1_s0");
        let gate = PhaseKey::gate(&task_type, Arm::Base);
        assert_eq!(gate.run_id(&run, Scope::step(1, 0)), "train1_e1_s0_gate_action-reasoning_base");
        let slow = Scope::Slow { epoch: 2, sub_step: 1 };
        assert_eq!(PhaseKey::plain(Phase::SlowR).path(slow), "e2_slow1_slow-r");
    }

    #[test]
    fn foreign_columns_are_no_key() {
        assert_eq!(AnswerKey::from_columns("gate-base", "q", 0), None, "a gate without a task type");
        assert_eq!(AnswerKey::from_columns("rollout:", "q", 0), None, "a colon without a label");
        assert_eq!(AnswerKey::from_columns("rollout", "a/b", 0), None, "an id that is none");
        assert_eq!(AnswerKey::from_columns("rollout", "q", 1), None, "an index where there is none");
        assert_eq!(Target::from_columns("tool:", "", 0), None);
    }
}
