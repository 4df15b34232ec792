//! The simulated writer: edits that help, miss or harm at the configured rates.

use std::collections::BTreeSet;

use rand::seq::SliceRandom;
use serde_json::{Value, json};

use super::asked::Asked;
use super::noise::{chance, pick, rng};
use super::settings::WriterRates;
use super::truth::SimTruth;
use crate::domain::SeedRng;
use crate::sim::world::{Damage, Strategy, strategies_in};

/// Sentences that change nothing the simulated agent reacts to.
const NEUTRAL: [&str; 6] = [
    "Write the reasoning in full sentences.",
    "Keep the evidence short and to the point.",
    "Name the node from which each statement comes.",
    "State the letter of the option first.",
    "Avoid long quotations in the reasoning.",
    "Keep a calm and factual tone.",
];

/// The proposal in the form that the request wants; none if it is no writer's form.
pub(super) fn proposal(asked: &Asked<'_>, truth: &SimTruth, rates: &WriterRates) -> Option<Value> {
    let mut dice = rng(asked.seed, &["writer"]);
    if asked.wants("edits") {
        let budget = number_after(&asked.text, "At most ").unwrap_or(1).max(1);
        let sentences = sentences(asked, truth, rates, budget, &mut dice);
        let edits: Vec<Value> = sentences.iter().map(|sentence| edit(sentence, is_tool(asked))).collect();
        return Some(json!({"edits": edits}));
    }
    if asked.wants("selected") {
        let budget = number_after(&asked.text, "Choose the ").unwrap_or(1);
        return Some(json!({"selected": (0..budget).collect::<Vec<_>>()}));
    }
    if asked.wants("notes") {
        return Some(json!({"notes": shorter_notes(asked)}));
    }
    if asked.wants("guidance") {
        return Some(json!({"guidance": guidance(asked, truth, rates, &mut dice)}));
    }
    if asked.wants("content") {
        return Some(json!({"content": rewrite(asked)}));
    }
    None
}

/// The new sentences of a candidate: all helpful, all without effect, or all harmful.
fn sentences(
    asked: &Asked<'_>,
    truth: &SimTruth,
    rates: &WriterRates,
    budget: usize,
    dice: &mut SeedRng,
) -> Vec<String> {
    let blocks = asked.blocks();
    let current = blocks.first().copied().unwrap_or_default();
    let is_new = |sentence: &&&str| !asked.text.contains(**sentence);
    let kind = rand::RngExt::random::<f64>(dice);
    let mut found: Vec<String> = Vec::new();
    if kind < rates.damage {
        let mut damages = Damage::ALL.to_vec();
        damages.shuffle(dice);
        let one = damages.iter().flat_map(|damage| damage.sentences()).find(is_new);
        found.extend(one.map(|sentence| (*sentence).to_owned()));
    } else if kind >= rates.damage + rates.miss {
        for strategy in missing(asked, truth, current).into_iter().take(budget) {
            let unused: Vec<&str> = strategy.canonical().iter().filter(is_new).copied().collect();
            found.extend(pick(dice, &unused).map(|sentence| (*sentence).to_owned()));
        }
    }
    if found.is_empty() {
        let unused: Vec<&str> = NEUTRAL.iter().filter(is_new).copied().collect();
        found.extend(pick(dice, &unused).map(|sentence| (*sentence).to_owned()));
    }
    found.truncate(budget);
    found
}

/// The strategies that the shown failures need and the text lacks; those of the whole task type if no failure is known.
fn missing(asked: &Asked<'_>, truth: &SimTruth, current: &str) -> Vec<Strategy> {
    let described = strategies_in(current);
    let lacking = |strategy: &Strategy| !described.contains(strategy);
    // Skills are shown in one block, a tool's prompts in two, and the system prompt is followed by its patterns.
    let place = if asked.text.contains("The system prompt as it is") || is_tool(asked) { 2 } else { 1 };
    let failures = asked.blocks().get(place).copied().unwrap_or_default();
    let needed: Vec<Strategy> = needed_by(truth, failures).into_iter().filter(lacking).collect();
    if !needed.is_empty() {
        return needed;
    }
    let of_type = truth.task_types().into_iter().filter(|task_type| asked.text.contains(task_type.as_str()));
    let all: BTreeSet<Strategy> = of_type.flat_map(|task_type| truth.strategies_of(task_type)).collect();
    all.into_iter().filter(lacking).collect()
}

