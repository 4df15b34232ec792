//! For the tests of the agent: a small video, a question, and a model that says what it is told to say.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use serde_json::json;

use super::texts::AgentTexts;
use super::video::VideoEnvironment;
use crate::assets::{default_prompts, default_skills};
use crate::domain::{
    ChatError, ChatErrorKind, ChatFuture, ChatModel, ChatReply, ChatRequest, Choice, FileName, FinishReason, Question,
    Usage, VideoTree,
};
use crate::evolution::ports::{PortError, PromptStore, SkillStore};

/// What a scripted model does next.
pub(super) type Line = Result<ChatReply, ChatErrorKind>;

/// A model that plays its lines in order and repeats the last one; it keeps what it was asked.
pub(super) struct Scripted {
    lines: Mutex<VecDeque<Line>>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl Scripted {
    pub(super) fn new(lines: impl IntoIterator<Item = Line>) -> Self {
        Self { lines: Mutex::new(lines.into_iter().collect()), requests: Mutex::default() }
    }

    pub(super) fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap().clone()
    }
}

impl ChatModel for Scripted {
    fn chat(&self, request: ChatRequest) -> ChatFuture<'_> {
        let role = request.role;
        self.requests.lock().unwrap().push(request);
        let mut lines = self.lines.lock().unwrap();
        let line = if lines.len() > 1 { lines.pop_front() } else { lines.front().cloned() };
        let line = line.unwrap_or(Err(ChatErrorKind::Configuration));
        Box::pin(async move { line.map_err(|kind| ChatError { kind, role, message: "scripted".into() }) })
    }
}

pub(super) fn says(content: &str) -> Line {
    Ok(ChatReply {
        content: content.to_owned(),
        reasoning: None,
        tool_calls: vec![],
        finish: FinishReason::Stop,
        usage: Usage { prompt_tokens: 10, cached_tokens: 0, completion_tokens: 2, estimated: false },
        cached: false,
        latency_ms: 1,
        raw: content.as_bytes().to_vec(),
    })
}

pub(super) fn calls(tool: &str, args: &serde_json::Value) -> Line {
    says(
        &json!({"reflect": {"confidence": 0.6}, "plan": {"next": "x"}, "action": {"tool": tool, "args": args}})
            .to_string(),
    )
}

pub(super) fn fails(kind: ChatErrorKind) -> Line {
    Err(kind)
}

fn tree(video: &str) -> VideoTree {
    let id = |rest: &str| format!("{video}_{rest}");
    serde_json::from_value(json!({
        "videoID": video, "duration_seconds": 40.0,
        "nodes": {
            (id("L1_000")): {"level": 1, "time_range": [0.0, 20.0], "card": {"scene_summary": "A dog in the garden."},
                "children_ids": [id("L2_000"), id("L2_001")]},
            (id("L1_001")): {"level": 1, "time_range": [20.0, 40.0], "card": {"scene_summary": "A kitchen with soup."},
                "subtitle": "Add more salt.", "children_ids": []},
            (id("L2_000")): {"level": 2, "time_range": [0.0, 10.0], "card": {"event_description": "The dog digs."},
                "subtitle": "Good boy!", "children_ids": [id("L3_000"), id("L3_001")]},
            (id("L2_001")): {"level": 2, "time_range": [10.0, 20.0], "card": {"event_description": "Rain falls."},
                "children_ids": []},
            (id("L3_000")): {"level": 3, "time_range": [0.0, 5.0], "card": {"frame_summary": "A brown dog, a dog bowl, a red ball."}},
            (id("L3_001")): {"level": 3, "time_range": [5.0, 10.0], "card": {"frame_summary": "A hole in the lawn."}},
        }
    }))
    .unwrap()
}

/// Two scenes, two events, two frames; no folder.
pub(super) fn video() -> VideoEnvironment {
    VideoEnvironment::new(Arc::new(tree("v")), None)
}

pub(super) fn other_video() -> VideoEnvironment {
    VideoEnvironment::new(Arc::new(tree("w")), None)
}

/// The same with frames: one that is an image, one that is missing.
pub(super) fn video_with_frames(folder: &std::path::Path) -> VideoEnvironment {
    std::fs::create_dir_all(folder.join("frames")).unwrap();
    std::fs::write(folder.join("frames/L3_000.jpg"), b"\x89PNG\r\n\x1a\nrest").unwrap();
    VideoEnvironment::new(Arc::new(tree("v")), Some(folder.to_owned()))
}

pub(super) fn question() -> Question {
    let options = ["red", "blue", "green", "none"];
    Question {
        question_id: "q1".parse().unwrap(),
        video_id: "v".parse().unwrap(),
        task_type: "Action Reasoning".parse().unwrap(),
        question: "Which colour has the ball?".into(),
        options: ('A'..).zip(options).map(|(letter, text)| Choice { letter, text: text.into() }).collect(),
        answer: 'A',
        pair_id: None,
        source_nodes: vec![],
        difficulty: None,
    }
}

/// The bundled texts as stores.
pub(super) struct Bundled;

fn read(files: Vec<(FileName, &'static str)>, file: &FileName) -> Result<String, PortError> {
    let found = files.into_iter().find(|(name, _)| name == file);
    found.map(|(_, text)| text.to_owned()).ok_or_else(|| PortError::NoFile { file: file.clone() })
}

impl SkillStore for Bundled {
    fn read_skill(&self, file: &FileName) -> Result<String, PortError> {
        read(default_skills(), file)
    }

    fn list_skill_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(default_skills().into_iter().map(|(name, _)| name).collect())
    }
}

impl PromptStore for Bundled {
    fn read_prompt(&self, file: &FileName) -> Result<String, PortError> {
        read(default_prompts(), file)
    }

    fn list_prompt_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(default_prompts().into_iter().map(|(name, _)| name).collect())
    }
}

pub(super) fn texts() -> Arc<AgentTexts> {
    Arc::new(AgentTexts::load(&Bundled, &Bundled).unwrap())
}
