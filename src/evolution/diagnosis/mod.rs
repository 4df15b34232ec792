//! Diagnosis: why questions were answered wrongly, and which cases a writer is shown (design 05, 12).
//!
//! Stage 1 looks at each question: seven metrics by rule, five by a judge model, the attribution of wrong answers.
//! Stage 2 is pure: summaries and case packs. What a judge writes can only degrade its one question; a judge that
//! cannot be reached ends the diagnosis, so that a dead endpoint never reads as "no defects".

mod aggregate;
mod attribution;
mod candidates;
mod forms;
mod judge;
mod packs;
#[cfg(test)]
mod packs_tests;
mod rules;
mod run;
#[cfg(test)]
mod samples;
mod stage_one;
mod trace;

pub use aggregate::{BehaviourSummary, OutcomeSummary, StepBenefit, ToolSummary};
pub use attribution::attribute;
pub use judge::JudgeCost;
pub use packs::{merge_system_packs, merge_tool_packs};
pub(in crate::evolution) use rules::share;
pub use run::{DiagnosisInput, DiagnosisResult, DiagnosisSettings, OnProgress, run_diagnosis};