/// The strategies that the questions of a text need, the most needed first.
fn needed_by(truth: &SimTruth, text: &str) -> Vec<Strategy> {
    let mut needed: Vec<(usize, Strategy)> = Vec::new();
    for strategy in truth.all_in(text).into_iter().flat_map(|known| known.strategies.iter()) {
        match needed.iter_mut().find(|(_, known)| known == strategy) {
            Some((count, _)) => *count += 1,
            None => needed.push((1, *strategy)),
        }
    }
    needed.sort_by(|(a_count, a), (b_count, b)| b_count.cmp(a_count).then(a.cmp(b)));
    needed.into_iter().map(|(_, strategy)| strategy).collect()
}

fn is_tool(asked: &Asked<'_>) -> bool {
    asked.text.contains("`extract` as it is")
}

fn edit(sentence: &str, is_tool: bool) -> Value {
    let mut edit = json!({"op": "append", "target": "", "content": format!("- {sentence}")});
    if let (true, Some(object)) = (is_tool, edit.as_object_mut()) {
        object.insert("file".into(), json!("extract"));
    }
    edit
}

/// Strictly fewer notes than were shown: repeated ones once, else without the oldest.
fn shorter_notes(asked: &Asked<'_>) -> Vec<String> {
    let block = asked.blocks().last().copied().unwrap_or_default().to_owned();
    let notes: Vec<String> = block
        .lines()
        .map(|line| line.trim().trim_start_matches(['-', '*', ' ']).to_owned())
        .filter(|line| !line.is_empty())
        .collect();
    let mut distinct: Vec<String> = Vec::new();
    for note in &notes {
        if !distinct.contains(note) {
            distinct.push(note.clone());
        }
    }
    if distinct.len() == notes.len() && distinct.len() > 1 {
        distinct.remove(0);
    }
    distinct
}

/// Guidance of the slow update: what the questions that went wrong need and the skill does not say, else a reminder of
/// what it says. It passes no gate, so that it does harm half as often as an edit.
fn guidance(asked: &Asked<'_>, truth: &SimTruth, rates: &WriterRates, dice: &mut SeedRng) -> String {
    if chance(dice, rates.damage / 2.0) {
        let harmful: Vec<&str> = Damage::ALL.iter().flat_map(|damage| damage.sentences().iter().copied()).collect();
        return pick(dice, &harmful).copied().unwrap_or_default().to_owned();
    }
    let blocks = asked.blocks();
    let described: Vec<Strategy> = blocks.iter().take(2).flat_map(|block| strategies_in(block)).collect();
    let comparison = blocks.get(2).copied().unwrap_or_default();
    // Harm and lasting failure are shown first.
    let worrying = comparison.split("IMPROVED: ").next().unwrap_or_default();
    let lacking: Vec<Strategy> =
        needed_by(truth, worrying).into_iter().filter(|strategy| !described.contains(strategy)).collect();
    let mut sentences: Vec<&str> = lacking.iter().take(2).filter_map(|s| pick(dice, s.canonical()).copied()).collect();
    if sentences.is_empty() {
        sentences.extend(pick(dice, &described).and_then(|strategy| strategy.canonical().first()));
    }
    if sentences.is_empty() { "Keep to the method that has worked so far.".to_owned() } else { sentences.join(" ") }
}

/// The body with the changes in the place of its last paragraph, never longer than before.
fn rewrite(asked: &Asked<'_>) -> String {
    let blocks = asked.blocks();
    let body = blocks.first().copied().unwrap_or_default();
    let body = body.split("\n---\n").last().unwrap_or(body);
    let body = body.split("<!--").next().unwrap_or(body).trim_end();
    let changes: Vec<&str> =
        blocks.get(1).copied().unwrap_or_default().lines().filter(|line| line.trim_start().starts_with("- ")).collect();
    let added = changes.join("\n");
    let mut paragraphs: Vec<&str> = body.split("\n\n").collect();
    while paragraphs.len() > 1 && paragraphs.iter().map(|part| part.len() + 2).sum::<usize>() + added.len() > body.len()
    {
        paragraphs.pop();
    }
    paragraphs.push(&added);
    paragraphs.join("\n\n")
}

/// The whole number after the last occurrence of a phrase that has one: the texts that are shown come before the rules,
/// and may use the phrase too.
fn number_after(text: &str, phrase: &str) -> Option<usize> {
    text.rmatch_indices(phrase).find_map(|(place, _)| {
        let rest = text.get(place + phrase.len()..)?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    })
}
