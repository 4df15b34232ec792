//! All randomness derives from the run's `seed` and a path of labels (invariant 7).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use super::hash::Hasher;

/// The generator used everywhere: portable, and the same for the same seed on every machine.
pub type SeedRng = ChaCha8Rng;

/// A generator of its own for every purpose: equal seed and labels give equal numbers.
///
/// Labels are length-prefixed, so `["ab", "c"]` and `["a", "bc"]` differ.
#[must_use]
pub fn seeded_rng(seed: u64, labels: &[&str]) -> SeedRng {
    let mut hasher = Hasher::new("trm.rng");
    hasher.part(seed.to_le_bytes());
    for label in labels {
        hasher.part(label);
    }
    ChaCha8Rng::from_seed(*hasher.finish().as_bytes())
}

#[cfg(test)]
mod tests {
    use rand::Rng;

    use super::*;

    #[test]
    fn labels_separate_streams() {
        let draw = |seed, labels: &[&str]| seeded_rng(seed, labels).next_u64();
        assert_eq!(draw(1, &["a"]), draw(1, &["a"]));
        assert_ne!(draw(1, &["a"]), draw(2, &["a"]));
        assert_ne!(draw(1, &["ab", "c"]), draw(1, &["a", "bc"]));
    }
}
