//! The loop over a phase's questions: what is durable is skipped, the rest runs, each answer is stored as it comes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use futures::stream::FuturesUnordered;

use super::convert::{AnswerPlace, add_calls};
use super::guard::{GuardBreach, check_guard};
use super::plan::{AnswerPlan, Answered, Bench};
use super::pulse::{PULSE, SignOfLife};
use super::single::{Cut, answer_on_task, put_answer};
use super::tally::{Report, Tally};
use crate::agent::{Agent, AgentRecord, CallPlace};
use crate::data::DataError;
use crate::domain::{ExitClass, Fault, Question, QuestionId};
use crate::store::rows::{Call, ObserveFrameHealth, Outcome, Prediction, TraceSpan};
use crate::store::{AnswerKey, Batch, SpanKey, StoreError};

/// Why a phase ended before all its questions were answered. What was answered is durable.
#[derive(Debug, thiserror::Error)]
pub enum InferenceError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A video's tree is missing or unusable.
    #[error("answer question {question}")]
    Video {
        /// The question.
        question: QuestionId,
        /// Why.
        source: DataError,
    },
    /// The user asked to stop.
    #[error("finish {phase}: interrupted after {done} of {total} questions")]
    Interrupted {
        /// The phase.
        phase: String,
        /// Durable answers.
        done: usize,
        /// All questions.
        total: usize,
    },
    /// The budget is spent.
    #[error("finish {phase}: the budget is spent after {done} of {total} questions")]
    Budget {
        /// The phase.
        phase: String,
        /// Durable answers.
        done: usize,
        /// All questions.
        total: usize,
    },
    /// Too many technical failures.
    #[error(transparent)]
    Guard(#[from] GuardBreach),
    /// A question's task panicked: a bug.
    #[error("answer question {0}: the work on it ended unexpectedly")]
    Panic(QuestionId),
}

impl Fault for InferenceError {
    fn class(&self) -> ExitClass {
        match self {
            Self::Store(error) => error.class(),
            Self::Video { source, .. } => source.class(),
            Self::Interrupted { .. } => ExitClass::Interrupted,
            Self::Budget { .. } => ExitClass::Budget,
            Self::Guard(breach) => breach.class(),
            Self::Panic(_) => ExitClass::Internal,
        }
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Store(error) => error.code(),
            Self::Video { source, .. } => source.code(),
            Self::Interrupted { .. } => "run.interrupted",
            Self::Budget { .. } => "run.budget",
            Self::Guard(breach) => breach.code(),
            Self::Panic(_) => "run.panic",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint(),
            Self::Video { source, .. } => source.hint(),
            Self::Interrupted { .. } => Some("the same command goes on where it stopped".into()),
            Self::Budget { .. } => Some(
                "raise llm.budget.max_usd or llm.budget.max_tokens; the same command goes on where it stopped".into(),
            ),
            Self::Guard(breach) => breach.hint(),
            Self::Panic(_) => Some("this is a bug: please report it with the log".into()),
        }
    }
}

/// Answers every question of the plan and returns all answers, by question id.
///
/// Answers of an earlier session that are no technical failures are kept as they are. Every answer is durable, with its
/// trace and calls, before it counts; a question that is cut off leaves no row.
///
/// # Errors
/// [`InferenceError`]; nothing runs any more when it is returned.
pub async fn answer_all(
    bench: &Bench,
    plan: &AnswerPlan,
    guard_limit: f64,
    report: &dyn Report,
) -> Result<Vec<Answered>, InferenceError> {
    let mut work = Work::begin(bench, plan, report)?;
    let result = work.run().await;
    work.flush_calls().await?;
    result?;
    // The last sign of life tells the end, not the second before it.
    work.beat().await?;
    let answers = std::mem::take(&mut work.answers);
    let outcomes = answers.values().map(|prediction| (prediction.outcome, prediction.error.as_deref()));
    check_guard(&plan.phase.to_string(), outcomes, guard_limit)?;
    Ok(answers.into_iter().map(|(question, prediction)| Answered { question, prediction }).collect())
}

