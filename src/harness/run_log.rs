//! The answers of one phase behind the kernel's read-only port.

use std::collections::BTreeSet;

use crate::domain::{ExitClass, Fault, QuestionId, RunId};
use crate::evolution::json::stored_object;
use crate::evolution::ports::{LogFuture, PortError, PredictionRecord, RunLog, TraceSpan};
use crate::store::rows::{self, Prediction, SpanKind};
use crate::store::{AnswerKey, PhaseKey, Scope, Snapshot, SpanKey, Store, StoreError};

/// The stored answers and traces of one phase of a run.
#[derive(Debug, Clone)]
pub struct StoredRunLog {
    store: Store,
    run: RunId,
    scope: Scope,
    phase: PhaseKey,
}

/// A run id that names another phase than the log holds: a bug of the caller.
#[derive(Debug, thiserror::Error)]
#[error("read the log of {asked}: this one is of {held}")]
struct OtherPhase {
    asked: RunId,
    held: String,
}

impl Fault for OtherPhase {
    fn class(&self) -> ExitClass {
        ExitClass::Internal
    }

    fn code(&self) -> &'static str {
        "run.other_phase"
    }
}

/// Reading in the background ended unexpectedly: a bug.
#[derive(Debug, thiserror::Error)]
#[error("read in the background")]
struct ReaderPanic(#[source] tokio::task::JoinError);

impl Fault for ReaderPanic {
    fn class(&self) -> ExitClass {
        ExitClass::Internal
    }

    fn code(&self) -> &'static str {
        "run.panic"
    }
}

impl StoredRunLog {
    /// The log of a phase.
    #[must_use]
    pub fn new(store: Store, run: RunId, scope: Scope, phase: PhaseKey) -> Self {
        Self { store, run, scope, phase }
    }

    /// The id that calls must name: the textual run id of the phase, such as `train1_e1_s0`; where that is too long
    /// to be a run id, the run's own.
    #[must_use]
    pub fn run_id(&self) -> RunId {
        RunId::new(self.phase.run_id(&self.run, self.scope)).unwrap_or_else(|_| self.run.clone())
    }

    fn check(&self, asked: &RunId) -> Result<(), PortError> {
        let held = self.run_id();
        if *asked == held {
            return Ok(());
        }
        let other = OtherPhase { asked: asked.clone(), held: held.to_string() };
        Err(PortError::failed("read the run log", other))
    }

    /// Reads off the asynchronous workers: rows are compressed, and there may be thousands.
    async fn read<T: Send + 'static>(
        &self,
        what: &'static str,
        read: impl FnOnce(&Self, &Snapshot<'_>) -> Result<Vec<T>, StoreError> + Send + 'static,
    ) -> Result<Vec<T>, PortError> {
        let log = self.clone();
        let reading = tokio::task::spawn_blocking(move || read(&log, &log.store.snapshot()?));
        let failed = |source: StoreError| PortError::failed(format!("read the {what} of {}", self.run_id()), source);
        match reading.await {
            Ok(found) => found.map_err(failed),
            Err(error) => Err(PortError::failed(format!("read the {what} of {}", self.run_id()), ReaderPanic(error))),
        }
    }

    fn predictions(
        &self,
        snapshot: &Snapshot<'_>,
        wanted: Option<&BTreeSet<QuestionId>>,
    ) -> Result<Vec<(QuestionId, Prediction)>, StoreError> {
        let mut found = Vec::new();
        match wanted {
            None => {
                let rows = snapshot.rows_of::<Prediction>(&self.run, self.scope, &self.phase)?;
                found.extend(rows.into_iter().map(|(key, row)| (key.question, row)));
            }
            Some(wanted) => {
                for question in wanted {
                    let row = snapshot.row::<Prediction>(&self.run, self.scope, &self.key(question))?;
                    found.extend(row.map(|row| (question.clone(), row)));
                }
            }
        }
        found.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(found)
    }

