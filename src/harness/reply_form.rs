//! Judge and writer are asked by schema where the endpoint knows schemas, else in plain text: the templates show the form
//! of the reply in any case.

use std::fmt;

use serde_json::json;
use tokio::sync::OnceCell;

use crate::config::{Provider, ReplyForm, RoleGroup};
use crate::domain::{
    CallTag, ChatError, ChatErrorKind, ChatFuture, ChatModel, ChatRequest, Message, ResponseFormat, Role,
};
use crate::evolution::json::extract_object;

/// What was found out about the endpoints of judge and writer; one per session.
#[derive(Debug, Default)]
pub(super) struct KernelForms {
    judge: OnceCell<bool>,
    writer: OnceCell<bool>,
}

impl KernelForms {
    /// The model as a role asks it.
    pub(super) fn of<'a>(&'a self, role: Role, group: &RoleGroup, model: &'a dyn ChatModel) -> Formed<'a> {
        // The simulated model knows every form: no call is spent on asking it.
        let setting = if group.provider == Provider::Sim { ReplyForm::JsonSchema } else { group.response_format };
        Formed { model, role, setting, by_schema: if role == Role::Judge { &self.judge } else { &self.writer } }
    }
}

/// A model that is asked in the form which `llm.<role>.response_format` says; `auto` tries once and remembers.
#[derive(Clone, Copy)]
pub(super) struct Formed<'a> {
    model: &'a dyn ChatModel,
    role: Role,
    setting: ReplyForm,
    by_schema: &'a OnceCell<bool>,
}

// By hand: the model is a trait object.
impl fmt::Debug for Formed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Formed").field("role", &self.role).field("setting", &self.setting).finish_non_exhaustive()
    }
}

