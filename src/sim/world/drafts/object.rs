//! Which things occur, and what they are good for.

use rand::seq::SliceRandom;

use super::super::draft::{Draft, Group, Task, in_picture, spoken_fact, spoken_number, whole_caption};
use super::super::grammar::number;
use super::super::stage::{Event, MeasureFact, SpokenFact, Stage};
use super::super::strategy::Strategy;
use super::one_of;
use crate::domain::SeedRng;

/// Object Recognition.
pub(super) fn recognition(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = stage.events.iter().filter_map(|event| tool(stage, event, rng)).collect();
    groups.extend((0..stage.absent_things.len()).filter_map(|nth| not_used(stage, nth, rng)));
    groups.extend(in_row(stage, rng));
    groups
}

fn tools(stage: &Stage) -> Vec<(&Event, &str)> {
    stage.events.iter().filter_map(|event| Some((event, event.tool.as_ref()?.name.as_str()))).collect()
}

fn shows_tool(stage: &Stage, event: &Event) -> Option<super::super::spec::Evidence> {
    match event.tool.as_ref()?.only_in {
        Some(frame) => in_picture(stage.frames.get(frame)?),
        None => Some(whole_caption(event)),
    }
}

fn tool(stage: &Stage, event: &Event, rng: &mut SeedRng) -> Option<Group> {
    let used = event.tool.as_ref()?;
    let actor = stage.person(event.who);
    let mut others: Vec<(&Event, &str)> =
        tools(stage).into_iter().filter(|(other, name)| other.id != event.id && *name != used.name).collect();
    others.shuffle(rng);
    let stem =
        one_of(&["What does @ use to ~?", "With the help of what does @ ~?", "Which of these does @ use to ~?"], rng)
            .replace('@', actor.name)
            .replace('~', &event.act.base(actor));
    let first = if used.only_in.is_some() { Strategy::OpenFrames } else { Strategy::SearchOptionWords };
    let draft = Draft::new(Task::ObjectRecognition, "tool", format!("tool {}", event.id), stem)
        .options(&used.name, others.into_iter().map(|(_, name)| name.to_owned()))
        .needs([first, Strategy::AnchorMoment])
        .evidence(shows_tool(stage, event));
    Group::of(draft, None)
}

fn not_used(stage: &Stage, nth: usize, rng: &mut SeedRng) -> Option<Group> {
    let absent = stage.absent_things.get(nth)?;
    let mut used = tools(stage);
    used.shuffle(rng);
    used.truncate(3);
    let stem = one_of(
        &[
            "Which of these things is NOT used by anybody in the video?",
            "Which of these is NOT used at any point of the video?",
        ],
        rng,
    );
    let draft = Draft::new(Task::ObjectRecognition, "not_used", format!("not used {absent}"), stem)
        .options(absent, used.iter().map(|(_, name)| (*name).to_owned()))
        .needs([Strategy::WatchForNegation, Strategy::SearchOptionWords])
        .evidence(used.iter().filter_map(|(event, _)| shows_tool(stage, event)));
    Group::of(draft, None)
}

/// One of the things in a row, among things of the video's other rows.
fn in_row(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups = Vec::new();
    for fact in &stage.facts.rows {
        let Some(frame) = stage.frames.get(fact.frame) else { continue };
        let Some(event) = stage.events.get(frame.event) else { continue };
        let mut elsewhere: Vec<String> = stage
            .facts
            .rows
            .iter()
            .filter(|other| other.frame != fact.frame)
            .flat_map(|other| other.things.iter().cloned())
            .filter(|thing| !fact.things.contains(thing))
            .collect();
        elsewhere.shuffle(rng);
        let Some(answer) = fact.things.get(1) else { continue };
        let stem = format!("When {}, which of these belongs to the row {}?", stage.clause(event), fact.place);
        let draft = Draft::new(Task::ObjectRecognition, "in_row", format!("in row {}", fact.place), stem)
            .options(answer, elsewhere)
            .needs([Strategy::OpenFrames, Strategy::AnchorMoment])
            .evidence(in_picture(frame));
        groups.extend(Group::of(draft, None));
    }
    groups
}

