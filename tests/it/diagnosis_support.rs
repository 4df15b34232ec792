//! Fakes of the kernel's ports: the proof that it runs on nothing else.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use trm::domain::{
    ChatError, ChatErrorKind, ChatFuture, ChatModel, ChatReply, ChatRequest, Choice, FileName, FinishReason, Hasher,
    Question, QuestionId, RunId, StopReason, Usage, VideoId, VideoTree,
};
use trm::evolution::ports::{LogFuture, PortError, PredictionRecord, PromptStore, RunLog, SkillStore, TraceSpan};

type Answer = dyn Fn(&ChatRequest) -> Result<String, ChatErrorKind> + Send + Sync;

/// A model that answers by a function and remembers what it was asked.
pub(crate) struct FakeModel {
    answer: Box<Answer>,
    requests: Mutex<Vec<ChatRequest>>,
}

impl FakeModel {
    pub(crate) fn new(answer: impl Fn(&ChatRequest) -> Result<String, ChatErrorKind> + Send + Sync + 'static) -> Self {
        Self { answer: Box::new(answer), requests: Mutex::default() }
    }

    /// A model that always says the same.
    pub(crate) fn saying(text: &'static str) -> Self {
        Self::new(move |_| Ok(text.to_owned()))
    }

    /// A model that answers the calls of each purpose, in order, by its list; then by the last of it.
    pub(crate) fn scripted(script: &[(&'static str, &[&'static str])]) -> Self {
        let script: BTreeMap<&str, Vec<&str>> =
            script.iter().map(|(purpose, texts)| (*purpose, texts.to_vec())).collect();
        let places: Mutex<BTreeMap<String, usize>> = Mutex::default();
        Self::new(move |request| {
            let texts = script.get(request.tag.purpose.as_str());
            let texts = texts.unwrap_or_else(|| panic!("an unexpected call: {}", request.tag.purpose));
            let mut places = places.lock().unwrap();
            let place = places.entry(request.tag.purpose.clone()).or_default();
            let text = texts.get(*place).or(texts.last()).unwrap();
            *place += 1;
            Ok((*text).to_owned())
        })
    }

    pub(crate) fn requests(&self) -> Vec<ChatRequest> {
        self.requests.lock().unwrap().clone()
    }

    /// The texts of all messages of the calls of one purpose, in order.
    pub(crate) fn prompts(&self, purpose: &str) -> Vec<String> {
        let of_purpose = |request: &ChatRequest| request.tag.purpose == purpose;
        let text = |request: ChatRequest| {
            request.messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n\n")
        };
        self.requests().into_iter().filter(of_purpose).map(text).collect()
    }
}

impl ChatModel for FakeModel {
    fn chat(&self, request: ChatRequest) -> ChatFuture<'_> {
        Box::pin(async move {
            // Calls overtake each other, by how often they give way.
            for _ in 0..number(&request, "pace", 5) {
                tokio::task::yield_now().await;
            }
            let answer = (self.answer)(&request);
            let role = request.role;
            self.requests.lock().unwrap().push(request);
            let content =
                answer.map_err(|kind| ChatError { kind, role, message: "the fake model is down".to_owned() })?;
            Ok(ChatReply {
                content,
                reasoning: None,
                tool_calls: Vec::new(),
                finish: FinishReason::Stop,
                usage: Usage { prompt_tokens: 10, completion_tokens: 2, ..Usage::default() },
                cached: false,
                latency_ms: 0,
                raw: Vec::new(),
            })
        })
    }
}

/// A number below `below` that depends on what is asked, and on nothing else.
pub(crate) fn number(request: &ChatRequest, label: &str, below: u64) -> u64 {
    let tag = &request.tag;
    let hash = Hasher::new(label)
        .part(&tag.purpose)
        .part(&tag.item)
        .part(tag.sample.to_le_bytes())
        .part(tag.attempt.to_le_bytes())
        .finish();
    u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap()) % below
}

/// Skills or prompts in memory.
#[derive(Debug, Default, Clone)]
pub(crate) struct Files(BTreeMap<FileName, String>);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(name, text)| (FileName::new(*name).unwrap(), (*text).to_owned())).collect())
    }

    fn read(&self, file: &FileName) -> Result<String, PortError> {
        self.0.get(file).cloned().ok_or_else(|| PortError::NoFile { file: file.clone() })
    }
}

