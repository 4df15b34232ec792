//! Puts what can be seen in a scene into its frames.

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};

use super::content::{PropScript, parts};
use super::error::WorldError;
use super::font;
use super::grammar::{sentence_case, sentences_case, share_words};
use super::picture::{Colour, Picture, Relation};
use super::stage::{AttributeFact, ColourFact, CountFact, MoveFact, PlaceFact, RowFact, SignFact};
use super::staging::{Builder, Pending};

/// Gives every prop of the script a frame of its own in its scene, and things that move one in each of two scenes.
pub(super) fn place(builder: &mut Builder<'_>) -> Result<(), WorldError> {
    let script = builder.script;
    for (number, scene) in script.scenes.iter().enumerate() {
        let mut events: Vec<usize> =
            builder.scenes.get(number).map(|scene| scene.events.clone().collect()).unwrap_or_default();
        events.shuffle(&mut builder.rng);
        for prop in &scene.props {
            // The question says what happens meanwhile: that should not be about the same thing.
            let about = |event: &usize| {
                builder
                    .events
                    .get(*event)
                    .is_some_and(|event| share_words(prop.subject(), event.act.thing.as_deref().unwrap_or("")))
            };
            let place = events.iter().position(|event| !about(event)).unwrap_or(0);
            if events.is_empty() {
                continue;
            }
            let event = events.remove(place);
            events.push(event);
            place_prop(builder, prop, event)?;
        }
    }
    place_moves(builder)
}

fn place_prop(builder: &mut Builder<'_>, prop: &PropScript, event: usize) -> Result<(), WorldError> {
    match prop {
        PropScript::Colour(line) => {
            let [thing, seen] = builder.two(line, "|")?.map(|part| builder.words.fill(&part));
            let colour = Colour::ALL.choose(&mut builder.rng).copied().unwrap_or(Colour::Red);
            let frame = show(builder, event, &seen, Some(Picture::Colour { thing: thing.clone(), colour }));
            builder.facts.colours.push(ColourFact { frame, thing, colour });
        }
        PropScript::Place(line) => {
            let [thing, landmarks, seen] = builder.three(line)?;
            let mut landmarks: Vec<String> = parts(&landmarks, ",").into_iter().map(str::to_owned).collect();
            landmarks.shuffle(&mut builder.rng);
            let landmark = landmarks.pop().ok_or_else(|| builder.broken(format!("{line:?} has no landmark")))?;
            let relation = Relation::ALL.choose(&mut builder.rng).copied().unwrap_or(Relation::Left);
            let picture = Picture::Place { thing: thing.clone(), relation, landmark: landmark.clone() };
            let frame = show(builder, event, &seen, Some(picture));
            builder.facts.places.push(PlaceFact { frame, thing, relation, landmark, other_landmarks: landmarks });
        }
        PropScript::Count(line) => {
            let [things, place, range, seen] = <[&str; 4]>::try_from(parts(line, "|"))
                .map_err(|_| builder.broken(format!("{line:?} does not have four parts")))?
                .map(|part| builder.words.fill(part));
            let n = draw(builder, &range)?;
            let frame = show(builder, event, &seen, Some(Picture::Count { things: things.clone(), n }));
            builder.facts.counts.push(CountFact { frame, things, place, n });
        }
        PropScript::Sign(line) => place_sign(builder, line, event)?,
        PropScript::Row(line) => {
            let [place, things, seen] = builder.three(line)?;
            let mut things: Vec<String> = parts(&things, ",").into_iter().map(str::to_owned).collect();
            things.shuffle(&mut builder.rng);
            let frame = show(builder, event, &seen, Some(Picture::Row { things: things.clone() }));
            builder.facts.rows.push(RowFact { frame, place, things });
        }
        PropScript::Attr(line) => {
            let [ask, values, template] = <[&str; 3]>::try_from(parts(line, "|"))
                .map_err(|_| builder.broken(format!("{line:?} does not have three parts")))?;
            let mut values: Vec<String> =
                parts(values, ",").into_iter().map(|value| builder.words.fill(value)).collect();
            values.shuffle(&mut builder.rng);
            let value = values.pop().ok_or_else(|| builder.broken(format!("{line:?} has no value")))?;
            let sentence = builder.words.with("v", &value).prose(template);
            let frame = show(builder, event, &sentence, None);
            let ask = builder.words.prose(ask);
            builder.facts.attributes.push(AttributeFact { frame, ask, value, others: values, sentence });
        }
    }
    Ok(())
}

