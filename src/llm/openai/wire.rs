//! The body of a request, as OpenAI-compatible endpoints read it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::schema_order::SchemaOrder;
use crate::domain::{ChatRequest, EmbedRequest, Image, Message, MessageRole, ResponseFormat, ToolSpec};
use crate::llm::shape::Shape;

#[derive(Debug, Serialize)]
struct ChatBody<'a> {
    model: &'a str,
    messages: Vec<WireMessage<'a>>,
    max_tokens: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "in_schema_order")]
    response_format: Option<Value>,
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "all_in_schema_order")]
    tools: Vec<Value>,
}

#[derive(Debug, Serialize)]
struct WireMessage<'a> {
    role: MessageRole,
    content: Content<'a>,
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(&'a str),
    Parts(Vec<Value>),
}

/// The body of a chat completion request.
pub(super) fn chat_body(shape: &Shape, request: &ChatRequest) -> Result<Vec<u8>, serde_json::Error> {
    let body = ChatBody {
        model: &shape.model,
        messages: request.messages.iter().map(wire_message).collect(),
        max_tokens: shape.max_tokens(request),
        temperature: shape.temperature(request).map(shortest),
        seed: shape.model_seed(&request.tag),
        response_format: response_format(&request.response_format),
        tools: request.tools.iter().map(wire_tool).collect(),
    };
    with_extra(&body, &shape.extra_body)
}

/// The body of an embedding request.
pub(super) fn embed_body(shape: &Shape, request: &EmbedRequest) -> Result<Vec<u8>, serde_json::Error> {
    let body = json!({ "model": shape.model, "input": request.texts, "encoding_format": "float" });
    with_extra(&body, &shape.extra_body)
}

/// Merges the role's own fields last; a null takes a field away.
fn with_extra(body: &impl Serialize, extra: &Map<String, Value>) -> Result<Vec<u8>, serde_json::Error> {
    if extra.is_empty() {
        return serde_json::to_vec(body);
    }
    let mut body = serde_json::to_value(body)?;
    if let Value::Object(fields) = &mut body {
        for (name, value) in extra {
            if value.is_null() {
                fields.remove(name);
            } else {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
    serde_json::to_vec(&SchemaOrder(&body))
}

fn in_schema_order<S: Serializer>(value: &Option<Value>, serializer: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(SchemaOrder).serialize(serializer)
}

fn all_in_schema_order<S: Serializer>(values: &[Value], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(values.iter().map(SchemaOrder))
}

fn wire_message(message: &Message) -> WireMessage<'_> {
    if message.images.is_empty() {
        return WireMessage { role: message.role, content: Content::Text(&message.content) };
    }
    let mut parts = vec![json!({ "type": "text", "text": message.content })];
    parts.extend(
        message.images.iter().map(|image| json!({ "type": "image_url", "image_url": { "url": data_url(image) } })),
    );
    WireMessage { role: message.role, content: Content::Parts(parts) }
}

fn data_url(image: &Image) -> String {
    let mut url = format!("data:{};base64,", image.media_type);
    STANDARD.encode_string(&image.bytes, &mut url);
    url
}

fn response_format(format: &ResponseFormat) -> Option<Value> {
    match format {
        ResponseFormat::Text => None,
        ResponseFormat::JsonObject => Some(json!({ "type": "json_object" })),
        ResponseFormat::JsonSchema { name, schema } => {
            Some(json!({ "type": "json_schema", "json_schema": { "name": name, "schema": schema } }))
        }
    }
}

fn wire_tool(tool: &ToolSpec) -> Value {
    let ToolSpec { name, description, parameters } = tool;
    json!({ "type": "function", "function": { "name": name, "description": description, "parameters": parameters } })
}

/// The double whose shortest decimal form is that of the single: 0.7, not 0.699999988079071.
fn shortest(value: f32) -> f64 {
    value.to_string().parse().unwrap_or_else(|_| f64::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallTag, Role};
    use crate::llm::RoleSettings;

    fn shape(extra: &Value) -> Shape {
        let mut settings = RoleSettings::at("http://localhost/v1", "qwen");
        settings.temperature = Some(0.7);
        settings.extra_body = extra.as_object().unwrap().clone();
        Shape::new(7, &settings)
    }

    fn body(shape: &Shape, request: &ChatRequest) -> Value {
        serde_json::from_slice(&chat_body(shape, request).unwrap()).unwrap()
    }

    fn request() -> ChatRequest {
        ChatRequest::new(Role::Search, vec![Message::system("s"), Message::user("u\u{0}")], CallTag::default())
    }

    #[test]
    fn a_plain_request_has_exactly_these_fields() {
        let seed = CallTag::default().model_seed(7);
        assert_eq!(
            body(&shape(&json!({})), &request()),
            json!({
                "model": "qwen", "max_tokens": 2048, "temperature": 0.7, "seed": seed,
                "messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "u\u{0}"}],
            })
        );
    }

    #[test]
    fn format_tools_images_and_overrides_are_sent() {
        let mut request = request();
        request.response_format = ResponseFormat::JsonSchema { name: "turn".into(), schema: json!({"type": "object"}) };
        request.tools = vec![ToolSpec { name: "f".into(), description: "d".into(), parameters: json!({}) }];
        request.max_tokens = Some(5);
        request.temperature = Some(0.0);
        request.messages[1].images = vec![Image { media_type: "image/png".into(), bytes: vec![1, 2, 3, 4] }];
        let body = body(&shape(&json!({})), &request);
        assert_eq!(body["response_format"]["json_schema"], json!({"name": "turn", "schema": {"type": "object"}}));
        assert_eq!(body["tools"][0]["function"]["name"], "f");
        assert_eq!(body["max_tokens"], 5);
        assert_eq!(body["temperature"], 0.0);
        assert_eq!(body["messages"][1]["content"][1]["image_url"]["url"], "data:image/png;base64,AQIDBA==");
    }

    #[test]
    fn extra_fields_win_and_a_null_removes() {
        let extra =
            json!({"max_tokens": null, "max_completion_tokens": 9, "seed": 1, "thinking": {"type": "disabled"}});
        let body = body(&shape(&extra), &request());
        assert!(body.get("max_tokens").is_none());
        assert_eq!(body["max_completion_tokens"], 9);
        assert_eq!(body["seed"], 1);
        assert_eq!(body["thinking"]["type"], "disabled");
    }

    #[test]
    fn a_schema_is_sent_with_its_properties_in_the_order_of_required_with_and_without_extra_fields() {
        let schema = json!({"properties": {"action": {}, "reflect": {}}, "required": ["reflect", "action"]});
        let mut request = ChatRequest::new(Role::Search, vec![Message::user("x")], CallTag::default());
        request.response_format = ResponseFormat::JsonSchema { name: "turn".into(), schema };
        for extra in [json!({}), json!({"top_k": 1})] {
            let body = String::from_utf8(chat_body(&shape(&extra), &request).unwrap()).unwrap();
            assert!(body.contains(r#""properties":{"reflect":{},"action":{}}"#), "{body}");
        }
    }
}
