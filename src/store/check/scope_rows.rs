//! Reads the rows of one scope, keeping what the invariants need; what does not decode is a problem.

use std::collections::BTreeMap;

use super::report::{CheckReport, Invariant};
use crate::domain::{QuestionId, RunId, TaskType, UnitId, VersionName};
use crate::store::error::StoreError;
use crate::store::keys::{AnswerKey, Kind, RankKey, RowKey, Scope};
use crate::store::rows::{
    AnchorCheck, Call, CasePack, DualMetricEval, EpochReport, EvalReport, Evolution, GateEvidence, HoldoutEval,
    Momentum, ObserveFrameHealth, Outcome, Prediction, ProbationSettlement, Quadrant, QuadrantPair, QuestionMetrics,
    ScopeMark, ShadowGate, StartState, StepReport, StepRow, TraceSpan, ValidationFlags, VersionKind, VersionPair,
};
use crate::store::snapshot::{RawStepKey, Snapshot};

/// What the invariants need of a prediction.
#[derive(Debug, Clone, Copy)]
pub(super) struct Answered {
    pub(super) outcome: Outcome,
    pub(super) spans: u32,
}

/// The rows of one scope.
#[derive(Debug)]
pub(super) struct ScopeRows {
    pub(super) run: RunId,
    pub(super) scope: Scope,
    pub(super) mark: Option<ScopeMark>,
    pub(super) predictions: BTreeMap<AnswerKey, Answered>,
    /// Span indexes in order.
    pub(super) spans: BTreeMap<AnswerKey, Vec<u32>>,
    /// Plug-in rows, with their kind.
    pub(super) attached: Vec<(AnswerKey, Kind)>,
    pub(super) metrics: Vec<QuestionId>,
    pub(super) evidence: BTreeMap<TaskType, Vec<(u32, GateEvidence)>>,
    pub(super) quadrants: BTreeMap<TaskType, BTreeMap<UnitId, Quadrant>>,
    pub(super) reports: BTreeMap<TaskType, StepReport>,
    /// Versions that rows name, with the kind of row.
    pub(super) versions: Vec<(VersionKind, VersionName, String)>,
    /// Whether every row could be read; what is missing is no finding otherwise.
    pub(super) complete: bool,
}

impl ScopeRows {
    pub(super) fn new(run: RunId, scope: Scope) -> Self {
        Self {
            run,
            scope,
            mark: None,
            predictions: BTreeMap::new(),
            spans: BTreeMap::new(),
            attached: Vec::new(),
            metrics: Vec::new(),
            evidence: BTreeMap::new(),
            quadrants: BTreeMap::new(),
            reports: BTreeMap::new(),
            versions: Vec::new(),
            complete: true,
        }
    }

    /// The scope as text, for places.
    pub(super) fn place(&self) -> String {
        format!("{} {}", self.run, self.scope)
    }

    /// Takes one row.
    pub(super) fn take(
        &mut self,
        snapshot: &Snapshot<'_>,
        key: &RawStepKey<'_>,
        value: &[u8],
        report: &mut CheckReport,
    ) {
        let Some(kind) = Kind::from_code(key.kind) else {
            self.foreign(key, report);
            return;
        };
        if let Err(error) = self.take_kind(snapshot, kind, key, value) {
            self.complete = false;
            let foreign = matches!(error, StoreError::ForeignKey { .. });
            let invariant = if foreign { Invariant::Key } else { Invariant::Value };
            report.add(invariant, key.describe(), describe(&error));
        }
    }

    fn foreign(&mut self, key: &RawStepKey<'_>, report: &mut CheckReport) {
        self.complete = false;
        report.add(Invariant::Key, key.describe(), "nothing writes such a key");
    }

