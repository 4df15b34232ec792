//! Where things are, and how places relate.

use rand::seq::SliceRandom;

use super::super::draft::{Draft, Group, Task, in_caption, in_frame_card, in_picture, in_time, whole_caption};
use super::super::grammar::{is_plural, sentence_case, share_words};
use super::super::picture::Relation;
use super::super::stage::{Event, PlaceFact, RowFact, Stage};
use super::super::strategy::Strategy;
use super::one_of;
use crate::domain::SeedRng;

/// Spatial Perception.
pub(super) fn perception(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> =
        stage.facts.places.iter().filter_map(|fact| place_in_picture(stage, fact, rng)).collect();
    for fact in &stage.facts.spots {
        let Some(event) = stage.events.get(fact.event) else { continue };
        let actor = stage.person(event.who);
        let stem = one_of(&["Where is @?", "Where in the scene is @?"], rng)
            .replace('@', &format!("{} while {}", actor.name, doing(stage, event)));
        let mut wrong: Vec<String> = stage
            .scenes
            .iter()
            .flat_map(|scene| scene.spots.iter())
            .filter(|spot| **spot != fact.spot && !share_words(spot, &event.act.base_with_tool(actor)))
            .cloned()
            .collect();
        wrong.shuffle(rng);
        // Places of the same scene are the tempting ones.
        let own = stage.scenes.get(event.scene).map(|scene| scene.spots.clone()).unwrap_or_default();
        wrong.sort_by_key(|spot| !own.contains(spot));
        let draft = Draft::new(Task::SpatialPerception, "spot", format!("spot {}", event.id), stem)
            .options(&fact.spot, wrong)
            .needs([Strategy::AnchorMoment, Strategy::CompareOptions])
            .evidence([in_caption(event, sentence_case(&fact.spot))]);
        groups.extend(Group::of(draft, None));
    }
    groups
}

/// "she is rinsing the lentils"
fn doing(stage: &Stage, event: &Event) -> String {
    let actor = stage.person(event.who);
    format!("{} is {}", actor.he(), event.act.ing(actor))
}

fn place_in_picture(stage: &Stage, fact: &PlaceFact, rng: &mut SeedRng) -> Option<Group> {
    let frame = stage.frames.get(fact.frame)?;
    let event = stage.events.get(frame.event)?;
    let stem = one_of(
        &[
            "Where ^ ~ in the picture when @?",
            "When @, where can ~ be seen?",
            "Where ^ ~, as seen from the camera, when @?",
        ],
        rng,
    )
    .replace('^', if is_plural(&fact.thing) { "are" } else { "is" })
    .replace('~', &fact.thing)
    .replace('@', &stage.clause(event));
    let at = |relation: Relation, landmark: &str| format!("{} {landmark}", relation.words());
    let mut wrong = Vec::new();
    for landmark in &fact.other_landmarks {
        wrong.push(at(fact.relation, landmark));
        wrong.push(at(fact.relation.opposite(), landmark));
    }
    wrong.shuffle(rng);
    wrong.insert(0, at(fact.relation.opposite(), &fact.landmark));
    let draft = Draft::new(Task::SpatialPerception, "place", format!("place {}", fact.thing), stem)
        .options(&at(fact.relation, &fact.landmark), wrong)
        .needs([Strategy::AnchorMoment, Strategy::OpenFrames, Strategy::FixViewpoint])
        .evidence(in_picture(frame));
    Group::of(draft, None)
}

/// Spatial Reasoning.
pub(super) fn reasoning(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = moved(stage, rng);
    for fact in &stage.facts.rows {
        groups.extend(ends_of_row(stage, fact, rng));
        groups.extend(next_in_row(stage, fact, rng));
    }
    for pair in stage.scenes.windows(2) {
        let [here, there] = pair else { continue };
        let stem = one_of(
            &["Which place does the video go to directly after @?", "The video leaves @. Where does it go next?"],
            rng,
        )
        .replace('@', &here.place);
        let mut wrong: Vec<String> = stage
            .scenes
            .iter()
            .filter(|scene| scene.id != here.id && scene.id != there.id)
            .map(|scene| scene.place.clone())
            .collect();
        wrong.shuffle(rng);
        let events = [here, there].into_iter().filter_map(|scene| stage.events.get(scene.events.start));
        let draft = Draft::new(Task::SpatialReasoning, "route", format!("route {}", here.id), stem)
            .options(&there.place, wrong)
            .needs([Strategy::AnchorMoment, Strategy::OpenNeighbours])
            .evidence([here, there].map(|scene| in_scene(scene, &scene.place)))
            .evidence(events.map(in_time));
        groups.extend(Group::of(draft, None));
    }
    groups
}

