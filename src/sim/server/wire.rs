//! The bodies of the OpenAI-compatible protocol, as far as the simulated model needs them.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::domain::{
    CallTag, ChatReply, ChatRequest, FinishReason, Message, MessageRole, ResponseFormat, Role, ToolSpec,
};

/// A chat completion request.
#[derive(Debug, Deserialize)]
pub(super) struct ChatBody {
    pub(super) model: String,
    messages: Vec<WireMessage>,
    /// The simulated world's noise depends on this alone.
    #[serde(default)]
    pub(super) seed: u32,
    #[serde(default)]
    pub(super) stream: bool,
    #[serde(default)]
    response_format: Option<Value>,
    #[serde(default)]
    tools: Vec<Value>,
    #[serde(default)]
    max_tokens: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct WireMessage {
    role: String,
    #[serde(default)]
    content: Value,
}

/// An embedding request.
#[derive(Debug, Deserialize)]
pub(super) struct EmbedBody {
    pub(super) model: String,
    pub(super) input: Value,
}

impl ChatBody {
    /// The request as the model port knows it. The role is read off the model's name, as in `sim-judge`.
    pub(super) fn into_request(self) -> ChatRequest {
        let mut request =
            ChatRequest::new(role_of(&self.model), self.messages.iter().map(message).collect(), CallTag::default());
        request.response_format = self.response_format.as_ref().map_or(ResponseFormat::Text, response_format);
        request.tools = self.tools.iter().filter_map(tool).collect();
        request.max_tokens = self.max_tokens;
        request
    }
}

/// The role whose name the model's name contains; the agent's own if none.
fn role_of(model: &str) -> Role {
    let lower = model.to_lowercase();
    Role::ALL.into_iter().find(|role| lower.contains(role.name())).unwrap_or(Role::Search)
}

fn message(wire: &WireMessage) -> Message {
    let role = match wire.role.as_str() {
        "system" | "developer" => MessageRole::System,
        "assistant" => MessageRole::Assistant,
        _ => MessageRole::User,
    };
    let content = match &wire.content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part.get("text").and_then(Value::as_str));
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    };
    Message::new(role, content)
}

fn response_format(value: &Value) -> ResponseFormat {
    match value.get("type").and_then(Value::as_str) {
        Some("json_object") => ResponseFormat::JsonObject,
        Some("json_schema") => {
            let inner = value.get("json_schema").cloned().unwrap_or_default();
            ResponseFormat::JsonSchema {
                name: inner.get("name").and_then(Value::as_str).unwrap_or_default().to_owned(),
                schema: inner.get("schema").cloned().unwrap_or_default(),
            }
        }
        _ => ResponseFormat::Text,
    }
}

fn tool(value: &Value) -> Option<ToolSpec> {
    let function = value.get("function")?;
    Some(ToolSpec {
        name: function.get("name")?.as_str()?.to_owned(),
        description: function.get("description").and_then(Value::as_str).unwrap_or_default().to_owned(),
        parameters: function.get("parameters").cloned().unwrap_or_default(),
    })
}

/// A chat completion.
pub(super) fn completion(model: &str, reply: &ChatReply) -> Value {
    let finish = match reply.finish {
        FinishReason::Stop | FinishReason::Unknown => "stop",
        FinishReason::ToolCalls => "tool_calls",
        FinishReason::Length => "length",
        FinishReason::ContentFilter => "content_filter",
    };
    let mut message = json!({"role": "assistant", "content": reply.content});
    if let (false, Some(fields)) = (reply.tool_calls.is_empty(), message.as_object_mut()) {
        let calls = reply.tool_calls.iter().enumerate().map(|(index, call)| {
            json!({
                "id": format!("call_{index}"),
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            })
        });
        fields.insert("tool_calls".into(), calls.collect());
    }
    let usage = &reply.usage;
    json!({
        "id": "chatcmpl-simulated",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        },
    })
}

/// The body of a failure, in the form that OpenAI uses.
pub(super) fn error(kind: &str, message: &str) -> Value {
    json!({"error": {"type": kind, "message": message, "code": null, "param": null}})
}
