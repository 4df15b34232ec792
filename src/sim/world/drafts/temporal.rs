//! When things happen, and in which order.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::super::draft::{Draft, Group, Task, in_time, spoken_fact, whole_caption};
use super::super::stage::{Event, Stage};
use super::super::strategy::Strategy;
use super::one_of;
use crate::domain::SeedRng;

/// Temporal Perception.
pub(super) fn perception(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for scene in &stage.scenes {
        let events = stage.events.get(scene.events.clone()).unwrap_or_default();
        groups.extend(events.windows(2).filter_map(|pair| match pair {
            [a, b] => next_and_previous(stage, a, b, rng),
            _ => None,
        }));
    }
    groups.extend(stage.events.iter().skip(1).filter_map(|event| minute(stage, event, rng)));
    groups.extend(stage.events.iter().filter_map(|event| part(stage, event, rng)));
    groups.extend(said_when(stage, rng));
    groups
}

/// Clauses of other events, those of the same scene first.
fn other_clauses(stage: &Stage, near: &Event, except: &[&Event], rng: &mut SeedRng) -> Vec<String> {
    let mut others: Vec<&Event> =
        stage.events.iter().filter(|event| !except.iter().any(|taken| taken.id == event.id)).collect();
    others.shuffle(rng);
    others.sort_by_key(|event| event.scene != near.scene);
    // One or two from the same scene, the rest from anywhere: the place alone shall not give the answer.
    let split = others.iter().position(|event| event.scene != near.scene).unwrap_or(others.len());
    let (same, rest) = others.split_at_checked(split.min(2)).unwrap_or((&others, &[]));
    same.iter().chain(rest).map(|event| stage.clause(event)).collect()
}

fn next_and_previous(stage: &Stage, a: &Event, b: &Event, rng: &mut SeedRng) -> Option<Group> {
    let (first, second) = (stage.clause(a), stage.clause(b));
    let needs = [Strategy::AnchorMoment, Strategy::OpenNeighbours];
    let evidence = [whole_caption(a), whole_caption(b), in_time(a), in_time(b)];
    let after = one_of(
        &[
            "What happens right after @?",
            "What is the next thing to happen after @?",
            "Which of these comes directly after @?",
        ],
        rng,
    )
    .replace('@', &format!("the moment when {first}"));
    let before = one_of(
        &[
            "What happens just before @?",
            "What is the last thing to happen before @?",
            "Which of these comes directly before @?",
        ],
        rng,
    )
    .replace('@', &format!("the moment when {second}"));
    let key = format!("sequence {} {}", a.id, b.id);
    let next = Draft::new(Task::TemporalPerception, "what_next", key.clone(), after)
        .options(&second, other_clauses(stage, a, &[a, b], rng))
        .needs(needs)
        .evidence(evidence.clone());
    let previous = Draft::new(Task::TemporalPerception, "what_before", key, before)
        .options(&first, other_clauses(stage, b, &[a, b], rng))
        .needs(needs)
        .evidence(evidence);
    Group::of(next, Some(previous))
}

fn minutes(second: u32) -> u32 {
    (second + 30) / 60
}

fn minute(stage: &Stage, event: &Event, rng: &mut SeedRng) -> Option<Group> {
    let answer = minutes(event.time.0);
    let length = (event.time.1 - event.time.0).div_ceil(60);
    let apart = (length + 1).max(2);
    let mut times: Vec<u32> = stage.events.iter().map(|other| minutes(other.time.0)).collect();
    times.shuffle(rng);
    let mut wrong: Vec<u32> = Vec::new();
    for time in times {
        if time > 0 && time.abs_diff(answer) >= apart && wrong.iter().all(|known| known.abs_diff(time) >= apart) {
            wrong.push(time);
        }
    }
    let actor = stage.person(event.who);
    let stem = one_of(
        &[
            "How far into the video does @?",
            "About how many minutes into the video does @?",
            "At about what time in the video does @?",
        ],
        rng,
    )
    .replace('@', &format!("{} {}", actor.name, event.act.base(actor)));
    let words = |n: u32| if n == 1 { "After about 1 minute".to_owned() } else { format!("After about {n} minutes") };
    let draft = Draft::new(Task::TemporalPerception, "minute", format!("minute {}", event.id), stem)
        .number(answer, wrong, words)
        .needs([Strategy::AnchorMoment, Strategy::OrderByTimestamps])
        .evidence([whole_caption(event), in_time(event)]);
    if answer == 0 { None } else { Group::of(draft, None) }
}

