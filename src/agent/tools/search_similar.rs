//! `search_similar`: the nodes whose text is closest to the query, each with what it says about the question.

use super::node_text::{heading, node_text};
use super::run::{ToolContext, ToolOutput};
use super::summary::{Source, summarise};
use crate::agent::search::search;
use crate::agent::settings::{SearchBackend, ToolSummaries};
use crate::domain::{ChatError, NodeId, Role, TreeNode};

pub(super) async fn search_similar(
    context: &ToolContext<'_>,
    query: &str,
    question: &str,
    k: usize,
) -> Result<ToolOutput, ChatError> {
    let embedding = match context.settings.search_backend {
        SearchBackend::Lexical => None,
        SearchBackend::Embedding => context.embed.map(|model| (model, context.caller.tag("search_similar.embed"))),
    };
    let (hits, call) = search(context.indexes, context.video, query, k, embedding).await?;
    if let Some(call) = call {
        context.caller.add_embedding(call.usage, call.cached);
    }
    if hits.is_empty() {
        return Ok(ToolOutput::text(
            "No node holds these words. Try other words, or open the level-1 nodes.".to_owned(),
        ));
    }
    let nodes = &context.video.tree().nodes;
    let found: Vec<(&NodeId, &TreeNode)> = hits.iter().filter_map(|hit| nodes.get_key_value(&hit.node)).collect();
    let share = context.result_tokens / found.len().max(1);
    let texts = match context.settings.tool_summaries {
        ToolSummaries::Raw => found.iter().map(|(_, node)| node_text(node, share.saturating_sub(16))).collect(),
        ToolSummaries::Llm => extracts(context, &found, question).await?,
    };
    let blocks = found.iter().zip(texts).enumerate();
    let blocks: Vec<String> =
        blocks.map(|(place, ((id, node), text))| format!("{}. {}\n{text}", place + 1, heading(id, node))).collect();
    let visited = found.iter().map(|(id, _)| (*id).clone()).collect();
    Ok(ToolOutput { visited, ..ToolOutput::text(blocks.join("\n\n")) })
}

/// All hits at once; of several failures the first in order of rank counts.
async fn extracts(
    context: &ToolContext<'_>,
    found: &[(&NodeId, &TreeNode)],
    question: &str,
) -> Result<Vec<String>, ChatError> {
    let share = context.result_tokens / found.len().max(1);
    let one = async |(id, node): &(&NodeId, &TreeNode)| {
        let source = Source {
            role: Role::Tool,
            purposes: ("search_similar.extract", "search_similar.verify"),
            prompts: &context.texts.search_similar,
            question,
            text: format!("{}\n{}", heading(id, node), node_text(node, context.source_tokens)),
            images: Vec::new(),
        };
        let found = summarise(context.caller, &source).await?;
        Ok(found.unwrap_or_else(|| node_text(node, share)))
    };
    futures::future::join_all(found.iter().map(one)).await.into_iter().collect()
}