struct Work<'a> {
    bench: &'a Bench,
    plan: &'a AnswerPlan,
    report: &'a dyn Report,
    place: CallPlace,
    answers: BTreeMap<QuestionId, Prediction>,
    /// Technical failures of earlier sessions, which are asked again.
    failed_before: BTreeMap<QuestionId, Prediction>,
    /// Call rows of earlier sessions, by question: later ones are numbered on.
    calls_before: BTreeMap<String, u32>,
    /// Questions that never failed before and were answered, and those of them that failed now.
    fresh: (usize, usize),
    tally: Tally,
}

type Finished = (Question, Result<Vec<AgentRecord>, Cut>);

impl<'a> Work<'a> {
    fn begin(bench: &'a Bench, plan: &'a AnswerPlan, report: &'a dyn Report) -> Result<Self, StoreError> {
        let mut tally = Tally::new(plan.questions.len());
        let mut answers = BTreeMap::new();
        let wanted: std::collections::BTreeSet<&QuestionId> = plan.questions.iter().map(|q| &q.question_id).collect();
        let stored = bench.store.snapshot()?.rows_of::<Prediction>(&plan.run, plan.scope, &plan.phase)?;
        let mut failed_before = BTreeMap::new();
        for (AnswerKey { question, .. }, prediction) in stored {
            if !wanted.contains(&question) {
                continue;
            }
            if prediction.outcome == Outcome::Infra {
                failed_before.insert(question, prediction);
            } else {
                tally.add(prediction.outcome);
                tally.resumed += 1;
                answers.insert(question, prediction);
            }
        }
        let calls_before = calls_of(bench, plan)?;
        let place = CallPlace {
            phase_run: plan.phase.run_id(&plan.run, plan.scope),
            phase_path: plan.phase.path(plan.scope),
            sample: 0,
        };
        Ok(Self { bench, plan, report, place, answers, failed_before, calls_before, fresh: (0, 0), tally })
    }

    async fn run(&mut self) -> Result<(), InferenceError> {
        let agent = self.bench.agent(Arc::clone(&self.plan.texts));
        let mut waiting = self.plan.questions.iter().filter(|q| !self.answers.contains_key(&q.question_id)).cloned();
        let waiting: Vec<Question> = waiting.by_ref().collect();
        let mut waiting = waiting.into_iter();
        let mut running = FuturesUnordered::new();
        let mut pulse = tokio::time::interval(PULSE);
        loop {
            while running.len() < self.bench.concurrency.max(1) && !self.bench.stop.is_stopped() {
                let Some(question) = waiting.next() else { break };
                running.push(self.launch(&agent, question));
            }
            self.tally.in_flight = running.len();
            self.show();
            if running.is_empty() {
                break;
            }
            tokio::select! {
                () = self.bench.stop.stopped() => {
                    // What runs is given up: a cut-off question leaves no row, and its calls are in the cache.
                    drop(running);
                    return Err(self.interrupted());
                }
                Some(finished) = running.next() => self.finish(finished).await?,
                _ = pulse.tick() => self.beat().await?,
            }
        }
        if self.bench.stop.is_stopped() && self.tally.done < self.tally.total {
            return Err(self.interrupted());
        }
        Ok(())
    }

    /// Starts the work on one question.
    fn launch(&self, agent: &Agent, question: Question) -> impl Future<Output = Finished> + use<> {
        let work = answer_on_task(self.bench, agent, question.clone(), &self.place);
        async move { (question, work.await) }
    }

