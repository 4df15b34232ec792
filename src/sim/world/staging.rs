//! From a script and a seed to a staged video: names, words, times, captions.

use std::collections::BTreeSet;

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};

use super::captions::Captions;
use super::content::{EventScript, Role, SceneScript, Script, parts};
use super::error::WorldError;
use super::extras;
use super::grammar::Words;
use super::people::Person;
use super::picture::Picture;
use super::props;
use super::stage::{Act, Event, Facts, Frame, Line, Scene, SpokenFact, SpotFact, Stage, Tool};
use crate::domain::{NodeId, SeedRng, VideoId, seeded_rng};

/// What a video is made from.
pub(super) struct Order<'a> {
    pub(super) script: &'a Script,
    pub(super) video: VideoId,
    pub(super) cast: [Person; 3],
    pub(super) seed: u64,
    /// Shortest and longest length in seconds.
    pub(super) length: (u32, u32),
}

/// A frame before its place among the others is known.
pub(super) struct Pending {
    pub(super) event: usize,
    pub(super) caption: String,
    pub(super) picture: Option<Picture>,
}

/// The video while it is being staged.
pub(super) struct Builder<'a> {
    pub(super) script: &'a Script,
    pub(super) words: Words,
    pub(super) rng: SeedRng,
    pub(super) cast: [Person; 3],
    pub(super) scenes: Vec<Scene>,
    pub(super) events: Vec<Event>,
    /// Facts refer to frames by their place in this list until the end.
    pub(super) pending: Vec<Pending>,
    pub(super) facts: Facts,
}

/// Stages a video.
///
/// # Errors
/// A script with an unknown slot or a malformed fact: a bug that a test excludes.
pub(super) fn stage(order: Order<'_>) -> Result<Stage, WorldError> {
    let Order { script, video, cast, seed, length } = order;
    let mut rng = seeded_rng(seed, &["sim.world", "video", video.as_str()]);
    let words = words_of(script, &cast, &mut rng);
    let seconds = rng.random_range(length.0..=length.1.max(length.0));
    let mut builder =
        Builder { script, words, rng, cast, scenes: vec![], events: vec![], pending: vec![], facts: Facts::default() };
    builder.lay_out(&video, seconds)?;
    builder.tell()?;
    props::place(&mut builder)?;
    extras::place(&mut builder)?;
    let stage = builder.finish(video, seconds)?;
    check_slots(&stage, script)?;
    Ok(stage)
}

fn words_of(script: &Script, cast: &[Person; 3], rng: &mut SeedRng) -> Words {
    let mut words = Words::default();
    for (role, person) in Role::ALL.into_iter().zip(cast) {
        words.set(role.name(), person.name);
        words.set(format!("{}.he", role.name()), person.he());
        words.set(format!("{}.him", role.name()), person.him());
        words.set(format!("{}.his", role.name()), person.his());
    }
    for (slot, text) in script.variants.choose(rng).into_iter().flatten() {
        words.set(slot, text);
    }
    words
}

