//! One task type's gate while it runs: what has arrived, and the prefix that was consumed.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::arm::{Answer, ArmState};
use super::failure::{GateFailure, GuardReport};
use super::outcome::{Counted, Curtailment, GateEffort, GateOutcome, SettledGate};
use super::spec::GateSpec;
use crate::domain::{Arm, QuestionId, TaskType, Unit};
use crate::evolution::gate::{Boundaries, EvidenceRow, ExcludedArm, Flips, GateStop, Verdict, e_value, wald_lambda};

/// Finished questions below which the guard does not judge a rate.
const GUARD_MIN_INFERENCES: u32 = 10;

/// The state of one task type's gate.
///
/// Invariant 1: `flips`, `n_used`, `n_excluded` and the evidence describe the units before
/// `pointer` and nothing else, whatever has arrived beyond it.
#[derive(Debug)]
pub struct TypeRun {
    spec: Arc<GateSpec>,
    units: Vec<UnitRun>,
    pointer: usize,
    flips: Flips,
    n_used: u32,
    n_excluded: u32,
    verdict: Option<Verdict>,
    stop: Option<GateStop>,
    curtailment: Option<Curtailment>,
    evidence: Vec<EvidenceRow>,
    effort: GateEffort,
    revision: u64,
}

/// What has arrived of one unit.
#[derive(Debug)]
struct UnitRun {
    base: ArmState,
    cand: ArmState,
    /// The base answer came from the cache and cost nothing.
    base_cached: bool,
    /// The candidate's answers, for the per-question correctness of a consumed unit.
    cand_answers: Vec<Answer>,
}

impl UnitRun {
    fn state_mut(&mut self, arm: Arm) -> &mut ArmState {
        match arm {
            Arm::Base => &mut self.base,
            Arm::Cand => &mut self.cand,
        }
    }

    fn has_infra(&self) -> bool {
        self.base == ArmState::Infra || self.cand == ArmState::Infra
    }
}

impl TypeRun {
    pub(super) fn new(spec: GateSpec) -> Self {
        let fresh = || UnitRun {
            base: ArmState::Pending,
            cand: ArmState::Pending,
            base_cached: false,
            cand_answers: Vec::new(),
        };
        Self {
            units: spec.units.iter().map(|_| fresh()).collect(),
            spec: Arc::new(spec),
            pointer: 0,
            flips: Flips::NONE,
            n_used: 0,
            n_excluded: 0,
            verdict: None,
            stop: None,
            curtailment: None,
            evidence: Vec::new(),
            effort: GateEffort::default(),
            revision: 0,
        }
    }

    /// What it tests.
    #[must_use]
    pub fn spec(&self) -> &Arc<GateSpec> {
        &self.spec
    }

    /// Its task type.
    #[must_use]
    pub fn task_type(&self) -> &TaskType {
        &self.spec.task_type
    }

    /// How many units the plan has.
    #[must_use]
    pub fn n_plan(&self) -> usize {
        self.units.len()
    }

    /// The rank of the first unit that was not consumed; [`n_plan`](Self::n_plan) at the end.
    #[must_use]
    pub fn pointer(&self) -> usize {
        self.pointer
    }

    /// Whether it has its verdict.
    #[must_use]
    pub fn is_frozen(&self) -> bool {
        self.stop.is_some()
    }

