//! Evolving: candidates for skills and prompts, proposed by a writer model and checked by rule (design 05, 12).
//!
//! A candidate is a value; whether it is better is for the gate to decide. What a writer writes can only make its
//! one candidate fail; a writer that cannot be reached is an error, never "no improvement".

mod appendix;
mod budget;
mod cases;
mod forms;
mod leak;
mod loops;
mod rank;
mod record;
mod rejected;
mod size;
mod skill;
mod system;
mod tool;
mod validate;
mod writer;

pub use budget::edit_budget_at;
pub use leak::{Leak, LeakIndex};
pub use record::{
    Branch, ClipInfo, Consolidation, DroppedNote, EvolutionKind, EvolutionRecord, EvolutionStatus, ProposedEdit,
    WriterCost,
};
pub use rejected::{GateFacts, RejectedEdit, rejected_edits};
pub use size::estimate_tokens;
pub use skill::{SkillEvolution, SkillUpdateMode, evolve_single_skill};
pub use system::{SYSTEM_PROMPT_FILE, evolve_system_prompt};
pub use tool::{ToolContent, ToolPair, evolve_single_tool, tool_pairs};
pub use writer::{EvolveContext, EvolveLimits};