fn part(stage: &Stage, event: &Event, rng: &mut SeedRng) -> Option<Group> {
    let scene = stage.scenes.get(event.scene)?;
    let actor = stage.person(event.who);
    let stem = one_of(&["In which part of the video does @?", "During which part of the video does @?"], rng)
        .replace('@', &format!("{} {}", actor.name, event.act.base(actor)));
    let mut wrong: Vec<String> = stage
        .scenes
        .iter()
        .filter(|other| other.id != scene.id)
        .map(|other| format!("during {}", other.during))
        .collect();
    wrong.shuffle(rng);
    let draft = Draft::new(Task::TemporalPerception, "which_part", format!("part {}", event.id), stem)
        .options(&format!("during {}", scene.during), wrong)
        .needs([Strategy::AnchorMoment, Strategy::CompareOptions])
        .evidence([whole_caption(event), in_time(event)]);
    Group::of(draft, None)
}

fn said_when(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups = Vec::new();
    for fact in &stage.facts.statements {
        let Some(event) = stage.events.get(fact.event) else { continue };
        let stem = one_of(
            &[
                "When does @ talk about ?",
                "At which point does @ speak about ?",
                "When does @ have something to say about ?",
            ],
            rng,
        )
        .replace('@', stage.person(fact.who).name)
        .replace('?', &format!("{}?", fact.subject));
        let while_clause = |event: &Event| {
            let actor = stage.person(event.who);
            format!("while {} is {}", actor.name, event.act.ing(actor))
        };
        let mut others: Vec<&Event> = stage.events.iter().filter(|other| other.id != event.id).collect();
        others.shuffle(rng);
        let draft =
            Draft::new(Task::TemporalPerception, "said_when", format!("said {} {}", event.id, fact.subject), stem)
                .options(&while_clause(event), others.into_iter().map(while_clause))
                .needs([Strategy::ReadSubtitles, Strategy::CompareOptions])
                .evidence(spoken_fact(stage, fact).into_iter().chain([whole_caption(event)]));
        groups.extend(Group::of(draft, None));
    }
    groups
}

/// Temporal Reasoning.
pub(super) fn reasoning(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = (0..4).filter_map(|_| first_and_last(stage, rng)).collect();
    groups.extend((0..3).filter_map(|_| sequence(stage, rng)));
    groups.extend((0..3).filter_map(|_| not_yet(stage, rng)));
    for scene in &stage.scenes {
        let events = stage.events.get(scene.events.clone()).unwrap_or_default();
        groups.extend(events.windows(3).filter_map(|window| match window {
            [a, b, c] => between(stage, a, b, c, rng),
            _ => None,
        }));
    }
    groups
}

fn gerund_of(stage: &Stage, event: &Event) -> String {
    event.act.short_ing(stage.person(event.who))
}

/// Some events in the order of time, from different scenes as far as there are enough.
fn pick(stage: &Stage, count: usize, rng: &mut SeedRng) -> Vec<usize> {
    let mut scenes: Vec<usize> = (0..stage.scenes.len()).collect();
    scenes.shuffle(rng);
    let mut picked: Vec<usize> = Vec::new();
    for scene in scenes.into_iter().cycle().take(count * 3) {
        let Some(events) = stage.scenes.get(scene).map(|scene| scene.events.clone()) else { continue };
        if picked.len() < count && !events.is_empty() {
            let event = rng.random_range(events);
            if !picked.contains(&event) {
                picked.push(event);
            }
        }
    }
    picked.sort_unstable();
    picked
}