fn in_scene(scene: &super::super::stage::Scene, text: &str) -> super::super::spec::Evidence {
    super::super::spec::Evidence {
        node: scene.id.clone(),
        channel: super::super::spec::Channel::Card,
        text: text.to_owned(),
    }
}

fn moved(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups = Vec::new();
    for fact in &stage.facts.moves {
        let (Some(from), Some(to)) = (stage.frames.get(fact.from.0), stage.frames.get(fact.to.0)) else { continue };
        let (Some(early), Some(late)) = (stage.events.get(from.event), stage.events.get(to.event)) else { continue };
        let stem = one_of(
            &[
                "Where does ~ stand when @, and where does it stand later, when #?",
                "Compare the moment when @ with the moment when #: where does ~ stand in each?",
                "~ changes its place between the moment when @ and the moment when #. From where to where?",
            ],
            rng,
        )
        .replace('~', &fact.thing)
        .replace('@', &stage.clause(early))
        .replace('#', &stage.clause(late));
        let places = |first: &str, second: &str| format!("first {first}, later {second}");
        let (before, after) = (&fact.from.1, &fact.to.1);
        let mut wrong: Vec<String> = Vec::new();
        for other in &fact.other_spots {
            wrong.push(places(before, other));
            wrong.push(places(other, after));
        }
        wrong.shuffle(rng);
        wrong.insert(0, places(after, before));
        let draft = Draft::new(Task::SpatialReasoning, "moved", format!("moved {}", fact.thing), sentence_case(&stem))
            .options(&places(before, after), wrong)
            .needs([Strategy::CompareScenes, Strategy::OpenFrames, Strategy::AnchorMoment])
            .evidence(in_picture(from))
            .evidence([in_frame_card(to, fact.to.2.clone())]);
        groups.extend(Group::of(draft, None));
    }
    groups
}

fn ends_of_row(stage: &Stage, fact: &RowFact, rng: &mut SeedRng) -> Option<Group> {
    let frame = stage.frames.get(fact.frame)?;
    let [first, .., last] = fact.things.as_slice() else { return None };
    let stem = one_of(
        &[
            "In the row @, what is furthest to the ~, as seen from the camera?",
            "Seen from the camera, what is at the ~ end of the row @?",
        ],
        rng,
    )
    .replace('@', &fact.place);
    let draft = |kind, side, answer: &String| {
        let wrong = fact.things.iter().rev().filter(|thing| *thing != answer).cloned();
        Draft::new(Task::SpatialReasoning, kind, format!("row {}", fact.place), stem.replace('~', side))
            .options(answer, wrong)
            .needs([Strategy::OpenFrames, Strategy::FixViewpoint])
            .evidence(in_picture(frame))
    };
    Group::of(draft("row_left", "left", first), Some(draft("row_right", "right", last)))
}

fn next_in_row(stage: &Stage, fact: &RowFact, rng: &mut SeedRng) -> Option<Group> {
    let frame = stage.frames.get(fact.frame)?;
    let event = stage.events.get(frame.event)?;
    let [a, b, c, d] = <&[String; 4]>::try_from(fact.things.as_slice()).ok()?;
    let (near, answer, wrong) = match one_of(&["b", "c"], rng) {
        "b" => (a, b, [d, c]),
        _ => (b, c, [a, d]),
    };
    let stem =
        format!("What comes directly to the right of {near} in the row {}, as seen from the camera?", fact.place);
    let wrong = wrong.into_iter().cloned().chain(["nothing, it is the last in the row".to_owned()]);
    let draft = Draft::new(Task::SpatialReasoning, "row_next", format!("row {}", fact.place), stem)
        .options(answer, wrong)
        .needs([Strategy::OpenFrames, Strategy::FixViewpoint])
        .evidence(in_picture(frame))
        .evidence([whole_caption(event)]);
    Group::of(draft, None)
}
