//! The questions that the facts of a video allow, one file for each family.

mod action;
mod count;
mod object;
mod spatial;
mod synopsis;
mod temporal;
mod visual;

use rand::seq::IndexedRandom;

use super::draft::Group;
use super::stage::Stage;
use crate::domain::SeedRng;

/// All questions that can be asked about a video, in a fixed order.
pub(super) fn all(stage: &Stage, rng: &mut SeedRng) -> Vec<Group> {
    let mut groups = action::recognition(stage, rng);
    groups.extend(action::reasoning(stage, rng));
    groups.extend(count::counting(stage, rng));
    groups.extend(object::recognition(stage, rng));
    groups.extend(object::reasoning(stage, rng));
    groups.extend(spatial::perception(stage, rng));
    groups.extend(spatial::reasoning(stage, rng));
    groups.extend(synopsis::synopsis(stage, rng));
    groups.extend(temporal::perception(stage, rng));
    groups.extend(temporal::reasoning(stage, rng));
    groups.extend(visual::attributes(stage, rng));
    groups.extend(visual::writing(stage, rng));
    groups
}

/// One of several wordings.
fn one_of<'a>(wordings: &[&'a str], rng: &mut SeedRng) -> &'a str {
    wordings.choose(rng).copied().unwrap_or_default()
}