impl Builder<'_> {
    pub(super) fn person(&self, role: Role) -> Person {
        let [lead, helper, guest] = self.cast;
        match role {
            Role::Lead => lead,
            Role::Helper => helper,
            Role::Guest => guest,
        }
    }

    /// A bug in the script.
    pub(super) fn broken(&self, what: impl Into<String>) -> WorldError {
        WorldError::Script { script: self.script.slug.clone(), what: what.into() }
    }

    /// Scenes and events with their times, still without words.
    fn lay_out(&mut self, video: &VideoId, seconds: u32) -> Result<(), WorldError> {
        let script = self.script;
        let count: usize = script.scenes.iter().map(|scene| scene.events.len()).sum();
        let times = deal_time(seconds, count, &mut self.rng);
        for (number, scene) in script.scenes.iter().enumerate() {
            let first = self.events.len();
            for event in &scene.events {
                let index = self.events.len();
                let time = times.get(index).copied().unwrap_or((0, seconds));
                let staged = self.lay_out_event(event, NodeId::new(format!("{video}_L2_{index:03}"))?, number, time);
                self.events.push(staged);
            }
            let present = present_in(scene);
            self.scenes.push(Scene {
                id: NodeId::new(format!("{video}_L1_{number:03}"))?,
                during: self.words.fill(&scene.during),
                topic: self.words.fill(&scene.topic),
                place: self.words.fill(&scene.place),
                spots: scene.spots.iter().map(|spot| self.words.fill(spot)).collect(),
                summary: self.words.prose(&scene.summary),
                present,
                events: first..self.events.len(),
            });
        }
        Ok(())
    }

    fn lay_out_event(&self, event: &EventScript, id: NodeId, scene: usize, time: (u32, u32)) -> Event {
        let open = ["it", "them", "tool", "his", "he", "him"];
        let words = open.iter().fold(self.words.clone(), |words, slot| words.with(slot, format!("${slot}")));
        let tool = event.tool.as_deref().map(|tool| self.words.fill(tool));
        let thing = event.thing.as_deref().map(|thing| self.words.fill(thing));
        Event {
            id,
            scene,
            who: event.who,
            act: Act::new(&words.fill(&event.act), thing, tool.as_deref()),
            tool: tool.map(|name| Tool { name, only_in: None }),
            caption: String::new(),
            lines: vec![],
            time,
            frames: 0..0,
        }
    }

    /// Captions, spoken lines and the first frame of every event.
    fn tell(&mut self) -> Result<(), WorldError> {
        let script = self.script;
        let mut captions = Captions::new(&mut self.rng);
        let mut index = 0;
        for (number, scene) in script.scenes.iter().enumerate() {
            let mut sights: Vec<String> = scene.sights.iter().map(|sight| self.words.prose(sight)).collect();
            sights.shuffle(&mut self.rng);
            let mut spots = self.scenes.get(number).map(|scene| scene.spots.clone()).unwrap_or_default();
            spots.shuffle(&mut self.rng);
            for event in &scene.events {
                self.tell_event(index, event, &mut captions, &mut spots)?;
                let hidden = self.events.get(index).is_some_and(can_hide_tool) && self.rng.random_bool(0.7);
                self.first_frame(index, &mut captions, &mut sights, hidden);
                index += 1;
            }
        }
        Ok(())
    }

    fn tell_event(
        &mut self,
        index: usize,
        script: &EventScript,
        captions: &mut Captions,
        spots: &mut Vec<String>,
    ) -> Result<(), WorldError> {
        let mut lines = Vec::new();
        if let Some(says) = &script.says {
            lines.push(self.line(says, script.who));
        }
        if let Some(why) = &script.why {
            let [clause, said] = self.two(why, "<-")?;
            self.facts.reasons.push(self.spoken(index, script.who, String::new(), &clause, &said));
            lines.push(self.line(&said, script.who));
        }
        for (fact, purpose) in [(&script.used_for, true), (&script.tell, false)] {
            let Some(fact) = fact else { continue };
            let [subject, rest] = self.two(fact, "=>")?;
            let [clause, said] = self.two(&rest, "<-")?;
            let fact = self.spoken(index, script.who, self.words.fill(&subject), &clause, &said);
            let facts = if purpose { &mut self.facts.purposes } else { &mut self.facts.statements };
            facts.push(fact);
            lines.push(self.line(&said, script.who));
        }
        let more = script.more.as_deref().map(|more| self.words.prose(more));
        let Some(event) = self.events.get(index) else { return Ok(()) };
        let scene = self.scenes.get(event.scene);
        let others: Vec<Person> = scene
            .map(|scene| {
                scene.present.iter().filter(|role| **role != event.who).map(|role| self.person(*role)).collect()
            })
            .unwrap_or_default();
        let (caption, spot) = captions.event(self.person(event.who), &event.act, &others, spots);
        if let Some(spot) = spot {
            self.facts.spots.push(SpotFact { event: index, spot });
        }
        if let Some(event) = self.events.get_mut(index) {
            event.caption = more.map_or(caption.clone(), |more| format!("{caption} {more}"));
            event.lines = lines;
        }
        Ok(())
    }

    fn spoken(&self, event: usize, who: Role, subject: String, clause: &str, said: &str) -> SpokenFact {
        let line = self.line(said, who);
        SpokenFact { event, subject, clause: self.words.fill(clause), who: line.who, said: line.text }
    }

    /// The frame that every event has. With `hidden` it is the only one that shows the tool.
    fn first_frame(&mut self, index: usize, captions: &mut Captions, sights: &mut Vec<String>, hidden: bool) {
        let Some(event) = self.events.get(index) else { return };
        let actor = self.person(event.who);
        let scene = self.scenes.get(event.scene);
        let place = scene.map(|scene| scene.place.clone()).unwrap_or_default();
        let with_tool = event.tool.as_ref().filter(|_| hidden).map(|tool| Picture::Thing {
            label: tool.name.clone(),
            says: format!("{} {}.", actor.name, super::grammar::third_person(&event.act.base_with_tool(actor))),
        });
        let others: Vec<Person> = scene
            .map(|scene| {
                scene.present.iter().filter(|role| **role != event.who).map(|role| self.person(*role)).collect()
            })
            .unwrap_or_default();
        let mut caption = captions.frame(actor, &event.act, &others, &place, with_tool.is_some());
        if let Some(sight) = sights.pop_if(|_| self.rng.random_bool(0.75)) {
            caption =
                if with_tool.is_none() && self.rng.random_bool(0.3) { sight } else { format!("{caption} {sight}") };
        }
        let frame = self.pending.len();
        let pictured = with_tool.is_some();
        self.pending.push(Pending { event: index, caption, picture: with_tool });
        if let Some(event) = self.events.get_mut(index)
            && let Some(tool) = &mut event.tool
        {
            tool.only_in = pictured.then_some(frame);
            if !pictured {
                let full = super::grammar::third_person(&event.act.base_with_tool(actor));
                let bare = event.act.third(actor);
                let (full_ing, bare_ing) =
                    (super::grammar::gerund(&event.act.base_with_tool(actor)), event.act.ing(actor));
                event.caption = event.caption.replacen(&bare, &full, 1).replacen(&bare_ing, &full_ing, 1);
            }
        }
    }

    /// A spoken line; `role> text` names the speaker, else it is `default`.
    pub(super) fn line(&self, text: &str, default: Role) -> Line {
        for role in Role::ALL {
            let spoken = text.strip_prefix(role.name()).and_then(|rest| rest.strip_prefix('>'));
            if let Some(spoken) = spoken {
                return Line { who: role, text: self.words.prose(spoken.trim()) };
            }
        }
        Line { who: default, text: self.words.prose(text.trim()) }
    }

    /// The two parts of a one-line fact.
    pub(super) fn two(&self, line: &str, separator: &str) -> Result<[String; 2], WorldError> {
        <[&str; 2]>::try_from(parts(line, separator))
            .map(|parts| parts.map(str::to_owned))
            .map_err(|_| self.broken(format!("{line:?} does not have two parts around {separator:?}")))
    }

    /// The three parts of a one-line fact.
    pub(super) fn three(&self, line: &str) -> Result<[String; 3], WorldError> {
        <[&str; 3]>::try_from(parts(line, "|"))
            .map(|parts| parts.map(|part| self.words.fill(part)))
            .map_err(|_| self.broken(format!("{line:?} does not have three parts")))
    }

    /// Numbers the frames in the order of their events and points the facts to them.
    fn finish(mut self, video: VideoId, seconds: u32) -> Result<Stage, WorldError> {
        let mut order: Vec<usize> = (0..self.pending.len()).collect();
        order.sort_by_key(|place| self.pending.get(*place).map(|frame| frame.event));
        let mut place_of = vec![0; order.len()];
        let mut frames = Vec::with_capacity(order.len());
        for (place, old) in order.iter().enumerate() {
            if let (Some(slot), Some(pending)) = (place_of.get_mut(*old), self.pending.get(*old)) {
                *slot = place;
                frames.push(Frame {
                    id: NodeId::new(format!("{video}_L3_{place:03}"))?,
                    event: pending.event,
                    caption: pending.caption.clone(),
                    picture: pending.picture.clone(),
                    at: 0,
                });
            }
        }
        self.facts.move_frames(|old| place_of.get(old).copied().unwrap_or(old));
        for (index, event) in self.events.iter_mut().enumerate() {
            let first = frames.iter().position(|frame| frame.event == index).unwrap_or(frames.len());
            let count = frames.iter().filter(|frame| frame.event == index).count();
            event.frames = first..first + count;
            if let Some(tool) = &mut event.tool {
                tool.only_in = tool.only_in.and_then(|old| place_of.get(old).copied());
            }
            let span = event.time.1 - event.time.0;
            for (nth, frame) in frames.iter_mut().filter(|frame| frame.event == index).enumerate() {
                let share = u32::try_from(nth + 1).unwrap_or(1) * span / (u32::try_from(count).unwrap_or(1) + 1);
                frame.at = event.time.0 + share;
            }
        }
        let fill = |texts: &[String]| texts.iter().map(|text| self.words.fill(text)).collect::<Vec<_>>();
        let absent = &self.script.absent;
        Ok(Stage {
            video,
            domain: self.script.domain.clone(),
            seconds,
            cast: self.cast,
            about: self.words.fill(&self.script.about),
            wrong_about: fill(&self.script.wrong),
            absent_things: fill(&absent.things),
            absent_acts: fill(&absent.acts).iter().map(|act| Act::new(act, None, None)).collect(),
            absent_topics: fill(&absent.topics),
            absent_reasons: fill(&absent.reasons),
            scenes: self.scenes,
            events: self.events,
            frames,
            facts: self.facts,
        })
    }
}

