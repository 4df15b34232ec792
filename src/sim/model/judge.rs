//! The simulated judge: truthful attributions from the known truth and the trace that it is shown.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::asked::Asked;
use super::noise::{chance, pick, rng};
use super::truth::SimTruth;
use crate::sim::world::{Strategy, damages_in, strategies_in};

/// The verdict in the form that the request wants; none if it is no judge's form.
pub(super) fn verdict(asked: &Asked<'_>, truth: &SimTruth) -> Option<Value> {
    let known = truth.find_in(&asked.text);
    let mut dice = rng(asked.seed, &["judge", &asked.fields.iter().cloned().collect::<Vec<_>>().join(",")]);
    let sources: Vec<&str> =
        known.map(|known| known.question.source_nodes.iter().map(|node| node.as_str()).collect()).unwrap_or_default();
    if asked.wants("missed_nodes") {
        // The fourth block lists what was not opened.
        let unopened = asked.blocks().get(3).copied().unwrap_or_default().to_owned();
        let missed: Vec<&str> = sources.into_iter().filter(|node| unopened.contains(node)).take(5).collect();
        return Some(json!({"missed_nodes": missed}));
    }
    if asked.wants("completeness") {
        let poor = chance(&mut dice, 0.08);
        let completeness = if poor { 0.4 } else { 0.9 };
        let tags: Vec<&str> = if poor { vec!["missing_detail"] } else { vec![] };
        return Some(json!({"completeness": completeness, "hallucination": 0.0, "tags": tags}));
    }
    if asked.wants("steps") {
        return Some(json!({"steps": adherence(asked, &mut dice)}));
    }
    if asked.wants("biased") {
        return Some(json!({"reason": "simulated model", "biased": chance(&mut dice, 0.1)}));
    }
    if asked.wants("sufficient") {
        let seen = sources.iter().all(|node| asked.text.contains(node));
        return Some(json!({"reason": "simulated model", "sufficient": seen}));
    }
    if asked.wants("cause") {
        let (cause, lapse_note) = cause(asked, truth, &mut dice);
        return Some(json!({"reason": "simulated model", "cause": cause, "lapse_note": lapse_note}));
    }
    if asked.wants("sub_type") {
        let kinds = ["misread_evidence", "ignored_evidence", "option_confusion", "order_or_count"];
        return Some(json!({"reason": "simulated model", "sub_type": pick(&mut dice, &kinds)}));
    }
    None
}

/// A defect if the skill lacks a needed strategy or talks the agent out of one; else a lapse with a reminder.
fn cause(asked: &Asked<'_>, truth: &SimTruth, dice: &mut crate::domain::SeedRng) -> (&'static str, String) {
    let Some(known) = truth.find_in(&asked.text) else { return ("lapse", String::new()) };
    // Block by block: a heading before a block is no part of its first sentence.
    let blocks = asked.blocks();
    let described: BTreeSet<Strategy> = blocks.iter().flat_map(|block| strategies_in(block)).collect();
    let damages = blocks.iter().flat_map(|block| damages_in(block));
    let harmed = damages.into_iter().any(|damage| damage.suppresses().iter().any(|s| known.strategies.contains(s)));
    if harmed || known.strategies.iter().any(|strategy| !described.contains(strategy)) {
        return ("defect", String::new());
    }
    let needed: Vec<Strategy> = known.strategies.iter().copied().collect();
    let note = pick(dice, &needed).and_then(|strategy| strategy.canonical().first());
    ("lapse", note.copied().unwrap_or_default().to_owned())
}

/// One verdict per numbered step of the skill that is shown.
fn adherence(asked: &Asked<'_>, dice: &mut crate::domain::SeedRng) -> Vec<Value> {
    let steps = asked.blocks().first().map_or(0, |block| {
        block.lines().filter(|line| line.trim_start().starts_with(|char: char| char.is_ascii_digit())).count()
    });
    (1..=steps)
        .map(|step| {
            let verdict = if chance(dice, 0.8) { "followed" } else { "not_followed" };
            json!({"step": step, "verdict": verdict})
        })
        .collect()
}
