//! Audits exported evidence: recomputes every gate of a JSON-lines file.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{ExitClass, Fault, TaskType, UnitId};
use crate::evolution::gate::{ExcludedArm, GateError, GateParams, GateStop, Replay, StoredRow, replay};

/// One line of exported evidence. Unknown fields are ignored: exports grow.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct EvidenceLine {
    /// The run, epoch and step it belongs to, where the export names them.
    pub run_id: Option<String>,
    /// From 1.
    pub epoch: Option<u32>,
    /// From 0.
    pub step: Option<u32>,
    /// The task type; without it the whole file is one gate.
    pub task_type: Option<TaskType>,
    /// The unit; older exports call it `question_id`.
    #[serde(alias = "question_id")]
    pub unit_id: UnitId,
    /// Its place in the plan.
    pub ladder_rank: u32,
    /// Whether it was excluded.
    #[serde(default)]
    pub excluded: bool,
    /// Which arm failed.
    pub excluded_arm: Option<ExcludedArm>,
    /// Whether the current skill got it right.
    pub baseline_correct: Option<bool>,
    /// Whether the candidate got it right.
    pub candidate_correct: Option<bool>,
    /// Wins so far.
    pub w: Option<u32>,
    /// Losses so far.
    pub l: Option<u32>,
    /// Consumed units so far.
    pub n_used: Option<u32>,
    /// Remaining units.
    pub n_remaining: Option<u32>,
    /// The plan's length, where the export repeats it.
    pub n_plan: Option<u32>,
    /// E(W, L).
    pub e_value: Option<f64>,
    /// lambda(W, L).
    #[serde(alias = "lambda")]
    pub wald_lambda: Option<f64>,
    /// The exit, on the last consumed row; empty or absent elsewhere.
    #[serde(default, deserialize_with = "stop_or_empty")]
    pub stop_reason: Option<GateStop>,
    /// Units settled by curtailment after this row.
    #[serde(default)]
    pub curtailed: u32,
}

/// Which gate a row belongs to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct GateKey {
    /// The run, if named.
    pub run_id: Option<String>,
    /// The epoch, if named.
    pub epoch: Option<u32>,
    /// The step, if named.
    pub step: Option<u32>,
    /// The task type, if named.
    pub task_type: Option<TaskType>,
}

/// One audited gate.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditedGate {
    /// Which gate.
    pub key: GateKey,
    /// Units of its plan.
    pub n_plan: u32,
    /// What follows from the evidence, and what differs.
    pub replay: Replay,
}

/// Evidence that cannot be audited.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// A line that is no row of evidence.
    #[error("read line {line} of the evidence")]
    Line {
        /// From 1.
        line: usize,
        /// What is wrong.
        #[source]
        source: serde_json::Error,
    },
    /// Nothing to audit.
    #[error("audit the evidence: there is no row")]
    Empty,
    /// Neither the rows nor the caller tell how long the plan was.
    #[error("audit the gate {}: its plan's length is unknown", .0.describe())]
    UnknownPlan(Box<GateKey>),
    /// Numbers without a verdict.
    #[error("audit the gate {}", .key.describe())]
    Gate {
        /// Which gate.
        key: Box<GateKey>,
        /// Why.
        #[source]
        source: GateError,
    },
    /// A recomputed verdict or number differs from the stored one.
    #[error("confirm the evidence: {differing} of {gates} gates differ from what they record")]
    Differs {
        /// Gates with a difference.
        differing: usize,
        /// Gates audited.
        gates: usize,
    },
}

impl Fault for ReplayError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Line { .. } | Self::Empty | Self::UnknownPlan(_) | Self::Gate { .. } => ExitClass::Data,
            Self::Differs { .. } => ExitClass::VerdictMismatch,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Line { .. } => "gate.evidence_line",
            Self::Empty => "gate.evidence_empty",
            Self::UnknownPlan(_) => "gate.evidence_plan",
            Self::Gate { source, .. } => source.code(),
            Self::Differs { .. } => "gate.verdict_differs",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::UnknownPlan(_) => Some("give the number of units with --n-plan".into()),
            Self::Differs { .. } => {
                Some("were these thresholds in force? Evidence and thresholds are checked together".into())
            }
            Self::Line { .. } | Self::Empty | Self::Gate { .. } => None,
        }
    }
}

impl GateKey {
    /// The gate for a person: `e1 s0 Counting`, as far as it is known.
    #[must_use]
    pub fn describe(&self) -> String {
        let place = self.epoch.zip(self.step).map(|(epoch, step)| format!("e{epoch} s{step}"));
        let parts = [self.run_id.clone(), place, self.task_type.as_ref().map(ToString::to_string)];
        let text = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        if text.is_empty() { "of this file".into() } else { text }
    }
}

