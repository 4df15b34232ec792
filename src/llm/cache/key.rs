//! The cache's key: everything that decides the answer, and the place that asked.

use serde_json::Value;

use crate::domain::{
    CallTag, ChatRequest, ContentHash, EmbedRequest, Hasher, Image, Message, MessageRole, ResponseFormat, ToolSpec,
};
use crate::llm::backend::Ask;
use crate::llm::shape::Shape;

/// The key of a call.
///
/// It covers the canonical full request (endpoint group, model, messages, sampling, tools, schema, extra fields, seed)
/// and the salt (the cache's own, the asking phase with its run id, the item, sample and attempt). The purpose is no
/// part of it: what it changes, it changes in the messages. Every struct is taken apart exhaustively, so that a new
/// field cannot be forgotten here.
pub(in crate::llm) fn call_key(shape: &Shape, salt: &str, ask: &Ask) -> ContentHash {
    let mut hasher = Hasher::new("trm.llm-cache.v1");
    hasher.part(salt).part(&shape.group).part(&shape.model);
    json_part(&mut hasher, &Value::Object(shape.extra_body.clone()));
    match ask {
        Ask::Chat(request) => chat_part(&mut hasher, shape, request),
        Ask::Embed(request) => embed_part(&mut hasher, request),
    }
    hasher.part(shape.model_seed(ask.tag()).map_or(String::new(), |seed| seed.to_string()));
    tag_part(&mut hasher, ask.tag());
    hasher.finish()
}

fn chat_part(hasher: &mut Hasher, shape: &Shape, request: &ChatRequest) {
    // The role stands for its settings, which are in the shape; the tag follows.
    let ChatRequest { role: _, messages, response_format, tools, max_tokens: _, temperature: _, tag: _ } = request;
    hasher.part("chat").part(messages.len().to_le_bytes());
    for message in messages {
        message_part(hasher, message);
    }
    match response_format {
        ResponseFormat::Text => hasher.part("text"),
        ResponseFormat::JsonObject => hasher.part("json_object"),
        ResponseFormat::JsonSchema { name, schema } => json_part(hasher.part("json_schema").part(name), schema),
    };
    hasher.part(tools.len().to_le_bytes());
    for ToolSpec { name, description, parameters } in tools {
        json_part(hasher.part(name).part(description), parameters);
    }
    hasher.part(shape.max_tokens(request).to_le_bytes());
    let temperature = shape.temperature(request).map(f32::to_le_bytes);
    hasher.part(temperature.as_ref().map_or(&[][..], |bytes| bytes));
}

fn message_part(hasher: &mut Hasher, message: &Message) {
    let Message { role, content, images } = message;
    let role = match role {
        MessageRole::System => "system",
        MessageRole::User => "user",
        MessageRole::Assistant => "assistant",
    };
    hasher.part(role).part(content).part(images.len().to_le_bytes());
    for Image { media_type, bytes } in images {
        hasher.part(media_type).part(bytes);
    }
}

fn embed_part(hasher: &mut Hasher, request: &EmbedRequest) {
    let EmbedRequest { texts, tag: _ } = request;
    hasher.part("embed").part(texts.len().to_le_bytes());
    for text in texts {
        hasher.part(text);
    }
}

fn tag_part(hasher: &mut Hasher, tag: &CallTag) {
    let CallTag { phase_run, phase_path: _, item, sample, attempt, purpose: _ } = tag;
    hasher.part(phase_run).part(item).part(sample.to_le_bytes()).part(attempt.to_le_bytes());
}

