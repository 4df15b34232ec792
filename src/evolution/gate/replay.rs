//! Recomputes a verdict from its evidence and tells every difference: the audit of a gate.

use std::fmt::Display;

use super::compare::e_reaches;
use super::{
    Decision, ExcludedArm, Flips, GateError, GateParams, GateStop, Verdict, e_value, gate_decision, wald_lambda,
};
use crate::domain::UnitId;

/// The largest relative difference between a stored and a recomputed number. Stored values come
/// from the same formula; the room is for exports that print fewer digits.
const TOLERANCE: f64 = 1e-9;

/// One stored row of evidence: what happened, and what was claimed about it.
///
/// A claim that is absent is not checked; the correctness of a consumed unit is needed.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredRow {
    /// The unit.
    pub unit_id: UnitId,
    /// Its place in the plan, from 0.
    pub ladder_rank: u32,
    /// Whether it was excluded.
    pub excluded: bool,
    /// Which arm failed, if that was stored.
    pub excluded_arm: Option<ExcludedArm>,
    /// Whether the current skill got it right; none if excluded.
    pub baseline_correct: Option<bool>,
    /// Whether the candidate got it right; none if excluded.
    pub candidate_correct: Option<bool>,
    /// Claimed wins so far.
    pub w: Option<u32>,
    /// Claimed losses so far.
    pub l: Option<u32>,
    /// Claimed consumed units so far.
    pub n_used: Option<u32>,
    /// Claimed remaining units.
    pub n_remaining: Option<u32>,
    /// Claimed E.
    pub e_value: Option<f64>,
    /// Claimed lambda.
    pub wald_lambda: Option<f64>,
    /// The claimed exit, on the last consumed row.
    pub stop_reason: Option<GateStop>,
    /// How many units are said to have been settled by curtailment after this row; 0 without it.
    pub curtailed: u32,
}

/// A claim that does not hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The rank of the row; none for the gate as a whole.
    pub ladder_rank: Option<u32>,
    /// The unit of the row.
    pub unit_id: Option<UnitId>,
    /// What is claimed: `w`, `e_value`, `stop_reason`, ….
    pub field: &'static str,
    /// What the evidence says.
    pub stored: String,
    /// What follows from it.
    pub recomputed: String,
}

/// A recomputed gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Replay {
    /// The recomputed verdict; none if no unit was consumed.
    pub verdict: Option<Verdict>,
    /// Wins and losses.
    pub flips: Flips,
    /// Consumed units.
    pub n_used: u32,
    /// Excluded units that the prefix passed.
    pub n_excluded: u32,
    /// Units settled by curtailment. What was known of them is not in the evidence, so that the
    /// verdict is checked for being possible only.
    pub curtailed: u32,
    /// Everything that does not hold, in ladder order.
    pub differences: Vec<Difference>,
}

/// Recomputes a gate from its rows in ladder order.
///
/// A rank that is missing counts as excluded, for some exports leave such units out.
///
/// # Errors
/// Those of [`gate_decision`]: thresholds that are no numbers, too many units.
pub fn replay(rows: &[StoredRow], n_plan: u32, params: &GateParams) -> Result<Replay, GateError> {
    let mut audit = Audit { params, n_plan, replay: Replay::empty(), expected_rank: 0 };
    let last_consumed = rows.iter().rposition(|row| !row.excluded);
    for (index, row) in rows.iter().enumerate() {
        if audit.decision().is_some_and(Decision::is_final) {
            audit.note(Some(row), "stop_reason", &"a row after the verdict", &"no more rows");
            break;
        }
        audit.pass(row)?;
        if Some(index) != last_consumed
            && let Some(stop) = row.stop_reason
        {
            audit.note(Some(row), "stop_reason", &stop.name(), &"none: not the last consumed row");
        }
    }
    let claimed = last_consumed.and_then(|index| rows.get(index));
    audit.close(claimed);
    Ok(audit.replay)
}

impl Replay {
    fn empty() -> Self {
        Self { verdict: None, flips: Flips::NONE, n_used: 0, n_excluded: 0, curtailed: 0, differences: Vec::new() }
    }

    /// The recomputed exit; none if the evidence does not reach one.
    #[must_use]
    pub fn stop(&self) -> Option<GateStop> {
        self.verdict.and_then(|verdict| GateStop::of(verdict.decision))
    }
}

struct Audit<'a> {
    params: &'a GateParams,
    n_plan: u32,
    replay: Replay,
    expected_rank: u32,
}