impl SkillStore for Files {
    fn read_skill(&self, file: &FileName) -> Result<String, PortError> {
        self.read(file)
    }

    fn list_skill_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(self.0.keys().cloned().collect())
    }
}

impl PromptStore for Files {
    fn read_prompt(&self, file: &FileName) -> Result<String, PortError> {
        self.read(file)
    }

    fn list_prompt_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(self.0.keys().cloned().collect())
    }
}

/// A run in memory.
#[derive(Debug, Default, Clone)]
pub(crate) struct MemoryLog {
    pub(crate) predictions: Vec<PredictionRecord>,
    pub(crate) traces: Vec<TraceSpan>,
}

impl RunLog for MemoryLog {
    fn get_predictions<'a>(
        &'a self,
        _run_id: &'a RunId,
        question_ids: Option<&'a [QuestionId]>,
    ) -> LogFuture<'a, PredictionRecord> {
        let wanted = |id: &QuestionId| question_ids.is_none_or(|ids| ids.contains(id));
        let found = self.predictions.iter().filter(|row| wanted(&row.question_id)).cloned().collect();
        Box::pin(async move { Ok(found) })
    }

    fn get_traces<'a>(
        &'a self,
        _run_id: &'a RunId,
        question_ids: Option<&'a [QuestionId]>,
    ) -> LogFuture<'a, TraceSpan> {
        let wanted = |id: &QuestionId| question_ids.is_none_or(|ids| ids.contains(id));
        let found = self.traces.iter().filter(|row| wanted(&row.question_id)).cloned().collect();
        Box::pin(async move { Ok(found) })
    }
}

/// A question with two options, the first of them right.
pub(crate) fn question(id: &str, task_type: &str) -> Question {
    let option = |letter, text: &str| Choice { letter, text: text.to_owned() };
    Question {
        question_id: id.parse().unwrap(),
        video_id: "vid".parse().unwrap(),
        task_type: task_type.parse().unwrap(),
        question: format!("What happens in {id}?"),
        options: vec![option('A', "they leave the house"), option('B', "they stay at home")],
        answer: 'A',
        pair_id: None,
        source_nodes: Vec::new(),
        difficulty: None,
    }
}

/// An answer with two of eight steps used.
pub(crate) fn prediction(id: &str, correct: bool) -> PredictionRecord {
    PredictionRecord {
        question_id: id.parse().unwrap(),
        answer: Some(if correct { 'A' } else { 'B' }),
        correctness: Some(correct),
        stop_reason: StopReason::Finished,
        steps_used: 2,
        steps_of: 8,
        confidence: Some(0.9),
        evidence: "vid_r".into(),
        reasoning: "it looked like it".into(),
        prompt_tokens: 100,
        completion_tokens: 10,
    }
}

/// A call of `view_node` on the root.
pub(crate) fn view(id: &str, index: u32, output: &str) -> TraceSpan {
    TraceSpan {
        question_id: id.parse().unwrap(),
        span_index: index,
        step: index + 1,
        thought: "where is it".into(),
        plan: String::new(),
        tool: Some("view_node".into()),
        args: r#"{"node_id": "vid_r", "question": "what"}"#.into(),
        output: output.into(),
        raw: String::new(),
        prompt_tokens: 50,
        completion_tokens: 5,
    }
}

/// One video of a root and three events.
pub(crate) fn trees() -> BTreeMap<VideoId, Arc<VideoTree>> {
    let node = |level: u8, text: &str, children: &[&str]| {
        serde_json::json!({"level": level, "time_range": [0.0, 9.0], "card": {"scene_summary": text,
            "event_description": text}, "children_ids": children})
    };
    let tree = serde_json::json!({"videoID": "vid", "duration_seconds": 9.0, "nodes": {
        "vid_r": node(1, "a house", &["vid_a", "vid_b", "vid_c"]),
        "vid_a": node(2, "they leave", &[]),
        "vid_b": node(2, "they stay", &[]),
        "vid_c": node(2, "rain", &[]),
    }});
    BTreeMap::from([("vid".parse().unwrap(), Arc::new(serde_json::from_value(tree).unwrap()))])
}
