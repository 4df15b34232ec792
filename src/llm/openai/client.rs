//! One endpoint over HTTP: sends a request, reads the reply as bytes within a bound.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use secrecy::{ExposeSecret, SecretString};

use super::classify::{classify, message_of, shorten};
use super::reply::{chat_reply, embed_reply};
use super::retry_after::retry_after;
use super::wire::{chat_body, embed_body};
use crate::domain::ChatErrorKind;
use crate::llm::LlmError;
use crate::llm::backend::{Answer, Ask, Backend, TryError, TryFuture};
use crate::llm::settings::RoleSettings;
use crate::llm::shape::Shape;

/// An error reply is read this far and no further.
const ERROR_BODY_LIMIT: usize = 64 << 10;

/// Embedding replies are this much longer than texts.
const EMBED_REPLY_FACTOR: usize = 16;

/// One OpenAI-compatible endpoint.
pub(in crate::llm) struct OpenAiEndpoint {
    client: Client,
    shape: Arc<Shape>,
    chat_url: Url,
    embed_url: Url,
    models_url: Url,
    headers: HeaderMap,
    api_key: Option<SecretString>,
    first_byte: Duration,
    max_reply_bytes: usize,
}

/// The HTTP client that all endpoints of a role share. Redirects are not followed: a key goes where it was sent to.
pub(in crate::llm) fn connect(settings: &RoleSettings, base_urls: &[String]) -> Result<Client, LlmError> {
    install_tls();
    let builder = || {
        Client::builder()
            .user_agent(concat!("trm/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(settings.timeouts.connect)
            .pool_max_idle_per_host(settings.limits.max_concurrency)
            .pool_idle_timeout(Duration::from_secs(60))
            .tcp_nodelay(true)
    };
    builder().build().or_else(|error| {
        // Without certificates of authorities (a bare container) plain http still works.
        if base_urls.iter().all(|url| url.starts_with("http://")) {
            builder().tls_certs_only(Vec::new()).build().map_err(LlmError::Http)
        } else {
            Err(LlmError::Http(error))
        }
    })
}

/// Makes ring the provider of TLS for the process.
pub(in crate::llm) fn install_tls() {
    // A second installation is refused, which is fine: a library user's own choice stands.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
}

/// The address without user, password, query and fragment.
pub(in crate::llm) fn public_name(base_url: &str) -> String {
    let Ok(mut url) = Url::parse(base_url) else { return "an address that cannot be read".to_owned() };
    // Only addresses without a host refuse these, and those hold no credentials.
    let _no_host = url.set_username("").and_then(|()| url.set_password(None));
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_owned()
}

impl OpenAiEndpoint {
    pub(in crate::llm) fn new(
        client: Client,
        shape: Arc<Shape>,
        base_url: &str,
        api_key: Option<SecretString>,
        settings: &RoleSettings,
    ) -> Result<Self, LlmError> {
        let base = base_url.trim_end_matches('/');
        let url = |path: &str| {
            Url::parse(&format!("{base}/{path}"))
                .map_err(|error| LlmError::setting("base_url", format!("{}: {error}", public_name(base_url))))
        };
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Some(key) = &api_key {
            let mut value = HeaderValue::try_from(format!("Bearer {}", key.expose_secret()))
                .map_err(|_| LlmError::setting("api_key_env", "the key holds characters that no HTTP header can"))?;
            value.set_sensitive(true);
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Self {
            client,
            shape,
            chat_url: url("chat/completions")?,
            embed_url: url("embeddings")?,
            models_url: url("models")?,
            headers,
            api_key,
            first_byte: settings.timeouts.first_byte,
            max_reply_bytes: settings.max_reply_bytes,
        })
    }

    /// The names of the models that the endpoint says it has; none if it does not answer that question.
    pub(in crate::llm) async fn model_names(&self) -> Option<Vec<String>> {
        let request = self.client.get(self.models_url.clone()).headers(self.headers.clone());
        let list = async {
            let response = request.send().await.ok().filter(|response| response.status().is_success())?;
            let body = self.without_key_bytes(read_all(response, self.max_reply_bytes).await.ok()?);
            let json: serde_json::Value = serde_json::from_slice(&body).ok()?;
            let models = json.get("data")?.as_array()?;
            Some(models.iter().filter_map(|model| Some(shorten(model.get("id")?.as_str()?))).collect())
        };
        tokio::time::timeout(self.first_byte, list).await.ok().flatten()
    }

    async fn ask_once(&self, ask: &Ask) -> Result<Answer, TryError> {
        let (url, body, limit) = match ask {
            Ask::Chat(request) => (&self.chat_url, chat_body(&self.shape, request), self.max_reply_bytes),
            Ask::Embed(request) => {
                let limit = self.max_reply_bytes.saturating_mul(EMBED_REPLY_FACTOR);
                (&self.embed_url, embed_body(&self.shape, request), limit)
            }
        };
        let body =
            body.map_err(|error| TryError::new(ChatErrorKind::Configuration, format!("write the request: {error}")))?;
        let request = self.client.post(url.clone()).headers(self.headers.clone()).body(body);
        let response = tokio::time::timeout(self.first_byte, request.send())
            .await
            .map_err(|_| {
                let message = format!("no byte of a reply within {} s", self.first_byte.as_secs_f64());
                TryError::new(ChatErrorKind::Timeout, message)
            })?
            .map_err(|error| transport_error(&error))?;
        self.read_reply(response, ask, limit).await
    }

    async fn read_reply(&self, response: Response, ask: &Ask, limit: usize) -> Result<Answer, TryError> {
        let status = response.status();
        if !status.is_success() {
            let wait = retry_after(response.headers(), SystemTime::now());
            // What the error says is a courtesy: an endpoint that breaks off in the middle of it is no worse.
            let body = read_start(response, ERROR_BODY_LIMIT).await;
            let text = String::from_utf8_lossy(&body);
            let message = self.without_key(&format!("HTTP {}: {}", status.as_u16(), message_of(&text)));
            let kind = classify(status.as_u16(), &text);
            return Err(TryError { kind, message, retry_after: wait, usage: None });
        }
        let content_type = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let content_type = shorten(content_type.unwrap_or("without a content type"));
        let body = self.without_key_bytes(read_all(response, limit).await?);
        let answer = match ask {
            Ask::Chat(request) => chat_reply(body, request, &content_type).map(Answer::Chat),
            Ask::Embed(request) => embed_reply(&body, request, &content_type).map(Answer::Embed),
        };
        answer.map_err(|error| TryError { message: self.without_key(&error.message), ..error })
    }

    /// A reply that repeats the key (some proxies do) must not carry it into stores and logs.
    fn without_key(&self, text: &str) -> String {
        match &self.api_key {
            Some(key) if !key.expose_secret().is_empty() => text.replace(key.expose_secret(), "***"),
            _ => text.to_owned(),
        }
    }

    fn without_key_bytes(&self, body: Vec<u8>) -> Vec<u8> {
        let key = self.api_key.as_ref().map(|key| key.expose_secret().as_bytes()).unwrap_or_default();
        if key.is_empty() || !body.windows(key.len()).any(|window| window == key) {
            return body;
        }
        self.without_key(&String::from_utf8_lossy(&body)).into_bytes()
    }
}

impl Backend for OpenAiEndpoint {
    fn ask<'a>(&'a self, ask: &'a Ask) -> TryFuture<'a> {
        Box::pin(self.ask_once(ask))
    }
}

/// The whole body, or an error once it grows beyond `limit` bytes.
async fn read_all(mut response: Response, limit: usize) -> Result<Vec<u8>, TryError> {
    let too_large = || TryError::new(ChatErrorKind::Malformed, format!("the reply is larger than {limit} bytes"));
    let announced = response.content_length().and_then(|length| usize::try_from(length).ok()).unwrap_or(0);
    if announced > limit {
        return Err(too_large());
    }
    let mut body = Vec::with_capacity(announced);
    while let Some(chunk) = response.chunk().await.map_err(|error| transport_error(&error))? {
        if body.len() + chunk.len() > limit {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// The first `limit` bytes of a body, or what there was before it broke off.
async fn read_start(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(chunk)) = response.chunk().await {
        body.extend(chunk.iter().take(limit - body.len()));
        if body.len() >= limit {
            break;
        }
    }
    body
}

fn transport_error(error: &reqwest::Error) -> TryError {
    let kind = if error.is_timeout() { ChatErrorKind::Timeout } else { ChatErrorKind::Connection };
    // The innermost cause says what happened ("connection refused"); the outer ones repeat the address.
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    let what = match (error.is_connect(), error.is_body() || error.is_decode()) {
        (true, _) => "connect",
        (_, true) => "read the reply",
        _ => "send the request",
    };
    let timed_out = if error.is_timeout() { "timed out: " } else { "" };
    TryError::new(kind, format!("{what}: {timed_out}{}", shorten(&cause.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shown_address_holds_no_credentials() {
        assert_eq!(public_name("https://user:secret@host:8443/v1/?key=secret#x"), "https://host:8443/v1");
        assert_eq!(public_name("secret"), "an address that cannot be read");
    }

    #[test]
    fn a_key_in_a_reply_is_cut_out() {
        let settings = RoleSettings::at("http://localhost/v1", "m");
        let client = connect(&settings, &["http://localhost/v1".into()]).unwrap();
        let shape = Arc::new(Shape::new(0, &settings));
        let key = Some(SecretString::from("sk-canary"));
        let endpoint = OpenAiEndpoint::new(client, shape, "http://localhost/v1", key, &settings).unwrap();
        assert_eq!(endpoint.without_key("wrong key sk-canary!"), "wrong key ***!");
        assert_eq!(endpoint.without_key_bytes(b"a sk-canary b".to_vec()), b"a *** b");
        assert_eq!(endpoint.without_key_bytes(b"nothing \xff".to_vec()), b"nothing \xff");
    }
}
