//! Sub-step 7: the system prompt and the tools' prompts, evolved from the packs of the whole epoch (design 05, 07).

use std::collections::BTreeMap;

use super::super::TrainError;
use super::super::settlement::Versions;
use super::super::story::TrainEvent;
use super::super::trainer::Trainer;
use super::{At, begin, settle};
use crate::domain::FileName;
use crate::evolution::diagnosis::{merge_system_packs, merge_tool_packs};
use crate::evolution::evolve::{EvolutionKind, EvolutionRecord, ToolContent};
use crate::evolution::types::{SystemCasePack, ToolCasePack};
use crate::harness::evolving::{EvolvePlace, evolve_prompts, put_evolution};
use crate::harness::versions::VersionedPrompts;
use crate::store::Batch;
use crate::store::rows::{Checkpoint, PointerName, VersionKind, VersionPair};

/// 7: candidates for prompts, all of them one new version; sub-step 8 decides whether it stays.
pub(super) async fn evolve(trainer: &Trainer<'_>, state: &Checkpoint, at: At) -> Result<Checkpoint, TrainError> {
    let (config, current) = (trainer.config(), trainer.current()?);
    let system = if config.slow.system { merge_system_packs(&packs(trainer, &state.system_packs)?) } else { None };
    let mut tools: BTreeMap<String, ToolCasePack> = BTreeMap::new();
    for (tool, stored) in state.tool_packs.iter().filter(|_| config.slow.tools) {
        tools.extend(merge_tool_packs(&packs(trainer, stored)?).map(|pack| (tool.clone(), pack)));
    }
    // The writer's calls are rows of this scope: what an earlier attempt left goes before they come.
    let mark = begin(trainer, at, current, &[]).await?;
    let prompts = VersionedPrompts::load(&trainer.snapshot()?, current.prompts)?;
    let place = EvolvePlace { run: trainer.run.clone(), scope: at.scope() };
    let budget = config.edits.edit_budget_end;
    let records =
        evolve_prompts(trainer.session, &place, system.as_ref(), &tools, &prompts, current.prompts, budget).await?;
    let mut batch = Batch::new();
    let mut texts: BTreeMap<FileName, String> = BTreeMap::new();
    for record in &records {
        put_evolution(&mut batch, &trainer.run, at.scope(), record);
        if record.is_real_change() {
            texts.extend(contents(record));
        }
    }
    if !texts.is_empty() {
        let snapshot = trainer.snapshot()?;
        let made_by = trainer.made_by(at.scope());
        let mut versions = Versions::of(VersionKind::Prompts, &snapshot, current.prompts, made_by)?;
        let replaced = texts.iter().map(|(file, text)| (file.clone(), text.as_str()));
        let note = format!("e{} prompts", at.epoch);
        let version = versions.advance(&snapshot, &mut batch, replaced, "system-tool", note)?;
        let pair = VersionPair { prompts: version, ..current };
        batch.put_pointer(PointerName::Current, &trainer.moved(at.scope(), pair, None));
    }
    let state = settle(trainer, at, state.clone(), mark, batch).await?;
    if !records.is_empty() {
        trainer.report.event(&TrainEvent::Prompts { epoch: at.epoch, changed: texts.len() });
    }
    Ok(state)
}

/// The texts that a record would put into files.
fn contents(record: &EvolutionRecord) -> Vec<(FileName, String)> {
    if record.kind != EvolutionKind::Tool {
        return record.files.iter().map(|file| (file.clone(), record.evolved_content.clone())).collect();
    }
    let Some(content) = ToolContent::from_json(&record.evolved_content) else { return Vec::new() };
    let text = |file: &FileName| {
        if file.as_str().ends_with("_verify.md") { content.verify.clone() } else { content.extract.clone() }
    };
    record.files.iter().map(|file| (file.clone(), text(file))).collect()
}

/// Packs as the checkpoint keeps them.
fn packs<T: Pack>(trainer: &Trainer<'_>, stored: &[String]) -> Result<Vec<T>, TrainError> {
    let read = |text: &String| serde_json::from_str(text).map_err(|_| trainer.missing("a readable case pack"));
    stored.iter().map(read).collect()
}

/// What is kept as JSON text in the checkpoint.
trait Pack: serde::de::DeserializeOwned {}

impl Pack for SystemCasePack {}
impl Pack for ToolCasePack {}
