//! `observe_frame`: the vision model looks at frames, with what is said there as context.

use super::arguments::MAX_FRAMES;
use super::node_text::{children, heading, node_text};
use super::run::{ToolContext, ToolOutput};
use super::summary::{Source, summarise};
use crate::agent::frames::read_frame;
use crate::agent::record::FrameHealth;
use crate::domain::{ChatError, Image, NodeId, Role, TreeNode};

pub(super) async fn observe_frame(
    context: &ToolContext<'_>,
    ids: &[NodeId],
    question: &str,
) -> Result<ToolOutput, ChatError> {
    let nodes = frame_nodes(context, ids);
    let mut health = FrameHealth { asked: count(nodes.len()), ..FrameHealth::default() };
    let (shown, images) = load(context, &nodes, &mut health);
    let mut lines: Vec<String> = nodes.iter().map(|(id, node)| heading(id, node)).collect();
    if images.is_empty() {
        lines.push(format!("No frame could be shown: {}.", health.failures.join("; ")));
        return Ok(ToolOutput { frames: Some(health), ..ToolOutput::text(lines.join("\n")) });
    }
    let context_text: Vec<String> = shown
        .iter()
        .enumerate()
        .map(|(place, (id, node))| {
            format!(
                "Frame {}: {}\n{}",
                place + 1,
                heading(id, node),
                node_text(node, context.source_tokens / MAX_FRAMES)
            )
        })
        .collect();
    let source = Source {
        role: Role::Vision,
        purposes: ("observe_frame.extract", "observe_frame.verify"),
        prompts: &context.texts.observe_frame,
        question,
        text: context_text.join("\n\n"),
        images,
    };
    match summarise(context.caller, &source).await? {
        Some(text) => {
            health.read = count(shown.len());
            lines.push(text);
        }
        None => {
            health.failed += count(shown.len());
            health.failures.push("the vision model wrote nothing about the frames".to_owned());
            lines.push("The vision model wrote nothing about these frames.".to_owned());
        }
    }
    let visited = shown.iter().map(|(id, _)| (*id).clone()).collect();
    Ok(ToolOutput { visited, frames: Some(health), ..ToolOutput::text(lines.join("\n")) })
}

type Node<'a> = (&'a NodeId, &'a TreeNode);

/// The nodes whose frames are meant: those named, or up to four of an event's, spread evenly.
fn frame_nodes<'a>(context: &ToolContext<'a>, ids: &[NodeId]) -> Vec<Node<'a>> {
    let nodes = &context.video.tree().nodes;
    let named: Vec<Node<'a>> = ids.iter().filter_map(|id| nodes.get_key_value(id)).collect();
    match named.as_slice() {
        [(_, node)] if node.level == 2 => {
            let all = children(node, context.video);
            let wanted = all.len().min(MAX_FRAMES);
            // The middle of each of the equal parts.
            (0..wanted).filter_map(|place| all.get((2 * place + 1) * all.len() / (2 * wanted)).copied()).collect()
        }
        _ => named,
    }
}

/// Reads the files, a few hundred kilobytes at most, and notes what became of each.
fn load<'a>(context: &ToolContext<'_>, nodes: &[Node<'a>], health: &mut FrameHealth) -> (Vec<Node<'a>>, Vec<Image>) {
    let mut shown = Vec::new();
    let mut images = Vec::new();
    let Some(folder) = context.video.folder() else {
        health.failures.push("the video has no folder".to_owned());
        return (shown, images);
    };
    if nodes.is_empty() {
        health.failures.push("the event has no frames".to_owned());
    }
    for (id, node) in nodes {
        match read_frame(folder, &context.video.tree().frame_file(id, node)) {
            Ok(image) => {
                health.found += 1;
                shown.push((*id, *node));
                images.push(image);
            }
            Err(error) => {
                if error.is_there() {
                    health.found += 1;
                    health.failed += 1;
                }
                health.failures.push(error.to_string());
            }
        }
    }
    (shown, images)
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}
