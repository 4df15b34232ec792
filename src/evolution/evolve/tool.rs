//! Evolving the prompts of a tool: pairs of `extract` and `verify`.

use serde::{Deserialize, Serialize};

use super::cases::spans_text;
use super::loops::{Part, Task, patch_loop};
use super::record::{EvolutionKind, EvolutionRecord};
use super::system::prompt_record;
use super::validate::Rules;
use super::writer::{EvolveContext, Writer};
use crate::domain::{FileName, VersionName};
use crate::evolution::EvolutionError;
use crate::evolution::patch::frozen_ranges;
use crate::evolution::ports::PromptStore;
use crate::evolution::templates::data_block;
use crate::evolution::types::ToolCasePack;

/// A pair of prompts that are evolved together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolPair {
    /// The tool.
    pub tool: &'static str,
    /// The pair's name: the files are this and `_extract.md`, `_verify.md`.
    pub name: &'static str,
    /// What the pair is for, in words.
    pub described: &'static str,
}

const PAIRS: [ToolPair; 4] = [
    ToolPair { tool: "view_node", name: "view_node", described: "reading one node" },
    ToolPair { tool: "view_node", name: "view_node_children", described: "listing the children of a node" },
    ToolPair { tool: "search_similar", name: "search_similar", described: "summarising what a search found" },
    ToolPair { tool: "observe_frame", name: "observe_frame", described: "looking at frames" },
];

/// The pairs of a tool: two for `view_node`, one for `search_similar` and `observe_frame`, none for others.
#[must_use]
pub fn tool_pairs(tool: &str) -> Vec<ToolPair> {
    PAIRS.into_iter().filter(|pair| pair.tool == tool).collect()
}

impl ToolPair {
    fn file(self, part: &str) -> Result<FileName, EvolutionError> {
        FileName::new(format!("{}_{part}.md", self.name))
            .map_err(|error| EvolutionError::Setting { what: error.to_string() })
    }
}

/// Both prompts of a pair: what a tool's record holds, as JSON text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolContent {
    /// The text of `*_extract.md`.
    pub extract: String,
    /// The text of `*_verify.md`.
    pub verify: String,
}

impl ToolContent {
    /// The JSON text.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!({"extract": self.extract, "verify": self.verify}).to_string()
    }

    /// Reads a record's content.
    #[must_use]
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}

/// Makes a candidate for one pair of a tool's prompts. Edits of both share one budget and are told apart by file.
///
/// # Errors
/// The writer could not be reached; a prompt could not be read or has broken regions.
pub async fn evolve_single_tool(
    context: EvolveContext<'_>,
    pack: &ToolCasePack,
    pair: ToolPair,
    prompts: &dyn PromptStore,
    source_version: VersionName,
    edit_budget: u32,
) -> Result<EvolutionRecord, EvolutionError> {
    let mut parts = Vec::new();
    for name in ["extract", "verify"] {
        let file = pair.file(name)?;
        let current = prompts.read_prompt(&file)?;
        let spec = context.headings.tool_spec();
        frozen_ranges(&current, &spec).map_err(|source| EvolutionError::Regions { file: file.to_string(), source })?;
        parts.push(Part { name, file, current, rules: Rules::tool(spec) });
    }
    let current = content(parts.iter().map(|part| part.current.clone()));
    let mut writer = Writer::new(context, pair.name);
    let described = format!("the prompts of {} ({})", pair.tool, pair.described);
    let task = Task { purpose: "writer.tool", described: &described, parts: &parts, edit_budget };
    let prompt = |feedback: &str| tool_prompt(context, pack, pair, &current, edit_budget, feedback);
    let result = patch_loop(context, &mut writer, &task, prompt).await?;
    let evolved = content(result.contents.iter().cloned());
    let files = parts.into_iter().map(|part| part.file).collect();
    let (original, evolved) = (current.to_json(), evolved.to_json());
    let mut record =
        prompt_record(EvolutionKind::Tool, pair.name, files, source_version, edit_budget, original, evolved, result);
    record.cost = writer.cost;
    Ok(record)
}

fn content(mut texts: impl Iterator<Item = String>) -> ToolContent {
    ToolContent { extract: texts.next().unwrap_or_default(), verify: texts.next().unwrap_or_default() }
}

fn tool_prompt(
    context: EvolveContext<'_>,
    pack: &ToolCasePack,
    pair: ToolPair,
    current: &ToolContent,
    edit_budget: u32,
    feedback: &str,
) -> Result<String, EvolutionError> {
    let max = context.limits.max_block_chars;
    let values = [
        ("tool", pair.tool.to_owned()),
        ("pair", pair.described.to_owned()),
        ("extract", data_block(&current.extract)),
        ("verify", data_block(&current.verify)),
        ("failures", data_block(&spans_text(&pack.failure_spans, max))),
        ("successes", data_block(&spans_text(&pack.success_spans, max))),
        ("frozen", context.headings.tool.join(", ")),
        ("budget", edit_budget.to_string()),
        ("feedback", feedback.to_owned()),
    ];
    let values: Vec<(&str, &str)> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Ok(context.prompts.evolve_tool.fill(&values)?)
}
