//! Chooses which questions are asked, pairs some, and letters the options.

use std::collections::{BTreeMap, BTreeSet};

use rand::RngExt;
use rand::seq::SliceRandom;

use super::draft::{Draft, Group, Task};
use super::error::WorldError;
use super::spec::{QuestionTruth, WorldSpec, question_fingerprint};
use super::stage::Stage;
use crate::domain::{Choice, PairId, Question, QuestionId, SeedRng, TaskType, seeded_rng};

/// A chosen question, not yet lettered.
struct Chosen {
    video: usize,
    draft: Draft,
    /// Equal for the two questions of a pair.
    pair: Option<usize>,
    /// The letter of its answer, from 0.
    letter: usize,
}

/// Chooses from the groups of every video and letters them.
pub(super) fn select(
    spec: &WorldSpec,
    stages: &[Stage],
    groups: &[Vec<Group>],
) -> Result<Vec<(Question, QuestionTruth)>, WorldError> {
    let mut by_task: BTreeMap<Task, Vec<Vec<Group>>> = BTreeMap::new();
    for task in Task::ALL {
        let of_task = |groups: &Vec<Group>| groups.iter().filter(|group| group.first().task == task).cloned().collect();
        by_task.insert(task, groups.iter().map(of_task).collect());
    }
    let mut chosen = Vec::new();
    for (place, (task, mut offers)) in by_task.into_iter().enumerate() {
        let mut rng = seeded_rng(spec.seed, &["sim.world", "select", task.name()]);
        for offer in &mut offers {
            offer.shuffle(&mut rng);
        }
        let mut of_task = choose(spec, task, offers, &mut rng)?;
        // The right letter is spread evenly within each type, and what cannot be divided by four evenly over the types.
        let mut letters: Vec<usize> = (0..of_task.len()).map(|nth| (place + nth) % 4).collect();
        letters.shuffle(&mut rng);
        for (question, letter) in of_task.iter_mut().zip(letters) {
            question.letter = letter;
        }
        chosen.extend(of_task);
    }
    let mut rng = seeded_rng(spec.seed, &["sim.world", "letters"]);
    number(stages, chosen, &mut rng)
}

/// Goes round the videos, taking from each the group whose kind has been asked least so far.
fn choose(
    spec: &WorldSpec,
    task: Task,
    mut offers: Vec<Vec<Group>>,
    rng: &mut SeedRng,
) -> Result<Vec<Chosen>, WorldError> {
    let wanted = spec.questions_per_type;
    let mut chosen: Vec<Chosen> = Vec::new();
    let mut kinds: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut keys: BTreeSet<(usize, String)> = BTreeSet::new();
    let mut videos: Vec<usize> = (0..offers.len()).collect();
    videos.shuffle(rng);
    let mut paired = 0;
    while chosen.len() < wanted {
        let before = chosen.len();
        for video in videos.iter().copied() {
            let left = wanted - chosen.len();
            let Some(offer) = offers.get_mut(video).filter(|_| left > 0) else { continue };
            offer.retain(|group| !keys.contains(&(video, group.first().key.clone())));
            // Pairs come evenly among the singles until their share is reached.
            #[expect(clippy::cast_precision_loss, reason = "counts of questions are far below 2^52")]
            let due = left >= 2 && (paired as f64) < spec.pair_share * (chosen.len() + 2) as f64;
            let best = (0..offer.len()).min_by_key(|place| {
                let group = offer.get(*place);
                let pair = matches!(group, Some(Group::Pair(..)));
                let asked = group.map_or(0, |group| *kinds.get(group.first().kind).unwrap_or(&0));
                (due && !pair, asked)
            });
            let Some(group) = best.map(|place| offer.remove(place)) else { continue };
            keys.insert((video, group.first().key.clone()));
            let drafts = match group {
                Group::Pair(one, other) if due => vec![one, other],
                Group::Pair(one, other) => vec![if rng.random_bool(0.5) { one } else { other }],
                Group::Single(one) => vec![one],
            };
            let pair = (drafts.len() == 2).then_some(paired);
            paired += if pair.is_some() { 2 } else { 0 };
            for draft in drafts {
                *kinds.entry(draft.kind).or_default() += 1;
                chosen.push(Chosen { video, draft, pair, letter: 0 });
            }
        }
        if chosen.len() == before {
            return Err(WorldError::TooFew { task_type: task.name(), wanted, available: before, videos: videos.len() });
        }
    }
    Ok(chosen)
}