fn first_and_last(stage: &Stage, rng: &mut SeedRng) -> Option<Group> {
    let picked = pick(stage, 4, rng);
    let events: Vec<&Event> = picked.iter().filter_map(|index| stage.events.get(*index)).collect();
    let gerunds: Vec<String> = events.iter().map(|event| gerund_of(stage, event)).collect();
    let [first, .., last] = gerunds.as_slice() else { return None };
    let evidence: Vec<_> = events.iter().flat_map(|event| [whole_caption(event), in_time(event)]).collect();
    let key = format!("first {picked:?}");
    let needs = [Strategy::OrderByTimestamps, Strategy::CompareOptions];
    let stem = one_of(
        &[
            "Which of these happens @ in the video?",
            "Which of these comes @ in the video?",
            "Of these four, which one is shown @?",
        ],
        rng,
    );
    let draft = |kind, word, answer: &String| {
        let wrong = gerunds.iter().filter(|gerund| *gerund != answer).cloned();
        Draft::new(Task::TemporalReasoning, kind, key.clone(), stem.replace('@', word))
            .options(answer, wrong)
            .needs(needs)
            .evidence(evidence.clone())
    };
    Group::of(draft("first_of_four", "first", first), Some(draft("last_of_four", "last", last)))
}

fn sequence(stage: &Stage, rng: &mut SeedRng) -> Option<Group> {
    let picked = pick(stage, 3, rng);
    let events: Vec<&Event> = picked.iter().filter_map(|index| stage.events.get(*index)).collect();
    let [a, b, c] =
        <[String; 3]>::try_from(events.iter().map(|event| gerund_of(stage, event)).collect::<Vec<_>>()).ok()?;
    let order = |x: &str, y: &str, z: &str| format!("first {x}, then {y}, and then {z}");
    let mut wrong = vec![order(&a, &c, &b), order(&b, &a, &c), order(&c, &b, &a), order(&b, &c, &a), order(&c, &a, &b)];
    wrong.shuffle(rng);
    let stem = one_of(
        &[
            "In which order do these things happen in the video?",
            "Which option gives the right order of events?",
            "Which of these sequences is the one in the video?",
        ],
        rng,
    );
    let draft = Draft::new(Task::TemporalReasoning, "sequence", format!("sequence {picked:?}"), stem)
        .options(&order(&a, &b, &c), wrong)
        .needs([Strategy::OrderByTimestamps, Strategy::CompareOptions, Strategy::SearchOptionWords])
        .evidence(events.iter().flat_map(|event| [whole_caption(event), in_time(event)]));
    Group::of(draft, None)
}

fn not_yet(stage: &Stage, rng: &mut SeedRng) -> Option<Group> {
    let count = stage.events.len();
    if count < 10 {
        return None;
    }
    let now = rng.random_range(count / 2..count - 2);
    let later = rng.random_range(now + 1..count);
    let mut earlier: Vec<usize> = (0..now).collect();
    earlier.shuffle(rng);
    let now = stage.events.get(now)?;
    let later = stage.events.get(later)?;
    let earlier: Vec<&Event> = earlier.into_iter().take(3).filter_map(|index| stage.events.get(index)).collect();
    let stem = one_of(
        &["Which of these has NOT happened yet when @?", "When @, which of these has NOT been seen so far?"],
        rng,
    )
    .replace('@', &stage.clause(now));
    let used = earlier.iter().copied().chain([now, later]);
    let draft = Draft::new(Task::TemporalReasoning, "not_yet", format!("not yet {} {}", now.id, later.id), stem)
        .options(&gerund_of(stage, later), earlier.iter().map(|event| gerund_of(stage, event)))
        .needs([Strategy::WatchForNegation, Strategy::OrderByTimestamps])
        .evidence(used.flat_map(|event| [whole_caption(event), in_time(event)]));
    Group::of(draft, None)
}

fn between(stage: &Stage, a: &Event, b: &Event, c: &Event, rng: &mut SeedRng) -> Option<Group> {
    let stem = format!("What happens after {} and before {}?", stage.clause(a), stage.clause(c));
    let draft = Draft::new(Task::TemporalReasoning, "between", format!("sequence {} {}", a.id, b.id), stem)
        .options(&stage.clause(b), other_clauses(stage, b, &[a, b, c], rng))
        .needs([Strategy::OpenNeighbours, Strategy::OrderByTimestamps])
        .evidence([a, b, c].into_iter().flat_map(|event| [whole_caption(event), in_time(event)]));
    Group::of(draft, None)
}