/// About half of the signs are cut off in a first frame and whole in a second.
fn place_sign(builder: &mut Builder<'_>, line: &str, event: usize) -> Result<(), WorldError> {
    let [carrier, texts, seen] = builder.three(line)?;
    let mut similar: Vec<String> = parts(&texts, ";").into_iter().map(str::to_owned).collect();
    similar.shuffle(&mut builder.rng);
    let text = similar.pop().ok_or_else(|| builder.broken(format!("{line:?} has no text")))?;
    if let Some(letter) = text.chars().find(|letter| !font::has(*letter)) {
        return Err(builder.broken(format!("{text:?} contains {letter:?}, which cannot be drawn")));
    }
    let sign = |cut| Picture::Sign { carrier: carrier.clone(), text: text.clone(), cut };
    let mut cut_off_in = None;
    let (first, again) = (sign(true), sign(false));
    let frame = if builder.rng.random_bool(0.5) {
        cut_off_in = Some(show(builder, event, &seen, Some(first)));
        let closer =
            ["The camera moves closer to", "A second later the picture is centred on", "The next shot is aimed at"];
        let words = closer.choose(&mut builder.rng).copied().unwrap_or("The camera shows");
        show(builder, event, &format!("{words} {carrier}."), Some(again))
    } else {
        show(builder, event, &seen, Some(again))
    };
    builder.facts.signs.push(SignFact { frame, cut_off_in, carrier, text, similar });
    Ok(())
}

fn place_moves(builder: &mut Builder<'_>) -> Result<(), WorldError> {
    let script = builder.script;
    for moved in &script.moves {
        let thing = builder.words.fill(&moved.thing);
        let mut spots: Vec<String> = moved.spots.iter().map(|spot| builder.words.fill(spot)).collect();
        spots.shuffle(&mut builder.rng);
        let (Some(before), Some(after)) = (spots.pop(), spots.pop()) else {
            return Err(builder.broken(format!("{thing:?} has too few places to move between")));
        };
        let scenes = builder.scenes.len();
        let first = builder.rng.random_range(0..scenes.saturating_sub(1).max(1));
        let second = builder.rng.random_range((first + 1).min(scenes.saturating_sub(1))..scenes.max(1));
        let [from, to] = [first, second].map(|scene| {
            let events: Vec<usize> =
                builder.scenes.get(scene).map(|scene| scene.events.clone().collect()).unwrap_or_default();
            events.choose(&mut builder.rng).copied().unwrap_or(0)
        });
        let stands = format!("{} stands {before}.", sentence_case(&thing));
        let background = ["can be seen in the background.", "has got into the picture.", "is in the picture as well."];
        let words = background.choose(&mut builder.rng).copied().unwrap_or("can be seen.");
        let picture = Picture::Thing { label: format!("{thing} {before}"), says: stands };
        let from = show(builder, from, &format!("{} {words}", sentence_case(&thing)), Some(picture));
        let sentence = format!("{} stands {after}.", sentence_case(&thing));
        let to = show(builder, to, &sentence, None);
        builder.facts.moves.push(MoveFact {
            thing,
            from: (from, before),
            to: (to, after, sentence),
            other_spots: spots,
        });
    }
    Ok(())
}

/// Adds a frame to an event.
fn show(builder: &mut Builder<'_>, event: usize, caption: &str, picture: Option<Picture>) -> usize {
    builder.pending.push(Pending { event, caption: sentences_case(caption), picture });
    builder.pending.len() - 1
}

/// A number from `min-max`.
pub(super) fn draw(builder: &mut Builder<'_>, range: &str) -> Result<u32, WorldError> {
    let bounds =
        range.split_once('-').and_then(|(low, high)| Some((low.parse::<u32>().ok()?, high.parse::<u32>().ok()?)));
    match bounds {
        Some((low, high)) if low < high => Ok(builder.rng.random_range(low..=high)),
        _ => Err(builder.broken(format!("{range:?} is no range"))),
    }
}
