//! `view_node`: what a node says about the question, and its children with their relevance.

use std::collections::BTreeMap;

use super::node_text::{children, children_lines, heading, node_text};
use super::run::{ToolContext, ToolOutput};
use super::summary::{Source, summarise};
use crate::agent::settings::ToolSummaries;
use crate::agent::text::{cut, one_line, time_range};
use crate::domain::{ChatError, NodeId, Role, TreeNode};

pub(super) async fn view_node(context: &ToolContext<'_>, id: &NodeId, question: &str) -> Result<ToolOutput, ChatError> {
    let Some(node) = context.video.tree().nodes.get(id) else {
        return Ok(ToolOutput::text(format!("There is no node {id}.")));
    };
    let below = children(node, context.video);
    let (text, list) = match context.settings.tool_summaries {
        ToolSummaries::Raw => {
            let share = if below.is_empty() { context.result_tokens } else { context.result_tokens / 2 };
            (node_text(node, share), children_lines(&below, context.result_tokens / 2))
        }
        ToolSummaries::Llm => {
            // Both pairs of calls run at once; the first failure in this order is the one that counts.
            let (text, list) =
                futures::future::join(extract(context, id, node, question), rated_children(context, &below, question))
                    .await;
            (text?, list?)
        }
    };
    let mut lines = vec![heading(id, node), text];
    if !below.is_empty() {
        lines.push(format!("\nChildren of {id}:"));
        lines.extend(list);
    }
    Ok(ToolOutput { visited: vec![id.clone()], ..ToolOutput::text(lines.join("\n")) })
}

async fn extract(context: &ToolContext<'_>, id: &NodeId, node: &TreeNode, question: &str) -> Result<String, ChatError> {
    let source = Source {
        role: Role::Tool,
        purposes: ("view_node.extract", "view_node.verify"),
        prompts: &context.texts.view_node,
        question,
        text: format!("{}\n{}", heading(id, node), node_text(node, context.source_tokens)),
        images: Vec::new(),
    };
    let found = summarise(context.caller, &source).await?;
    // Nothing extracted: the text itself is the best that can be shown.
    Ok(found.unwrap_or_else(|| node_text(node, context.result_tokens / 2)))
}

/// One line per child: id, time, relevance as rated by the model; those it left out stay unrated.
async fn rated_children(
    context: &ToolContext<'_>,
    below: &[(&NodeId, &TreeNode)],
    question: &str,
) -> Result<Vec<String>, ChatError> {
    if below.is_empty() {
        return Ok(Vec::new());
    }
    let source = Source {
        role: Role::Tool,
        purposes: ("view_node_children.extract", "view_node_children.verify"),
        prompts: &context.texts.view_node_children,
        question,
        text: children_lines(below, context.source_tokens).join("\n"),
        images: Vec::new(),
    };
    let ratings = summarise(context.caller, &source).await?.map(|text| ratings(&text, below)).unwrap_or_default();
    if ratings.is_empty() {
        return Ok(children_lines(below, context.result_tokens / 2));
    }
    let line = |(id, node): &(&NodeId, &TreeNode)| {
        let rating = ratings
            .get(id)
            .map_or_else(|| format!("unrated: {}", cut(&one_line(&node.summary()), 80)), |rating| cut(rating, 200));
        format!("- {id} {} {rating}", time_range(node.time_range))
    };
    Ok(below.iter().map(line).collect())
}

/// What the model wrote after each child's id. Of several ids that begin alike the longest counts.
fn ratings<'a>(text: &str, below: &[(&'a NodeId, &TreeNode)]) -> BTreeMap<&'a NodeId, String> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let bare = line
            .trim_start_matches(|char: char| char.is_whitespace() || matches!(char, '-' | '*' | '`' | '•' | '[' | '"'));
        let named = below.iter().map(|(id, _)| *id).filter(|id| bare.starts_with(id.as_str()));
        let Some(id) = named.max_by_key(|id| id.as_str().len()) else { continue };
        let rest = bare.get(id.as_str().len()..).unwrap_or_default();
        let rest = rest.trim_start_matches(|char: char| {
            char.is_whitespace() || matches!(char, '`' | ':' | '*' | '-' | '–' | '—' | ']' | '"')
        });
        if !rest.is_empty() {
            found.entry(id).or_insert_with(|| one_line(rest));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::video;

    #[test]
    fn ratings_are_read_by_id_whatever_the_list_looks_like() {
        let video = video();
        let scene = &video.tree().nodes[&"v_L1_000".parse::<NodeId>().unwrap()];
        let below = children(scene, &video);
        let text =
            "Ratings:\n- `v_L2_000`: high — the dog is there\n* v_L2_001 – low\n- v_L2_000: none\nv_L2_0099: high";
        let found = ratings(text, &below);
        let first: NodeId = "v_L2_000".parse().unwrap();
        let second: NodeId = "v_L2_001".parse().unwrap();
        assert_eq!(found[&first], "high — the dog is there");
        assert_eq!(found[&second], "low");
    }
}
