//! A verdict in words: above all, which of the three kinds of "no" it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Decision, Flips, GateParams};

/// The three kinds of "no", which call for different next steps (design 04).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoKind {
    /// The flips speak against an improvement of the size looked for.
    NoGain,
    /// The ladder is too short, or nearly used up: the question stays open.
    TooFewQuestions,
    /// More losses than wins, enough of them to stop.
    Harmful,
}

impl NoKind {
    /// The kind of a reject; none for an accept and for `continue`.
    ///
    /// Harm is claimed only by the directional exit and only if L > W: one loss in a
    /// ladder that is too short is no evidence of harm.
    #[must_use]
    pub fn of(decision: Decision, flips: Flips) -> Option<Self> {
        match decision {
            Decision::RejectDirectional if flips.l() > flips.w() => Some(Self::Harmful),
            Decision::RejectDirectional => Some(Self::NoGain),
            Decision::RejectFutility | Decision::RejectInertia => Some(Self::TooFewQuestions),
            Decision::AcceptConfirmed | Decision::AcceptProvisional | Decision::Continue => None,
        }
    }

    /// The kind as a short phrase.
    #[must_use]
    pub fn phrase(self) -> &'static str {
        match self {
            Self::NoGain => "no gain of the size looked for",
            Self::TooFewQuestions => "too few questions to tell",
            Self::Harmful => "harmful",
        }
    }
}

impl fmt::Display for NoKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.phrase())
    }
}

/// One or two sentences that tell a person why a gate decided as it did.
#[must_use]
pub fn explain_decision(
    decision: Decision,
    flips: Flips,
    n_used: u64,
    n_remaining: u64,
    params: &GateParams,
) -> String {
    let (w, l) = (flips.w(), flips.l());
    let e = super::e_value(flips);
    let lambda = super::wald_lambda(flips);
    let counts = format!("{w} won and {l} lost of {n_used} units");
    match decision {
        Decision::AcceptConfirmed => format!(
            "accepted for good: {counts}; E = {e:.2} reaches {}, which without an improvement happens in at most {} of gates.",
            params.e_confirm,
            percent(1.0 / params.e_confirm)
        ),
        Decision::AcceptProvisional => format!(
            "accepted on probation: {counts}; the ladder is used up with E = {e:.2}, at least {} but short of {}. \
             Later answers confirm it or roll it back.",
            params.e_provisional, params.e_confirm
        ),
        Decision::RejectDirectional if l > w => {
            format!("rejected as harmful: {counts}; lambda = {lambda:.3} is at or below {}.", params.lambda_dir)
        }
        Decision::RejectDirectional => format!(
            "rejected, no gain of the size looked for: {counts}; lambda = {lambda:.3} is at or below {}. \
             That is no proof of harm.",
            params.lambda_dir
        ),
        Decision::RejectFutility => format!(
            "rejected, too few questions to tell: {counts}; even if all {n_remaining} remaining units were won, \
             E would end at {:.2}, below {}.",
            super::best_e_value(flips, n_remaining),
            params.e_provisional
        ),
        Decision::RejectInertia => format!(
            "rejected, too few questions to tell: {counts}; the ladder is used up with E = {e:.2}{}.",
            if e < params.e_provisional {
                format!(", below {}", params.e_provisional)
            } else {
                format!(" and a net of {} wins, below {}", flips.net(), params.w_net_min)
            }
        ),
        Decision::Continue => format!(
            "not decided yet: {counts}, {n_remaining} remain; E = {e:.2} of {} needed, lambda = {lambda:.3} \
             (rejected at {}).",
            params.e_confirm, params.lambda_dir
        ),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:.1}", share * 100.0);
    format!("{} %", text.strip_suffix(".0").unwrap_or(&text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evolution::gate::gate_decision;

    fn explain(w: i64, l: i64, n_used: u64, n_remaining: u64) -> String {
        let (flips, params) = (Flips::new(w, l).unwrap(), GateParams::default());
        let verdict = gate_decision(flips, n_used, n_remaining, &params).unwrap();
        explain_decision(verdict.decision, flips, n_used, n_remaining, &params)
    }

    #[test]
    fn the_three_kinds_of_no_are_told_apart() {
        assert!(explain(4, 4, 12, 20).contains("no gain of the size looked for"));
        assert!(explain(1, 3, 12, 20).contains("harmful"));
        assert!(explain(0, 0, 1, 2).contains("too few questions to tell"));
        assert!(explain(2, 1, 40, 0).contains("too few questions to tell"));
    }

    #[test]
    fn an_accept_names_its_error_bound() {
        assert!(explain(9, 0, 20, 20).contains("at most 5 %"), "{}", explain(9, 0, 20, 20));
        assert!(explain(3, 0, 3, 0).contains("on probation"));
        assert!(explain(2, 0, 3, 20).contains("not decided yet"));
    }
}
