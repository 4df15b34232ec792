//! How many.

use super::super::draft::{Draft, Group, Task, in_caption, in_picture, spoken_number};
use super::super::grammar::number;
use super::super::stage::Stage;
use super::super::strategy::Strategy;
use super::one_of;
use crate::domain::SeedRng;

/// Counting Problem.
pub(super) fn counting(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups = Vec::new();
    for fact in &stage.facts.counts {
        let Some(frame) = stage.frames.get(fact.frame) else { continue };
        let Some(event) = stage.events.get(frame.event) else { continue };
        let stem = one_of(
            &["How many ~ are there @, when #?", "How many ~ can be seen @ when #?", "When #, how many ~ are @?"],
            rng,
        )
        .replace('~', &fact.things)
        .replace('@', &fact.place)
        .replace('#', &stage.clause(event));
        let draft = Draft::new(Task::CountingProblem, "in_picture", format!("count {}", fact.things), stem)
            .number(fact.n, near(fact.n), number)
            .needs([Strategy::OpenFrames, Strategy::CountOneByOne])
            .evidence(in_picture(frame));
        groups.extend(Group::of(draft, None));
    }
    groups.extend(motif(stage));
    groups.extend(sum(stage));
    groups.extend(plan(stage));
    groups
}

/// Numbers around `n`, the nearest first, none below one.
fn near(n: u32) -> Vec<u32> {
    (1..=4).flat_map(|step| [n.saturating_sub(step), n + step]).filter(|other| *other > 0).collect()
}

fn motif(stage: &Stage) -> Option<Group> {
    let fact = stage.facts.motif.as_ref()?;
    let n = u32::try_from(fact.times.len()).ok()?;
    let times = |n: u32| match n {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        _ => format!("{} times", number(n)),
    };
    let evidence =
        fact.times.iter().filter_map(|(event, line)| Some(in_caption(stage.events.get(*event)?, line.clone())));
    let draft = Draft::new(Task::CountingProblem, "recurring", "recurring", fact.ask.clone())
        .number(n, near(n), times)
        .needs([Strategy::CountOneByOne, Strategy::SurveyScenes])
        .evidence(evidence);
    Group::of(draft, None)
}

fn sum(stage: &Stage) -> Option<Group> {
    let fact = stage.facts.sum.as_ref()?;
    let [one, other] = &fact.said;
    let wrong = [one.n, other.n].into_iter().chain(near(one.n + other.n));
    let draft = Draft::new(Task::CountingProblem, "sum", "sum", fact.ask.clone())
        .number(one.n + other.n, wrong, number)
        .needs([Strategy::ReadSubtitles, Strategy::CompareScenes, Strategy::CountOneByOne])
        .evidence([one, other].into_iter().filter_map(|said| spoken_number(stage, said)));
    Group::of(draft, None)
}

/// The first number is a plan; the second corrects it.
fn plan(stage: &Stage) -> Option<Group> {
    let fact = stage.facts.plan.as_ref()?;
    let [first, then] = &fact.said;
    let wrong = std::iter::once(first.n).chain(near(then.n));
    let draft = Draft::new(Task::CountingProblem, "corrected", "corrected", fact.ask.clone())
        .number(then.n, wrong, number)
        .needs([Strategy::ReadSubtitles, Strategy::VerifySecondNode])
        .evidence([then, first].into_iter().filter_map(|said| spoken_number(stage, said)));
    Group::of(draft, None)
}
