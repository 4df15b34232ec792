//! What people do, and why.

use rand::seq::SliceRandom;

use super::super::content::Role;
use super::super::draft::{Draft, Group, Task, spoken_fact, whole_caption};
use super::super::stage::{Event, SpokenFact, Stage};
use super::super::strategy::Strategy;
use super::one_of;
use crate::domain::SeedRng;

/// Action Recognition.
pub(super) fn recognition(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = stage.events.iter().filter_map(|event| with_thing(stage, event, rng)).collect();
    for role in Role::ALL {
        groups.extend(not_done(stage, role, rng));
        groups.extend(in_part(stage, role, rng));
    }
    groups
}

fn acts_of(stage: &Stage, role: Role) -> Vec<&Event> {
    stage.events.iter().filter(|event| event.who == role).collect()
}

fn with_thing(stage: &Stage, event: &Event, rng: &mut SeedRng) -> Option<Group> {
    let thing = event.act.thing.as_deref()?;
    let pronoun = event.act.pronoun()?;
    let same = stage.events.iter().filter(|other| other.act.thing.as_deref() == Some(thing)).count();
    if same > 1 {
        return None;
    }
    let actor = stage.person(event.who);
    let mut others: Vec<&Event> = stage
        .events
        .iter()
        .filter(|other| other.id != event.id && other.act.pronoun() == Some(pronoun))
        .filter(|other| !stage.names(&other.act.base(actor), event.who))
        .collect();
    others.shuffle(rng);
    others.sort_by_key(|other| other.scene != event.scene);
    let does = |event: &Event| format!("{} {}", actor.he(), event.act.third_with_pronoun(actor));
    let stem =
        one_of(&["What does @ do with ~?", "Which of these does @ do with ~?", "What is it that @ does with ~?"], rng)
            .replace('@', actor.name)
            .replace('~', thing);
    let draft = Draft::new(Task::ActionRecognition, "with_thing", format!("act {}", event.id), stem)
        .options(&does(event), others.into_iter().map(does))
        .needs([Strategy::AnchorMoment, Strategy::CompareOptions])
        .evidence([whole_caption(event)]);
    Group::of(draft, None)
}

/// The answer is done by somebody else or by nobody.
fn not_done(stage: &Stage, role: Role, rng: &mut SeedRng) -> Option<Group> {
    let actor = stage.person(role);
    let mut own = acts_of(stage, role);
    own.shuffle(rng);
    let own: Vec<&Event> = own.into_iter().take(3).collect();
    let by_other: Vec<&Event> =
        stage.events.iter().filter(|event| event.who != role && !stage.names(&event.act.base(actor), role)).collect();
    let mut candidates: Vec<(String, Option<&Event>)> =
        by_other.into_iter().map(|event| (event.act.base(actor), Some(event))).collect();
    candidates.shuffle(rng);
    candidates.truncate(stage.absent_acts.len());
    candidates.extend(stage.absent_acts.iter().map(|act| (act.base(actor), None)));
    candidates.shuffle(rng);
    let (answer, event) = candidates.pop()?;
    let stem =
        one_of(&["Which of these does @ NOT do in the video?", "Which of these is something that @ does NOT do?"], rng)
            .replace('@', actor.name);
    let key = format!("not done {} {answer}", role.name());
    let evidence = own.iter().copied().chain(event).map(whole_caption);
    let draft = Draft::new(Task::ActionRecognition, "not_done", key, stem)
        .options(&answer, own.iter().map(|event| event.act.base(actor)))
        .needs([Strategy::WatchForNegation, Strategy::SearchOptionWords, Strategy::CompareOptions])
        .evidence(evidence);
    Group::of(draft, None)
}

fn in_part(stage: &Stage, role: Role, rng: &mut SeedRng) -> Vec<Group> {
    let actor = stage.person(role);
    let mut groups = Vec::new();
    for event in acts_of(stage, role) {
        let Some(scene) = stage.scenes.get(event.scene) else { continue };
        let mut elsewhere: Vec<&Event> =
            acts_of(stage, role).into_iter().filter(|other| other.scene != event.scene).collect();
        elsewhere.shuffle(rng);
        let stem = one_of(&["Which of these does @ do during ~?", "What does @ do during ~?"], rng)
            .replace('@', actor.name)
            .replace('~', &scene.during);
        let does = |event: &Event| format!("{} {}", actor.he(), event.act.third(actor));
        let wrong: Vec<String> = elsewhere.iter().map(|event| does(event)).collect();
        let draft = Draft::new(Task::ActionRecognition, "in_part", format!("act {}", event.id), stem)
            .options(&does(event), wrong)
            .needs([Strategy::AnchorMoment, Strategy::SearchOptionWords])
            .evidence([whole_caption(event)]);
        groups.extend(Group::of(draft, None));
    }
    groups
}

