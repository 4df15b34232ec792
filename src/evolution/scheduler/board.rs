//! All gates of a step and the slots they share: what a launch policy may look at.

use super::arm::ArmRef;
use super::spec::GateSpec;
use super::type_run::TypeRun;

/// The state of all gates of a step.
#[derive(Debug)]
pub struct Board {
    types: Vec<TypeRun>,
    free_slots: usize,
    in_flight: usize,
}

impl Board {
    pub(super) fn new(specs: Vec<GateSpec>, slots: usize) -> Self {
        Self { types: specs.into_iter().map(TypeRun::new).collect(), free_slots: slots, in_flight: 0 }
    }

    /// The gates, in the order of the specs.
    #[must_use]
    pub fn types(&self) -> &[TypeRun] {
        &self.types
    }

    /// The gate at this place.
    #[must_use]
    pub fn get(&self, type_index: usize) -> Option<&TypeRun> {
        self.types.get(type_index)
    }

    /// Question slots that nothing uses.
    #[must_use]
    pub fn free_slots(&self) -> usize {
        self.free_slots
    }

    /// Arms that were launched and have not returned.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight
    }

    pub(super) fn get_mut(&mut self, type_index: usize) -> Option<&mut TypeRun> {
        self.types.get_mut(type_index)
    }

    pub(super) fn take_types(&mut self) -> Vec<TypeRun> {
        std::mem::take(&mut self.types)
    }

    /// Takes the slots of an arm, all or none: a unit never holds some of them while it waits
    /// for the others, so that no two can block each other.
    pub(super) fn launch(&mut self, arm: ArmRef) -> bool {
        let Some(run) = self.types.get_mut(arm.type_index) else { return false };
        let Some(free) = run.question_count(arm.rank).and_then(|need| self.free_slots.checked_sub(need)) else {
            return false;
        };
        self.free_slots = free;
        self.in_flight = self.in_flight.saturating_add(1);
        run.launch(arm.rank, arm.arm);
        true
    }

    /// Gives back the slots of an arm.
    pub(super) fn release(&mut self, arm: ArmRef) {
        let slots = self.get(arm.type_index).and_then(|run| run.question_count(arm.rank)).unwrap_or(0);
        self.free_slots = self.free_slots.saturating_add(slots);
        self.in_flight = self.in_flight.saturating_sub(1);
    }
}
