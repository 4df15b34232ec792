//! A video written down as text within a number of tokens, for direct mode.

use super::text::{cut_to_tokens, estimated_tokens, one_line, time_range};
use crate::domain::{NodeId, TreeNode, VideoTree};

/// One line per node in order of time, parents before children: what they show, then what is said.
///
/// The rule of trimming, in this order, until it fits:
/// 1. of the level-3 nodes only every second, third, … is kept, evenly over the video;
/// 2. level 3 is left out, and each remaining line is cut to an equal share of the room;
/// 3. the last lines are left out and counted.
pub(super) fn describe(tree: &VideoTree, tokens: usize) -> String {
    let nodes = in_order(tree);
    let lines: Vec<(u8, String)> = nodes.iter().map(|(_, node)| (node.level, line(node))).collect();
    let costs: Vec<usize> = lines.iter().map(|(_, text)| estimated_tokens(text) + 1).collect();
    let frames = lines.iter().filter(|(level, _)| *level >= 3).count();
    let upper: usize = lines.iter().zip(&costs).filter(|((level, _), _)| *level < 3).map(|(_, cost)| cost).sum();
    // Every n-th: the first n that fits, tried by doubling steps only where a finer one cannot fit.
    for keep_every in 1..=frames.max(1) {
        let mut place = 0;
        let mut cost = upper;
        let mut kept = Vec::new();
        for ((level, text), text_cost) in lines.iter().zip(&costs) {
            if *level >= 3 {
                place += 1;
                if (place - 1) % keep_every != 0 {
                    continue;
                }
                cost += text_cost;
            }
            if cost > tokens {
                break;
            }
            kept.push(text.as_str());
        }
        if cost <= tokens {
            return kept.join("\n");
        }
        if upper > tokens {
            break;
        }
    }
    shortened(
        lines.iter().filter(|(level, _)| *level < 3 || frames == lines.len()).map(|(_, text)| text.as_str()),
        tokens,
    )
}

/// Equal shares for all lines, and a count of those for which not even a few words are left.
fn shortened<'a>(lines: impl Iterator<Item = &'a str>, tokens: usize) -> String {
    let lines: Vec<&str> = lines.collect();
    let share = (tokens / lines.len().max(1)).max(24);
    let mut left = tokens.saturating_sub(12);
    let mut kept = Vec::new();
    for (place, line) in lines.iter().enumerate() {
        let short = cut_to_tokens(line, share.saturating_sub(1));
        let cost = estimated_tokens(&short) + 1;
        if cost > left {
            kept.push(format!("… and {} more parts", lines.len() - place));
            break;
        }
        left -= cost;
        kept.push(short);
    }
    kept.join("\n")
}

/// By start, then level, then id: a parent precedes its children.
fn in_order(tree: &VideoTree) -> Vec<(&NodeId, &TreeNode)> {
    let mut nodes: Vec<_> = tree.nodes.iter().collect();
    nodes.sort_by(|(a_id, a), (b_id, b)| {
        a.time_range.0.total_cmp(&b.time_range.0).then(a.level.cmp(&b.level)).then(a_id.cmp(b_id))
    });
    nodes
}

fn line(node: &TreeNode) -> String {
    let mut text = format!("{} {}", time_range(node.time_range), one_line(&node.summary()));
    if let Some(subtitle) = node.subtitle.as_deref().map(one_line).filter(|text| !text.is_empty()) {
        text.push_str(&format!(" | said: {subtitle}"));
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn tree(events: usize, frames: usize, words: usize) -> VideoTree {
        let mut nodes = std::collections::BTreeMap::new();
        let mut add = |id: String, level: u8, start: usize, end: usize| {
            let card = json!(format!("{id} {}", "word ".repeat(words)));
            let node = TreeNode {
                level,
                time_range: (start as f64, end as f64),
                card,
                subtitle: None,
                children_ids: vec![],
                frame: None,
            };
            nodes.insert(NodeId::new(id).unwrap(), node);
        };
        for event in 0..events {
            add(format!("e{event:04}"), 2, event * frames, (event + 1) * frames);
            for frame in 0..frames {
                add(format!("f{event:04}-{frame:04}"), 3, event * frames + frame, event * frames + frame + 1);
            }
        }
        VideoTree {
            video_id: "v".parse().unwrap(),
            duration_category: None,
            duration_seconds: 10.0,
            domain: None,
            nodes,
        }
    }

    #[test]
    fn everything_is_told_while_it_fits_and_parents_come_first() {
        let text = describe(&tree(2, 3, 2), 10_000);
        assert_eq!(text.lines().count(), 8);
        assert!(text.lines().next().unwrap().contains("e0000"));
    }

    #[test]
    fn frames_are_thinned_evenly_before_events_are_touched() {
        let all = describe(&tree(4, 50, 2), 100_000);
        let text = describe(&tree(4, 50, 2), estimated_tokens(&all) / 4);
        assert_eq!(text.lines().filter(|line| line.contains(" e0")).count(), 4);
        let frames = text.lines().filter(|line| line.contains(" f0")).count();
        assert!((20..60).contains(&frames), "{frames}");
        assert!(text.contains("f0003-"), "the end of the video is told too");
    }

    #[test]
    fn when_nothing_else_helps_lines_are_cut_and_counted() {
        let text = describe(&tree(100, 2, 60), 300);
        assert!(text.contains("more parts") && !text.contains("f0000-"), "{text}");
    }

    proptest! {
        #[test]
        fn a_description_fits(events in 1_usize..30, frames in 0_usize..12, words in 0_usize..40, tokens in 60_usize..3000) {
            prop_assert!(estimated_tokens(&describe(&tree(events, frames, words), tokens)) <= tokens);
        }
    }
}