/// Action Reasoning.
pub(super) fn reasoning(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = stage.facts.reasons.iter().filter_map(|fact| why_and_what(stage, fact, rng)).collect();
    for role in Role::ALL {
        groups.extend(not_given(stage, role, rng));
    }
    groups
}

fn because(fact: &SpokenFact) -> String {
    format!("because {}", fact.clause)
}

fn why_and_what(stage: &Stage, fact: &SpokenFact, rng: &mut SeedRng) -> Option<Group> {
    let event = stage.events.get(fact.event)?;
    let actor = stage.person(event.who);
    let evidence: Vec<_> = spoken_fact(stage, fact).into_iter().chain([whole_caption(event)]).collect();
    let stem = one_of(&["Why does @?", "For what reason does @?", "What is the reason that is given when @@?"], rng);
    let stem = if stem.contains("@@") {
        stem.replace("@@", &stage.clause(event))
    } else {
        stem.replace('@', &format!("{} {}", actor.name, event.act.base(actor)))
    };
    let mut others: Vec<&SpokenFact> = stage.facts.reasons.iter().filter(|other| other.event != fact.event).collect();
    others.shuffle(rng);
    others.sort_by_key(|other| stage.events.get(other.event).is_some_and(|other| other.scene != event.scene));
    let key = format!("why {}", event.id);
    let why = Draft::new(Task::ActionReasoning, "why", key.clone(), stem)
        .options(&because(fact), others.iter().map(|other| because(other)))
        .needs([Strategy::TraceCause, Strategy::ReadSubtitles])
        .evidence(evidence.clone());
    others.shuffle(rng);
    let wrong: Vec<String> =
        others.iter().filter_map(|other| stage.events.get(other.event)).map(|other| stage.clause(other)).collect();
    let stem = one_of(
        &["What is done because ~?", "What happens for the reason that ~?", "Which of these is done because ~?"],
        rng,
    )
    .replace('~', &fact.clause);
    let what = Draft::new(Task::ActionReasoning, "what_for_reason", key, stem)
        .options(&stage.clause(event), wrong)
        .needs([Strategy::TraceCause, Strategy::ReadSubtitles, Strategy::CompareOptions])
        .evidence(evidence);
    Group::of(why, Some(what))
}

/// Three reasons that somebody gives, and one that somebody else or nobody gives.
fn not_given(stage: &Stage, role: Role, rng: &mut SeedRng) -> Option<Group> {
    let (mut own, others): (Vec<&SpokenFact>, Vec<&SpokenFact>) =
        stage.facts.reasons.iter().partition(|fact| fact.who == role);
    own.shuffle(rng);
    own.truncate(3);
    let mut candidates: Vec<(String, Option<&SpokenFact>)> =
        others.into_iter().map(|fact| (because(fact), Some(fact))).collect();
    candidates.shuffle(rng);
    candidates.truncate(stage.absent_reasons.len());
    candidates.extend(stage.absent_reasons.iter().map(|reason| (format!("because {reason}"), None)));
    candidates.shuffle(rng);
    let (answer, fact) = candidates.pop()?;
    let name = stage.person(role).name;
    let stem = one_of(
        &[
            "Which of these reasons is NOT given by @ for anything in the video?",
            "@ gives several reasons in the video. Which of these is NOT one of them?",
        ],
        rng,
    )
    .replace('@', name);
    let evidence = own.iter().copied().chain(fact).filter_map(|fact| spoken_fact(stage, fact));
    let draft = Draft::new(Task::ActionReasoning, "reason_not_given", format!("not given {answer}"), stem)
        .options(&answer, own.iter().map(|fact| because(fact)))
        .needs([Strategy::WatchForNegation, Strategy::ReadSubtitles, Strategy::CompareOptions])
        .evidence(evidence);
    Group::of(draft, None)
}
