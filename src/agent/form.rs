//! In which form replies are asked for, and how `auto` finds out what an endpoint can do.

use serde_json::{Value, json};
use tokio::sync::OnceCell;

use super::reply::read_turn;
use super::settings::ReplyForm;
use super::tools::{Offered, tool_specs, turn_schema};
use crate::domain::{
    CallTag, ChatError, ChatErrorKind, ChatModel, ChatRequest, Message, ResponseFormat, Role, ToolSpec,
};

/// Remembers what `auto` found out; one per run and model, shared by all questions.
#[derive(Debug, Default)]
pub struct ReplyForms {
    found: OnceCell<ReplyForm>,
}

impl ReplyForms {
    /// The form to use: the setting, or for `auto` what the first asker's probe finds. While it is being found the
    /// others wait, so that all questions of a run are asked alike whatever their order.
    ///
    /// The probe asks once per form, schema first, then native tools: the first that comes back as a readable call
    /// wins; plain text needs no probe.
    ///
    /// # Errors
    /// The endpoint cannot be reached; nothing is remembered then.
    pub async fn resolve(&self, setting: ReplyForm, model: &dyn ChatModel) -> Result<ReplyForm, ChatError> {
        match setting {
            ReplyForm::Auto => self.found.get_or_try_init(|| probe(model)).await.copied(),
            ReplyForm::Text | ReplyForm::JsonSchema | ReplyForm::Tools => Ok(setting),
        }
    }
}

async fn probe(model: &dyn ChatModel) -> Result<ReplyForm, ChatError> {
    for form in [ReplyForm::JsonSchema, ReplyForm::Tools] {
        let mut request = ChatRequest::new(Role::Search, probe_messages(), probe_tag(form));
        let offered = Offered { frames: false, skills: false };
        (request.response_format, request.tools) = turn_format(form, offered, false, &['A', 'B']);
        match model.chat(request).await {
            Ok(reply) if read_turn(&reply).is_ok() => return Ok(form),
            Ok(_) => {}
            Err(error) if is_about_the_form(error.kind) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(ReplyForm::Text)
}

/// The same for every question and phase, so that the cache answers it next time.
fn probe_tag(form: ReplyForm) -> CallTag {
    let item = match form {
        ReplyForm::Tools => "reply-form-tools",
        ReplyForm::Auto | ReplyForm::Text | ReplyForm::JsonSchema => "reply-form-schema",
    };
    CallTag {
        phase_run: "probe".to_owned(),
        phase_path: "probe".to_owned(),
        item: item.to_owned(),
        purpose: "probe.reply_form".to_owned(),
        ..CallTag::default()
    }
}

fn probe_messages() -> Vec<Message> {
    let system = "You control a tool. Make exactly one call. As JSON, a call looks like this:\n\
                  {\"reflect\": {\"found\": \"\", \"missing\": \"\", \"confidence\": 0.5}, \"plan\": {\"next\": \"\"}, \
                  \"action\": {\"tool\": \"view_node\", \"args\": {\"node_id\": \"n1\", \"question\": \"What is shown?\"}}}";
    vec![Message::system(system), Message::user("Open the node n1 with view_node and ask what is shown.")]
}

/// Whether a failure may mean "this form is not supported", rather than "not reachable".
fn is_about_the_form(kind: ChatErrorKind) -> bool {
    match kind {
        ChatErrorKind::BadRequest
        | ChatErrorKind::Malformed
        | ChatErrorKind::Refused
        | ChatErrorKind::Server
        | ChatErrorKind::ContextOverflow => true,
        ChatErrorKind::Connection
        | ChatErrorKind::Timeout
        | ChatErrorKind::RateLimited
        | ChatErrorKind::Unauthorized
        | ChatErrorKind::NotFound
        | ChatErrorKind::CircuitOpen
        | ChatErrorKind::Budget
        | ChatErrorKind::Cancelled
        | ChatErrorKind::Configuration => false,
    }
}

/// What a request of the walk carries in this form.
pub(super) fn turn_format(
    form: ReplyForm,
    offered: Offered,
    submit_only: bool,
    letters: &[char],
) -> (ResponseFormat, Vec<ToolSpec>) {
    match form {
        ReplyForm::Auto | ReplyForm::Text => (ResponseFormat::Text, Vec::new()),
        ReplyForm::JsonSchema => {
            let schema = turn_schema(offered, submit_only, letters);
            (ResponseFormat::JsonSchema { name: "turn".to_owned(), schema }, Vec::new())
        }
        ReplyForm::Tools => (ResponseFormat::Text, tool_specs(offered, submit_only)),
    }
}

/// What a request of direct mode carries; native tools would add nothing to it.
pub(super) fn direct_format(form: ReplyForm, letters: &[char]) -> ResponseFormat {
    match form {
        ReplyForm::Auto | ReplyForm::Text | ReplyForm::Tools => ResponseFormat::Text,
        ReplyForm::JsonSchema => {
            ResponseFormat::JsonSchema { name: "answer".to_owned(), schema: direct_schema(letters) }
        }
    }
}

fn direct_schema(letters: &[char]) -> Value {
    let letters: Vec<String> = letters.iter().map(char::to_string).collect();
    json!({
        "type": "object",
        "properties": {
            "analysis": {"type": "string", "maxLength": 600},
            "answer": {"type": "string", "enum": letters},
            "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        },
        "required": ["analysis", "answer", "confidence"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::testing::{Scripted, fails, says};

    const CALL: &str = r#"{"action": {"tool": "view_node", "args": {"node_id": "n1"}}}"#;

    #[tokio::test]
    async fn auto_takes_the_first_form_that_works_and_asks_once() {
        let model = Scripted::new([fails(ChatErrorKind::BadRequest), says(CALL)]);
        let forms = ReplyForms::default();
        assert_eq!(forms.resolve(ReplyForm::Auto, &model).await, Ok(ReplyForm::Tools));
        assert_eq!(forms.resolve(ReplyForm::Auto, &model).await, Ok(ReplyForm::Tools));
        assert_eq!(model.requests().len(), 2);
        assert_eq!(model.requests()[1].tools.len(), 3);
    }

    #[tokio::test]
    async fn an_endpoint_that_can_do_nothing_gets_plain_text() {
        let model = Scripted::new([says("Sure!"), says("I look at n1.")]);
        assert_eq!(ReplyForms::default().resolve(ReplyForm::Auto, &model).await, Ok(ReplyForm::Text));
    }

    #[tokio::test]
    async fn an_endpoint_that_cannot_be_reached_is_asked_again() {
        let model = Scripted::new([fails(ChatErrorKind::Connection), says(CALL)]);
        let forms = ReplyForms::default();
        assert!(forms.resolve(ReplyForm::Auto, &model).await.is_err());
        assert_eq!(forms.resolve(ReplyForm::Auto, &model).await, Ok(ReplyForm::JsonSchema));
    }
}