impl Formed<'_> {
    async fn knows_schemas(&self, asking: &CallTag) -> Result<bool, ChatError> {
        match self.setting {
            ReplyForm::JsonSchema => Ok(true),
            // Native calls would add nothing: nothing is called.
            ReplyForm::Text | ReplyForm::Tools => Ok(false),
            // All others wait for the first: every question of a run is asked alike, whatever the order.
            ReplyForm::Auto => self.by_schema.get_or_try_init(|| self.probe(asking)).await.copied(),
        }
    }

    /// Asks for the smallest object by schema. What cannot be reached is an error, and nothing is remembered.
    async fn probe(&self, asking: &CallTag) -> Result<bool, ChatError> {
        // It belongs to whoever asks first, so that it is kept and paid for like every other call.
        let tag = CallTag { purpose: "probe.reply_form".to_owned(), ..asking.clone() };
        let ask = "Reply with one JSON object and nothing else:\n{\"ok\": true}";
        let mut request = ChatRequest::new(self.role, vec![Message::user(ask)], tag);
        let schema = json!({"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
            "additionalProperties": false});
        request.response_format = ResponseFormat::JsonSchema { name: "probe".to_owned(), schema };
        match self.model.chat(request).await {
            Ok(reply) => Ok(extract_object(&reply.content).is_ok()),
            Err(error) if is_about_the_form(error.kind) => {
                tracing::info!(role = self.role.name(), %error, "asked in plain text: the endpoint knows no schemas");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether a failure may mean "this form is not supported", rather than "not reachable".
fn is_about_the_form(kind: ChatErrorKind) -> bool {
    match kind {
        ChatErrorKind::BadRequest | ChatErrorKind::Malformed | ChatErrorKind::Refused | ChatErrorKind::Server => true,
        ChatErrorKind::Connection
        | ChatErrorKind::Timeout
        | ChatErrorKind::RateLimited
        | ChatErrorKind::Unauthorized
        | ChatErrorKind::NotFound
        | ChatErrorKind::ContextOverflow
        | ChatErrorKind::CircuitOpen
        | ChatErrorKind::Budget
        | ChatErrorKind::Cancelled
        | ChatErrorKind::Configuration => false,
    }
}

impl ChatModel for Formed<'_> {
    fn chat(&self, mut request: ChatRequest) -> ChatFuture<'_> {
        Box::pin(async move {
            if matches!(request.response_format, ResponseFormat::JsonSchema { .. })
                && !self.knows_schemas(&request.tag).await?
            {
                request.response_format = ResponseFormat::Text;
            }
            self.model.chat(request).await
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::domain::{ChatReply, FinishReason, Usage};

    /// An endpoint that fails requests by schema in one way, and remembers what it was asked.
    struct Endpoint(Option<ChatErrorKind>, Mutex<Vec<(String, bool)>>);

    impl ChatModel for Endpoint {
        fn chat(&self, request: ChatRequest) -> ChatFuture<'_> {
            let by_schema = matches!(request.response_format, ResponseFormat::JsonSchema { .. });
            self.1.lock().unwrap().push((request.tag.purpose, by_schema));
            let failure = self.0.filter(|_| by_schema);
            Box::pin(async move {
                if let Some(kind) = failure {
                    return Err(ChatError { kind, role: request.role, message: "no".into() });
                }
                Ok(ChatReply {
                    content: "{\"ok\": true}".into(),
                    reasoning: None,
                    tool_calls: Vec::new(),
                    finish: FinishReason::Stop,
                    usage: Usage::default(),
                    cached: false,
                    latency_ms: 0,
                    raw: Vec::new(),
                })
            })
        }
    }

    /// Two requests by schema under a setting: how they ended, and what the endpoint saw.
    async fn asked(setting: ReplyForm, fails: Option<ChatErrorKind>) -> (Vec<bool>, Vec<(String, bool)>) {
        let endpoint = Endpoint(fails, Mutex::default());
        let group = RoleGroup { response_format: setting, ..RoleGroup::for_role(Role::Judge) };
        let forms = KernelForms::default();
        let model = forms.of(Role::Judge, &group, &endpoint);
        let mut ended = Vec::new();
        for _ in 0..2 {
            let tag = CallTag { purpose: "judge.span".into(), ..CallTag::default() };
            let mut request = ChatRequest::new(Role::Judge, vec![Message::user("x")], tag);
            request.response_format = ResponseFormat::JsonSchema { name: "n".into(), schema: json!({}) };
            ended.push(model.chat(request).await.is_ok());
        }
        (ended, endpoint.1.into_inner().unwrap())
    }

    fn purposes(seen: &[(String, bool)]) -> Vec<(&str, bool)> {
        seen.iter().map(|(purpose, by_schema)| (purpose.as_str(), *by_schema)).collect()
    }

    #[tokio::test]
    async fn auto_asks_once_whether_the_endpoint_knows_schemas() {
        let (ended, seen) = asked(ReplyForm::Auto, None).await;
        assert_eq!(ended, [true, true]);
        assert_eq!(purposes(&seen), [("probe.reply_form", true), ("judge.span", true), ("judge.span", true)]);
        let (ended, seen) = asked(ReplyForm::Auto, Some(ChatErrorKind::BadRequest)).await;
        assert_eq!(ended, [true, true], "plain text works");
        assert_eq!(purposes(&seen), [("probe.reply_form", true), ("judge.span", false), ("judge.span", false)]);
    }

    #[tokio::test]
    async fn an_endpoint_that_cannot_be_reached_is_an_error_and_asked_again() {
        let (ended, seen) = asked(ReplyForm::Auto, Some(ChatErrorKind::Connection)).await;
        assert_eq!(ended, [false, false]);
        assert_eq!(purposes(&seen), [("probe.reply_form", true), ("probe.reply_form", true)]);
    }

    #[tokio::test]
    async fn a_setting_needs_no_probe() {
        let (_, seen) = asked(ReplyForm::Text, Some(ChatErrorKind::BadRequest)).await;
        assert_eq!(purposes(&seen), [("judge.span", false), ("judge.span", false)]);
        let (ended, seen) = asked(ReplyForm::JsonSchema, Some(ChatErrorKind::BadRequest)).await;
        assert_eq!((ended, seen.len()), (vec![false, false], 2));
    }
}
