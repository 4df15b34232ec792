//! What a text teaches, remembered: every turn of every question shows the same few system prompts again.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use crate::domain::ContentHash;
use crate::sim::world::{Strategy, damages_in, strategies_in};

/// What an agent takes from the text that it was given.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Reading {
    /// Strategies that the text describes.
    pub(super) described: BTreeSet<Strategy>,
    /// Strategies that it talks the agent out of.
    pub(super) suppressed: BTreeSet<Strategy>,
}

impl Reading {
    /// Reads a text afresh.
    pub(super) fn of(text: &str) -> Self {
        let damages = damages_in(text).into_iter();
        Self {
            described: strategies_in(text),
            suppressed: damages.flat_map(|damage| damage.suppresses().iter().copied()).collect(),
        }
    }
}

/// More texts than a training shows at once: two arms for each of some dozen task types.
const CAPACITY: usize = 512;

/// Readings by content. They follow from the text alone, so that forgetting one changes nothing but the time.
#[derive(Debug, Default)]
pub(super) struct Readings {
    known: Mutex<HashMap<ContentHash, Arc<Reading>>>,
}

impl Readings {
    /// The reading of a text.
    pub(super) fn of(&self, text: &str) -> Arc<Reading> {
        let hash = ContentHash::of(text);
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reading) = known().get(&hash) {
            return Arc::clone(reading);
        }
        // Outside of the lock: two readers of a new text may read it twice, nobody waits.
        let reading = Arc::new(Reading::of(text));
        let mut known = known();
        if known.len() >= CAPACITY {
            known.clear();
        }
        known.insert(hash, Arc::clone(&reading));
        reading
    }
}