/// Object Reasoning.
pub(super) fn reasoning(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups: Vec<Group> = stage.facts.purposes.iter().filter_map(|fact| purpose(stage, fact, rng)).collect();
    groups.extend(stage.facts.statements.iter().filter_map(|fact| statement(stage, fact, rng)));
    groups.extend(stage.facts.measures.iter().filter_map(|fact| measure(stage, fact, rng)));
    groups
}

fn purpose(stage: &Stage, fact: &SpokenFact, rng: &mut SeedRng) -> Option<Group> {
    let mut others: Vec<&SpokenFact> =
        stage.facts.purposes.iter().filter(|other| other.subject != fact.subject).collect();
    others.shuffle(rng);
    let name = stage.person(fact.who).name;
    let evidence = spoken_fact(stage, fact);
    let key = format!("purpose {}", fact.subject);
    let stem = one_of(
        &[
            "What purpose of ~ does @ mention?",
            "What does @ say about the purpose of ~?",
            "As @ explains, what does one need ~ for?",
        ],
        rng,
    )
    .replace('@', name)
    .replace('~', &fact.subject);
    let what_for = Draft::new(Task::ObjectReasoning, "purpose", key.clone(), stem)
        .options(&fact.clause, others.iter().map(|other| other.clause.clone()))
        .needs([Strategy::ReadSubtitles, Strategy::SearchOptionWords])
        .evidence(evidence.clone());
    let stem = one_of(&["Which of these is there ~?", "Which of these is meant ~?"], rng).replace('~', &fact.clause);
    let which = Draft::new(Task::ObjectReasoning, "which_for_purpose", key, stem)
        .options(&fact.subject, others.iter().map(|other| other.subject.clone()))
        .needs([Strategy::ReadSubtitles, Strategy::CompareOptions])
        .evidence(evidence);
    Group::of(what_for, Some(which))
}

fn statement(stage: &Stage, fact: &SpokenFact, rng: &mut SeedRng) -> Option<Group> {
    let that = |fact: &SpokenFact| format!("that {}", fact.clause);
    let mut others: Vec<&SpokenFact> =
        stage.facts.statements.iter().filter(|other| other.subject != fact.subject).collect();
    others.shuffle(rng);
    let stem = one_of(
        &["What does @ say about ~?", "What does @ have to say about ~?", "What do we learn from @ about ~?"],
        rng,
    )
    .replace('@', stage.person(fact.who).name)
    .replace('~', &fact.subject);
    let draft = Draft::new(Task::ObjectReasoning, "statement", format!("statement {}", fact.subject), stem)
        .options(&that(fact), others.into_iter().map(that))
        .needs([Strategy::ReadSubtitles, Strategy::SearchOptionWords])
        .evidence(spoken_fact(stage, fact));
    Group::of(draft, None)
}

/// Two numbers said in two scenes decide which is more, and by how much.
fn measure(stage: &Stage, fact: &MeasureFact, _rng: &mut SeedRng) -> Option<Group> {
    let [one, other] = &fact.said;
    let [first, second] = &fact.items;
    let (more, less) = if one.n > other.n { (first, second) } else { (second, first) };
    let gap = one.n.abs_diff(other.n);
    let off = if gap > 4 { gap - 3 } else { gap + 3 };
    let option = |item: &str, by: u32| {
        let unit = if by == 1 { fact.unit.strip_suffix('s').unwrap_or(&fact.unit) } else { &fact.unit };
        format!("{item}, by {} {unit}", number(by))
    };
    let evidence: Vec<_> = fact.said.iter().filter_map(|said| spoken_number(stage, said)).collect();
    let draft = |kind, stem: &String, right: &str, wrong: &str| {
        Draft::new(Task::ObjectReasoning, kind, format!("measure {first}"), stem.clone())
            .options(&option(right, gap), [option(wrong, gap), option(right, off), option(wrong, off)])
            .needs([Strategy::ReadSubtitles, Strategy::CompareScenes, Strategy::VerifySecondNode])
            .evidence(evidence.clone())
    };
    Group::of(draft("more_by", &fact.ask_more, more, less), Some(draft("less_by", &fact.ask_less, less, more)))
}
