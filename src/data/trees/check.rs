//! The rules of a tree (design 02), checked without recursion: a tree of any depth or shape is only a list of nodes.

use std::collections::HashMap;

use super::raw::{RawNode, RawTree};
use crate::data::printable::quoted;
use crate::data::problem::{Problem, Problems, Spot};
use crate::data::questions::id_problem;
use crate::domain::{NodeId, TreeNode, VideoTree};

/// By how many seconds a child may lie outside its parent, and a node outside its video, without a word.
const TIME_TOLERANCE: f64 = 1.0;

/// Checks every rule and gives the tree; none if one is broken.
pub(super) fn check(tree: RawTree, file: &Spot, problems: &mut Problems) -> Option<VideoTree> {
    let before = problems.errors();
    let video_id = tree.video_id.as_deref().and_then(|text| match text.parse() {
        Ok(id) => Some(id),
        Err(error) => {
            problems.push(id_problem(&error, &file.at("videoID")));
            None
        }
    });
    let ids = check_ids(&tree.nodes, problems);
    let links = check_links(&tree.nodes, problems);
    check_cycles(&tree.nodes, &links, problems);
    check_roots(&tree.nodes, &links, file, problems);
    check_times(&tree, &links, problems);
    let nodes: Vec<TreeNode> = tree.nodes.iter().filter_map(node).collect();
    check_texts(&tree.nodes, &nodes, file, problems);
    if problems.errors() > before {
        return None;
    }
    Some(VideoTree {
        video_id: video_id?,
        duration_category: tree.duration_category,
        duration_seconds: tree.duration_seconds?,
        domain: tree.domain,
        nodes: ids.into_iter().flatten().zip(nodes).collect(),
    })
}

/// Parent and children of each node by its place in the list.
#[derive(Debug)]
struct Links {
    children: Vec<Vec<usize>>,
    parent: Vec<Option<usize>>,
}

fn check_ids(nodes: &[RawNode], problems: &mut Problems) -> Vec<Option<NodeId>> {
    nodes
        .iter()
        .map(|node| match node.id.parse() {
            Ok(id) => Some(id),
            Err(error) => {
                problems.push(id_problem(&error, &node.spot));
                None
            }
        })
        .collect()
}

fn check_links(nodes: &[RawNode], problems: &mut Problems) -> Links {
    let mut places: HashMap<&str, usize> = HashMap::with_capacity(nodes.len());
    for (place, node) in nodes.iter().enumerate() {
        if places.insert(&node.id, place).is_some() {
            let what = format!("the node {} stands twice", quoted(&node.id));
            problems.push(Problem::error("tree.repeated_node", &node.spot, what, "give each node an id of its own"));
        }
    }
    let mut links = Links { children: vec![Vec::new(); nodes.len()], parent: vec![None; nodes.len()] };
    for (place, (node, children)) in nodes.iter().zip(&mut links.children).enumerate() {
        let spot = node.spot.at("children_ids");
        for (index, id) in node.children.iter().flatten().enumerate() {
            let spot = spot.at(&index.to_string());
            let Some((child_place, child)) = places.get(id.as_str()).and_then(|at| Some((*at, nodes.get(*at)?))) else {
                let what = format!("the child {} is not in the tree", quoted(id));
                problems.push(Problem::error("tree.unknown_child", &spot, what, "add the node, or remove the child"));
                continue;
            };
            if let Some(parent) = links.parent.get_mut(child_place) {
                match *parent {
                    None => *parent = Some(place),
                    Some(first) => {
                        problems.push(second_parent(nodes.get(first), node, id, &spot));
                        continue;
                    }
                }
            }
            children.push(child_place);
            if let (Some(level), Some(child_level)) = (node.level, child.level)
                && child_level != level + 1
            {
                let what = format!("the child {} has level {child_level} below a node of level {level}", quoted(id));
                let hint = "children are one level below: scenes hold events, events hold frames";
                problems.push(Problem::error("tree.child_level", &spot, what, hint));
            }
        }
    }
    links
}

fn second_parent(first: Option<&RawNode>, second: &RawNode, child: &str, spot: &Spot) -> Problem {
    let first = first.map_or("", |node| node.id.as_str());
    let what = if first == second.id {
        format!("the child {} stands twice", quoted(child))
    } else {
        format!("the child {} has a parent already: {}", quoted(child), quoted(first))
    };
    Problem::error("tree.two_parents", spot, what, "a node has one parent: remove it from the other")
}