    async fn finish(&mut self, (question, result): Finished) -> Result<(), InferenceError> {
        let samples = match result {
            Ok(samples) => samples,
            Err(Cut::Interrupted(interrupted)) if interrupted.by_budget => return Err(self.out_of_budget()),
            Err(Cut::Interrupted(_)) => return Err(self.interrupted()),
            Err(Cut::Video(source)) => return Err(InferenceError::Video { question: question.question_id, source }),
            Err(Cut::Panic) => return Err(InferenceError::Panic(question.question_id)),
        };
        let (plan, mut batch) = (self.plan, Batch::new());
        batch.label("answer");
        let place = AnswerPlace {
            run: &plan.run,
            scope: plan.scope,
            phase: &plan.phase,
            versions: plan.versions,
            now_ms: now_ms(),
        };
        let failed_before = self.failed_before.get(&question.question_id);
        if let Some(failed) = failed_before {
            remove_answer(&mut batch, plan, &question.question_id, failed);
        }
        let calls_before = self.calls_before(question.question_id.as_str());
        let Some(prediction) = put_answer(&mut batch, self.bench, &place, &question, &samples, calls_before) else {
            return Err(InferenceError::Panic(question.question_id));
        };
        self.bench.store.write(batch).await?;
        self.tally.add(prediction.outcome);
        if failed_before.is_none() {
            self.fresh.0 += 1;
            self.fresh.1 += usize::from(prediction.outcome == Outcome::Infra);
        }
        self.answers.insert(question.question_id, prediction);
        // Ten failures and nothing else: the rest would fail too. What failed before and does again tells nothing of it.
        if self.fresh.1 >= 10 && self.fresh.0 == self.fresh.1 {
            let outcomes = self.answers.values().filter(|prediction| prediction.outcome == Outcome::Infra);
            let outcomes = outcomes.map(|prediction| (prediction.outcome, prediction.error.as_deref()));
            check_guard(&plan.phase.to_string(), outcomes, 0.0)?;
        }
        Ok(())
    }

    /// Calls of questions that were cut off were paid for all the same.
    async fn flush_calls(&self) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        for (item, calls) in self.bench.sink.take_phase(&self.place.phase_run) {
            let group = self.plan.phase.to_string();
            add_calls(&mut batch, &self.plan.run, self.plan.scope, &group, (&item, self.calls_before(&item)), &calls);
        }
        if batch.is_empty() { Ok(()) } else { self.bench.store.write(batch).await }
    }

    fn calls_before(&self, item: &str) -> u32 {
        self.calls_before.get(item).copied().unwrap_or(0)
    }

    fn show(&self) {
        let waiting = self.bench.hub.status().waiting_line();
        self.report.update(&self.plan.phase.to_string(), &self.tally, waiting.as_deref());
    }

    async fn beat(&self) -> Result<(), StoreError> {
        self.show();
        let sign = SignOfLife {
            scope: self.plan.scope,
            activity: &self.plan.phase.to_string(),
            done: self.tally.done,
            total: self.tally.total,
            in_flight: Some(self.tally.in_flight),
            per_minute: self.tally.per_minute(),
        };
        sign.write(self.bench, &self.plan.run).await
    }

    fn interrupted(&self) -> InferenceError {
        let phase = self.plan.phase.to_string();
        InferenceError::Interrupted { phase, done: self.answers.len(), total: self.tally.total }
    }

    fn out_of_budget(&self) -> InferenceError {
        let phase = self.plan.phase.to_string();
        InferenceError::Budget { phase, done: self.answers.len(), total: self.tally.total }
    }
}

/// How many calls of each question of the phase have rows already.
fn calls_of(bench: &Bench, plan: &AnswerPlan) -> Result<BTreeMap<String, u32>, StoreError> {
    let group = plan.phase.to_string();
    let mut counts = BTreeMap::new();
    bench.store.snapshot()?.visit::<Call>(&plan.run, plan.scope, |key, _| {
        if key.group == group {
            *counts.entry(key.item).or_insert(0) += 1;
        }
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(counts)
}

/// Takes the rows of a failed answer out before another one comes in their place, which may have fewer.
fn remove_answer(batch: &mut Batch, plan: &AnswerPlan, question: &QuestionId, failed: &Prediction) {
    let answer = AnswerKey { phase: plan.phase.clone(), question: question.clone() };
    for span in 0..failed.spans {
        batch.remove::<TraceSpan>(&plan.run, plan.scope, &SpanKey { answer: answer.clone(), span });
    }
    batch.remove::<ObserveFrameHealth>(&plan.run, plan.scope, &answer);
}

/// Milliseconds since 1970.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