    fn take_kind(
        &mut self,
        snapshot: &Snapshot<'_>,
        kind: Kind,
        key: &RawStepKey<'_>,
        value: &[u8],
    ) -> Result<(), StoreError> {
        let at = Row { snapshot, key, value };
        match kind {
            Kind::ScopeMark => {
                let ((), mark) = at.read::<ScopeMark>()?;
                self.names(kind, mark.versions);
                self.mark = Some(mark);
            }
            Kind::Prediction => {
                let (answer, row) = at.read::<Prediction>()?;
                self.names(kind, VersionPair { skills: row.skills_version, prompts: row.prompts_version });
                self.predictions.insert(answer, Answered { outcome: row.outcome, spans: row.spans });
            }
            Kind::Trace => {
                let (span, _) = at.read::<TraceSpan>()?;
                self.spans.entry(span.answer).or_default().push(span.span);
            }
            Kind::Call => drop(at.read::<Call>()?),
            Kind::ValidationFlags => self.attached.push((at.read::<ValidationFlags>()?.0, kind)),
            Kind::AnchorCheck => self.attached.push((at.read::<AnchorCheck>()?.0, kind)),
            Kind::ObserveFrameHealth => self.attached.push((at.read::<ObserveFrameHealth>()?.0, kind)),
            Kind::QuestionMetrics => self.metrics.push(at.read::<QuestionMetrics>()?.0),
            Kind::CasePack => drop(at.read::<CasePack>()?),
            Kind::Evolution => {
                let (target, row) = at.read::<Evolution>()?;
                let of = match target {
                    crate::store::Target::Skill(_) => VersionKind::Skills,
                    crate::store::Target::System | crate::store::Target::Tool(_) => VersionKind::Prompts,
                };
                self.versions.push((of, row.source_version, kind.to_string()));
            }
            Kind::GateEvidence => {
                let (RankKey { task_type, rank }, row) = at.read::<GateEvidence>()?;
                self.evidence.entry(task_type).or_default().push((rank, row));
            }
            Kind::QuadrantPair => {
                let (unit, row) = at.read::<QuadrantPair>()?;
                self.quadrants.entry(unit.task_type).or_default().insert(unit.unit, row.quadrant);
            }
            Kind::StepReport => {
                let (task_type, row) = at.read::<StepReport>()?;
                self.versions.push((VersionKind::Skills, row.source_version, kind.to_string()));
                self.versions.extend(row.new_version.map(|new| (VersionKind::Skills, new, kind.to_string())));
                self.reports.insert(task_type, row);
            }
            Kind::DualMetricEval => self.names(kind, at.read::<DualMetricEval>()?.1.versions),
            Kind::ShadowGate => {
                let ((), row) = at.read::<ShadowGate>()?;
                self.names(kind, row.shadow_best);
                self.names(kind, row.best);
            }
            Kind::HoldoutEval => self.names(kind, at.read::<HoldoutEval>()?.1.versions),
            Kind::Momentum => {
                let (_, row) = at.read::<Momentum>()?;
                self.names(kind, row.compared.0);
                self.names(kind, row.compared.1);
            }
            Kind::EpochReport => {
                let ((), row) = at.read::<EpochReport>()?;
                [row.best, row.start, row.evaluated, row.end].into_iter().for_each(|pair| self.names(kind, pair));
            }
            Kind::EvalReport => self.names(kind, at.read::<EvalReport>()?.1.versions),
            Kind::StartState => {
                let ((), row) = at.read::<StartState>()?;
                [row.current, row.best].into_iter().for_each(|pair| self.names(kind, pair));
            }
            Kind::ProbationSettlement => {
                let (_, row) = at.read::<ProbationSettlement>()?;
                self.versions.push((VersionKind::Skills, row.anchor_skills_version, kind.to_string()));
                self.versions.extend(row.new_version.map(|new| (VersionKind::Skills, new, kind.to_string())));
            }
        }
        Ok(())
    }

    fn names(&mut self, kind: Kind, pair: VersionPair) {
        self.versions.push((VersionKind::Skills, pair.skills, kind.to_string()));
        self.versions.push((VersionKind::Prompts, pair.prompts, kind.to_string()));
    }
}

/// One row as it lies in the table.
struct Row<'r> {
    snapshot: &'r Snapshot<'r>,
    key: &'r RawStepKey<'r>,
    value: &'r [u8],
}

impl Row<'_> {
    fn read<R: StepRow>(&self) -> Result<(R::Key, R), StoreError> {
        let Self { snapshot, key, value } = self;
        let row = snapshot.decode_step::<R>(key, value)?;
        let typed = R::Key::from_columns(key.sub, key.item, key.index).ok_or_else(|| snapshot.foreign(key))?;
        Ok((typed, row))
    }
}

/// The innermost reason: the place is told apart.
pub(super) fn describe(error: &StoreError) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = cause.to_string();
        source = cause.source();
    }
    text
}