/// Audits every gate of a JSON-lines text, ordered by run, step and type.
///
/// `n_plan` is used where the rows do not tell it themselves.
///
/// # Errors
/// [`ReplayError`]; differences are no error here but part of the result.
pub fn audit_evidence(text: &str, params: &GateParams, n_plan: Option<u32>) -> Result<Vec<AuditedGate>, ReplayError> {
    let mut gates: BTreeMap<GateKey, Vec<EvidenceLine>> = BTreeMap::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let row: EvidenceLine =
            serde_json::from_str(line).map_err(|source| ReplayError::Line { line: index.saturating_add(1), source })?;
        gates.entry(row.key()).or_default().push(row);
    }
    if gates.is_empty() {
        return Err(ReplayError::Empty);
    }
    gates.into_iter().map(|(key, rows)| audit_gate(key, rows, params, n_plan)).collect()
}

/// Audits one gate; the rows may come in any order.
///
/// # Errors
/// [`ReplayError::UnknownPlan`] and [`ReplayError::Gate`].
pub fn audit_gate(
    key: GateKey,
    mut rows: Vec<EvidenceLine>,
    params: &GateParams,
    n_plan: Option<u32>,
) -> Result<AuditedGate, ReplayError> {
    rows.sort_by_key(|row| row.ladder_rank);
    let Some(n_plan) = rows.iter().find_map(EvidenceLine::plan).or(n_plan) else {
        return Err(ReplayError::UnknownPlan(Box::new(key)));
    };
    let rows: Vec<StoredRow> = rows.into_iter().map(StoredRow::from).collect();
    match replay(&rows, n_plan, params) {
        Ok(replay) => Ok(AuditedGate { key, n_plan, replay }),
        Err(source) => Err(ReplayError::Gate { key: Box::new(key), source }),
    }
}

impl EvidenceLine {
    fn key(&self) -> GateKey {
        GateKey { run_id: self.run_id.clone(), epoch: self.epoch, step: self.step, task_type: self.task_type.clone() }
    }

    /// The plan's length, told or implied: the units up to this rank, and those that remain.
    fn plan(&self) -> Option<u32> {
        self.n_plan.or_else(|| self.n_remaining?.checked_add(self.ladder_rank)?.checked_add(1))
    }
}

impl From<EvidenceLine> for StoredRow {
    fn from(line: EvidenceLine) -> Self {
        Self {
            unit_id: line.unit_id,
            ladder_rank: line.ladder_rank,
            excluded: line.excluded,
            excluded_arm: line.excluded_arm,
            baseline_correct: line.baseline_correct,
            candidate_correct: line.candidate_correct,
            w: line.w,
            l: line.l,
            n_used: line.n_used,
            n_remaining: line.n_remaining,
            e_value: line.e_value,
            wald_lambda: line.wald_lambda,
            stop_reason: line.stop_reason,
            curtailed: line.curtailed,
        }
    }
}

fn stop_or_empty<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<GateStop>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Field {
        Stop(GateStop),
        Text(String),
    }
    match Option::<Field>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Field::Stop(stop)) => Ok(Some(stop)),
        Some(Field::Text(text)) if text.is_empty() => Ok(None),
        Some(Field::Text(text)) => Err(serde::de::Error::custom(format!(
            "unknown stop reason {:?}",
            text.chars().take(40).collect::<String>()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rank: u32, cand: bool, stop: &str) -> String {
        format!(
            r#"{{"task_type":"Counting","question_id":"u{rank}","ladder_rank":{rank},"baseline_correct":false,"candidate_correct":{cand},"stop_reason":"{stop}"}}"#
        )
    }

    #[test]
    fn short_rows_need_the_length_of_the_plan() {
        let text: Vec<_> = (0..7).map(|rank| line(rank, true, if rank == 6 { "confirmed" } else { "" })).collect();
        let text = text.join("\n");
        let params = GateParams::default();
        assert!(matches!(audit_evidence(&text, &params, None), Err(ReplayError::UnknownPlan(_))));
        let gates = audit_evidence(&text, &params, Some(12)).unwrap();
        assert!(gates[0].replay.differences.is_empty(), "{:?}", gates[0].replay.differences);
        assert_eq!(gates[0].key.describe(), "Counting");
        let strict = GateParams { e_confirm: 40.0, ..params };
        assert!(!audit_evidence(&text, &strict, Some(12)).unwrap()[0].replay.differences.is_empty());
    }

    #[test]
    fn the_plan_follows_from_a_full_row() {
        let row: EvidenceLine =
            serde_json::from_str(r#"{"unit_id":"u","ladder_rank":4,"n_used":3,"n_remaining":5,"stop_reason":null}"#)
                .unwrap();
        assert_eq!(row.plan(), Some(10));
    }

    #[test]
    fn unreadable_lines_are_named() {
        let text = format!("{}\n\n{{}}", line(0, true, ""));
        assert!(matches!(
            audit_evidence(&text, &GateParams::default(), Some(3)),
            Err(ReplayError::Line { line: 3, .. })
        ));
        let odd = line(0, true, "luck");
        assert!(audit_evidence(&odd, &GateParams::default(), Some(3)).is_err());
        assert!(matches!(audit_evidence("\n", &GateParams::default(), None), Err(ReplayError::Empty)));
    }
}