/// Orders the questions by video, gives ids and letters the options.
fn number(
    stages: &[Stage],
    chosen: Vec<Chosen>,
    rng: &mut SeedRng,
) -> Result<Vec<(Question, QuestionTruth)>, WorldError> {
    let mut of_video: BTreeMap<usize, Vec<Chosen>> = BTreeMap::new();
    for question in chosen {
        of_video.entry(question.video).or_default().push(question);
    }
    let mut questions = Vec::new();
    for (video, chosen) in of_video {
        let Some(stage) = stages.get(video) else { continue };
        let mut pairs: BTreeMap<(Task, usize), usize> = BTreeMap::new();
        for (nth, question) in chosen.into_iter().enumerate() {
            let pair_id = match question.pair {
                Some(pair) => {
                    let next = pairs.len() + 1;
                    let nth = *pairs.entry((question.draft.task, pair)).or_insert(next);
                    Some(PairId::new(format!("{}-pair{nth}", stage.video))?)
                }
                None => None,
            };
            let question_id = QuestionId::new(format!("{}-q{:02}", stage.video, nth + 1))?;
            questions.push(letter(stage, question, question_id, pair_id, rng)?);
        }
    }
    Ok(questions)
}

fn letter(
    stage: &Stage,
    chosen: Chosen,
    question_id: QuestionId,
    pair_id: Option<PairId>,
    rng: &mut SeedRng,
) -> Result<(Question, QuestionTruth), WorldError> {
    let Chosen { draft, letter, .. } = chosen;
    let options = in_order(&draft, letter).unwrap_or_else(|| shuffled(&draft, letter, rng));
    let letter_of = |text: &str| options.iter().position(|option| option == text).and_then(letter_at).unwrap_or('A');
    let answer = letter_of(&draft.answer);
    let lure = draft.wrong.iter().find(|wrong| options.contains(wrong)).map_or('A', |wrong| letter_of(wrong));
    let mut source_nodes: Vec<_> = Vec::new();
    for evidence in &draft.evidence {
        if !source_nodes.contains(&evidence.node) {
            source_nodes.push(evidence.node.clone());
        }
    }
    let difficulty = match draft.needs.len() {
        0..=2 => "easy",
        3 => "medium",
        _ => "hard",
    };
    let choices = options.iter().enumerate();
    let question = Question {
        question_id,
        video_id: stage.video.clone(),
        task_type: TaskType::new(draft.task.name())?,
        question: draft.stem,
        options: choices
            .filter_map(|(place, text)| Some(Choice { letter: letter_at(place)?, text: text.clone() }))
            .collect(),
        answer,
        pair_id,
        source_nodes,
        difficulty: Some(difficulty.to_owned()),
    };
    let truth = QuestionTruth {
        kind: draft.kind.to_owned(),
        strategies: draft.needs.into_iter().collect(),
        lure,
        evidence: draft.evidence,
        fingerprint: question_fingerprint(&question),
    };
    Ok((question, truth))
}

fn letter_at(place: usize) -> Option<char> {
    ['A', 'B', 'C', 'D'].get(place).copied()
}

/// Number options in their order, the answer at its letter; none if there are too few on one side.
fn in_order(draft: &Draft, letter: usize) -> Option<Vec<String>> {
    let (answer, wrong) = draft.numbers.as_ref()?;
    let mut smaller: Vec<_> = wrong.iter().filter(|(n, _)| n < answer).take(letter).collect();
    let mut larger: Vec<_> = wrong.iter().filter(|(n, _)| n > answer).take(3 - letter.min(3)).collect();
    if smaller.len() + larger.len() != 3 {
        return None;
    }
    smaller.sort();
    larger.sort();
    let words = |(_, words): &&(u32, String)| words.clone();
    Some(smaller.iter().map(words).chain([draft.answer.clone()]).chain(larger.iter().map(words)).collect())
}

fn shuffled(draft: &Draft, letter: usize, rng: &mut SeedRng) -> Vec<String> {
    let mut options: Vec<String> = draft.wrong.iter().take(3).cloned().collect();
    options.shuffle(rng);
    options.insert(letter.min(options.len()), draft.answer.clone());
    options
}
