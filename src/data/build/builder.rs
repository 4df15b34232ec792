//! Captions and subtitles of one video as a tree.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::extract::{joined, summary};
use super::levels::{Cuts, LevelSizes};
use crate::data::timed_text::TimedText;
use crate::domain::{IdError, NodeId, TreeNode, VideoId, VideoTree};

/// What a tree is made of.
#[derive(Debug, Clone, PartialEq)]
pub struct TreeSource {
    /// The video.
    pub video_id: VideoId,
    /// Its captions: one frame (level 3) each.
    pub captions: Vec<TimedText>,
    /// What is spoken; attached to the frame at that time, or frames of their own where there is none.
    pub subtitles: Vec<TimedText>,
    /// Its length in seconds; none means: until the last text ends.
    pub duration: Option<f64>,
    /// A free label such as `Sports`.
    pub domain: Option<String>,
}

/// Why there is no tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// Neither captions nor subtitles.
    #[error("build a tree for video {0}: there is no text")]
    NoText(VideoId),
    /// The ids of nodes begin with the video's and would be too long.
    #[error("build a tree for video {video}: no id for its nodes")]
    Id {
        /// The video.
        video: VideoId,
        /// Why not.
        source: IdError,
    },
}

/// Longest summaries, in characters: what a model reads in a list of scenes or events without losing the thread.
const SCENE_CHARACTERS: usize = 1_200;
const EVENT_CHARACTERS: usize = 700;
/// Longest spoken text of a scene or an event, in characters; frames keep theirs whole.
const SPOKEN_CHARACTERS: usize = 6_000;

/// How long after the end of a caption what is spoken still belongs to it, in seconds.
const SPOKEN_GAP: f64 = 5.0;

/// Builds the tree; equal input gives equal trees.
///
/// Scenes and events are cut by time alone. Their cards are sentences of the captions (of the subtitles where there
/// are none), spread over their whole length, near-identical ones once.
///
/// # Errors
/// There is no text, or the video's id is too long to begin the ids of nodes.
pub fn build_tree(source: &TreeSource, sizes: &LevelSizes) -> Result<VideoTree, BuildError> {
    let frames = frames(source);
    let last_end = frames.iter().map(|frame| frame.end).fold(0.0, f64::max);
    let duration = source.duration.unwrap_or_else(|| milliseconds(last_end)).max(0.001);
    if frames.is_empty() {
        return Err(BuildError::NoText(source.video_id.clone()));
    }
    let mut tree = Growing { source, nodes: BTreeMap::new(), counts: [0; 3], width: width(frames.len()) };
    let scenes = Cuts::new(sizes.scenes, 0.0, duration.max(last_end), frames.len());
    for (part, scene) in parts(&frames, &scenes) {
        let range = scenes.range(part);
        let events = Cuts::new(sizes.events, range.0, range.1, frames.len());
        let mut event_ids = Vec::new();
        for (part, event) in parts(scene, &events) {
            let mut frame_ids = Vec::with_capacity(event.len());
            for frame in event {
                frame_ids.push(tree.add(3, (frame.start, frame.end), &[frame], Vec::new())?);
            }
            let members: Vec<&Frame> = event.iter().collect();
            event_ids.push(tree.add(2, around(events.range(part), event), &members, frame_ids)?);
        }
        let members: Vec<&Frame> = scene.iter().collect();
        tree.add(1, around(range, scene), &members, event_ids)?;
    }
    Ok(VideoTree {
        video_id: source.video_id.clone(),
        duration_category: None,
        duration_seconds: duration,
        domain: source.domain.clone(),
        nodes: tree.nodes,
    })
}

/// What becomes one node of level 3.
#[derive(Debug, Clone, PartialEq)]
struct Frame {
    start: f64,
    end: f64,
    caption: String,
    spoken: Vec<String>,
}

/// Captions in order of time, each with what is spoken then; what is spoken elsewhere stands alone.
fn frames(source: &TreeSource) -> Vec<Frame> {
    let mut frames: Vec<Frame> = timed(&source.captions)
        .map(|(start, end, text)| Frame { start, end, caption: text.to_owned(), spoken: Vec::new() })
        .collect();
    let mut alone = Vec::new();
    for (start, end, text) in timed(&source.subtitles) {
        let before = frames.partition_point(|frame| frame.start <= start);
        match before.checked_sub(1).and_then(|place| frames.get_mut(place)) {
            Some(frame) if start < frame.end + SPOKEN_GAP => frame.spoken.push(text.to_owned()),
            _ => alone.push(Frame { start, end, caption: String::new(), spoken: vec![text.to_owned()] }),
        }
    }
    frames.extend(alone);
    frames.sort_by(|a, b| a.start.total_cmp(&b.start));
    frames
}

