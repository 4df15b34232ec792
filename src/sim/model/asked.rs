//! What a request asks for, read from the request itself: the same in process and over HTTP.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::domain::{ChatRequest, Message, MessageRole, ResponseFormat};

/// A request as the simulated model sees it.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    /// The conversation and the wanted form.
    pub(super) request: &'a ChatRequest,
    /// The `seed` field.
    pub(super) seed: u32,
    /// All text of the conversation.
    pub(super) text: String,
    /// Top-level fields of the wanted JSON object: from the schema, else from the form shown in the prompt.
    pub(super) fields: BTreeSet<String>,
}

impl<'a> Asked<'a> {
    pub(super) fn new(request: &'a ChatRequest, seed: u32) -> Self {
        let text = request.messages.iter().map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n");
        let fields = schema_fields(&request.response_format).unwrap_or_else(|| shown_fields(&request.messages));
        Self { request, seed, text, fields }
    }

    /// Whether the wanted object has this field.
    pub(super) fn wants(&self, field: &str) -> bool {
        self.fields.contains(field)
    }

    /// The text of the system messages: what the agent was really given.
    pub(super) fn system_text(&self) -> String {
        let system = self.request.messages.iter().filter(|message| message.role == MessageRole::System);
        system.map(|message| message.content.as_str()).collect::<Vec<_>>().join("\n")
    }

    /// What the agent was given to read: the system messages, and skills that it read by a tool.
    pub(super) fn given_text(&self) -> String {
        let read = self.request.messages.iter().filter(|message| message.role == MessageRole::User);
        let skills =
            read.map(|message| message.content.as_str()).filter(|text| text.starts_with("Result of read_skill"));
        std::iter::once(self.system_text().as_str()).chain(skills).collect::<Vec<_>>().join("\n")
    }

    /// How often the model has already spoken in this conversation.
    pub(super) fn turn(&self) -> usize {
        self.request.messages.iter().filter(|message| message.role == MessageRole::Assistant).count()
    }

    /// The last message that is not the model's own.
    pub(super) fn last_user(&self) -> &str {
        let user = self.request.messages.iter().rev().find(|message| message.role != MessageRole::Assistant);
        user.map_or("", |message| message.content.as_str())
    }

    /// The `<data>` blocks of the conversation, in order.
    pub(super) fn blocks(&self) -> Vec<&str> {
        let mut blocks = Vec::new();
        let mut rest = self.text.as_str();
        while let Some((_, after)) = rest.split_once("<data>\n") {
            let Some((block, tail)) = after.split_once("\n</data>") else { break };
            blocks.push(block);
            rest = tail;
        }
        blocks
    }
}

fn schema_fields(format: &ResponseFormat) -> Option<BTreeSet<String>> {
    let ResponseFormat::JsonSchema { schema, .. } = format else { return None };
    let mut fields = BTreeSet::new();
    collect_properties(schema, &mut fields);
    (!fields.is_empty()).then_some(fields)
}

/// The properties of an object schema, those of its alternatives included.
fn collect_properties(schema: &Value, fields: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        fields.extend(properties.keys().cloned());
    }
    for alternatives in ["oneOf", "anyOf", "allOf"] {
        for schema in schema.get(alternatives).and_then(Value::as_array).into_iter().flatten() {
            collect_properties(schema, fields);
        }
    }
}

/// The top-level fields of the last JSON object that the prompt shows as the form of the reply.
fn shown_fields(messages: &[Message]) -> BTreeSet<String> {
    let asking = messages.iter().filter(|message| message.role != MessageRole::Assistant);
    let lines = asking.flat_map(|message| message.content.lines()).map(str::trim);
    let shown = lines.filter(|line| line.starts_with('{') && line.ends_with('}'));
    let objects = shown.filter_map(|line| serde_json::from_str::<Value>(line).ok());
    objects
        .filter_map(|value| value.as_object().map(|object| object.keys().cloned().collect()))
        .fold(BTreeSet::new(), |_, later| later)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{CallTag, Role};

    #[test]
    fn the_wanted_fields_come_from_the_schema_or_from_the_shown_form() {
        let prompt =
            "Judge.\n<data>\n{\"noise\": 1}\n</data>\nReply with one JSON object:\n{\"missed_nodes\": [\"id\"]}";
        let mut request = ChatRequest::new(Role::Judge, vec![Message::user(prompt)], CallTag::default());
        assert!(Asked::new(&request, 1).wants("missed_nodes"));
        assert_eq!(Asked::new(&request, 1).blocks(), ["{\"noise\": 1}"]);
        let schema = serde_json::json!({"oneOf": [{"properties": {"action": {}}}, {"properties": {"answer": {}}}]});
        request.response_format = ResponseFormat::JsonSchema { name: "turn".into(), schema };
        let asked = Asked::new(&request, 1);
        assert!(asked.wants("action") && asked.wants("answer") && !asked.wants("missed_nodes"));
    }
}
