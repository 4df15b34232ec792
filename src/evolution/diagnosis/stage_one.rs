//! Stage 1: everything about one question, by rules and by the judge.

use std::collections::BTreeSet;

use super::attribution::attribute;
use super::candidates::{candidates, outline};
use super::forms;
use super::judge::Judge;
use super::rules::rule_metrics;
use super::trace::{
    TraceCut, agent_answer_text, answer_text, judged_spans, question_text, seen_nodes, source_text, tool_outputs,
    trace_text,
};
use crate::domain::{Message, NodeId, Question, VideoTree};
use crate::evolution::EvolutionError;
use crate::evolution::asking::Form;
use crate::evolution::json::Object;
use crate::evolution::ports::{PredictionRecord, TraceSpan};
use crate::evolution::templates::{DiagnosePrompts, Template, data_block, limited};
use crate::evolution::types::{
    Cause, ErrorAttribution, ErrorType, JudgeMetrics, QuestionMetrics, ReasoningSub, SkillStepAdherence, SpanMetrics,
};

/// An answered question with all that is known about it.
#[derive(Debug)]
pub(super) struct Answered<'a> {
    pub(super) question: &'a Question,
    pub(super) prediction: &'a PredictionRecord,
    pub(super) correct: bool,
    /// In order of the trace.
    pub(super) spans: Vec<&'a TraceSpan>,
    pub(super) tree: &'a VideoTree,
    /// The skill without front matter and managed regions, and its steps.
    pub(super) skill: &'a str,
    pub(super) steps: &'a [String],
}

/// What all questions share.
pub(super) struct StageOne<'a> {
    pub(super) judge: Judge<'a>,
    pub(super) prompts: &'a DiagnosePrompts,
    /// The most characters of one block of data in a prompt; none cuts nothing.
    pub(super) max_block_chars: Option<usize>,
}

/// Stage 1 for one question.
///
/// # Errors
/// The judge could not be reached. What it wrote never leads to an error: the metric stays null, the question degraded.
pub(super) async fn diagnose_question(
    stage: &StageOne<'_>,
    answered: &Answered<'_>,
) -> Result<QuestionMetrics, EvolutionError> {
    let mut asked = Asked { stage, answered, degraded_by: BTreeSet::new() };
    let judge = JudgeMetrics {
        spans: asked.spans().await?,
        missed_nodes: asked.missed_nodes().await?,
        skill_adherence: asked.skill_adherence().await?,
        confirmation_bias: asked.confirmation_bias().await?,
        evidence_sufficient: asked.evidence_sufficiency().await?,
    };
    let attribution = if answered.correct {
        None
    } else {
        let error_type = attribute(&judge);
        let (cause, note) = asked.cause(error_type).await?;
        let note = note.trim();
        let lapse_note = (!note.is_empty()).then(|| note.to_owned());
        Some(ErrorAttribution { error_type, reasoning_sub: None, cause, lapse_note })
    };
    let Question { question_id, video_id, task_type, .. } = answered.question;
    Ok(QuestionMetrics {
        question_id: question_id.clone(),
        video_id: video_id.clone(),
        task_type: task_type.clone(),
        correct: answered.correct,
        confidence: answered.prediction.confidence,
        rules: rule_metrics(answered.prediction, answered.correct, &answered.spans, answered.tree),
        judge,
        attribution,
        degraded: !asked.degraded_by.is_empty(),
        degraded_by: asked.degraded_by.into_iter().map(str::to_owned).collect(),
    })
}

/// What went wrong in the reasoning of one question (the serial pass after stage 1); none if the judge did not say.
///
/// # Errors
/// The judge could not be reached.
pub(super) async fn classify_reasoning(
    stage: &StageOne<'_>,
    answered: &Answered<'_>,
) -> Result<Option<ReasoningSub>, EvolutionError> {
    let mut asked = Asked { stage, answered, degraded_by: BTreeSet::new() };
    let values = [
        ("question", question_text(answered.question)),
        ("answer", answer_text(answered.question)),
        ("agent_answer", agent_answer_text(answered.question, answered.prediction)),
        ("trace", trace_text(&answered.spans, TraceCut::WHOLE)),
    ];
    asked.ask(&forms::sub_form(), 0, &stage.prompts.reasoning_sub, &values, &[], forms::read_sub).await
}

/// The questions about one question, and which of them were never answered readably.
struct Asked<'a> {
    stage: &'a StageOne<'a>,
    answered: &'a Answered<'a>,
    degraded_by: BTreeSet<&'static str>,
}

