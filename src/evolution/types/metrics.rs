//! Metrics and attribution of one question.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{NodeId, QuestionId, TaskType, VideoId};

/// Declares an enum whose values have stable snake_case names, in a reply's schema and in storage alike.
macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum $name {
            $($(#[$variant_doc])* #[serde(rename = $text)] $variant,)*
        }

        impl $name {
            /// All values, in order of declaration.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The stable name.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }

            /// The value of this name.
            #[must_use]
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}
pub(super) use named_enum;

named_enum! {
    /// Why an answer was wrong: the result of the attribution waterfall.
    ErrorType {
        /// A tool left out or invented something: mean completeness < 0.5 or largest hallucination > 0.5.
        Extraction = "extraction_failure",
        /// Nodes that hold the answer were not opened.
        Search = "search_failure",
        /// The evidence was sufficient.
        Reasoning = "reasoning_failure",
        /// Anything else.
        Mixed = "mixed",
    }
}

named_enum! {
    /// Where the fault of a wrong answer lies.
    Cause {
        /// The skill is wrong or silent: its body is edited.
        Defect = "defect",
        /// The skill was right and not followed: a note goes into its appendix.
        Lapse = "lapse",
    }
}

named_enum! {
    /// What went wrong in reasoning over sufficient evidence.
    ReasoningSub {
        /// Taken for something that it does not say.
        MisreadEvidence = "misread_evidence",
        /// Passed over.
        IgnoredEvidence = "ignored_evidence",
        /// Understood, and the options mixed up or not compared.
        OptionConfusion = "option_confusion",
        /// A wrong order, time or number.
        OrderOrCount = "order_or_count",
        /// What is usual instead of what is shown.
        UnsupportedGuess = "unsupported_guess",
        /// None of these.
        Other = "other",
    }
}

named_enum! {
    /// Whether the agent's confidence fits the outcome.
    Calibration {
        /// It does.
        Calibrated = "calibrated",
        /// Confidence ≥ 0.7 and wrong.
        HighConfWrong = "high_conf_wrong",
        /// Confidence < 0.5 and right.
        LowConfRight = "low_conf_right",
    }
}

named_enum! {
    /// What is wrong with a tool's report.
    SpanTag {
        /// Something that matters is not in it.
        MissingDetail = "missing_detail",
        /// Spoken words that matter are not in it.
        MissingSubtitle = "missing_subtitle",
        /// Something is in it otherwise than in the source.
        WrongDetail = "wrong_detail",
        /// Something is in it that the source does not say.
        InventedDetail = "invented_detail",
        /// It does not speak to the question.
        OffQuestion = "off_question",
        /// It says too little to be of use.
        TooVague = "too_vague",
    }
}

named_enum! {
    /// Whether a step of the skill was followed.
    StepVerdict {
        /// It was.
        Followed = "followed",
        /// It applied, and was not.
        NotFollowed = "not_followed",
        /// It did not apply to the question.
        NotApplicable = "not_applicable",
    }
}

/// The judge's figures for one tool call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SpanMetrics {
    /// Place of the span in the trace.
    pub span_index: u32,
    /// The step it belongs to.
    pub step: u32,
    /// The tool.
    pub tool: String,
    /// Share of what matters in the source that the report contains, 0 to 1.
    pub completeness: f64,
    /// Share of the report that the source does not support, 0 to 1.
    pub hallucination: f64,
    /// What is wrong with it, sorted.
    pub tags: Vec<SpanTag>,
}

/// The judge's verdict on one step of the skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkillStepAdherence {
    /// Number of the step in the skill, from 1.
    pub step: u32,
    /// The step's text, at most 300 characters.
    pub text: String,
    /// Whether it was followed.
    pub verdict: StepVerdict,
}