impl Audit<'_> {
    fn decision(&self) -> Option<Decision> {
        self.replay.verdict.map(|verdict| verdict.decision)
    }

    fn note(&mut self, row: Option<&StoredRow>, field: &'static str, stored: &dyn Display, recomputed: &dyn Display) {
        self.replay.differences.push(Difference {
            ladder_rank: row.map(|row| row.ladder_rank),
            unit_id: row.map(|row| row.unit_id.clone()),
            field,
            stored: stored.to_string(),
            recomputed: recomputed.to_string(),
        });
    }

    /// Takes one row: exclusions that were left out before it, the row, its claims.
    fn pass(&mut self, row: &StoredRow) -> Result<(), GateError> {
        if row.ladder_rank < self.expected_rank || row.ladder_rank >= self.n_plan {
            let range = format!("{} to {}", self.expected_rank, self.n_plan.saturating_sub(1));
            self.note(Some(row), "ladder_rank", &row.ladder_rank, &range);
        }
        let left_out = row.ladder_rank.saturating_sub(self.expected_rank);
        self.replay.n_excluded = self.replay.n_excluded.saturating_add(left_out);
        self.expected_rank = row.ladder_rank.saturating_add(1);
        match (row.excluded, row.baseline_correct, row.candidate_correct) {
            (false, Some(base), Some(cand)) => {
                self.replay.flips = self.replay.flips.after(base, cand);
                self.replay.n_used = self.replay.n_used.saturating_add(1);
            }
            (true, None, None) => self.replay.n_excluded = self.replay.n_excluded.saturating_add(1),
            (true, _, _) => {
                self.replay.n_excluded = self.replay.n_excluded.saturating_add(1);
                self.note(Some(row), "correctness", &"answers of an excluded unit", &"none");
            }
            (false, _, _) => {
                self.note(Some(row), "correctness", &"a consumed unit without both answers", &"both arms' answers");
                self.replay.n_excluded = self.replay.n_excluded.saturating_add(1);
            }
        }
        self.decide()?;
        self.check_claims(row);
        Ok(())
    }

    fn remaining(&self) -> u32 {
        self.n_plan.saturating_sub(self.replay.n_excluded).saturating_sub(self.replay.n_used)
    }

    fn decide(&mut self) -> Result<(), GateError> {
        if self.replay.n_used > 0 {
            let (used, remaining) = (self.replay.n_used.into(), self.remaining().into());
            self.replay.verdict = Some(gate_decision(self.replay.flips, used, remaining, self.params)?);
        }
        Ok(())
    }

    fn check_claims(&mut self, row: &StoredRow) {
        let counts = [
            ("w", row.w, self.replay.flips.w()),
            ("l", row.l, self.replay.flips.l()),
            ("n_used", row.n_used, self.replay.n_used),
            ("n_remaining", row.n_remaining, self.remaining()),
        ];
        for (field, claimed, recomputed) in counts {
            if let Some(claimed) = claimed.filter(|claimed| *claimed != recomputed) {
                self.note(Some(row), field, &claimed, &recomputed);
            }
        }
        let numbers = [
            ("e_value", row.e_value, e_value(self.replay.flips)),
            ("wald_lambda", row.wald_lambda, wald_lambda(self.replay.flips)),
        ];
        for (field, claimed, recomputed) in numbers {
            if let Some(claimed) = claimed.filter(|claimed| !close(*claimed, recomputed)) {
                self.note(Some(row), field, &claimed, &recomputed);
            }
        }
    }

    /// The verdict itself.
    fn close(&mut self, last_consumed: Option<&StoredRow>) {
        let claimed = last_consumed.and_then(|row| row.stop_reason);
        let recomputed = self.replay.stop();
        let name = |stop: Option<GateStop>| stop.map_or("none", GateStop::name);
        match last_consumed.filter(|row| row.curtailed > 0) {
            None if claimed != recomputed => {
                self.note(last_consumed, "stop_reason", &name(claimed), &name(recomputed));
            }
            None => {}
            Some(row) => {
                self.replay.curtailed = row.curtailed;
                if recomputed.is_some() || row.curtailed != self.remaining() {
                    let expected = if recomputed.is_some() { 0 } else { self.remaining() };
                    self.note(Some(row), "curtailed", &row.curtailed, &expected);
                }
                if !claimed.is_some_and(|stop| self.is_possible(stop)) {
                    self.note(Some(row), "stop_reason", &name(claimed), &"an exit that the remaining units allow");
                }
            }
        }
    }

    /// Whether some completion of the remaining units ends so: an accept needs enough wins left,
    /// a reject is always possible.
    fn is_possible(&self, stop: GateStop) -> bool {
        let best = self.replay.flips.with_wins(self.remaining());
        match stop {
            GateStop::Confirmed => e_reaches(best, self.params.e_confirm),
            GateStop::Provisional => e_reaches(best, self.params.e_provisional),
            GateStop::Directional | GateStop::Futility | GateStop::Inertia => true,
        }
    }
}