    fn key(&self, question: &QuestionId) -> AnswerKey {
        AnswerKey { phase: self.phase.clone(), question: question.clone() }
    }

    fn traces(
        &self,
        snapshot: &Snapshot<'_>,
        wanted: Option<&BTreeSet<QuestionId>>,
    ) -> Result<Vec<TraceSpan>, StoreError> {
        let mut spans = Vec::new();
        for (question, prediction) in self.predictions(snapshot, wanted)? {
            let trace = snapshot.trace(&self.run, self.scope, &self.key(&question))?;
            let sample = chosen_sample(&prediction, &trace);
            let of_sample = trace.into_iter().filter(|(_, span)| span.sample == sample);
            spans.extend(of_sample.map(|(key, span)| span_of(question.clone(), key.span, span)));
        }
        Ok(spans)
    }
}

impl RunLog for StoredRunLog {
    fn get_predictions<'a>(
        &'a self,
        run_id: &'a RunId,
        question_ids: Option<&'a [QuestionId]>,
    ) -> LogFuture<'a, PredictionRecord> {
        let wanted = question_ids.map(|ids| ids.iter().cloned().collect::<BTreeSet<_>>());
        Box::pin(async move {
            self.check(run_id)?;
            self.read("predictions", move |log, snapshot| {
                let rows = log.predictions(snapshot, wanted.as_ref())?;
                Ok(rows.into_iter().map(|(question, row)| record_of(question, row)).collect())
            })
            .await
        })
    }

    fn get_traces<'a>(&'a self, run_id: &'a RunId, question_ids: Option<&'a [QuestionId]>) -> LogFuture<'a, TraceSpan> {
        let wanted = question_ids.map(|ids| ids.iter().cloned().collect::<BTreeSet<_>>());
        Box::pin(async move {
            self.check(run_id)?;
            self.read("traces", move |log, snapshot| log.traces(snapshot, wanted.as_ref())).await
        })
    }
}

fn record_of(question_id: QuestionId, row: Prediction) -> PredictionRecord {
    PredictionRecord {
        question_id,
        answer: row.answer.as_ref().and_then(|letter| letter.chars().next()),
        correctness: row.outcome.correctness(),
        stop_reason: row.stop_reason,
        steps_used: row.steps,
        steps_of: row.max_steps,
        confidence: row.confidence,
        evidence: row.evidence,
        reasoning: row.reasoning,
        prompt_tokens: row.tokens.prompt,
        completion_tokens: row.tokens.completion,
    }
}

fn span_of(question_id: QuestionId, span_index: u32, span: rows::TraceSpan) -> TraceSpan {
    // An answer given in one call, without tools, is a submission all the same.
    let submitted = (span.kind == SpanKind::Submit).then(|| "submit_answer".to_owned());
    TraceSpan {
        question_id,
        span_index,
        step: span.step.saturating_add(1),
        thought: span.thought,
        plan: span.plan,
        tool: span.tool.or(submitted),
        args: span.args.unwrap_or_default(),
        output: span.output,
        raw: String::from_utf8_lossy(&span.raw).into_owned(),
        prompt_tokens: span.tokens.prompt,
        completion_tokens: span.tokens.completion,
    }
}

/// Of several samples, the one whose submission became the answer; the first if none can be told.
fn chosen_sample(prediction: &Prediction, trace: &[(SpanKey, rows::TraceSpan)]) -> u32 {
    if prediction.samples <= 1 {
        return 0;
    }
    let text = |value: &serde_json::Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let became_answer = |span: &rows::TraceSpan| {
        let fields = span.args.as_deref().and_then(stored_object).unwrap_or_default();
        let field = |name: &str| fields.get(name).map(text).unwrap_or_default();
        span.kind == SpanKind::Submit
            && field("answer") == prediction.raw_answer
            && field("reasoning") == prediction.reasoning
    };
    trace.iter().find(|(_, span)| became_answer(span)).map_or(0, |(_, span)| span.sample)
}
