//! What diagnosis finds and evolving uses: plain values, stored and passed on by the caller.
//!
//! None of them holds free JSON, so that they can be stored in any format.

mod metrics;
mod packs;

pub(crate) use metrics::mean;
pub use metrics::{
    Calibration, Cause, ErrorAttribution, ErrorType, JudgeMetrics, QuestionMetrics, ReasoningSub, RuleMetrics,
    SkillStepAdherence, SpanMetrics, SpanTag, StepVerdict,
};
pub use packs::{
    BehaviourPattern, CaseSample, CaseStep, PackStats, PatternCount, SkillCasePack, SpanSample, StepStats, SystemCase,
    SystemCasePack, ToolCasePack,
};