/// Start, end and text, sorted by start. A text without an end lasts until the next begins, at most a minute; the last
/// one as long as the one before it.
fn timed(texts: &[TimedText]) -> impl Iterator<Item = (f64, f64, &str)> {
    let mut sorted: Vec<&TimedText> = texts.iter().collect();
    sorted.sort_by(|a, b| a.start.total_cmp(&b.start));
    let starts: Vec<f64> = sorted.iter().map(|text| text.start).collect();
    let mut usual = 1.0;
    sorted.into_iter().enumerate().map(move |(place, text)| {
        let until_next = starts.get(place + 1).map(|next| (next - text.start).min(60.0)).filter(|length| *length > 0.0);
        usual = until_next.unwrap_or(usual);
        let end = text.end.unwrap_or(text.start + usual);
        (milliseconds(text.start), milliseconds(end), text.text.as_str())
    })
}

/// The runs of frames that lie in the same part.
fn parts<'a>(frames: &'a [Frame], cuts: &Cuts) -> Vec<(u64, &'a [Frame])> {
    frames
        .chunk_by(|a, b| cuts.part_of(a.start) == cuts.part_of(b.start))
        .filter_map(|run| Some((cuts.part_of(run.first()?.start), run)))
        .collect()
}

/// The range of a part, widened to hold what begins in it.
fn around(range: (f64, f64), frames: &[Frame]) -> (f64, f64) {
    let start = frames.iter().map(|frame| frame.start).fold(range.0, f64::min);
    let end = frames.iter().map(|frame| frame.end).fold(range.1, f64::max);
    (milliseconds(start), milliseconds(end))
}

fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1_000.0).round() / 1_000.0
}

/// So many digits that ids sort as their numbers do.
fn width(frames: usize) -> usize {
    frames.saturating_sub(1).to_string().len().max(3)
}

struct Growing<'a> {
    source: &'a TreeSource,
    nodes: BTreeMap<NodeId, TreeNode>,
    counts: [usize; 3],
    width: usize,
}

impl Growing<'_> {
    fn add(
        &mut self,
        level: u8,
        time_range: (f64, f64),
        frames: &[&Frame],
        children_ids: Vec<NodeId>,
    ) -> Result<NodeId, BuildError> {
        let video = &self.source.video_id;
        let count = self.counts.get_mut(usize::from(level) - 1);
        let number = count.map_or(0, |count| std::mem::replace(count, *count + 1));
        let id = NodeId::new(format!("{video}_L{level}_{number:0width$}", width = self.width))
            .map_err(|source| BuildError::Id { video: video.clone(), source })?;
        let node = TreeNode {
            level,
            time_range,
            card: card(level, frames),
            subtitle: spoken(level, frames),
            children_ids,
            frame: None,
        };
        self.nodes.insert(id.clone(), node);
        Ok(id)
    }
}

fn card(level: u8, frames: &[&Frame]) -> Value {
    let captions: Vec<&str> = frames.iter().map(|frame| frame.caption.as_str()).collect();
    if level == 3 {
        let caption = captions.first().copied().unwrap_or_default();
        return if caption.is_empty() { json!({}) } else { json!({ "frame_summary": caption }) };
    }
    let spoken: Vec<&str> = frames.iter().flat_map(|frame| &frame.spoken).map(String::as_str).collect();
    let parts = if captions.iter().all(|caption| caption.is_empty()) { spoken } else { captions };
    match level {
        1 => json!({ "scene_summary": summary(&parts, SCENE_CHARACTERS) }),
        _ => json!({ "event_description": summary(&parts, EVENT_CHARACTERS) }),
    }
}

