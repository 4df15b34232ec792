//! One video with all its facts decided: what the tree, the pictures and the questions are made from.

use std::collections::BTreeSet;
use std::ops::Range;

use super::content::Role;
use super::grammar::{Words, gerund, third_person};
use super::people::Person;
use super::picture::{Colour, Picture, Relation};
use crate::domain::{NodeId, VideoId};

/// A staged video.
#[derive(Debug, Clone)]
pub(super) struct Stage {
    pub(super) video: VideoId,
    pub(super) domain: String,
    /// Length in seconds.
    pub(super) seconds: u32,
    pub(super) cast: [Person; 3],
    pub(super) about: String,
    pub(super) wrong_about: Vec<String>,
    pub(super) absent_things: Vec<String>,
    pub(super) absent_acts: Vec<Act>,
    pub(super) absent_topics: Vec<String>,
    pub(super) absent_reasons: Vec<String>,
    pub(super) scenes: Vec<Scene>,
    pub(super) events: Vec<Event>,
    pub(super) frames: Vec<Frame>,
    pub(super) facts: Facts,
}

/// A scene: level 1.
#[derive(Debug, Clone)]
pub(super) struct Scene {
    pub(super) id: NodeId,
    pub(super) during: String,
    pub(super) topic: String,
    pub(super) place: String,
    pub(super) spots: Vec<String>,
    pub(super) summary: String,
    pub(super) present: BTreeSet<Role>,
    pub(super) events: Range<usize>,
}

/// An event: level 2.
#[derive(Debug, Clone)]
pub(super) struct Event {
    pub(super) id: NodeId,
    pub(super) scene: usize,
    pub(super) who: Role,
    pub(super) act: Act,
    pub(super) tool: Option<Tool>,
    pub(super) caption: String,
    pub(super) lines: Vec<Line>,
    /// Start and end in seconds.
    pub(super) time: (u32, u32),
    pub(super) frames: Range<usize>,
}

/// What somebody uses in an event.
#[derive(Debug, Clone)]
pub(super) struct Tool {
    pub(super) name: String,
    /// The frame that alone shows it; none if the caption names it.
    pub(super) only_in: Option<usize>,
}

/// Something said.
#[derive(Debug, Clone)]
pub(super) struct Line {
    pub(super) who: Role,
    pub(super) text: String,
}

/// A frame: level 3.
#[derive(Debug, Clone)]
pub(super) struct Frame {
    pub(super) id: NodeId,
    pub(super) event: usize,
    pub(super) caption: String,
    pub(super) picture: Option<Picture>,
    /// Its second in the video.
    pub(super) at: u32,
}

/// An action, whose words depend on who does it and what else is named.
#[derive(Debug, Clone)]
pub(super) struct Act {
    /// Slots left: `$it` or `$them`, `$his`, `$he`, `$him`.
    without_tool: String,
    with_tool: String,
    pub(super) thing: Option<String>,
}

impl Act {
    /// From a template in which only the slots of the act itself are open.
    pub(super) fn new(template: &str, thing: Option<String>, tool: Option<&str>) -> Self {
        let with_tool = tool.map_or_else(|| template.to_owned(), |tool| template.replace("$tool", tool));
        Self { without_tool: without_tool(template), with_tool, thing }
    }

