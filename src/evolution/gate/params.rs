//! The thresholds of the gate.

use serde::{Deserialize, Serialize};

use super::GateError;

/// The thresholds of a gate and of probation (design 02, group `gate`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GateParams {
    /// E from which a candidate is accepted for good; 1/`e_confirm` bounds the chance of a false accept.
    pub e_confirm: f64,
    /// E from which a candidate is accepted on probation when the ladder is used up.
    pub e_provisional: f64,
    /// The least W − L of an accept on probation.
    pub w_net_min: i64,
    /// The least (W − L) / `n_used` of a confirmed accept.
    pub delta_min: f64,
    /// Lambda at or below which a candidate is rejected as not going in the right direction; negative.
    pub lambda_dir: f64,
    /// E with wins and losses swapped from which probation ends in a rollback.
    pub e_rollback: f64,
}

impl Default for GateParams {
    fn default() -> Self {
        Self {
            e_confirm: 20.0,
            e_provisional: 3.0,
            w_net_min: 2,
            delta_min: 0.02,
            lambda_dir: -0.642,
            e_rollback: 10.0,
        }
    }
}

impl GateParams {
    /// Checks the rules between the thresholds (design 02).
    ///
    /// # Errors
    /// [`GateError::NotFinite`] or [`GateError::Params`] for the first rule that is broken.
    pub fn check(&self) -> Result<(), GateError> {
        self.check_finite()?;
        let broken = if self.lambda_dir >= 0.0 {
            format!("lambda_dir is {}, which would reject before any loss was seen", self.lambda_dir)
        } else if self.e_provisional >= self.e_confirm {
            format!("e_provisional ({}) is not below e_confirm ({})", self.e_provisional, self.e_confirm)
        } else if self.e_rollback >= self.e_confirm {
            format!("e_rollback ({}) is not below e_confirm ({})", self.e_rollback, self.e_confirm)
        } else {
            return Ok(());
        };
        Err(GateError::Params(broken))
    }

    /// Only what the arithmetic needs: every threshold is a finite number.
    pub(crate) fn check_finite(&self) -> Result<(), GateError> {
        let thresholds = [
            ("e_confirm", self.e_confirm),
            ("e_provisional", self.e_provisional),
            ("delta_min", self.delta_min),
            ("lambda_dir", self.lambda_dir),
            ("e_rollback", self.e_rollback),
        ];
        match thresholds.into_iter().find(|(_, value)| !value.is_finite()) {
            Some((name, value)) => Err(GateError::NotFinite { name, value }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_keep_the_rules_and_each_broken_rule_is_named() {
        let good = GateParams::default();
        assert_eq!(good.check(), Ok(()));
        for (bad, word) in [
            (GateParams { lambda_dir: 0.0, ..good }, "lambda_dir"),
            (GateParams { e_provisional: 20.0, ..good }, "e_provisional"),
            (GateParams { e_rollback: 20.0, ..good }, "e_rollback"),
            (GateParams { delta_min: f64::NAN, ..good }, "delta_min"),
        ] {
            assert!(bad.check().unwrap_err().to_string().contains(word), "{word}");
        }
    }

    #[test]
    fn an_unknown_threshold_is_refused_instead_of_ignored() {
        assert!(serde_json::from_str::<GateParams>(r#"{"e_confrim": 10}"#).is_err());
        let partial: GateParams = serde_json::from_str(r#"{"e_confirm": 50}"#).unwrap();
        assert_eq!(partial, GateParams { e_confirm: 50.0, ..GateParams::default() });
    }
}