fn spoken(level: u8, frames: &[&Frame]) -> Option<String> {
    let parts: Vec<&str> = frames.iter().flat_map(|frame| &frame.spoken).map(String::as_str).collect();
    let limit = if level == 3 { usize::MAX } else { SPOKEN_CHARACTERS };
    Some(joined(&parts, limit)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::LevelSize;
    use super::*;
    use crate::data::problem::{Problems, Spot};
    use crate::data::trees::{parse_tree, tree_bytes};

    fn text(start: f64, end: Option<f64>, text: &str) -> TimedText {
        TimedText { start, end, text: text.into() }
    }

    fn source(captions: Vec<TimedText>, subtitles: Vec<TimedText>) -> TreeSource {
        TreeSource { video_id: "v".parse().unwrap(), captions, subtitles, duration: None, domain: None }
    }

    fn sizes(scenes: &str, events: &str) -> LevelSizes {
        LevelSizes { scenes: scenes.parse().unwrap(), events: events.parse().unwrap() }
    }

    #[test]
    fn captions_become_frames_in_events_in_scenes() {
        let captions =
            (0..6).map(|second| text(f64::from(second), None, &format!("Thing {second} happens."))).collect();
        let tree = build_tree(&source(captions, vec![]), &sizes("3s", "2")).unwrap();
        let shape: Vec<_> =
            tree.nodes.iter().map(|(id, node)| (id.as_str(), node.time_range, node.children_ids.len())).collect();
        let expected = [
            ("v_L1_000", (0.0, 3.0), 2),
            ("v_L1_001", (3.0, 6.0), 2),
            ("v_L2_000", (0.0, 2.0), 2),
            ("v_L2_001", (1.5, 3.0), 1),
            ("v_L2_002", (3.0, 5.0), 2),
            ("v_L2_003", (4.5, 6.0), 1),
            ("v_L3_000", (0.0, 1.0), 0),
            ("v_L3_001", (1.0, 2.0), 0),
            ("v_L3_002", (2.0, 3.0), 0),
            ("v_L3_003", (3.0, 4.0), 0),
            ("v_L3_004", (4.0, 5.0), 0),
            ("v_L3_005", (5.0, 6.0), 0),
        ];
        assert_eq!(shape, expected);
        assert_eq!(tree.duration_seconds, 6.0);
        let first = tree.roots()[0].1;
        assert_eq!(first.summary(), "Thing 0 happens. Thing 1 happens. Thing 2 happens.");
    }

    #[test]
    fn what_is_spoken_belongs_to_the_frame_of_its_time_or_stands_alone() {
        let captions = vec![text(0.0, Some(1.0), "A cook."), text(10.0, Some(11.0), "A pan.")];
        let spoken = vec![
            text(0.5, Some(3.0), "hello"),
            text(5.5, Some(7.0), "still here"),
            text(8.0, Some(9.0), "nobody shown"),
            text(10.0, Some(12.0), "hot"),
        ];
        let tree = build_tree(&source(captions, spoken), &sizes("1", "1")).unwrap();
        let frames: Vec<_> = tree
            .nodes
            .values()
            .filter(|node| node.level == 3)
            .map(|node| (node.time_range.0, node.summary(), node.subtitle.clone().unwrap_or_default()))
            .collect();
        let expected = [(0.0, "A cook.", "hello still here"), (8.0, "", "nobody shown"), (10.0, "A pan.", "hot")];
        assert_eq!(frames, expected.map(|(start, card, spoken)| (start, card.to_owned(), spoken.to_owned())));
        assert_eq!(tree.roots()[0].1.subtitle.as_deref(), Some("hello still here nobody shown hot"));
    }

    #[test]
    fn subtitles_alone_make_a_tree() {
        let spoken = vec![text(0.0, Some(2.0), "first we cut"), text(2.0, Some(4.0), "then we fry")];
        let tree = build_tree(&source(vec![], spoken), &LevelSizes::default()).unwrap();
        assert_eq!(tree.roots()[0].1.summary(), "first we cut then we fry");
    }

    #[test]
    fn no_text_and_too_long_ids_are_errors() {
        assert!(matches!(build_tree(&source(vec![], vec![]), &LevelSizes::default()), Err(BuildError::NoText(_))));
        let mut long = source(vec![text(0.0, None, "x")], vec![]);
        long.video_id = "x".repeat(198).parse().unwrap();
        assert!(matches!(build_tree(&long, &LevelSizes::default()), Err(BuildError::Id { .. })));
    }

    fn texts() -> impl Strategy<Value = Vec<TimedText>> {
        let one = (0.0..5_000.0_f64, prop::option::of(0.0..400.0_f64), "[a-e .]{0,20}[a-e]");
        prop::collection::vec(one, 0..40).prop_map(|texts| {
            texts
                .into_iter()
                .map(|(start, length, text)| TimedText { start, end: length.map(|length| start + length), text })
                .collect()
        })
    }

    fn size() -> impl Strategy<Value = LevelSize> {
        prop_oneof![
            Just(LevelSize::Auto),
            (0.01..900.0_f64).prop_map(LevelSize::Seconds),
            (1..50_u32).prop_map(LevelSize::Count),
        ]
    }

    proptest! {
        #[test]
        fn every_built_tree_obeys_every_rule_without_a_warning(captions in texts(), subtitles in texts(), scenes in size(), events in size()) {
            let source = source(captions, subtitles);
            let Ok(tree) = build_tree(&source, &LevelSizes { scenes, events }) else {
                prop_assert!(source.captions.is_empty() && source.subtitles.is_empty());
                return Ok(());
            };
            let frames = tree.nodes.values().filter(|node| node.level == 3).count();
            prop_assert!(frames >= source.captions.len());
            let bytes = tree_bytes(&tree).unwrap();
            let mut problems = Problems::default();
            let again = parse_tree(&bytes, &Spot::whole("f"), &mut problems);
            prop_assert_eq!(problems.list(), &[]);
            prop_assert_eq!(again, Some(tree));
        }
    }
}
