//! What the whole video is about.

use rand::seq::SliceRandom;

use super::super::draft::{Draft, Group, Task, in_speech, in_time};
use super::super::spec::{Channel, Evidence};
use super::super::stage::{Scene, Stage};
use super::super::strategy::Strategy;
use super::one_of;
use crate::domain::SeedRng;

/// Information Synopsis.
pub(super) fn synopsis(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = about(stage, rng).into_iter().collect();
    groups.extend((0..stage.absent_topics.len()).filter_map(|nth| not_covered(stage, nth, rng)));
    groups.extend((0..2).filter_map(|_| order_of_parts(stage, rng)));
    groups.extend(advice(stage, rng));
    groups
}

fn summary(scene: &Scene) -> Evidence {
    Evidence { node: scene.id.clone(), channel: Channel::Card, text: scene.summary.clone() }
}

fn about(stage: &Stage, rng: &mut SeedRng) -> Option<Group> {
    let mut wrong = stage.wrong_about.clone();
    wrong.shuffle(rng);
    let stem = one_of(
        &[
            "What is this video mainly about?",
            "Which sentence sums up the video best?",
            "Which of these describes the video as a whole?",
        ],
        rng,
    );
    let draft = Draft::new(Task::InformationSynopsis, "about", "about", stem)
        .options(&stage.about, wrong)
        .needs([Strategy::SurveyScenes, Strategy::CompareOptions])
        .evidence(stage.scenes.iter().map(summary));
    Group::of(draft, None)
}

fn not_covered(stage: &Stage, nth: usize, rng: &mut SeedRng) -> Option<Group> {
    let absent = stage.absent_topics.get(nth)?;
    let mut scenes: Vec<&Scene> = stage.scenes.iter().collect();
    scenes.shuffle(rng);
    scenes.truncate(3);
    let stem = one_of(
        &[
            "Which of these is NOT part of the video?",
            "Which of these topics is NOT covered in the video?",
            "Which of these does the video NOT show?",
        ],
        rng,
    );
    let draft = Draft::new(Task::InformationSynopsis, "not_covered", format!("not covered {absent}"), stem)
        .options(absent, scenes.iter().map(|scene| scene.topic.clone()))
        .needs([Strategy::WatchForNegation, Strategy::SurveyScenes])
        .evidence(scenes.iter().map(|scene| summary(scene)));
    Group::of(draft, None)
}

fn order_of_parts(stage: &Stage, rng: &mut SeedRng) -> Option<Group> {
    let mut picked: Vec<usize> = (0..stage.scenes.len()).collect();
    picked.shuffle(rng);
    picked.truncate(3);
    picked.sort_unstable();
    let scenes: Vec<&Scene> = picked.iter().filter_map(|index| stage.scenes.get(*index)).collect();
    let [a, b, c] = <[&Scene; 3]>::try_from(scenes).ok()?;
    let order = |x: &Scene, y: &Scene, z: &Scene| format!("{}, {}, {}", x.topic, y.topic, z.topic);
    let mut wrong = vec![order(b, a, c), order(a, c, b), order(c, b, a), order(b, c, a), order(c, a, b)];
    wrong.shuffle(rng);
    let stem = one_of(
        &[
            "In which order does the video treat these topics?",
            "Which of these lists three parts of the video in the right order?",
        ],
        rng,
    );
    let starts = [a, b, c].into_iter().filter_map(|scene| stage.events.get(scene.events.start)).map(in_time);
    let draft = Draft::new(Task::InformationSynopsis, "order_of_parts", format!("parts {picked:?}"), stem)
        .options(&order(a, b, c), wrong)
        .needs([Strategy::SurveyScenes, Strategy::OrderByTimestamps])
        .evidence([a, b, c].map(summary))
        .evidence(starts);
    Group::of(draft, None)
}

fn advice(stage: &Stage, rng: &mut SeedRng) -> Option<Group> {
    let fact = stage.facts.advice.as_ref()?;
    let mut wrong = fact.others.clone();
    wrong.shuffle(rng);
    let stem = one_of(
        &[
            "What is the main advice that the video ends with?",
            "What should viewers remember above all, according to the end of the video?",
        ],
        rng,
    );
    let draft = Draft::new(Task::InformationSynopsis, "advice", "advice", stem)
        .options(&fact.clause, wrong)
        .needs([Strategy::ReadSubtitles, Strategy::CompareOptions])
        .evidence(in_speech(stage, fact.event, &fact.said));
    Group::of(draft, None)
}
