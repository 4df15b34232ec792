//! Chance derives from the request's seed and labels only, never from a counter or the time (design 13).

use rand::RngExt;

use crate::domain::{SeedRng, seeded_rng};

/// A generator for one purpose within a request.
pub(super) fn rng(seed: u32, labels: &[&str]) -> SeedRng {
    seeded_rng(u64::from(seed), labels)
}

/// True with probability `p`.
pub(super) fn chance(rng: &mut SeedRng, p: f64) -> bool {
    rng.random::<f64>() < p
}

/// One of the items; none if there are none.
pub(super) fn pick<'a, T>(rng: &mut SeedRng, items: &'a [T]) -> Option<&'a T> {
    if items.is_empty() { None } else { items.get(rng.random_range(0..items.len())) }
}
