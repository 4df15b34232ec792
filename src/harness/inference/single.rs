//! One question: the work on it as a task, and the rows that its answer leaves.

use std::sync::Arc;

use super::convert::{AnswerPlace, add_answer, add_calls};
use super::plan::Bench;
use crate::agent::{
    Agent, AgentInterrupted, AgentRecord, CallPlace, Outcome as AgentOutcome, VideoEnvironment, answer_question,
};
use crate::data::DataError;
use crate::domain::Question;
use crate::runtime;
use crate::store::Batch;
use crate::store::rows::Prediction;

/// Why a question left no record.
#[derive(Debug)]
pub(in crate::harness) enum Cut {
    /// The work was given up.
    Interrupted(AgentInterrupted),
    /// The video's tree is missing or unusable.
    Video(DataError),
    /// A bug.
    Panic,
}

/// Works on one question as a task of its own, so that all cores are used; dropping the future stops the work.
pub(in crate::harness) fn answer_on_task(
    bench: &Bench,
    agent: &Agent,
    question: Question,
    place: &CallPlace,
) -> impl Future<Output = Result<Vec<AgentRecord>, Cut>> + Send + use<> {
    let (agent, place) = (agent.clone(), place.clone());
    let (trees, samples) = (Arc::clone(&bench.trees), bench.samples.max(1));
    let task = runtime::spawn(async move {
        let video = question.video_id.clone();
        let opened = tokio::task::spawn_blocking(move || {
            let tree = trees.get(&video)?;
            Ok(VideoEnvironment::new(Arc::new(tree.tree.clone()), Some(trees.video_dir(&video))))
        });
        let environment = opened.await.map_err(|_| Cut::Panic)?.map_err(Cut::Video)?;
        let mut records = Vec::new();
        for sample in 0..samples {
            let place = CallPlace { sample, ..place.clone() };
            let record = answer_question(&agent, &environment, &question, &place).await;
            records.push(record.map_err(Cut::Interrupted)?);
        }
        Ok(records)
    });
    async move { task.await.unwrap_or(Err(Cut::Panic)) }
}

/// Adds an answer to a batch: prediction, trace, plug-in reports, calls numbered from `calls_before`. None without any sample: a bug.
pub(in crate::harness) fn put_answer(
    batch: &mut Batch,
    bench: &Bench,
    place: &AnswerPlace<'_>,
    question: &Question,
    samples: &[AgentRecord],
    calls_before: u32,
) -> Option<Prediction> {
    let chosen = majority(samples)?;
    let prediction = add_answer(batch, place, question, chosen, samples);
    let item = question.question_id.as_str();
    let calls = bench.sink.take(&place.phase.run_id(place.run, place.scope), item);
    add_calls(batch, place.run, place.scope, &place.phase.to_string(), (item, calls_before), &calls);
    Some(prediction)
}

/// The sample whose letter most samples gave (ties: the earliest); technical failures only count if there is nothing else.
pub(in crate::harness) fn majority(samples: &[AgentRecord]) -> Option<&AgentRecord> {
    let votes = |record: &AgentRecord| {
        samples.iter().filter(|other| other.outcome != AgentOutcome::Infra && other.answer() == record.answer()).count()
    };
    let usable = samples.iter().filter(|record| record.outcome != AgentOutcome::Infra);
    let best = usable.max_by(|a, b| {
        let by_letter = a.answer().is_some().cmp(&b.answer().is_some());
        by_letter.then(votes(a).cmp(&votes(b))).then(b.sample.cmp(&a.sample))
    });
    best.or_else(|| samples.first())
}
