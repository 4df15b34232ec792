//! What things look like, and what can be read.

use rand::seq::SliceRandom;

use super::super::draft::{Draft, Group, Task, in_frame_card, in_picture, whole_caption};
use super::super::grammar::is_plural;
use super::super::picture::Colour;
use super::super::stage::{SignFact, Stage};
use super::super::strategy::Strategy;
use super::one_of;
use crate::domain::SeedRng;

/// Attribute Perception.
pub(super) fn attributes(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups = Vec::new();
    for fact in &stage.facts.colours {
        let Some(frame) = stage.frames.get(fact.frame) else { continue };
        let Some(event) = stage.events.get(frame.event) else { continue };
        let stem = one_of(
            &[
                "What colour ^ ~ when @?",
                "When @, what is the colour of ~?",
                "What colour ^ ~ in the scene in which @?",
            ],
            rng,
        )
        .replace('^', if is_plural(&fact.thing) { "are" } else { "is" })
        .replace('~', &fact.thing)
        .replace('@', &stage.clause(event));
        let mut wrong: Vec<Colour> = Colour::ALL.into_iter().filter(|colour| *colour != fact.colour).collect();
        wrong.shuffle(rng);
        // Colours of other things in the same video are the tempting ones.
        wrong.sort_by_key(|colour| !stage.facts.colours.iter().any(|other| other.colour == *colour));
        let draft = Draft::new(Task::AttributePerception, "colour", format!("colour {}", fact.thing), stem)
            .options(fact.colour.name(), wrong.into_iter().map(|colour| colour.name().to_owned()))
            .needs([Strategy::AnchorMoment, Strategy::OpenFrames])
            .evidence(in_picture(frame));
        groups.extend(Group::of(draft, None));
    }
    for fact in &stage.facts.attributes {
        let Some(frame) = stage.frames.get(fact.frame) else { continue };
        let draft =
            Draft::new(Task::AttributePerception, "property", format!("property {}", fact.ask), fact.ask.clone())
                .options(&fact.value, fact.others.iter().cloned())
                .needs([Strategy::AnchorMoment, Strategy::CompareOptions])
                .evidence([in_frame_card(frame, fact.sentence.clone())]);
        groups.extend(Group::of(draft, None));
    }
    groups
}

/// OCR Problems.
pub(super) fn writing(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    stage.facts.signs.iter().filter_map(|fact| sign(stage, fact, rng)).collect()
}

fn sign(stage: &Stage, fact: &SignFact, rng: &mut SeedRng) -> Option<Group> {
    let frame = stage.frames.get(fact.frame)?;
    let event = stage.events.get(frame.event)?;
    let cut = fact.cut_off_in.and_then(|frame| stage.frames.get(frame));
    let mut needs = vec![Strategy::AnchorMoment, Strategy::OpenFrames];
    // A text that is cut off in one frame leaves several options open until a second frame is read.
    needs.push(if cut.is_some() { Strategy::VerifySecondNode } else { Strategy::CompareOptions });
    let evidence: Vec<_> = in_picture(frame).into_iter().chain(cut.and_then(in_picture)).collect();
    let stem = one_of(
        &[
            "What is written on ~?",
            "What can be read on ~ when @?",
            "What does the writing on ~ say?",
            "Which words can be read on ~?",
        ],
        rng,
    )
    .replace('~', &fact.carrier)
    .replace('@', &stage.clause(event));
    let key = format!("sign {}", fact.carrier);
    let text = Draft::new(Task::OcrProblems, "sign_text", key.clone(), stem)
        .options(&fact.text, fact.similar.iter().cloned())
        .needs(needs.clone())
        .evidence(evidence.clone());
    let mut carriers: Vec<String> = stage
        .facts
        .signs
        .iter()
        .map(|other| other.carrier.clone())
        .filter(|carrier| *carrier != fact.carrier)
        .collect();
    carriers.shuffle(rng);
    let stem = one_of(
        &[
            "Where can the words \"~\" be read?",
            "On what is \"~\" written?",
            "Where does the camera show the words \"~\"?",
        ],
        rng,
    )
    .replace('~', &fact.text);
    let on = |carrier: &str| format!("on {carrier}");
    let place = Draft::new(Task::OcrProblems, "sign_place", key, stem)
        .options(&on(&fact.carrier), carriers.iter().map(|carrier| on(carrier)))
        .needs([Strategy::OpenFrames, Strategy::CompareOptions])
        .evidence(evidence)
        .evidence([whole_caption(event)]);
    Group::of(text, Some(place))
}
