//! What a check found.

use serde::Serialize;

use crate::store::names::stored_enum;

stored_enum!(
    /// What must hold of a store. Each has a test with a store that breaks it.
    Invariant, "invariant of the store" {
        /// Every table exists with its types.
        Tables = "tables",
        /// The database's own page checksums and structure hold.
        Pages = "pages",
        /// Every key is one that this program writes.
        Key = "key",
        /// Every value decodes, and its checksum is right.
        Value = "value",
        /// Every row of a run belongs to a recorded run.
        Run = "run",
        /// Versions are numbered from v1 without a gap, and come from an earlier one.
        VersionOrder = "version_order",
        /// Every version that is named exists.
        Version = "version",
        /// Every text that is named exists.
        Content = "content",
        /// Every text hashes to its key.
        ContentHash = "content_hash",
        /// A trace belongs to a prediction and is complete.
        Trace = "trace",
        /// Diagnosis and plug-in rows belong to a prediction.
        Prediction = "prediction",
        /// A settled scope holds each expected prediction once: none lost, none extra.
        Settled = "settled",
        /// The evidence of a gate follows from itself: ranks, counts, the one stop reason.
        Evidence = "evidence",
        /// The evidence of a gate agrees with the predictions of its arms.
        EvidenceAnswers = "evidence_answers",
        /// The report of a step agrees with its evidence; neither is there without the other.
        Report = "report",
        /// The quadrants are those of the consumed units.
        Quadrant = "quadrant",
        /// No question is in two pools, or twice in one.
        Pools = "pools",
        /// A ladder holds units of the validation and diagnosis pools, each once, with a probability.
        Ladder = "ladder",
        /// The training state agrees with its run and with the scopes that are settled.
        Checkpoint = "checkpoint",
        /// A cached baseline answers each question of its unit once.
        BaselineCache = "baseline_cache",
    }
);

/// Something that does not hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// What does not hold.
    pub invariant: Invariant,
    /// Where: run, scope and key, or table and key.
    pub place: String,
    /// What was found.
    pub found: String,
}

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CheckReport {
    /// Rows that were read.
    pub rows: u64,
    /// Problems in all, of which at most [`PROBLEMS_KEPT`] are listed.
    pub problem_count: u64,
    /// What does not hold.
    pub problems: Vec<Problem>,
    /// Whether the pages were verified too: only while nothing else uses the store.
    pub pages_verified: bool,
}

/// Most problems that are listed.
pub const PROBLEMS_KEPT: usize = 1000;

impl CheckReport {
    pub(crate) fn new() -> Self {
        Self { rows: 0, problem_count: 0, problems: Vec::new(), pages_verified: false }
    }

    /// Whether everything holds.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problem_count == 0
    }

    pub(crate) fn add(&mut self, invariant: Invariant, place: impl Into<String>, found: impl Into<String>) {
        self.problem_count += 1;
        if self.problems.len() < PROBLEMS_KEPT {
            self.problems.push(Problem { invariant, place: place.into(), found: found.into() });
        }
    }
}