    /// Whether nothing more can happen to its verdict: frozen, or every unit excluded.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.is_frozen() || self.pointer >= self.units.len()
    }

    /// Grows with everything that becomes known, so that a policy can keep what it derived from it.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// What is known about an arm; none beyond the ladder.
    #[must_use]
    pub fn arm_state(&self, rank: usize, arm: Arm) -> Option<ArmState> {
        let unit = self.units.get(rank)?;
        Some(match arm {
            Arm::Base => unit.base,
            Arm::Cand => unit.cand,
        })
    }

    /// The unit of a rank; none beyond the ladder.
    #[must_use]
    pub fn unit(&self, rank: usize) -> Option<&Unit> {
        self.spec.units.get(rank)
    }

    /// How many slots an arm of this unit takes; none beyond the ladder.
    #[must_use]
    pub fn question_count(&self, rank: usize) -> Option<usize> {
        self.unit(rank).map(|unit| unit.question_ids.len())
    }

    /// Wins and losses of the consumed prefix.
    #[must_use]
    pub fn flips(&self) -> Flips {
        self.flips
    }

    /// Consumed units.
    #[must_use]
    pub fn n_used(&self) -> u32 {
        self.n_used
    }

    /// Units that the prefix passed because an arm failed technically.
    #[must_use]
    pub fn n_excluded(&self) -> u32 {
        self.n_excluded
    }

    /// (plan − excluded) − used.
    #[must_use]
    pub fn n_remaining(&self) -> u32 {
        u32::try_from(self.units.len()).unwrap_or(u32::MAX).saturating_sub(self.n_excluded).saturating_sub(self.n_used)
    }

    /// Marks an arm as launched.
    pub(super) fn launch(&mut self, rank: usize, arm: Arm) {
        if let Some(unit) = self.units.get_mut(rank) {
            *unit.state_mut(arm) = ArmState::Running;
            let questions = self.spec.units.get(rank).map_or(0, |unit| unit.question_ids.len());
            self.effort.arms_launched = self.effort.arms_launched.saturating_add(1);
            self.effort.questions_launched = self.effort.questions_launched.saturating_add(count(questions));
        }
    }

    /// Takes a base answer from the baseline cache.
    pub(super) fn take_cached(&mut self, rank: usize, correct: bool) {
        self.revision = self.revision.saturating_add(1);
        if let Some(unit) = self.units.get_mut(rank) {
            unit.base = ArmState::Answered(correct);
            unit.base_cached = true;
            self.effort.base_cached = self.effort.base_cached.saturating_add(1);
        }
    }

    /// Gives up a launched arm that never ran, or returned when nothing counts any more.
    pub(super) fn discard(&mut self, rank: usize, arm: Arm, questions_run: usize) {
        if let Some(unit) = self.units.get_mut(rank) {
            *unit.state_mut(arm) = ArmState::Unused;
            self.effort.questions_late = self.effort.questions_late.saturating_add(count(questions_run));
        }
    }

    /// Takes the answers of an arm that returned before the verdict, and gives the unit's
    /// correctness, or none if a question failed technically: one such question spoils the arm.
    pub(super) fn arrive(&mut self, rank: usize, arm: Arm, answers: Vec<Answer>) -> Option<bool> {
        self.revision = self.revision.saturating_add(1);
        let unit = self.units.get_mut(rank)?;
        let faults = match arm {
            Arm::Base => &mut self.effort.base,
            Arm::Cand => &mut self.effort.cand,
        };
        answers.iter().for_each(|answer| faults.add(answer.stop_reason));
        self.effort.inferences = self.effort.inferences.saturating_add(count(answers.len()));
        if answers.iter().any(|answer| answer.stop_reason.is_infra()) {
            // A unit counts once, even if both its arms fail.
            if !unit.has_infra() {
                self.effort.errors = self.effort.errors.saturating_add(1);
            }
            *unit.state_mut(arm) = ArmState::Infra;
            return None;
        }
        let correct = answers.iter().all(|answer| answer.correct);
        *unit.state_mut(arm) = ArmState::Answered(correct);
        if arm == Arm::Cand {
            unit.cand_answers = answers;
        }
        Some(correct)
    }

    /// The guard: too many technical failures among what has finished so far.
    pub(super) fn check_guard(&self, limit: f64) -> Result<(), GateFailure> {
        let report = || GuardReport {
            task_type: self.spec.task_type.clone(),
            errors: self.effort.errors,
            inferences: self.effort.inferences,
            limit,
            base: self.effort.base,
            cand: self.effort.cand,
        };
        let rate = f64::from(self.effort.errors) / f64::from(self.effort.inferences.max(1));
        if self.effort.inferences >= GUARD_MIN_INFERENCES && rate > limit {
            return Err(GateFailure::InfraGuard(Box::new(report())));
        }
        Ok(())
    }

    /// Consumes the longest resolved prefix, deciding after every unit; true if that froze the type.
    ///
    /// Results are taken in the declared order only. In order of completion they would be
    /// biased: wrong answers take longer, so that wins would come early (design 11, trap 1).
    pub(super) fn advance(&mut self, boundaries: &Boundaries) -> bool {
        while self.stop.is_none() {
            let Some(unit) = self.units.get(self.pointer) else { return false };
            if !unit.base.is_resolved() || !unit.cand.is_resolved() {
                return false;
            }
            let pair = unit.base.answer().zip(unit.cand.answer());
            let excluded = excluded_arm(unit.base, unit.cand);
            let fresh_arms = if unit.base_cached { 1 } else { 2 };
            let rank = self.pointer;
            self.pointer += 1;
            let questions = self.question_count(rank).unwrap_or(0).saturating_mul(fresh_arms);
            self.effort.questions_consumed = self.effort.questions_consumed.saturating_add(count(questions));
            match pair {
                Some((base, cand)) => {
                    self.flips = self.flips.after(base, cand);
                    self.n_used = self.n_used.saturating_add(1);
                }
                None => self.n_excluded = self.n_excluded.saturating_add(1),
            }
            self.decide(boundaries);
            self.push_evidence(rank, pair, excluded);
            if let Some(stop) = self.verdict.and_then(|verdict| GateStop::of(verdict.decision)) {
                self.freeze(stop, 0);
                return true;
            }
        }
        false
    }

    /// Decides anew. An excluded unit makes the remaining count shrink, so it asks too: else a
    /// tail of technical failures would leave the gate undecided for ever.
    fn decide(&mut self, boundaries: &Boundaries) {
        if self.n_used > 0 {
            let decision = boundaries.decide(self.flips, self.n_used, self.n_remaining());
            self.verdict = Some(Verdict::new(decision, self.flips, self.n_used.into()));
        }
    }

    fn push_evidence(&mut self, rank: usize, pair: Option<(bool, bool)>, excluded: Option<ExcludedArm>) {
        let Some(unit) = self.spec.units.get(rank) else { return };
        self.evidence.push(EvidenceRow {
            unit_id: unit.unit_id.clone(),
            ladder_rank: count(rank),
            excluded,
            baseline_correct: pair.map(|pair| pair.0),
            candidate_correct: pair.map(|pair| pair.1),
            base_cached: self.units.get(rank).is_some_and(|unit| unit.base_cached),
            w: self.flips.w(),
            l: self.flips.l(),
            n_used: self.n_used,
            n_remaining: self.n_remaining(),
            e_value: self.verdict.map_or_else(|| e_value(self.flips), |verdict| verdict.e_value),
            wald_lambda: self.verdict.map_or_else(|| wald_lambda(self.flips), |verdict| verdict.wald_lambda),
            stop_reason: None,
            curtailed: 0,
        });
    }

    /// Stops now if what has arrived beyond the prefix leaves one verdict only; true if it did.
    pub(super) fn curtail(&mut self, boundaries: &Boundaries) -> bool {
        let Some(foregone) = super::curtail::foregone(self, boundaries) else { return false };
        self.curtailment = Some(Curtailment { units: self.n_remaining(), e_min: foregone.e_min });
        self.freeze(foregone.stop, self.n_remaining());
        true
    }

    fn freeze(&mut self, stop: GateStop, curtailed: u32) {
        self.stop = Some(stop);
        if let Some(row) = self.evidence.iter_mut().rev().find(|row| row.is_consumed()) {
            row.stop_reason = Some(stop);
            row.curtailed = curtailed;
        }
    }

    /// The outcome; none for a type of which every unit was excluded.
    pub(super) fn settle(self) -> Result<SettledGate, GateFailure> {
        let (Some(stop), Some(verdict)) = (self.stop, self.verdict) else {
            return Err(GateFailure::AllExcluded { task_type: self.spec.task_type.clone() });
        };
        let candidate_correctness = self.candidate_correctness();
        let counted = Counted { n_plan: count(self.units.len()), n_excluded: self.n_excluded };
        let mut outcome = GateOutcome::new(
            self.spec.task_type.clone(),
            (stop, verdict),
            counted,
            self.flips,
            self.evidence,
            candidate_correctness,
        )?;
        outcome.curtailed_to(self.curtailment);
        Ok(SettledGate { outcome, effort: self.effort })
    }

    fn candidate_correctness(&self) -> BTreeMap<QuestionId, bool> {
        let consumed = self.spec.units.iter().zip(&self.units).take(self.pointer).filter(|(_, run)| !run.has_infra());
        consumed
            .flat_map(|(unit, run)| unit.question_ids.iter().cloned().zip(run.cand_answers.iter().map(|a| a.correct)))
            .collect()
    }
}

fn excluded_arm(base: ArmState, cand: ArmState) -> Option<ExcludedArm> {
    match (base == ArmState::Infra, cand == ArmState::Infra) {
        (true, true) => Some(ExcludedArm::Both),
        (true, false) => Some(ExcludedArm::Base),
        (false, true) => Some(ExcludedArm::Cand),
        (false, false) => None,
    }
}

/// Ladders are at most `MAX_UNITS` long, so counts fit.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
