//! `trm rescore`: read the stored raw answers again with today's rules, without any call.

use serde::Serialize;
use serde_json::Value;

use super::inference::read_by;
use crate::agent::Outcome as AgentOutcome;
use crate::agent::answer::{from_reply, from_value};
use crate::data::QuestionSet;
use crate::domain::{QuestionId, RunId};
use crate::store::rows::{Outcome, Prediction};
use crate::store::{AnswerKey, Batch, Scope, Store, StoreError};

/// One answer that counts otherwise now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Rescored {
    /// The part of the run.
    pub scope: String,
    /// The phase.
    pub phase: String,
    /// The question.
    pub question_id: QuestionId,
    /// The letter before.
    pub before: Option<String>,
    /// The letter now.
    pub after: Option<String>,
    /// How it counted.
    pub outcome_before: &'static str,
    /// How it counts now.
    pub outcome_after: &'static str,
}

/// What was read again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RescoreReport {
    /// Answers read again; technical failures are none.
    pub answers: usize,
    /// Those that changed.
    pub changed: Vec<Rescored>,
    /// Whether the changes were stored.
    pub applied: bool,
}

/// Reads the evaluations of a run again; `apply` stores what changed. Answers inside of a training are left alone:
/// verdicts rest on them.
///
/// # Errors
/// The store cannot be read or written.
pub async fn rescore(
    store: &Store,
    run: &RunId,
    questions: &QuestionSet,
    apply: bool,
) -> Result<RescoreReport, StoreError> {
    let snapshot = store.snapshot()?;
    let mut report = RescoreReport { answers: 0, changed: Vec::new(), applied: apply };
    let mut batch = Batch::new();
    batch.label("rescore");
    // In direct mode the raw answer is the whole reply, else the submitted field.
    let config = snapshot.run(run)?.and_then(|row| serde_json::from_str::<Value>(&row.config).ok());
    let direct = config.as_ref().and_then(|config| config.pointer("/agent/mode")).is_some_and(|mode| mode == "direct");
    for scope in [Scope::Eval, Scope::Adhoc] {
        for (key, prediction) in snapshot.rows::<Prediction>(run, scope)? {
            let Some(question) = questions.get(&key.question) else { continue };
            if prediction.outcome == Outcome::Infra {
                continue;
            }
            report.answers += 1;
            let extraction = if direct {
                from_reply(&prediction.raw_answer, &question.options)
            } else {
                from_value(&Value::String(prediction.raw_answer.clone()), &question.options)
            };
            let outcome = match AgentOutcome::of(prediction.stop_reason, extraction, question.answer) {
                AgentOutcome::Correct => Outcome::Correct,
                AgentOutcome::Wrong => Outcome::Wrong,
                AgentOutcome::Unparsed => Outcome::Unparsed,
                AgentOutcome::Infra => Outcome::Infra,
            };
            let answer = extraction.letter().map(String::from);
            if outcome == prediction.outcome && answer == prediction.answer {
                continue;
            }
            report.changed.push(change(scope, &key, &prediction, answer.clone(), outcome));
            let read_by = Some(read_by(extraction));
            batch.put(run, scope, &key, &Prediction { answer, outcome, read_by, ..prediction });
        }
    }
    drop(snapshot);
    if apply && !report.changed.is_empty() {
        store.write(batch).await?;
    }
    Ok(report)
}

fn change(scope: Scope, key: &AnswerKey, before: &Prediction, after: Option<String>, outcome: Outcome) -> Rescored {
    Rescored {
        scope: scope.to_string(),
        phase: key.phase.to_string(),
        question_id: key.question.clone(),
        before: before.answer.clone(),
        after,
        outcome_before: before.outcome.name(),
        outcome_after: outcome.name(),
    }
}