    /// "it" or "them", if the act has a thing.
    pub(super) fn pronoun(&self) -> Option<&'static str> {
        if self.with_tool.contains("$them") { Some("them") } else { self.with_tool.contains("$it").then_some("it") }
    }

    /// The base form with the thing named, without the tool: "rub the board clean".
    pub(super) fn base(&self, actor: Person) -> String {
        self.render(&self.without_tool, actor, self.thing.as_deref())
    }

    /// The base form with thing and tool.
    pub(super) fn base_with_tool(&self, actor: Person) -> String {
        self.render(&self.with_tool, actor, self.thing.as_deref())
    }

    /// "rubs it clean": the thing as a pronoun, without the tool.
    pub(super) fn third_with_pronoun(&self, actor: Person) -> String {
        third_person(&self.render(&self.without_tool, actor, self.pronoun()))
    }

    /// "rubs the board clean".
    pub(super) fn third(&self, actor: Person) -> String {
        third_person(&self.base(actor))
    }

    /// "rubbing the board clean".
    pub(super) fn ing(&self, actor: Person) -> String {
        gerund(&self.base(actor))
    }

    /// The gerund without what follows the first comma, "until", "so that" and the like.
    pub(super) fn short_ing(&self, actor: Person) -> String {
        let full = self.ing(actor);
        let cut = [" until ", " before ", " so that ", " while ", " because ", " for the ", ", "]
            .iter()
            .filter_map(|end| full.find(end))
            .filter(|at| *at > 12)
            .min()
            .unwrap_or(full.len());
        full.get(..cut).unwrap_or(&full).to_owned()
    }

    fn render(&self, template: &str, actor: Person, thing: Option<&str>) -> String {
        let long = thing.is_some_and(|thing| thing.split_whitespace().count() >= 3);
        let template = if long { particle_first(template) } else { template.to_owned() };
        let mut words = Words::default();
        words.set("his", actor.his());
        words.set("he", actor.he());
        words.set("him", actor.him());
        if let Some(thing) = thing {
            words.set("it", thing);
            words.set("them", thing);
        }
        words.fill(&template)
    }
}

/// "bail $it out" → "bail out $it": a particle does not wait for the end of a long object.
fn particle_first(template: &str) -> String {
    for object in ["$it", "$them"] {
        for particle in ["up", "out", "off", "down", "away", "over"] {
            let late = format!(" {object} {particle}");
            let Some((before, after)) = template.split_once(&late) else { continue };
            if after.is_empty() || after.starts_with(',') || after.starts_with(" with ") || after.starts_with(" using ")
            {
                return format!("{before} {particle} {object}{after}");
            }
        }
    }
    template.to_owned()
}

/// Takes the tool and its preposition out: "rub $it clean with $tool" → "rub $it clean".
fn without_tool(template: &str) -> String {
    let Some((before, after)) = template.split_once("$tool") else { return template.to_owned() };
    let kept = before.trim_end().rsplit_once(' ').map_or("", |(kept, _preposition)| kept);
    format!("{}{after}", kept.trim_end_matches(','))
}

/// Everything that questions can ask for.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub(super) spots: Vec<SpotFact>,
    pub(super) colours: Vec<ColourFact>,
    pub(super) places: Vec<PlaceFact>,
    pub(super) counts: Vec<CountFact>,
    pub(super) signs: Vec<SignFact>,
    pub(super) rows: Vec<RowFact>,
    pub(super) attributes: Vec<AttributeFact>,
    pub(super) reasons: Vec<SpokenFact>,
    pub(super) purposes: Vec<SpokenFact>,
    pub(super) statements: Vec<SpokenFact>,
    pub(super) motif: Option<MotifFact>,
    pub(super) sum: Option<NumberFact>,
    pub(super) plan: Option<NumberFact>,
    pub(super) measures: Vec<MeasureFact>,
    pub(super) moves: Vec<MoveFact>,
    pub(super) advice: Option<AdviceFact>,
}

/// Where somebody stands in an event; the caption says it.
#[derive(Debug, Clone)]
pub(super) struct SpotFact {
    pub(super) event: usize,
    pub(super) spot: String,
}

/// A colour, seen only in the picture.
#[derive(Debug, Clone)]
pub(super) struct ColourFact {
    pub(super) frame: usize,
    pub(super) thing: String,
    pub(super) colour: Colour,
}

/// A position, seen only in the picture.
#[derive(Debug, Clone)]
pub(super) struct PlaceFact {
    pub(super) frame: usize,
    pub(super) thing: String,
    pub(super) relation: Relation,
    pub(super) landmark: String,
    pub(super) other_landmarks: Vec<String>,
}

/// A number of things, seen only in the picture.
#[derive(Debug, Clone)]
pub(super) struct CountFact {
    pub(super) frame: usize,
    pub(super) things: String,
    pub(super) place: String,
    pub(super) n: u32,
}

/// Writing, readable only in the picture.
#[derive(Debug, Clone)]
pub(super) struct SignFact {
    pub(super) frame: usize,
    /// An earlier frame in which the end of the text is cut off.
    pub(super) cut_off_in: Option<usize>,
    pub(super) carrier: String,
    pub(super) text: String,
    pub(super) similar: Vec<String>,
}

