//! Extract, then verify: the two calls behind every summary.

use crate::agent::answer::strip_reasoning;
use crate::agent::call::{Asked, Caller};
use crate::agent::texts::PromptPair;
use crate::domain::{ChatError, ChatErrorKind, Image, Message, Role};
use crate::evolution::templates::data_block;

/// What is summarised, and for what.
pub(super) struct Source<'a> {
    pub(super) role: Role,
    /// Names of the two calls, such as `view_node.extract`.
    pub(super) purposes: (&'static str, &'static str),
    pub(super) prompts: &'a PromptPair,
    pub(super) question: &'a str,
    pub(super) text: String,
    pub(super) images: Vec<Image>,
}

/// The verified extract; none if the models wrote nothing, or refused to.
///
/// An empty verification leaves the extract as it is. Technical failures are passed on: they make the question INFRA,
/// never a worse answer.
pub(super) async fn summarise(caller: &Caller<'_>, source: &Source<'_>) -> Result<Option<String>, ChatError> {
    let head = format!("Question:\n{}\n\nSource:\n{}", data_block(source.question), data_block(&source.text));
    let extract = ask(caller, source, source.purposes.0, &source.prompts.extract, head.clone()).await?;
    let Some(extract) = extract else { return Ok(None) };
    let check = format!("{head}\n\nExtract to check:\n{}", data_block(&extract));
    let verified = ask(caller, source, source.purposes.1, &source.prompts.verify, check).await?;
    Ok(Some(verified.unwrap_or(extract)))
}

async fn ask(
    caller: &Caller<'_>,
    source: &Source<'_>,
    purpose: &'static str,
    prompt: &str,
    text: String,
) -> Result<Option<String>, ChatError> {
    let mut user = Message::user(text);
    user.images.clone_from(&source.images);
    let asked = Asked::text(source.role, purpose, vec![Message::system(prompt), user]);
    match caller.ask(asked).await {
        Ok(reply) => Ok(Some(strip_reasoning(&reply.content).trim().to_owned()).filter(|text| !text.is_empty())),
        // What an endpoint refuses to describe it will refuse again: a finding about the source, not a failure.
        Err(error) if error.kind == ChatErrorKind::Refused => Ok(None),
        Err(error) => Err(error),
    }
}
