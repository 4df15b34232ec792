//! The known truth of the simulated world: the closed list of strategies that questions need and skills teach.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::recognise;

/// A way of working that some questions need. The list is closed: truth files and the simulated model share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// Find the moment, person or object that the question names before anything else.
    AnchorMoment,
    /// Compare every option with the evidence before answering.
    CompareOptions,
    /// Open both scenes that the question connects and set them side by side.
    CompareScenes,
    /// Keep a list and count one by one.
    CountOneByOne,
    /// Describe positions from one fixed viewpoint or landmark.
    FixViewpoint,
    /// Open the frames for small text and fine visual detail.
    OpenFrames,
    /// Open the nodes just before and just after.
    OpenNeighbours,
    /// Settle the order of events by their time ranges.
    OrderByTimestamps,
    /// Read what is said.
    ReadSubtitles,
    /// Search with the options' own words.
    SearchOptionWords,
    /// Look through all scenes before going into any of them.
    SurveyScenes,
    /// Look for what comes before an action to find its cause.
    TraceCause,
    /// Confirm the answer in a second node.
    VerifySecondNode,
    /// Look for "not" and "except" in the question.
    WatchForNegation,
}

impl Strategy {
    /// All of them, in order.
    pub const ALL: [Self; 14] = [
        Self::AnchorMoment,
        Self::CompareOptions,
        Self::CompareScenes,
        Self::CountOneByOne,
        Self::FixViewpoint,
        Self::OpenFrames,
        Self::OpenNeighbours,
        Self::OrderByTimestamps,
        Self::ReadSubtitles,
        Self::SearchOptionWords,
        Self::SurveyScenes,
        Self::TraceCause,
        Self::VerifySecondNode,
        Self::WatchForNegation,
    ];

    /// The name in files, such as `read_subtitles`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AnchorMoment => "anchor_moment",
            Self::CompareOptions => "compare_options",
            Self::CompareScenes => "compare_scenes",
            Self::CountOneByOne => "count_one_by_one",
            Self::FixViewpoint => "fix_viewpoint",
            Self::OpenFrames => "open_frames",
            Self::OpenNeighbours => "open_neighbours",
            Self::OrderByTimestamps => "order_by_timestamps",
            Self::ReadSubtitles => "read_subtitles",
            Self::SearchOptionWords => "search_option_words",
            Self::SurveyScenes => "survey_scenes",
            Self::TraceCause => "trace_cause",
            Self::VerifySecondNode => "verify_second_node",
            Self::WatchForNegation => "watch_for_negation",
        }
    }

    /// Sentences that teach it, as the simulated writer proposes them. Each is recognised as this strategy only.
    #[must_use]
    pub fn canonical(self) -> &'static [&'static str] {
        match self {
            Self::AnchorMoment => &[
                "Before anything else, locate the moment that the question names.",
                "First pin down the scene that the question refers to, and only then look for details.",
                "Start by finding the event mentioned in the question.",
            ],
            Self::CompareOptions => &[
                "Compare every option with the evidence before you answer.",
                "Go through all four options one after the other and say for each why it fits or fails.",
                "Weigh the remaining options against each other before submitting.",
            ],
            Self::CompareScenes => &[
                "Open both scenes that the question connects and compare them side by side.",
                "Put the two events next to each other and note what differs.",
                "Contrast the earlier scene with the later one before drawing a conclusion.",
            ],
            Self::CountOneByOne => &[
                "Count the items one by one and keep a running list.",
                "Keep a tally while you walk through the events, with one entry for each item counted.",
                "Count each occurrence separately instead of estimating the total.",
            ],
            Self::FixViewpoint => &[
                "Fix one viewpoint, such as that of the camera, and describe left and right from there.",
                "Choose a landmark that does not move and state every position relative to it.",
                "Describe each position as seen from the camera.",
            ],
            Self::OpenFrames => &[
                "Open the frames with observe_frame for small text and fine visual details.",
                "Go down to the level-3 frames whenever the card leaves out what can be seen.",
                "Look at the picture itself when a caption is silent about a colour, a number or a place.",
            ],
            Self::OpenNeighbours => &[
                "Open the node just before and the node just after the event.",
                "Look at the neighbouring nodes as well, since they show what comes next.",
                "Read the previous and the next sibling of the event too.",
            ],
            Self::OrderByTimestamps => &[
                "Check the time ranges of the events to settle their order.",
                "Sort the events by their start times instead of trusting the order of the results.",
                "Write down the timestamp of each event and put them in chronological order.",
            ],
            Self::ReadSubtitles => &[
                "Read the subtitles of the event, since much is only said.",
                "Check what the speaker says there, word for word.",
                "Consult the transcript whenever a card is silent on the point.",
            ],
            Self::SearchOptionWords => &[
                "Search with the words of each option, one search for each.",
                "Run search_similar with the wording of the options as well.",
                "Use the key terms of every option as a search query.",
            ],
            Self::SurveyScenes => &[
                "Look through all level-1 scenes before you go into any of them.",
                "Skim every scene from the first to the last to get the outline of the video.",
                "Visit all chapters of the video, not only the most striking one.",
            ],
            Self::TraceCause => &[
                "Look for the cause in what happened just before the action.",
                "Trace the action back to the event that led to it.",
                "Identify the trigger that precedes the action before you look at its result.",
            ],
            Self::VerifySecondNode => &[
                "Verify the answer in a second node before you submit.",
                "Confirm each finding with another node that says the same.",
                "Look for a second source that supports the answer, since plans are sometimes corrected later.",
            ],
            Self::WatchForNegation => &[
                "Check whether the question contains NOT or EXCEPT before you look at the options.",
                "Watch out for negated questions and then look for the option that never occurs.",
                "Look for a negation in the question and keep it in mind.",
            ],
        }
    }
}

impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The strategies that a skill really instructs.
///
/// A sentence counts when it asks for the strategy in one of many wordings. Lists of keywords, headings,
/// code, negations ("do not compare the options") and mere descriptions do not count.
#[must_use]
pub fn strategies_in(skill: &str) -> BTreeSet<Strategy> {
    recognise::asked(skill)
}