/// An order from left to right, seen only in the picture.
#[derive(Debug, Clone)]
pub(super) struct RowFact {
    pub(super) frame: usize,
    pub(super) place: String,
    pub(super) things: Vec<String>,
}

/// A property that the card of a frame states.
#[derive(Debug, Clone)]
pub(super) struct AttributeFact {
    pub(super) frame: usize,
    pub(super) ask: String,
    pub(super) value: String,
    pub(super) others: Vec<String>,
    pub(super) sentence: String,
}

/// Something that is only said: a reason, a purpose, a statement.
#[derive(Debug, Clone)]
pub(super) struct SpokenFact {
    pub(super) event: usize,
    /// What it is about; empty for a reason (its subject is the event's act).
    pub(super) subject: String,
    pub(super) clause: String,
    pub(super) who: Role,
    pub(super) said: String,
}

/// An action that recurs, one caption sentence for each time.
#[derive(Debug, Clone)]
pub(super) struct MotifFact {
    pub(super) ask: String,
    pub(super) times: Vec<(usize, String)>,
}

/// Two spoken numbers and what follows from them.
#[derive(Debug, Clone)]
pub(super) struct NumberFact {
    pub(super) ask: String,
    pub(super) said: [SpokenNumber; 2],
}

/// A spoken number.
#[derive(Debug, Clone)]
pub(super) struct SpokenNumber {
    pub(super) event: usize,
    pub(super) n: u32,
    pub(super) text: String,
}

/// Two things measured in two places.
#[derive(Debug, Clone)]
pub(super) struct MeasureFact {
    pub(super) ask_more: String,
    pub(super) ask_less: String,
    pub(super) items: [String; 2],
    pub(super) unit: String,
    pub(super) said: [SpokenNumber; 2],
}

/// A thing that changes its place between two scenes.
#[derive(Debug, Clone)]
pub(super) struct MoveFact {
    pub(super) thing: String,
    /// The frame whose picture shows it at first, and where.
    pub(super) from: (usize, String),
    /// The frame whose card names it later, where, and the sentence.
    pub(super) to: (usize, String, String),
    pub(super) other_spots: Vec<String>,
}

/// What the video wants to teach.
#[derive(Debug, Clone)]
pub(super) struct AdviceFact {
    pub(super) event: usize,
    pub(super) clause: String,
    pub(super) said: String,
    pub(super) others: Vec<String>,
}

impl Facts {
    /// Renames every frame that a fact refers to.
    pub(super) fn move_frames(&mut self, place: impl Fn(usize) -> usize) {
        let slots = self.colours.iter_mut().map(|fact| &mut fact.frame);
        let slots = slots.chain(self.places.iter_mut().map(|fact| &mut fact.frame));
        let slots = slots.chain(self.counts.iter_mut().map(|fact| &mut fact.frame));
        let slots = slots.chain(self.signs.iter_mut().map(|fact| &mut fact.frame));
        let slots = slots.chain(self.rows.iter_mut().map(|fact| &mut fact.frame));
        let slots = slots.chain(self.attributes.iter_mut().map(|fact| &mut fact.frame));
        slots.for_each(|slot| *slot = place(*slot));
        for sign in &mut self.signs {
            sign.cut_off_in = sign.cut_off_in.map(&place);
        }
        for moved in &mut self.moves {
            moved.from.0 = place(moved.from.0);
            moved.to.0 = place(moved.to.0);
        }
    }
}

impl Stage {
    pub(super) fn person(&self, role: Role) -> Person {
        let [lead, helper, guest] = self.cast;
        match role {
            Role::Lead => lead,
            Role::Helper => helper,
            Role::Guest => guest,
        }
    }

    /// "Rosa rubs the board clean": who does what, without the tool.
    pub(super) fn clause(&self, event: &Event) -> String {
        let actor = self.person(event.who);
        format!("{} {}", actor.name, event.act.third(actor))
    }

    /// Whether a text names somebody of the cast.
    pub(super) fn names(&self, text: &str, role: Role) -> bool {
        text.contains(self.person(role).name)
    }
}