/// The seven metrics that need no model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RuleMetrics {
    /// Share of turns that were a readable call with an object of arguments; null without turns.
    pub format_compliance: Option<f64>,
    /// Steps used of the steps allowed, 0 to 1; 0 if none were allowed.
    pub budget_use: f64,
    /// Whether confidence fits the outcome; null if the agent gave none.
    pub calibration: Option<Calibration>,
    /// Share of node visits that went to a node visited before; 0 without visits.
    pub repeat_visit_rate: f64,
    /// Largest character-trigram Jaccard similarity of two consecutive search queries, 0 to 1; 0 with fewer than two.
    pub keyword_repetition: f64,
    /// Levels of the visited nodes, in order of the visits.
    pub level_path: Vec<u8>,
    /// How many visits went more than one level deeper than the visit before.
    pub level_jumps: u32,
    /// Calls per tool.
    pub tool_usage: BTreeMap<String, u32>,
}

/// The five metrics of the judge. Null means that the judge gave nothing that could be read.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct JudgeMetrics {
    /// Every judged call of `view_node`, `search_similar` and `observe_frame`; null if some were asked about and
    /// none could be read.
    pub spans: Option<Vec<SpanMetrics>>,
    /// Nodes that should have been opened and were not.
    pub missed_nodes: Option<Vec<NodeId>>,
    /// Every step of the skill.
    pub skill_adherence: Option<Vec<SkillStepAdherence>>,
    /// Whether the agent only looked for what supports its first guess.
    pub confirmation_bias: Option<bool>,
    /// Whether what was seen is enough for the right answer.
    pub evidence_sufficient: Option<bool>,
}

impl JudgeMetrics {
    /// Mean completeness of the judged calls; none without any.
    #[must_use]
    pub fn mean_completeness(&self) -> Option<f64> {
        mean(self.spans.as_deref()?.iter().map(|span| span.completeness))
    }

    /// Largest hallucination of the judged calls; none without any.
    #[must_use]
    pub fn max_hallucination(&self) -> Option<f64> {
        self.spans.as_deref()?.iter().map(|span| span.hallucination).reduce(f64::max)
    }

    /// Share of the steps that applied which were followed; none if none applied.
    #[must_use]
    pub fn adherence(&self) -> Option<f64> {
        let steps = self.skill_adherence.as_deref()?.iter();
        mean(steps.filter_map(|step| match step.verdict {
            StepVerdict::Followed => Some(1.0),
            StepVerdict::NotFollowed => Some(0.0),
            StepVerdict::NotApplicable => None,
        }))
    }

    /// How many nodes were missed; 0 if that is not known.
    #[must_use]
    pub fn missed_count(&self) -> usize {
        self.missed_nodes.as_ref().map_or(0, Vec::len)
    }
}

/// The arithmetic mean; none of nothing.
pub(crate) fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}

/// All that stage 1 found about one question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuestionMetrics {
    /// The question.
    pub question_id: QuestionId,
    /// Its video.
    pub video_id: VideoId,
    /// Its task type.
    pub task_type: TaskType,
    /// Whether it was answered right.
    pub correct: bool,
    /// The agent's confidence, where it gave one.
    pub confidence: Option<f64>,
    /// The metrics by rule.
    pub rules: RuleMetrics,
    /// The metrics by judge.
    pub judge: JudgeMetrics,
    /// Why the answer was wrong; none if it was right.
    pub attribution: Option<ErrorAttribution>,
    /// Whether the judge left something unreadable.
    pub degraded: bool,
    /// What it left, by purpose of the call, such as `judge.span`; sorted, each once.
    pub degraded_by: Vec<String>,
}

/// Why an answer was wrong (D1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorAttribution {
    /// The kind of failure.
    pub error_type: ErrorType,
    /// For a reasoning failure, what went wrong in it; null if the judge did not say.
    pub reasoning_sub: Option<ReasoningSub>,
    /// Whether the skill is at fault.
    pub cause: Cause,
    /// A general reminder that would have prevented the failure; none if the judge wrote none.
    pub lapse_note: Option<String>,
}
