//! From a specification to a world.

use std::collections::BTreeMap;

use rand::seq::SliceRandom;

use super::content::scripts;
use super::drafts;
use super::error::WorldError;
use super::people::PEOPLE;
use super::select::select;
use super::spec::{Truth, World, WorldSpec};
use super::stage::Stage;
use super::staging::{Order, stage};
use super::tree::grow;
use crate::domain::{VideoId, seeded_rng};

/// Generates a world: equal specifications give equal worlds, byte for byte.
///
/// # Errors
/// A specification that asks for nothing or for more questions than the videos have facts.
pub fn generate(spec: &WorldSpec) -> Result<World, WorldError> {
    check(spec)?;
    let stages = stages(spec)?;
    let mut trees = Vec::with_capacity(stages.len());
    let mut frames = BTreeMap::new();
    let mut groups = Vec::with_capacity(stages.len());
    for stage in &stages {
        let (tree, pictures) = grow(stage)?;
        frames.insert(stage.video.clone(), pictures);
        trees.push(tree);
        groups.push(drafts::all(stage, &mut seeded_rng(spec.seed, &["sim.world", "drafts", stage.video.as_str()])));
    }
    let mut questions = Vec::new();
    let mut truths = BTreeMap::new();
    for (question, truth) in select(spec, &stages, &groups)? {
        truths.insert(question.question_id.clone(), truth);
        questions.push(question);
    }
    Ok(World { trees, questions, truth: Truth { version: Truth::VERSION, seed: spec.seed, questions: truths }, frames })
}

fn check(spec: &WorldSpec) -> Result<(), WorldError> {
    let wrong = |what: String| Err(WorldError::Spec(what));
    if spec.videos == 0 {
        return wrong("0 videos".into());
    }
    if spec.min_minutes < 5 || spec.max_minutes > 600 || spec.min_minutes > spec.max_minutes {
        return wrong(format!(
            "videos of {} to {} minutes (5 to 600 are possible)",
            spec.min_minutes, spec.max_minutes
        ));
    }
    if !(0.0..=1.0).contains(&spec.pair_share) {
        return wrong(format!("a share of pairs of {} (0 to 1 is possible)", spec.pair_share));
    }
    Ok(())
}

/// Every script once before any is used again, in an order that depends on the seed; sorted by video id.
fn stages(spec: &WorldSpec) -> Result<Vec<Stage>, WorldError> {
    let scripts = scripts()?;
    let mut rng = seeded_rng(spec.seed, &["sim.world", "videos"]);
    let mut order: Vec<usize> = (0..scripts.len()).collect();
    order.shuffle(&mut rng);
    let mut people = PEOPLE;
    people.shuffle(&mut rng);
    let mut names = people.iter().copied().cycle();
    let mut next = || names.next().unwrap_or(PEOPLE[0]);
    let mut stages = Vec::with_capacity(spec.videos);
    for (nth, place) in order.iter().copied().cycle().take(spec.videos).enumerate() {
        let Some(script) = scripts.get(place) else { continue };
        let cast = [next(), next(), next()];
        let video = VideoId::new(format!("{}-{:02}", script.slug, nth / scripts.len() + 1))?;
        let length = (spec.min_minutes * 60, spec.max_minutes * 60);
        stages.push(stage(Order { script, video, cast, seed: spec.seed, length })?);
    }
    stages.sort_by(|a, b| a.video.cmp(&b.video));
    Ok(stages)
}
