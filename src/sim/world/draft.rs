//! Questions before they are chosen and lettered.

use super::grammar::sentence_case;
use super::spec::{Channel, Evidence};
use super::stage::{Event, Frame, SpokenFact, SpokenNumber, Stage};
use super::strategy::Strategy;

/// The twelve task types, named as in Video-MME.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    ActionReasoning,
    ActionRecognition,
    AttributePerception,
    CountingProblem,
    InformationSynopsis,
    ObjectReasoning,
    ObjectRecognition,
    OcrProblems,
    SpatialPerception,
    SpatialReasoning,
    TemporalPerception,
    TemporalReasoning,
}

impl Task {
    pub(super) const ALL: [Self; 12] = [
        Self::ActionReasoning,
        Self::ActionRecognition,
        Self::AttributePerception,
        Self::CountingProblem,
        Self::InformationSynopsis,
        Self::ObjectReasoning,
        Self::ObjectRecognition,
        Self::OcrProblems,
        Self::SpatialPerception,
        Self::SpatialReasoning,
        Self::TemporalPerception,
        Self::TemporalReasoning,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ActionReasoning => "Action Reasoning",
            Self::ActionRecognition => "Action Recognition",
            Self::AttributePerception => "Attribute Perception",
            Self::CountingProblem => "Counting Problem",
            Self::InformationSynopsis => "Information Synopsis",
            Self::ObjectReasoning => "Object Reasoning",
            Self::ObjectRecognition => "Object Recognition",
            Self::OcrProblems => "OCR Problems",
            Self::SpatialPerception => "Spatial Perception",
            Self::SpatialReasoning => "Spatial Reasoning",
            Self::TemporalPerception => "Temporal Perception",
            Self::TemporalReasoning => "Temporal Reasoning",
        }
    }
}

/// A question that the facts of a video allow.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) task: Task,
    /// The kind within the task type.
    pub(super) kind: &'static str,
    pub(super) stem: String,
    pub(super) answer: String,
    /// Wrong options, the most tempting first; at least three.
    pub(super) wrong: Vec<String>,
    /// For options that are numbers: the right one, and wrong ones with their words. They are listed in order.
    pub(super) numbers: Option<(u32, Vec<(u32, String)>)>,
    pub(super) needs: Vec<Strategy>,
    pub(super) evidence: Vec<Evidence>,
    /// Drafts with the same key ask for the same fact.
    pub(super) key: String,
}

impl Draft {
    /// A draft without the parts that only some kinds have.
    pub(super) fn new(task: Task, kind: &'static str, key: impl Into<String>, stem: impl Into<String>) -> Self {
        Self {
            task,
            kind,
            stem: stem.into(),
            answer: String::new(),
            wrong: vec![],
            numbers: None,
            needs: vec![],
            evidence: vec![],
            key: key.into(),
        }
    }

    /// With its right and its wrong options, each in sentence case; wrong ones equal to the right one or to each
    /// other are left out.
    pub(super) fn options(mut self, answer: &str, wrong: impl IntoIterator<Item = String>) -> Self {
        self.answer = sentence_case(answer);
        for option in wrong {
            let option = sentence_case(&option);
            if option != self.answer && !self.wrong.contains(&option) {
                self.wrong.push(option);
            }
        }
        self
    }

    /// With a number as answer and other numbers, the most tempting first.
    pub(super) fn number(
        mut self,
        answer: u32,
        wrong: impl IntoIterator<Item = u32>,
        words: impl Fn(u32) -> String,
    ) -> Self {
        let mut others: Vec<(u32, String)> = Vec::new();
        for n in wrong {
            if n != answer && !others.iter().any(|(known, _)| *known == n) {
                others.push((n, sentence_case(&words(n))));
            }
        }
        self = self.options(&words(answer), others.iter().map(|(_, text)| text.clone()));
        self.numbers = Some((answer, others));
        self
    }

    pub(super) fn needs(mut self, needs: impl IntoIterator<Item = Strategy>) -> Self {
        self.needs.extend(needs);
        self
    }

    pub(super) fn evidence(mut self, evidence: impl IntoIterator<Item = Evidence>) -> Self {
        self.evidence.extend(evidence);
        self
    }

    /// Whether it has enough options and something to rest on.
    pub(super) fn complete(&self) -> bool {
        self.wrong.len() >= 3 && !self.evidence.is_empty() && !self.answer.is_empty()
    }
}

/// One draft, or two that form a pair.
#[derive(Debug, Clone)]
pub(super) enum Group {
    Single(Draft),
    Pair(Draft, Draft),
}

impl Group {
    /// Those of a single or a pair that are complete; a pair of which one is not becomes a single.
    pub(super) fn of(one: Draft, other: Option<Draft>) -> Option<Self> {
        match (one.complete().then_some(one), other.filter(Draft::complete)) {
            (Some(one), Some(other)) => Some(Self::Pair(one, other)),
            (Some(one), None) | (None, Some(one)) => Some(Self::Single(one)),
            (None, None) => None,
        }
    }

    pub(super) fn first(&self) -> &Draft {
        match self {
            Self::Single(one) | Self::Pair(one, _) => one,
        }
    }
}

/// The caption of an event as evidence: the part that tells `text`.
pub(super) fn in_caption(event: &Event, text: impl Into<String>) -> Evidence {
    Evidence { node: event.id.clone(), channel: Channel::Card, text: text.into() }
}

/// The whole caption of an event.
pub(super) fn whole_caption(event: &Event) -> Evidence {
    in_caption(event, event.caption.clone())
}

/// When an event takes place.
pub(super) fn in_time(event: &Event) -> Evidence {
    Evidence { node: event.id.clone(), channel: Channel::Time, text: format!("{} to {}", event.time.0, event.time.1) }
}

/// Words spoken in an event.
pub(super) fn in_speech(stage: &Stage, event: usize, said: &str) -> Option<Evidence> {
    let node = stage.events.get(event)?.id.clone();
    Some(Evidence { node, channel: Channel::Subtitle, text: said.to_owned() })
}

pub(super) fn spoken_fact(stage: &Stage, fact: &SpokenFact) -> Option<Evidence> {
    in_speech(stage, fact.event, &fact.said)
}

pub(super) fn spoken_number(stage: &Stage, number: &SpokenNumber) -> Option<Evidence> {
    in_speech(stage, number.event, &number.text)
}

/// What only the picture of a frame shows.
pub(super) fn in_picture(frame: &Frame) -> Option<Evidence> {
    let text = frame.picture.as_ref()?.description();
    Some(Evidence { node: frame.id.clone(), channel: Channel::Picture, text })
}

/// The caption of a frame.
pub(super) fn in_frame_card(frame: &Frame, text: impl Into<String>) -> Evidence {
    Evidence { node: frame.id.clone(), channel: Channel::Card, text: text.into() }
}
