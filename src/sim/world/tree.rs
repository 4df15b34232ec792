//! From a staged video to its tree and its pictures.

use std::collections::BTreeMap;

use serde_json::json;

use super::error::WorldError;
use super::stage::{Event, Frame, Scene, Stage};
use crate::domain::{NodeId, TreeNode, VideoTree};

/// The tree of a video and its PNG files by file name.
pub(super) fn grow(stage: &Stage) -> Result<(VideoTree, BTreeMap<String, Vec<u8>>), WorldError> {
    let mut nodes = BTreeMap::new();
    let mut pictures = BTreeMap::new();
    for scene in &stage.scenes {
        nodes.insert(scene.id.clone(), scene_node(stage, scene));
    }
    for event in &stage.events {
        nodes.insert(event.id.clone(), event_node(stage, event));
    }
    for frame in &stage.frames {
        let file = frame.picture.is_some().then(|| picture_file(&frame.id));
        if let (Some(picture), Some(file)) = (&frame.picture, &file) {
            pictures.insert(file.clone(), picture.png(frame.id.as_str())?);
        }
        nodes.insert(frame.id.clone(), frame_node(stage, frame, file));
    }
    let tree = VideoTree {
        video_id: stage.video.clone(),
        duration_category: Some(if stage.seconds <= 15 * 60 { "medium" } else { "long" }.to_owned()),
        duration_seconds: f64::from(stage.seconds),
        domain: Some(stage.domain.clone()),
        nodes,
    };
    Ok((tree, pictures))
}

fn picture_file(id: &NodeId) -> String {
    format!("{id}.png")
}

fn scene_node(stage: &Stage, scene: &Scene) -> TreeNode {
    let events = stage.events.get(scene.events.clone()).unwrap_or_default();
    let mut entities: Vec<String> = scene.present.iter().map(|role| stage.person(*role).name.to_owned()).collect();
    entities.push(scene.place.clone());
    let span = |event: Option<&Event>| event.map_or((0, stage.seconds), |event| event.time);
    TreeNode {
        level: 1,
        time_range: (f64::from(span(events.first()).0), f64::from(span(events.last()).1)),
        card: json!({"scene_summary": scene.summary, "key_entities": entities}),
        subtitle: None,
        children_ids: events.iter().map(|event| event.id.clone()).collect(),
        frame: None,
    }
}

fn event_node(stage: &Stage, event: &Event) -> TreeNode {
    let frames = stage.frames.get(event.frames.clone()).unwrap_or_default();
    TreeNode {
        level: 2,
        time_range: (f64::from(event.time.0), f64::from(event.time.1)),
        card: json!({"event_description": event.caption}),
        subtitle: subtitle(stage, event),
        children_ids: frames.iter().map(|frame| frame.id.clone()).collect(),
        frame: None,
    }
}

/// "Rosa: … Marek: …", the name once for lines in a row.
fn subtitle(stage: &Stage, event: &Event) -> Option<String> {
    let mut text = String::new();
    let mut speaker = None;
    for line in &event.lines {
        if !text.is_empty() {
            text.push(' ');
        }
        if speaker != Some(line.who) {
            text.push_str(stage.person(line.who).name);
            text.push_str(": ");
            speaker = Some(line.who);
        }
        text.push_str(&line.text);
    }
    (!text.is_empty()).then_some(text)
}

fn frame_node(stage: &Stage, frame: &Frame, file: Option<String>) -> TreeNode {
    // A key frame stands for two seconds, inside its event.
    let end = stage.events.get(frame.event).map_or(frame.at, |event| event.time.1).min(frame.at + 2);
    TreeNode {
        level: 3,
        time_range: (f64::from(frame.at), f64::from(end)),
        card: json!({"frame_summary": frame.caption}),
        subtitle: None,
        children_ids: vec![],
        frame: file,
    }
}