/// Whether an event has a tool that none of its texts gives away.
fn can_hide_tool(event: &Event) -> bool {
    let Some(tool) = &event.tool else { return false };
    let texts: String = event
        .lines
        .iter()
        .map(|line| &line.text)
        .chain([&event.caption])
        .flat_map(|text| [text, " "].map(str::to_lowercase))
        .collect();
    !tool.name.to_lowercase().split_whitespace().filter(|word| word.len() > 3).any(|word| {
        let stem = word.trim_end_matches('s');
        texts.contains(stem)
    })
}

/// Who acts in a scene, speaks in it or is named in its texts.
fn present_in(scene: &SceneScript) -> BTreeSet<Role> {
    let mut text = scene.summary.clone();
    let mut present = BTreeSet::new();
    for event in &scene.events {
        present.insert(event.who);
        for part in [&event.says, &event.more].into_iter().flatten().chain([&event.act]) {
            text.push(' ');
            text.push_str(part);
        }
    }
    for role in Role::ALL {
        if text.contains(&format!("${}", role.name())) || text.contains(&format!("{}> ", role.name())) {
            present.insert(role);
        }
    }
    present
}

/// Cuts a video into `count` consecutive spans of whole seconds of uneven length.
fn deal_time(seconds: u32, count: usize, rng: &mut SeedRng) -> Vec<(u32, u32)> {
    let weights: Vec<u32> = (0..count).map(|_| rng.random_range(6..=14)).collect();
    let total: u32 = weights.iter().sum::<u32>().max(1);
    let mut sum = 0;
    let mut start = 0;
    let mut spans = Vec::with_capacity(count);
    for weight in weights {
        sum += weight;
        let end = u32::try_from(u64::from(seconds) * u64::from(sum) / u64::from(total)).unwrap_or(seconds);
        spans.push((start, end));
        start = end;
    }
    spans
}

/// No slot may be left open.
fn check_slots(stage: &Stage, script: &Script) -> Result<(), WorldError> {
    let scenes = stage.scenes.iter().flat_map(|scene| [&scene.summary, &scene.during, &scene.topic, &scene.place]);
    let events =
        stage.events.iter().flat_map(|event| event.lines.iter().map(|line| &line.text).chain([&event.caption]));
    let frames = stage.frames.iter().map(|frame| &frame.caption);
    let rest = stage.wrong_about.iter().chain([&stage.about]).chain(&stage.absent_topics);
    match scenes.chain(events).chain(frames).chain(rest).find(|text| text.contains('$')) {
        Some(text) => Err(WorldError::Script { script: script.slug.clone(), what: format!("open slot in {text:?}") }),
        None => Ok(()),
    }
}