fn close(stored: f64, recomputed: f64) -> bool {
    (stored - recomputed).abs() <= TOLERANCE * stored.abs().max(recomputed.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(rank: u32, pair: Option<(bool, bool)>) -> StoredRow {
        StoredRow {
            unit_id: format!("u{rank}").parse().unwrap(),
            ladder_rank: rank,
            excluded: pair.is_none(),
            excluded_arm: None,
            baseline_correct: pair.map(|pair| pair.0),
            candidate_correct: pair.map(|pair| pair.1),
            w: None,
            l: None,
            n_used: None,
            n_remaining: None,
            e_value: None,
            wald_lambda: None,
            stop_reason: None,
            curtailed: 0,
        }
    }

    fn seven_wins() -> Vec<StoredRow> {
        let mut rows: Vec<_> = (0..7).map(|rank| row(rank, Some((false, true)))).collect();
        rows[6].stop_reason = Some(GateStop::Confirmed);
        rows[6].e_value = Some(31.875);
        rows[6].w = Some(7);
        rows[6].n_remaining = Some(5);
        rows
    }

    fn differences(rows: &[StoredRow]) -> Vec<&'static str> {
        replay(rows, 12, &GateParams::default()).unwrap().differences.iter().map(|one| one.field).collect()
    }

    #[test]
    fn true_evidence_has_no_difference() {
        assert!(differences(&seven_wins()).is_empty());
    }

    #[test]
    fn every_tampered_claim_is_found() {
        type Tamper = fn(&mut Vec<StoredRow>);
        let tampered: [(&str, Tamper); 8] = [
            ("w", |rows| rows[6].w = Some(8)),
            ("e_value", |rows| rows[6].e_value = Some(31.876)),
            ("n_remaining", |rows| rows[6].n_remaining = Some(6)),
            ("stop_reason", |rows| rows[6].stop_reason = Some(GateStop::Provisional)),
            ("stop_reason", |rows| rows[2].stop_reason = Some(GateStop::Futility)),
            ("stop_reason", |rows| rows.push(row(7, Some((true, true))))),
            ("correctness", |rows| rows[1].candidate_correct = None),
            ("ladder_rank", |rows| rows[3].ladder_rank = 2),
        ];
        for (field, tamper) in tampered {
            let mut rows = seven_wins();
            tamper(&mut rows);
            assert!(differences(&rows).contains(&field), "{field} is not found");
        }
    }

    #[test]
    fn a_flipped_answer_changes_the_verdict() {
        let mut rows = seven_wins();
        rows[6].baseline_correct = Some(true);
        let replayed = replay(&rows, 12, &GateParams::default()).unwrap();
        assert_eq!(replayed.stop(), None);
        assert!(replayed.differences.iter().any(|one| one.field == "stop_reason" && one.recomputed == "none"));
    }

    #[test]
    fn an_exclusion_that_ends_the_gate_is_followed() {
        // W, tie, INFRA of four units: with one unit left not even a win would reach an accept.
        let mut rows = vec![row(0, Some((false, true))), row(1, Some((true, true))), row(2, None)];
        rows[1].stop_reason = Some(GateStop::Futility);
        let replayed = replay(&rows, 4, &GateParams::default()).unwrap();
        assert_eq!(replayed.differences, []);
        assert_eq!((replayed.n_used, replayed.n_excluded), (2, 1));
        rows.pop();
        assert!(!replay(&rows, 4, &GateParams::default()).unwrap().differences.is_empty());
    }
    #[test]
    fn a_curtailed_gate_is_checked_for_what_is_possible() {
        let curtailed = |wins: u32, units: u32, stop| {
            let mut rows: Vec<_> = (0..wins).map(|rank| row(rank, Some((false, true)))).collect();
            let last = rows.last_mut().unwrap();
            (last.stop_reason, last.curtailed) = (Some(stop), units);
            differences(&rows)
        };
        assert!(curtailed(3, 9, GateStop::Confirmed).is_empty());
        assert!(curtailed(3, 9, GateStop::Futility).is_empty());
        assert_eq!(curtailed(3, 8, GateStop::Confirmed), ["curtailed"]);
        // After seven wins the gate stops by itself: there was nothing to curtail.
        assert_eq!(curtailed(7, 5, GateStop::Confirmed), ["curtailed"]);
        let mut rows = vec![row(0, Some((false, true)))];
        (rows[0].stop_reason, rows[0].curtailed) = (Some(GateStop::Confirmed), 4);
        let replayed = replay(&rows, 5, &GateParams::default()).unwrap();
        assert_eq!(replayed.differences[0].field, "stop_reason");
    }
}
