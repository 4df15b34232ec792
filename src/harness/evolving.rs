//! Candidates for skills and prompts, and the guidance of momentum, from the writer of the session.

use std::collections::BTreeMap;

use futures::future::try_join_all;

use super::attended::{Attended, Counter};
use super::diagnosing::block_chars;
use super::kernel_error::KernelError;
use super::reply_form::Formed;
use super::session::Session;
use super::versions::{VersionedPrompts, VersionedSkills};
use crate::config;
use crate::domain::{FileName, Role, VersionName};
use crate::evolution::evolve::{
    EvolutionRecord, EvolveContext, EvolveLimits, LeakIndex, RejectedEdit, SkillEvolution, SkillUpdateMode, ToolPair,
    evolve_single_skill, evolve_single_tool, evolve_system_prompt, tool_pairs,
};
use crate::evolution::momentum::{ComparedAnswer, MomentumContext, MomentumOutcome, guidance_of, write_momentum};
use crate::evolution::patch::FrozenHeadings;
use crate::evolution::types::{SkillCasePack, SystemCasePack, ToolCasePack};
use crate::evolution::{CallScope, EvolutionError};

pub use super::attended::WorkPlace as EvolvePlace;
pub use super::evolution_rows::{branch_name, put_evolution, target_of, texts_of};

/// Makes a candidate for the skill of a task type; storing it is the caller's ([`put_evolution`]). Several types may be
/// evolved at the same time in one place.
///
/// # Errors
/// The writer could not be reached (exit class 4), the budget is spent, somebody asked to stop, or the skill has no file
/// of its own or broken regions. What the writer writes never leads to an error.
pub async fn evolve_skill(
    session: &Session,
    place: &EvolvePlace,
    pack: &SkillCasePack,
    skills: &VersionedSkills,
    source_version: VersionName,
    edit_budget: u32,
    rejected: &[RejectedEdit],
) -> Result<EvolutionRecord, KernelError> {
    let edits = &session.config.edits;
    let settings = SkillEvolution {
        source_version,
        edit_budget,
        consolidate_threshold: edits.appendix_consolidate_threshold,
        mode: match edits.skill_update_mode {
            config::SkillUpdateMode::Patch => SkillUpdateMode::Patch,
            config::SkillUpdateMode::Rewrite => SkillUpdateMode::Rewrite,
        },
        rejected,
    };
    let parts = Parts::of(session, place, "evolve");
    let counter = Counter::default();
    counter.set(0, 1);
    let what = format!("evolve the skill for {}", pack.task_type);
    let attended = writer_work(session, place, "evolve", Some(pack.task_type.as_str()), what, &counter);
    attended
        .run(async {
            let record = evolve_single_skill(parts.context(session), pack, skills, settings).await;
            counter.add_done();
            record
        })
        .await
}

/// Makes candidates for the system prompt and for the prompts of tools, as far as there are packs: the system prompt
/// first, then each pair of each tool by name.
///
/// # Errors
/// As [`evolve_skill`].
pub async fn evolve_prompts(
    session: &Session,
    place: &EvolvePlace,
    system_pack: Option<&SystemCasePack>,
    tool_packs: &BTreeMap<String, ToolCasePack>,
    prompts: &VersionedPrompts,
    source_version: VersionName,
    edit_budget: u32,
) -> Result<Vec<EvolutionRecord>, KernelError> {
    let pairs: Vec<(&ToolCasePack, ToolPair)> =
        tool_packs.iter().flat_map(|(tool, pack)| tool_pairs(tool).into_iter().map(move |pair| (pack, pair))).collect();
    let parts = Parts::of(session, place, "evolve");
    let counter = Counter::default();
    counter.set(0, pairs.len() + usize::from(system_pack.is_some()));
    let attended = writer_work(session, place, "evolve", None, "evolve the prompts".to_owned(), &counter);
    let context = parts.context(session);
    let system = async {
        let Some(pack) = system_pack else { return Ok(None) };
        let record = evolve_system_prompt(context, pack, prompts, source_version, edit_budget).await?;
        counter.add_done();
        Ok::<_, EvolutionError>(Some(record))
    };
    let tools = pairs.into_iter().map(|(pack, pair)| {
        let counter = &counter;
        async move {
            let record = evolve_single_tool(context, pack, pair, prompts, source_version, edit_budget).await?;
            counter.add_done();
            Ok::<_, EvolutionError>(record)
        }
    });
    let (system, tools) = attended.run(futures::future::try_join(system, try_join_all(tools))).await?;
    Ok(system.into_iter().chain(tools).collect())
}

/// Asks for the guidance of one skill file after an epoch; `skill` is its text now. Putting the guidance into the skill
/// ([`put_guidance`](crate::evolution::momentum::put_guidance)) and storing both is the caller's.
///
/// # Errors
/// As [`evolve_skill`]; a question that is compared twice.
pub async fn write_guidance(
    session: &Session,
    place: &EvolvePlace,
    file: &FileName,
    skill: &str,
    compared: &[ComparedAnswer],
) -> Result<MomentumOutcome, KernelError> {
    let parts = Parts::of(session, place, "momentum");
    let counter = Counter::default();
    counter.set(0, 1);
    let what = format!("write the momentum of {file}");
    let attended = writer_work(session, place, "momentum", Some(file.as_str()), what, &counter);
    let context = MomentumContext {
        writer: &parts.writer,
        prompts: &session.templates.momentum,
        leaks: parts.leaks,
        limits: parts.limits,
        scope: &parts.scope,
    };
    attended
        .run(async {
            let outcome = write_momentum(context, file, skill, guidance_of(skill), compared).await;
            counter.add_done();
            outcome
        })
        .await
}

fn writer_work<'a>(
    session: &'a Session,
    place: &'a EvolvePlace,
    activity: &'static str,
    item: Option<&'a str>,
    what: String,
    counter: &'a Counter,
) -> Attended<'a> {
    Attended { session, place, activity, group: "writer", item, what, progress: None, counter }
}

/// What a context borrows.
struct Parts<'a> {
    writer: Formed<'a>,
    leaks: &'a LeakIndex,
    headings: FrozenHeadings,
    limits: EvolveLimits,
    scope: CallScope,
}

impl<'a> Parts<'a> {
    fn of(session: &'a Session, place: &EvolvePlace, activity: &str) -> Self {
        let edits = &session.config.edits;
        let block = block_chars(session.config.llm.role(Role::Evolve));
        let limits = EvolveLimits::default();
        Self {
            writer: session.kernel_model(Role::Evolve),
            leaks: session.leaks(),
            headings: FrozenHeadings {
                system: edits.frozen_system_headings.clone(),
                tool: edits.frozen_tool_headings.clone(),
            },
            limits: EvolveLimits {
                skill_max_tokens: edits.max_skill_tokens,
                max_block_chars: limits.max_block_chars.map(|max| max.min(block)),
            },
            scope: place.calls(activity),
        }
    }

    fn context(&'a self, session: &'a Session) -> EvolveContext<'a> {
        EvolveContext {
            writer: &self.writer,
            prompts: &session.templates.writer,
            leaks: self.leaks,
            headings: &self.headings,
            limits: self.limits,
            scope: &self.scope,
        }
    }
}
