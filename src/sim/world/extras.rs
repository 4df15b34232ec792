//! Spreads over the whole video what questions connect: recurring actions, numbers, measurements, advice.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::content::{Measure, Role};
use super::error::WorldError;
use super::grammar::number;
use super::props::draw;
use super::stage::{AdviceFact, Line, MeasureFact, MotifFact, NumberFact, SpokenNumber};
use super::staging::Builder;

/// Adds the extra lines and captions.
pub(super) fn place(builder: &mut Builder<'_>) -> Result<(), WorldError> {
    place_motif(builder);
    place_plan(builder)?;
    place_sum(builder)?;
    let measures = &builder.script.measures;
    for measure in measures {
        place_measure(builder, measure)?;
    }
    place_advice(builder)
}

/// The action recurs three to five times, at most twice in a scene.
fn place_motif(builder: &mut Builder<'_>) {
    let motif = &builder.script.motif;
    let mut lines: Vec<String> = motif.lines.iter().map(|line| builder.words.prose(line)).collect();
    lines.shuffle(&mut builder.rng);
    let most = u32::try_from(lines.len()).unwrap_or(3).min(5);
    let times = builder.rng.random_range(3..=most.max(3));
    let actors: Vec<Role> = Role::ALL
        .into_iter()
        .filter(|role| motif.lines.iter().any(|line| line.contains(&format!("${}", role.name()))))
        .collect();
    let mut events: Vec<usize> = (0..builder.events.len())
        .filter(|index| {
            let scene = builder.events.get(*index).and_then(|event| builder.scenes.get(event.scene));
            let fits = builder
                .events
                .get(*index)
                .is_some_and(|event| motif.scenes.is_empty() || motif.scenes.contains(&event.scene));
            fits && scene.is_some_and(|scene| actors.iter().all(|role| scene.present.contains(role)))
        })
        .collect();
    events.shuffle(&mut builder.rng);
    let mut used: Vec<usize> = Vec::new();
    for index in events {
        let scene_of = |index: usize| builder.events.get(index).map(|event| event.scene);
        let same_scene = used.iter().filter(|other| scene_of(**other) == scene_of(index)).count();
        if used.len() < usize::try_from(times).unwrap_or(3) && same_scene < 2 {
            used.push(index);
        }
    }
    used.sort_unstable();
    let times: Vec<(usize, String)> = used.into_iter().zip(lines).collect();
    for (index, line) in &times {
        if let Some(event) = builder.events.get_mut(*index) {
            event.caption = format!("{} {line}", event.caption);
        }
    }
    builder.facts.motif = Some(MotifFact { ask: builder.words.fill(&motif.ask), times });
}

fn place_plan(builder: &mut Builder<'_>) -> Result<(), WorldError> {
    let plan = &builder.script.plan;
    let n = builder.rng.random_range(4_u32..=7);
    let m = if builder.rng.random_bool(0.5) {
        n + builder.rng.random_range(1..=2)
    } else {
        n - builder.rng.random_range(1..=2)
    };
    let texts =
        [&plan.first, &plan.then].map(|text| builder.words.with("n", number(n)).with("m", number(m)).fill(text));
    let said = say_apart(builder, &texts, [n, m], true)?;
    builder.facts.plan = Some(NumberFact { ask: builder.words.fill(&plan.ask), said });
    Ok(())
}

fn place_sum(builder: &mut Builder<'_>) -> Result<(), WorldError> {
    let sum = &builder.script.sum;
    let numbers = [builder.rng.random_range(3_u32..=6), builder.rng.random_range(2_u32..=5)];
    let [first, second] = numbers;
    let texts = [
        builder.words.with("n", number(first)).fill(&sum.parts[0]),
        builder.words.with("n", number(second)).fill(&sum.parts[1]),
    ];
    let said = say_apart(builder, &texts, numbers, true)?;
    builder.facts.sum = Some(NumberFact { ask: builder.words.fill(&sum.ask), said });
    Ok(())
}

fn place_measure(builder: &mut Builder<'_>, measure: &Measure) -> Result<(), WorldError> {
    let first = draw(builder, &measure.range)?;
    let mut second = draw(builder, &measure.range)?;
    while second.abs_diff(first) < 2 {
        second = draw(builder, &measure.range)?;
    }
    let texts = [
        builder.words.with("n", number(first)).fill(&measure.said[0]),
        builder.words.with("n", number(second)).fill(&measure.said[1]),
    ];
    let said = say_apart(builder, &texts, [first, second], false)?;
    builder.facts.measures.push(MeasureFact {
        ask_more: builder.words.fill(&measure.ask),
        ask_less: builder.words.fill(&measure.less),
        items: [builder.words.fill(&measure.items[0]), builder.words.fill(&measure.items[1])],
        unit: measure.unit.clone(),
        said,
    });
    Ok(())
}

/// One piece of advice is given at the end of the last scene in which the lead is there.
fn place_advice(builder: &mut Builder<'_>) -> Result<(), WorldError> {
    let mut advice = Vec::new();
    for line in &builder.script.advice {
        let [clause, said] = builder.two(line, "<-")?;
        advice.push((builder.words.fill(&clause), said));
    }
    advice.shuffle(&mut builder.rng);
    let (clause, said) = advice.pop().ok_or_else(|| builder.broken("no advice"))?;
    let event = builder.events.len().saturating_sub(1);
    let line = builder.line(&said, Role::Lead);
    let said = line.text.clone();
    if let Some(event) = builder.events.get_mut(event) {
        event.lines.push(line);
    }
    let others = advice.into_iter().map(|(clause, _)| clause).collect();
    builder.facts.advice = Some(AdviceFact { event, clause, said, others });
    Ok(())
}

/// Has two lines said in two different scenes, in order if they build on each other, where the least is said so far.
fn say_apart(
    builder: &mut Builder<'_>,
    texts: &[String; 2],
    numbers: [u32; 2],
    in_order: bool,
) -> Result<[SpokenNumber; 2], WorldError> {
    let [first, second] = texts.each_ref().map(|text| builder.line(text, Role::Lead));
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    for one in events_with(builder, first.who) {
        for other in events_with(builder, second.who) {
            let scene_of = |index: usize| builder.events.get(index).map_or(0, |event| event.scene);
            let apart = scene_of(one) != scene_of(other);
            if apart && (!in_order || one < other) {
                pairs.push((one, other));
            }
        }
    }
    pairs.shuffle(&mut builder.rng);
    let lines = |index: usize| builder.events.get(index).map_or(0, |event| event.lines.len());
    let (one, other) = pairs
        .into_iter()
        .min_by_key(|(one, other)| lines(*one).pow(2) + lines(*other).pow(2))
        .ok_or_else(|| builder.broken(format!("no two scenes for {texts:?}")))?;
    let spoken = |event, n, line: &Line| SpokenNumber { event, n, text: line.text.clone() };
    let said = [spoken(one, numbers[0], &first), spoken(other, numbers[1], &second)];
    for (index, line) in [(one, first), (other, second)] {
        if let Some(event) = builder.events.get_mut(index) {
            event.lines.push(line);
        }
    }
    Ok(said)
}

/// The events in whose scene somebody is present.
fn events_with(builder: &Builder<'_>, role: Role) -> Vec<usize> {
    (0..builder.events.len())
        .filter(|index| {
            let scene = builder.events.get(*index).and_then(|event| builder.scenes.get(event.scene));
            scene.is_some_and(|scene| scene.present.contains(&role))
        })
        .collect()
}
