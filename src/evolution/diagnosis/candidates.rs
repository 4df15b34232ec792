//! Which unopened nodes a judge is asked about: all of a long video would fit no prompt.

use std::collections::BTreeSet;

use super::trace::{answer_text, question_text};
use crate::domain::{NodeId, Question, TreeNode, VideoTree};

/// The most nodes that are shown.
const MAX_CANDIDATES: usize = 20;
/// The most characters shown of one.
const MAX_CHARS: usize = 240;

/// The unopened nodes, likeliest first: those the question was made from, then those that share most words with the
/// question and its right answer, then by id. At most 20.
pub(super) fn candidates<'a>(
    question: &Question,
    tree: &'a VideoTree,
    seen: &BTreeSet<NodeId>,
) -> Vec<(&'a NodeId, &'a TreeNode)> {
    let wanted = words(&format!("{} {}", question_text(question), answer_text(question)));
    let mut scored: Vec<(bool, usize, &NodeId, &TreeNode)> = tree
        .nodes
        .iter()
        .filter(|(id, _)| !seen.contains(*id))
        .map(|(id, node)| {
            let text = format!("{} {}", node.card_text(), node.subtitle.as_deref().unwrap_or_default());
            let common = words(&text).intersection(&wanted).count();
            (question.source_nodes.contains(id), common, id, node)
        })
        .collect();
    scored.sort_by(|a, b| (b.0, b.1, a.2).cmp(&(a.0, a.1, b.2)));
    scored.into_iter().take(MAX_CANDIDATES).map(|(_, _, id, node)| (id, node)).collect()
}

/// Id, times and summary of nodes, one a line.
pub(super) fn outline<'a>(nodes: impl IntoIterator<Item = (&'a NodeId, &'a TreeNode)>) -> String {
    let mut text = String::new();
    for (id, node) in nodes {
        let (start, end) = node.time_range;
        let mut says = node.summary();
        if let Some(subtitle) = node.subtitle.as_deref().filter(|subtitle| !subtitle.trim().is_empty()) {
            says.push_str(" | ");
            says.push_str(subtitle);
        }
        let says: String = says.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(MAX_CHARS).collect();
        text.push_str(&format!("{id} ({start:.0}-{end:.0} s): {says}\n"));
    }
    text
}

/// Words of three letters and more, lower case; of scripts without spaces, every character.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for word in text.to_lowercase().split(|char: char| !char.is_alphanumeric()) {
        if word.is_ascii() {
            if word.len() >= 3 {
                found.insert(word.to_owned());
            }
        } else {
            let (plain, dense): (Vec<char>, Vec<char>) = word.chars().partition(|char| *char < '\u{2e80}');
            found.extend(dense.into_iter().map(String::from));
            if plain.len() >= 3 {
                found.insert(plain.into_iter().collect());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Choice;

    #[test]
    fn source_nodes_come_first_then_common_words_then_ids() {
        let tree: VideoTree = serde_json::from_value(serde_json::json!({
            "videoID": "v", "duration_seconds": 9.0, "nodes": {
                "a": {"level": 1, "time_range": [0.0, 9.0], "card": {"scene_summary": "nothing"}},
                "b": {"level": 1, "time_range": [0.0, 9.0], "card": {"scene_summary": "the dog barks"}},
                "c": {"level": 1, "time_range": [0.0, 9.0], "card": {"scene_summary": "it is asleep"}, "subtitle": "dog barks"},
                "d": {"level": 1, "time_range": [0.0, 9.0], "card": {"scene_summary": "seen"}},
                "e": {"level": 1, "time_range": [0.0, 9.0], "card": {"scene_summary": "source"}},
            }
        }))
        .unwrap();
        let question = Question {
            question_id: "q".parse().unwrap(),
            video_id: "v".parse().unwrap(),
            task_type: "T".parse().unwrap(),
            question: "Why the dog?".into(),
            options: vec![Choice { letter: 'A', text: "it barks".into() }, Choice { letter: 'B', text: "no".into() }],
            answer: 'A',
            pair_id: None,
            source_nodes: vec!["e".parse().unwrap()],
            difficulty: None,
        };
        let seen = BTreeSet::from(["d".parse().unwrap()]);
        let found = candidates(&question, &tree, &seen);
        let ids: Vec<_> = found.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, ["e", "b", "c", "a"]);
        assert!(outline(found).contains("c (0-9 s): it is asleep | dog barks\n"));
    }

    #[test]
    fn scripts_without_spaces_are_compared_by_character() {
        assert_eq!(words("看到 abc12 de"), BTreeSet::from(["看".into(), "到".into(), "abc12".into()]));
    }
}