impl Asked<'_> {
    /// Asks with one user message; `values` are fenced in as data, `plain` ones are our own words.
    async fn ask<T>(
        &mut self,
        form: &Form,
        sample: u32,
        template: &Template,
        values: &[(&str, String)],
        plain: &[(&str, &str)],
        read: impl Fn(&Object) -> Result<T, String>,
    ) -> Result<Option<T>, EvolutionError> {
        let user = self.filled(template, values, plain)?;
        self.ask_messages(form, sample, vec![Message::user(user)], read).await
    }

    fn filled(
        &self,
        template: &Template,
        values: &[(&str, String)],
        plain: &[(&str, &str)],
    ) -> Result<String, EvolutionError> {
        let max = self.stage.max_block_chars;
        let fenced: Vec<(&str, String)> =
            values.iter().map(|(name, value)| (*name, data_block(&limited(value, max)))).collect();
        let mut all: Vec<(&str, &str)> = fenced.iter().map(|(name, value)| (*name, value.as_str())).collect();
        all.extend_from_slice(plain);
        Ok(template.fill(&all)?)
    }

    async fn ask_messages<T>(
        &mut self,
        form: &Form,
        sample: u32,
        messages: Vec<Message>,
        read: impl Fn(&Object) -> Result<T, String>,
    ) -> Result<Option<T>, EvolutionError> {
        let item = self.answered.question.question_id.as_str();
        let found = self.stage.judge.ask(form, item, sample, messages, read).await?;
        if found.is_none() {
            self.degraded_by.insert(form.purpose);
        }
        Ok(found)
    }

    /// One call per report of a span tool. Reports that could not be judged are left out; null if none could.
    async fn spans(&mut self) -> Result<Option<Vec<SpanMetrics>>, EvolutionError> {
        let answered = self.answered;
        let prompts = self.stage.prompts;
        let form = forms::span_form();
        let system = prompts.span_eval_system.fill(&[])?;
        let mut judged = Vec::new();
        let mut asked = 0_u32;
        for span in judged_spans(&answered.spans) {
            let tool = span.tool.clone().unwrap_or_default();
            let values = [
                ("question", question_text(answered.question)),
                ("args", span.args.clone()),
                ("source", source_text(span, answered.tree)),
                ("output", span.output.clone()),
            ];
            let user = self.filled(&prompts.span_eval_user, &values, &[("tool", &tool)])?;
            let messages = vec![Message::system(system.clone()), Message::user(user)];
            asked += 1;
            let Some(reply) = self.ask_messages(&form, span.span_index, messages, forms::read_span).await? else {
                continue;
            };
            judged.push(SpanMetrics {
                span_index: span.span_index,
                step: span.step,
                tool,
                completeness: reply.completeness,
                hallucination: reply.hallucination,
                tags: reply.tags,
            });
        }
        Ok((asked == 0 || !judged.is_empty()).then_some(judged))
    }

    async fn missed_nodes(&mut self) -> Result<Option<Vec<NodeId>>, EvolutionError> {
        let answered = self.answered;
        let seen = seen_nodes(&answered.spans, answered.tree);
        let unopened = candidates(answered.question, answered.tree, &seen);
        if unopened.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let ids: Vec<&NodeId> = unopened.iter().map(|(id, _)| *id).collect();
        let visited = answered.tree.nodes.iter().filter(|(id, _)| seen.contains(*id));
        let values = [
            ("question", question_text(answered.question)),
            ("answer", answer_text(answered.question)),
            ("visited", outline(visited)),
            ("candidates", outline(unopened.iter().copied())),
        ];
        let form = forms::missed_form(&ids);
        let template = &self.stage.prompts.missed_nodes;
        self.ask(&form, 0, template, &values, &[], |reply| forms::read_missed(reply, &ids)).await
    }

    async fn skill_adherence(&mut self) -> Result<Option<Vec<SkillStepAdherence>>, EvolutionError> {
        let steps = self.answered.steps;
        if steps.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let mut numbered = String::new();
        for (index, step) in steps.iter().enumerate() {
            numbered.push_str(&format!("{}. {step}\n", index + 1));
        }
        let values = [
            ("question", question_text(self.answered.question)),
            ("skill_steps", numbered),
            ("trace", trace_text(&self.answered.spans, TraceCut::METRICS)),
        ];
        let form = forms::adherence_form(steps.len());
        let template = &self.stage.prompts.skill_adherence;
        let verdicts =
            self.ask(&form, 0, template, &values, &[], |reply| forms::read_adherence(reply, steps.len())).await?;
        Ok(verdicts.map(|verdicts| {
            let numbered = (1..).zip(steps).zip(verdicts);
            numbered.map(|((step, text), verdict)| SkillStepAdherence { step, text: text.clone(), verdict }).collect()
        }))
    }

    async fn confirmation_bias(&mut self) -> Result<Option<bool>, EvolutionError> {
        let answered = self.answered;
        let values = [
            ("question", question_text(answered.question)),
            ("trace", trace_text(&answered.spans, TraceCut::METRICS)),
            ("tool_outputs", tool_outputs(&answered.spans)),
            ("agent_answer", agent_answer_text(answered.question, answered.prediction)),
        ];
        let template = &self.stage.prompts.confirmation_bias;
        self.ask(&forms::bias_form(), 0, template, &values, &[], forms::read_bias).await
    }

    /// Nothing seen is not enough: that needs no judge.
    async fn evidence_sufficiency(&mut self) -> Result<Option<bool>, EvolutionError> {
        let answered = self.answered;
        if judged_spans(&answered.spans).all(|span| span.output.trim().is_empty()) {
            return Ok(Some(false));
        }
        let values = [
            ("question", question_text(answered.question)),
            ("answer", answer_text(answered.question)),
            ("tool_outputs", tool_outputs(&answered.spans)),
        ];
        let template = &self.stage.prompts.evidence_sufficiency;
        self.ask(&forms::sufficiency_form(), 0, template, &values, &[], forms::read_sufficiency).await
    }

    /// Defect or lapse. What cannot be read is a lapse: a doubtful verdict must not lead to an edit of the body.
    async fn cause(&mut self, error_type: ErrorType) -> Result<(Cause, String), EvolutionError> {
        let answered = self.answered;
        let values = [
            ("question", question_text(answered.question)),
            ("answer", answer_text(answered.question)),
            ("agent_answer", agent_answer_text(answered.question, answered.prediction)),
            ("skill", answered.skill.to_owned()),
            ("trace", trace_text(&answered.spans, TraceCut::WHOLE)),
        ];
        let template = &self.stage.prompts.defect_vs_lapse;
        let plain = [("error_type", error_type.name())];
        let found = self.ask(&forms::cause_form(), 0, template, &values, &plain, forms::read_cause).await?;
        Ok(found.unwrap_or((Cause::Lapse, String::new())))
    }
}
