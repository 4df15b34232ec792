//! What a phase needs: the bench it works on, and which questions with which texts.

use std::sync::Arc;

use super::sink::StoreSink;
use super::stop::StopSignal;
use crate::agent::{Agent, AgentSettings, AgentTexts, ReplyForms, TreeIndexes};
use crate::data::TreeSet;
use crate::domain::{ChatModel, EmbedModel, Question, QuestionId, Role, RunId};
use crate::llm::ModelHub;
use crate::store::rows::{Prediction, VersionPair};
use crate::store::{PhaseKey, Scope, Store};

/// Everything that phases share: store, models, trees. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bench {
    /// Where answers go.
    pub store: Store,
    /// The models.
    pub hub: Arc<ModelHub>,
    /// The calls of questions in work.
    pub sink: Arc<StoreSink>,
    /// The videos.
    pub trees: Arc<TreeSet>,
    /// How the agent works.
    pub agent: AgentSettings,
    /// Questions at once.
    pub concurrency: usize,
    /// Samples per question.
    pub samples: u32,
    /// Search indexes of the trees.
    pub indexes: Arc<TreeIndexes>,
    /// What `auto` found out about reply forms.
    pub forms: Arc<ReplyForms>,
    /// The wish to stop.
    pub stop: StopSignal,
}

impl Bench {
    /// An agent with these texts.
    pub(in crate::harness) fn agent(&self, texts: Arc<AgentTexts>) -> Agent {
        let model: Arc<dyn ChatModel> = Arc::clone(&self.hub) as Arc<dyn ChatModel>;
        let embed = self.hub.has(Role::Embed).then(|| Arc::clone(&self.hub) as Arc<dyn EmbedModel>);
        Agent {
            model,
            embed,
            texts,
            settings: self.agent.clone(),
            indexes: Arc::clone(&self.indexes),
            forms: Arc::clone(&self.forms),
        }
    }
}

/// One phase of answers.
#[derive(Debug, Clone)]
pub struct AnswerPlan {
    /// The run.
    pub run: RunId,
    /// The part of it.
    pub scope: Scope,
    /// What the answers are produced for.
    pub phase: PhaseKey,
    /// The questions, in the order in which they begin.
    pub questions: Vec<Question>,
    /// Skills and prompts.
    pub texts: Arc<AgentTexts>,
    /// Their versions.
    pub versions: VersionPair,
}

/// One answered question, durable.
#[derive(Debug, Clone, PartialEq)]
pub struct Answered {
    /// The question.
    pub question: QuestionId,
    /// Its answer.
    pub prediction: Prediction,
}
