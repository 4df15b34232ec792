//! A dead provider is never "no improvement": too many technical failures end the phase (design 12).

use crate::domain::{ExitClass, Fault};
use crate::store::rows::Outcome;

/// Fewer answers than this prove nothing.
const GUARD_MIN_ANSWERS: usize = 10;

/// Too many answers of a phase failed for technical reasons.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("trust the answers of {phase}: {infra} of {answers} failed for technical reasons (limit {limit:.0} %{example})",
    limit = limit * 100.0, example = first_error.as_ref().map(|error| format!("; first: {error}")).unwrap_or_default())]
pub struct GuardBreach {
    /// The phase.
    pub phase: String,
    /// Failed answers.
    pub infra: usize,
    /// All answers.
    pub answers: usize,
    /// The limit, a share.
    pub limit: f64,
    /// The first failure.
    pub first_error: Option<String>,
}

impl Fault for GuardBreach {
    fn class(&self) -> ExitClass {
        ExitClass::Endpoint
    }

    fn code(&self) -> &'static str {
        "run.infra_rate"
    }

    fn hint(&self) -> Option<String> {
        Some(
            "'trm doctor' checks the endpoints; the same command goes on where it stopped and asks the failed questions again"
                .to_owned(),
        )
    }
}

/// At ten answers or more, a share of failures above the limit is a breach.
///
/// # Errors
/// The breach.
#[expect(clippy::cast_precision_loss, reason = "counts of questions lie far below 2^53")]
pub fn check_guard<'a>(
    phase: &str,
    outcomes: impl IntoIterator<Item = (Outcome, Option<&'a str>)>,
    limit: f64,
) -> Result<(), GuardBreach> {
    let (mut answers, mut infra, mut first_error) = (0_usize, 0_usize, None);
    for (outcome, error) in outcomes {
        answers += 1;
        if outcome == Outcome::Infra {
            infra += 1;
            first_error = first_error.or(error);
        }
    }
    if answers >= GUARD_MIN_ANSWERS && infra as f64 / answers as f64 > limit {
        let first_error = first_error.map(|error| error.chars().take(200).collect());
        return Err(GuardBreach { phase: phase.to_owned(), infra, answers, limit, first_error });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcomes(infra: usize, right: usize) -> Vec<(Outcome, Option<&'static str>)> {
        let failed = std::iter::repeat_n((Outcome::Infra, Some("timeout")), infra);
        failed.chain(std::iter::repeat_n((Outcome::Correct, None), right)).collect()
    }

    #[test]
    fn the_guard_needs_ten_answers_and_a_rate_above_the_limit() {
        assert!(check_guard("rollout", outcomes(9, 0), 0.1).is_ok());
        assert!(check_guard("rollout", outcomes(1, 9), 0.1).is_ok(), "exactly the limit is no breach");
        let breach = check_guard("rollout", outcomes(2, 8), 0.1).unwrap_err();
        assert_eq!(breach.class(), ExitClass::Endpoint);
        assert!(breach.to_string().contains("2 of 10"), "{breach}");
        assert!(breach.to_string().contains("first: timeout"), "{breach}");
    }
}