/// Every node has one parent at most here, so a walk upward that comes back to itself is a cycle.
fn check_cycles(nodes: &[RawNode], links: &Links, problems: &mut Problems) {
    let mut visited_by = vec![None; nodes.len()];
    for start in 0..nodes.len() {
        let mut place = Some(start);
        while let Some(at) = place {
            match visited_by.get(at).copied().flatten() {
                Some(walk) if walk == start => {
                    problems.push(cycle(nodes, links, at));
                    break;
                }
                Some(_) => break,
                None => {}
            }
            if let Some(mark) = visited_by.get_mut(at) {
                *mark = Some(start);
            }
            place = links.parent.get(at).copied().flatten();
        }
    }
}

fn cycle(nodes: &[RawNode], links: &Links, start: usize) -> Problem {
    let mut names = Vec::new();
    let mut place = start;
    loop {
        names.extend(nodes.get(place).map(|node| quoted(&node.id)));
        match links.parent.get(place).copied().flatten() {
            Some(parent) if parent != start && names.len() < 5 => place = parent,
            _ => break,
        }
    }
    names.reverse();
    let spot = nodes.get(start).map_or_else(|| Spot::whole(""), |node| node.spot.clone());
    let what = format!("the node is its own ancestor, through {}", names.join(" → "));
    Problem::error("tree.cycle", &spot, what, "remove one of these from the children of the other")
}

fn check_roots(nodes: &[RawNode], links: &Links, file: &Spot, problems: &mut Problems) {
    let all_known = nodes.iter().all(|node| node.children.is_some());
    for (node, parent) in nodes.iter().zip(&links.parent).filter(|_| all_known) {
        if let (Some(level @ 2..), None) = (node.level, parent) {
            let what = format!("a node of level {level} without a parent");
            let hint = "add it to the children of a node one level above, or remove it";
            problems.push(Problem::error("tree.orphan", &node.spot, what, hint));
        }
    }
    if !nodes.is_empty() && nodes.iter().all(|node| node.level.is_some_and(|level| level != 1)) {
        problems.push(Problem::error("tree.no_root", file, "no node has level 1", "level-1 nodes are the roots"));
    }
}

fn check_times(tree: &RawTree, links: &Links, problems: &mut Problems) {
    for (node, children) in tree.nodes.iter().zip(&links.children) {
        let Some((start, end)) = node.time_range else {
            continue;
        };
        if let Some(duration) = tree.duration_seconds
            && end > duration + TIME_TOLERANCE
        {
            let what = format!("the node ends at {end} s, after the end of the video at {duration} s");
            let hint = "check duration_seconds and the time range";
            problems.push(Problem::warning("tree.beyond_end", &node.spot.at("time_range"), what, hint));
        }
        for child in children.iter().filter_map(|place| tree.nodes.get(*place)) {
            let Some((child_start, child_end)) = child.time_range else {
                continue;
            };
            if child_start < start - TIME_TOLERANCE || child_end > end + TIME_TOLERANCE {
                let what = format!(
                    "the node lasts from {child_start} to {child_end} s, outside its parent {} ({start} to {end} s)",
                    quoted(&node.id)
                );
                let spot = child.spot.at("time_range");
                problems.push(Problem::warning("tree.child_time", &spot, what, "widen the parent, or move the node"));
            }
        }
    }
}

fn check_texts(raw: &[RawNode], nodes: &[TreeNode], file: &Spot, problems: &mut Problems) {
    if nodes.is_empty() || nodes.len() != raw.len() {
        return;
    }
    let has_text = |node: &TreeNode| {
        node.subtitle.as_ref().is_some_and(|text| !text.trim().is_empty()) || !node.card_text().is_empty()
    };
    let empty: Vec<&RawNode> = raw.iter().zip(nodes).filter(|(_, node)| !has_text(node)).map(|(raw, _)| raw).collect();
    if empty.len() == nodes.len() {
        let hint = "fill the cards or the subtitles: without text there is nothing to search";
        problems.push(Problem::error("tree.no_text", file, "no node has any text", hint));
    } else if let Some(first) = empty.first() {
        let what = format!("{} of {} nodes have no text, this one first", empty.len(), nodes.len());
        problems.push(Problem::warning("tree.node_without_text", &first.spot, what, "describe them in their cards"));
    }
}

/// The node in the words of the domain; none if a required field is absent, which was reported.
fn node(raw: &RawNode) -> Option<TreeNode> {
    Some(TreeNode {
        level: raw.level?,
        time_range: raw.time_range?,
        card: raw.card.clone(),
        subtitle: raw.subtitle.clone(),
        children_ids: raw.children.iter().flatten().filter_map(|id| id.parse().ok()).collect(),
        frame: raw.frame.clone(),
    })
}
