//! The bundled scripts: what can happen in a video, written by hand, with slots that a seed fills.
//!
//! `$lead`, `$helper` and `$guest` are people (`$lead.his`, `$lead.he`, `$lead.him`), other slots come from the
//! script's variant. In an act `$it` or `$them` is the thing and `$tool` the tool; `$his`, `$he` and `$him` are
//! the actor. `|`, `<-` and `=>` separate the parts of a one-line fact.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::error::WorldError;

/// One script: the story of one video.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Script {
    /// First part of the video id.
    pub(super) slug: String,
    /// The tree's `domain`.
    pub(super) domain: String,
    /// Sets of words that fit together; a video takes one.
    pub(super) variants: Vec<BTreeMap<String, String>>,
    /// What the video is about: a clause.
    pub(super) about: String,
    /// At least three clauses that a hasty viewer might think it is about.
    pub(super) wrong: Vec<String>,
    /// At least four pieces of advice (`clause <- spoken`), of which one is given at the end.
    pub(super) advice: Vec<String>,
    /// What such a video could contain and this one does not.
    pub(super) absent: Absent,
    /// The scenes in order.
    pub(super) scenes: Vec<SceneScript>,
    /// An action that recurs.
    pub(super) motif: Motif,
    /// Two numbers that add up.
    pub(super) sum: Sum,
    /// A number that is corrected later.
    pub(super) plan: Plan,
    /// Pairs of things that are measured in different places.
    pub(super) measures: Vec<Measure>,
    /// Things that stand in one place first and in another later.
    pub(super) moves: Vec<Move>,
}

/// What does not occur.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Absent {
    pub(super) things: Vec<String>,
    pub(super) acts: Vec<String>,
    pub(super) topics: Vec<String>,
    /// Clauses.
    pub(super) reasons: Vec<String>,
}

/// One scene.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SceneScript {
    /// Completes "during …".
    pub(super) during: String,
    /// A gerund phrase: what happens in it.
    pub(super) topic: String,
    /// Where.
    pub(super) place: String,
    /// Adverbials of place: where in it people stand.
    pub(super) spots: Vec<String>,
    /// The level-1 summary.
    pub(super) summary: String,
    /// What else the camera sees.
    pub(super) sights: Vec<String>,
    pub(super) events: Vec<EventScript>,
    pub(super) props: Vec<PropScript>,
}

/// One event: somebody does something.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EventScript {
    pub(super) who: Role,
    /// The object, with its article.
    pub(super) thing: Option<String>,
    /// Verb in its base form first.
    pub(super) act: String,
    pub(super) tool: Option<String>,
    /// A second sentence of the caption.
    pub(super) more: Option<String>,
    /// Spoken; `role> text` for another speaker.
    pub(super) says: Option<String>,
    /// `reason clause <- spoken`.
    pub(super) why: Option<String>,
    /// `thing => to do something <- spoken`.
    #[serde(rename = "use")]
    pub(super) used_for: Option<String>,
    /// `subject => clause <- spoken`.
    pub(super) tell: Option<String>,
}

/// A member of the cast.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Role {
    Lead,
    Helper,
    Guest,
}

impl Role {
    pub(super) const ALL: [Self; 3] = [Self::Lead, Self::Helper, Self::Guest];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Lead => "lead",
            Self::Helper => "helper",
            Self::Guest => "guest",
        }
    }
}

/// Something that can be seen in a scene, in one line.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PropScript {
    /// `thing | sentence without the colour`.
    Colour(String),
    /// `thing | landmark, landmark, landmark | sentence without the place`.
    Place(String),
    /// `things | where | min-max | sentence without the number`.
    Count(String),
    /// `carrier | text ; text ; text ; text | sentence without the text`.
    Sign(String),
    /// `where | thing, thing, thing, thing | sentence without the order`.
    Row(String),
    /// `question | value, value, value, value | sentence with $v`.
    Attr(String),
}

impl PropScript {
    /// What the line begins with: the thing, the carrier, the place or the question.
    pub(super) fn subject(&self) -> &str {
        match self {
            Self::Colour(line)
            | Self::Place(line)
            | Self::Count(line)
            | Self::Sign(line)
            | Self::Row(line)
            | Self::Attr(line) => line.split('|').next().unwrap_or_default(),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Motif {
    /// The question: "How many times …?"
    pub(super) ask: String,
    /// The scenes in which it makes sense, counted from 0; all of them if left out.
    #[serde(default)]
    pub(super) scenes: Vec<usize>,
    /// One sentence for each occurrence, at least five.
    pub(super) lines: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sum {
    pub(super) ask: String,
    /// Two spoken lines with `$n`.
    pub(super) parts: [String; 2],
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Plan {
    pub(super) ask: String,
    /// Spoken, with `$n`.
    pub(super) first: String,
    /// Spoken later, with `$m`, and `$n` again if it likes.
    pub(super) then: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Measure {
    /// Which has more, and by how much?
    pub(super) ask: String,
    /// Which has less, and by how much?
    pub(super) less: String,
    pub(super) items: [String; 2],
    /// Plural.
    pub(super) unit: String,
    /// `min-max`.
    pub(super) range: String,
    /// Two spoken lines with `$n`.
    pub(super) said: [String; 2],
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Move {
    /// Something that stands.
    pub(super) thing: String,
    /// Four adverbials of place.
    pub(super) spots: Vec<String>,
}

/// Pairs the name of a script with its text.
macro_rules! script {
    ($name:literal) => {
        ($name, include_str!(concat!("content/", $name, ".yaml")))
    };
}

/// Neighbours in this list are of different domains.
const SCRIPTS: [(&str, &str); 24] = [
    script!("animal-clinic"),
    script!("cooking-soup"),
    script!("craft-books"),
    script!("fire-brigade"),
    script!("garden-orchard"),
    script!("home-renovation"),
    script!("lecture-bees"),
    script!("market-day"),
    script!("museum-restoration"),
    script!("music-violin"),
    script!("nature-weather"),
    script!("repair-bicycle"),
    script!("science-fair"),
    script!("sport-climbing"),
    script!("theatre-rehearsal"),
    script!("travel-ferry"),
    script!("cooking-tart"),
    script!("craft-pottery"),
    script!("garden-spring"),
    script!("lecture-bridges"),
    script!("museum-ships"),
    script!("repair-radio"),
    script!("sport-rowing"),
    script!("travel-train"),
];

/// All scripts, parsed.
///
/// # Errors
/// A script that does not parse, which a test excludes.
pub(super) fn scripts() -> Result<Vec<Script>, WorldError> {
    SCRIPTS
        .iter()
        .map(|(name, text)| {
            serde_saphyr::from_str(text)
                .map_err(|error| WorldError::Script { script: (*name).to_owned(), what: error.to_string() })
        })
        .collect()
}

/// The parts of a one-line fact, trimmed.
pub(super) fn parts<'a>(line: &'a str, separator: &str) -> Vec<&'a str> {
    line.split(separator).map(str::trim).collect()
}
