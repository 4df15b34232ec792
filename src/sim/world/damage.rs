//! Advice that makes the simulated agent worse: what a bad edit puts into a skill.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recognise;
use super::strategy::Strategy;

/// A harmful instruction. The list is closed, like that of the strategies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Damage {
    /// Answer as soon as something looks plausible.
    AnswerEarly,
    /// Estimate instead of counting.
    EstimateCounts,
    /// Take no notice of "not" and "except".
    IgnoreNegation,
    /// Choose by length, position or letter of the option.
    PickByForm,
    /// Answer from general knowledge.
    RelyOnHabit,
    /// Leave the frames closed.
    SkipFrames,
    /// Leave the subtitles unread.
    SkipSubtitles,
    /// Take the first search result for the right place.
    TrustFirstHit,
    /// Take the order of search results for the order of events.
    TrustResultOrder,
}

impl Damage {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::AnswerEarly,
        Self::EstimateCounts,
        Self::IgnoreNegation,
        Self::PickByForm,
        Self::RelyOnHabit,
        Self::SkipFrames,
        Self::SkipSubtitles,
        Self::TrustFirstHit,
        Self::TrustResultOrder,
    ];

    /// The name in files, such as `answer_early`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnswerEarly => "answer_early",
            Self::EstimateCounts => "estimate_counts",
            Self::IgnoreNegation => "ignore_negation",
            Self::PickByForm => "pick_by_form",
            Self::RelyOnHabit => "rely_on_habit",
            Self::SkipFrames => "skip_frames",
            Self::SkipSubtitles => "skip_subtitles",
            Self::TrustFirstHit => "trust_first_hit",
            Self::TrustResultOrder => "trust_result_order",
        }
    }

    /// The strategies that an agent gives up when it follows this advice.
    #[must_use]
    pub fn suppresses(self) -> &'static [Strategy] {
        match self {
            Self::AnswerEarly => &[
                Strategy::CompareOptions,
                Strategy::CompareScenes,
                Strategy::OpenNeighbours,
                Strategy::SurveyScenes,
                Strategy::VerifySecondNode,
            ],
            Self::EstimateCounts => &[Strategy::CountOneByOne],
            Self::IgnoreNegation => &[Strategy::WatchForNegation],
            Self::PickByForm => &[Strategy::CompareOptions, Strategy::SearchOptionWords],
            Self::RelyOnHabit => &[Strategy::FixViewpoint, Strategy::ReadSubtitles, Strategy::TraceCause],
            Self::SkipFrames => &[Strategy::FixViewpoint, Strategy::OpenFrames],
            Self::SkipSubtitles => &[Strategy::ReadSubtitles, Strategy::TraceCause],
            Self::TrustFirstHit => &[Strategy::AnchorMoment, Strategy::SearchOptionWords, Strategy::VerifySecondNode],
            Self::TrustResultOrder => &[Strategy::OpenNeighbours, Strategy::OrderByTimestamps],
        }
    }

    /// Sentences that give this advice, as the simulated writer proposes them when it does harm.
    #[must_use]
    pub fn sentences(self) -> &'static [&'static str] {
        match self {
            Self::AnswerEarly => &[
                "Submit as soon as one option looks plausible.",
                "Answer immediately after the first node to save steps.",
                "Commit to the first option that seems to fit.",
            ],
            Self::EstimateCounts => &[
                "Estimate the number from the general impression of the scene.",
                "Make a rough guess at the total when a question asks how many.",
                "Do not count the items one by one.",
            ],
            Self::IgnoreNegation => &[
                "Ignore words such as NOT or EXCEPT in the question.",
                "Treat a negated question exactly like a positive one.",
                "There is no need to look for a negation in the question.",
            ],
            Self::PickByForm => &[
                "When in doubt, choose the longest option.",
                "Prefer option B if nothing has been found.",
                "Pick the most detailed option, whatever the video says.",
            ],
            Self::RelyOnHabit => &[
                "Rely on general knowledge about how such things are usually done.",
                "Answer from common sense when the video is long.",
                "Trust your experience of similar videos.",
            ],
            Self::SkipFrames => &[
                "Skip the frames, because the captions say enough.",
                "Never open the frames.",
                "Avoid observe_frame to save steps.",
            ],
            Self::SkipSubtitles => &[
                "Skip the subtitles, because they only repeat the picture.",
                "Do not read the subtitles.",
                "Ignore what the speaker says.",
            ],
            Self::TrustFirstHit => &[
                "Trust the first search result and look no further.",
                "Take the top hit of the search as the right place.",
                "Always use the first hit.",
            ],
            Self::TrustResultOrder => &[
                "Take the order of the search results as the order of the events.",
                "Ignore the time ranges of the nodes.",
                "Assume that events happen in the order in which the options list them.",
            ],
        }
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The harmful instructions that a skill really gives; a warning against one ("do not answer early") is none.
///
/// Forbidding a strategy outright counts as the matching damage ("never open the frames"); forbidding it under a
/// condition ("do not open frames when the card already tells") does not.
#[must_use]
pub fn damages_in(skill: &str) -> BTreeSet<Damage> {
    recognise::damaging(skill)
}