/// A JSON value with sorted keys, whatever order the map keeps.
fn json_part<'a>(hasher: &'a mut Hasher, value: &Value) -> &'a mut Hasher {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_unstable_by_key(|(name, _)| *name);
            hasher.part("{").part(fields.len().to_le_bytes());
            for (name, value) in fields {
                json_part(hasher.part(name), value);
            }
            hasher
        }
        Value::Array(items) => {
            hasher.part("[").part(items.len().to_le_bytes());
            for item in items {
                json_part(hasher, item);
            }
            hasher
        }
        scalar @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
            hasher.part(scalar.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;
    use crate::domain::Role;
    use crate::llm::RoleSettings;

    fn settings() -> RoleSettings {
        let mut settings = RoleSettings::at("http://a/v1", "m");
        settings.temperature = Some(0.5);
        settings
    }

    fn request() -> ChatRequest {
        let tag = CallTag {
            phase_run: "r_e1_s0".into(),
            phase_path: "e1_s0".into(),
            item: "q1".into(),
            purpose: "turn".into(),
            ..CallTag::default()
        };
        ChatRequest::new(Role::Search, vec![Message::system("s"), Message::user("u")], tag)
    }

    fn key(settings: &RoleSettings, salt: &str, request: &ChatRequest) -> ContentHash {
        call_key(&Shape::new(1, settings), salt, &Ask::Chat(request.clone()))
    }

    #[test]
    fn everything_that_decides_the_answer_changes_the_key() {
        let mut keys = vec![key(&settings(), "", &request()), key(&settings(), "salt", &request())];
        keys.push(call_key(&Shape::new(2, &settings()), "", &Ask::Chat(request())));
        let of_settings: [fn(&mut RoleSettings); 7] = [
            |settings| settings.send_seed = false,
            |settings| settings.model = "n".into(),
            |settings| settings.provider = RoleSettings::at("http://b/v1", "m").provider,
            |settings| settings.endpoint_group = Some("named".into()),
            |settings| settings.temperature = Some(0.6),
            |settings| settings.max_tokens = 9,
            |settings| settings.extra_body = json!({"top_p": 0.5}).as_object().unwrap().clone(),
        ];
        keys.extend(of_settings.map(|change| {
            let mut settings = settings();
            change(&mut settings);
            key(&settings, "", &request())
        }));
        let of_request: [fn(&mut ChatRequest); 14] = [
            |request| request.messages[1].content = "v".into(),
            |request| request.messages[1].role = MessageRole::Assistant,
            |request| request.messages.swap(0, 1),
            |request| request.messages[1].images = vec![Image { media_type: "image/png".into(), bytes: vec![1] }],
            |request| request.messages[1].images = vec![Image { media_type: "image/png".into(), bytes: vec![2] }],
            |request| request.response_format = ResponseFormat::JsonObject,
            |request| request.response_format = ResponseFormat::JsonSchema { name: "n".into(), schema: json!({}) },
            |request| {
                request.response_format = ResponseFormat::JsonSchema { name: "n".into(), schema: json!({"a": 1}) }
            },
            |request| {
                request.tools = vec![ToolSpec { name: "f".into(), description: String::new(), parameters: json!({}) }];
            },
            |request| request.temperature = Some(0.7),
            |request| request.max_tokens = Some(7),
            |request| request.tag.phase_run = "r_e1_s1".into(),
            |request| request.tag.sample = 1,
            |request| request.tag.attempt = 1,
        ];
        keys.extend(of_request.map(|change| {
            let mut request = request();
            change(&mut request);
            key(&settings(), "", &request)
        }));
        let distinct: BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len());
    }

    #[test]
    fn neither_the_purpose_nor_the_order_of_keys_nor_the_length_of_the_prompt_matters() {
        let mut other = request();
        other.tag.purpose = "view_node.extract".into();
        assert_eq!(key(&settings(), "", &request()), key(&settings(), "", &other));
        let hash = |json: &str| {
            let mut hasher = Hasher::new("t");
            json_part(&mut hasher, &serde_json::from_str(json).unwrap()).finish()
        };
        assert_eq!(hash(r#"{"a":1,"b":[2]}"#), hash(r#"{"b":[2],"a":1}"#));
        assert_ne!(hash(r#"{"a":1,"b":[2]}"#), hash(r#"{"a":1,"b":[[2]]}"#));
        other.messages[1].content = "x".repeat(1 << 20);
        assert_eq!(key(&settings(), "", &other).to_string().len(), 64);
    }
}
