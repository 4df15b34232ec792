//! The gate's mathematics on JSON lines: one question in, one answer out.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::{ExitClass, Fault};
use crate::evolution::gate::{Flips, GateError, GateParams, best_e_value, e_value, gate_decision, probation_verdict};

/// What a line asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvalKind {
    /// The verdict of a gate.
    #[default]
    Decision,
    /// The verdict of a probation.
    Probation,
    /// E(W, L) alone.
    EValue,
}

/// One line. Fields of other purposes may stand beside these; misspelt thresholds are refused.
#[derive(Debug, Clone, PartialEq, Deserialize)]
struct EvalLine {
    #[serde(default)]
    kind: EvalKind,
    /// Repeated in the answer, so that a caller can match them.
    #[serde(default)]
    id: Option<Value>,
    w: i64,
    l: i64,
    n_used: Option<i64>,
    n_remaining: Option<i64>,
    #[serde(default)]
    params: Thresholds,
    /// Probation needs two thresholds only and may give them without `params`.
    e_confirm: Option<f64>,
    e_rollback: Option<f64>,
}

/// The thresholds that a line sets itself; the others keep the caller's.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Thresholds {
    e_confirm: Option<f64>,
    e_provisional: Option<f64>,
    w_net_min: Option<i64>,
    delta_min: Option<f64>,
    lambda_dir: Option<f64>,
    e_rollback: Option<f64>,
}

/// A line without an answer.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// Not a JSON object with the fields of its kind.
    #[error("read the line")]
    Shape(#[source] serde_json::Error),
    /// A field that this kind needs.
    #[error("decide a gate: {0} is missing")]
    Missing(&'static str),
    /// Numbers without an answer.
    #[error(transparent)]
    Gate(#[from] GateError),
}

impl EvalError {
    /// The error with its cause, for the answer line.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Shape(source) => format!("{self}: {source}"),
            Self::Missing(_) | Self::Gate(_) => self.to_string(),
        }
    }
}

impl Fault for EvalError {
    fn class(&self) -> ExitClass {
        ExitClass::Data
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Shape(_) => "gate.eval_line",
            Self::Missing(_) => "gate.eval_missing",
            Self::Gate(error) => error.code(),
        }
    }
}

/// Answers one line; thresholds that it does not set are those of `defaults`.
///
/// # Errors
/// [`EvalError`]; the caller goes on with the next line.
pub fn eval_line(line: &[u8], defaults: &GateParams) -> Result<Value, EvalError> {
    let line: EvalLine = serde_json::from_slice(line).map_err(EvalError::Shape)?;
    let flips = Flips::new(line.w, line.l)?;
    let params = line.thresholds(defaults);
    let mut answer = match line.kind {
        EvalKind::EValue => json!({"e_value": e_value(flips)}),
        EvalKind::Probation => serde_json::to_value(probation_verdict(flips, &params)?).map_err(EvalError::Shape)?,
        EvalKind::Decision => {
            let used = count("n_used", line.n_used)?;
            let remaining = count("n_remaining", line.n_remaining)?;
            let verdict = gate_decision(flips, used, remaining, &params)?;
            let mut answer = serde_json::to_value(verdict).map_err(EvalError::Shape)?;
            insert(&mut answer, "e_best", best_e_value(flips, remaining).into());
            answer
        }
    };
    if let Some(id) = line.id {
        insert(&mut answer, "id", id);
    }
    Ok(answer)
}

/// A count that must be there and must not be negative.
///
/// # Errors
/// [`EvalError::Missing`] and [`GateError::NegativeCount`].
pub fn count(name: &'static str, value: Option<i64>) -> Result<u64, EvalError> {
    let value = value.ok_or(EvalError::Missing(name))?;
    u64::try_from(value).map_err(|_| GateError::NegativeCount { name, value }.into())
}

impl EvalLine {
    fn thresholds(&self, defaults: &GateParams) -> GateParams {
        let own = &self.params;
        GateParams {
            e_confirm: own.e_confirm.or(self.e_confirm).unwrap_or(defaults.e_confirm),
            e_provisional: own.e_provisional.unwrap_or(defaults.e_provisional),
            w_net_min: own.w_net_min.unwrap_or(defaults.w_net_min),
            delta_min: own.delta_min.unwrap_or(defaults.delta_min),
            lambda_dir: own.lambda_dir.unwrap_or(defaults.lambda_dir),
            e_rollback: own.e_rollback.or(self.e_rollback).unwrap_or(defaults.e_rollback),
        }
    }
}

fn insert(answer: &mut Value, key: &str, value: Value) {
    if let Some(object) = answer.as_object_mut() {
        object.insert(key.to_owned(), value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn eval(line: &str) -> Result<Value, EvalError> {
        eval_line(line.as_bytes(), &GateParams::default())
    }

    #[test]
    fn each_kind_answers_with_its_own_fields() {
        assert_eq!(eval(r#"{"kind":"e_value","w":7,"l":0}"#).unwrap(), json!({"e_value": 31.875}));
        let probation = eval(r#"{"kind":"probation","w":0,"l":5,"e_rollback":10.0,"e_confirm":20}"#).unwrap();
        assert_eq!(probation["verdict"], "rollback");
        let decision = eval(r#"{"id":"x","w":7,"l":0,"n_used":7,"n_remaining":5}"#).unwrap();
        assert_eq!((decision["decision"].as_str(), decision["id"].as_str()), (Some("accept_confirmed"), Some("x")));
    }

    #[test]
    fn thresholds_of_the_line_win() {
        let line = r#"{"w":7,"l":0,"n_used":7,"n_remaining":5,"params":{"e_confirm":50}}"#;
        assert_eq!(eval(line).unwrap()["decision"], "continue");
    }

    #[test]
    fn bad_lines_say_what_is_wrong() {
        for (line, word) in [
            ("nonsense", "read the line"),
            (r#"{"w":1}"#, "missing field `l`"),
            (r#"{"w":1,"l":0,"n_remaining":1}"#, "n_used is missing"),
            (r#"{"w":-1,"l":0,"n_used":1,"n_remaining":1}"#, "never negative"),
            (r#"{"w":1,"l":0,"n_used":0,"n_remaining":1}"#, "n_used is 0"),
            (r#"{"w":1,"l":0,"n_used":1,"n_remaining":-2}"#, "n_remaining is -2"),
            (r#"{"w":1,"l":0,"n_used":1,"n_remaining":1,"params":{"e_confrim":3}}"#, "e_confrim"),
            (r#"{"kind":"wish","w":1,"l":0}"#, "unknown variant"),
            (r#"{"w":1.5,"l":0,"n_used":2,"n_remaining":1}"#, "1.5"),
        ] {
            let text = eval(line).unwrap_err().text();
            assert!(text.contains(word), "{line}: {text}");
        }
    }
}
