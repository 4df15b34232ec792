//! The routes of the simulated endpoint; failures on purpose become real HTTP failures.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::rejection::JsonRejection;
use axum::extract::{DefaultBodyLimit, Json, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::wire::{self, ChatBody, EmbedBody};
use crate::domain::{ChatError, ChatErrorKind, ExitClass, Fault, Role};
use crate::sim::model::{SimModel, embed_text};

/// Prompts with images are large; more than this is a mistake.
const BODY_LIMIT: usize = 64 * 1024 * 1024;

/// How long a simulated time-out holds the connection, unless the caller gives up before.
const HOLD: Duration = Duration::from_secs(600);

/// The server could not start or go on.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The port is taken or not allowed.
    #[error("listen on 127.0.0.1:{port}")]
    Listen {
        /// The port.
        port: u16,
        /// Why.
        source: std::io::Error,
    },
    /// The listener failed later.
    #[error("serve the simulated model")]
    Serve(#[source] std::io::Error),
}

impl Fault for ServerError {
    fn class(&self) -> ExitClass {
        ExitClass::Internal
    }

    fn code(&self) -> &'static str {
        match self {
            Self::Listen { .. } => "sim.listen",
            Self::Serve(_) => "sim.serve",
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Listen { .. } => Some("choose another port with --port, or 0 for any free one".into()),
            Self::Serve(_) => None,
        }
    }
}

/// Serves until `shutdown` completes; `ready` learns the address first.
///
/// # Errors
/// The port cannot be listened on, or the listener fails.
pub async fn serve(
    model: Arc<SimModel>,
    port: u16,
    ready: impl FnOnce(SocketAddr),
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> Result<(), ServerError> {
    // Loopback only: the simulated model is no service for others.
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(|source| ServerError::Listen { port, source })?;
    ready(listener.local_addr().map_err(|source| ServerError::Listen { port, source })?);
    axum::serve(listener, router(model)).with_graceful_shutdown(shutdown).await.map_err(ServerError::Serve)
}

/// The routes: `/v1/chat/completions`, `/v1/embeddings`, `/v1/models`, `/health`.
pub fn router(model: Arc<SimModel>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(chat))
        .route("/v1/embeddings", post(embeddings))
        .route("/v1/models", get(models))
        .route("/health", get(async || Json(json!({"status": "ok", "note": "simulated model"}))))
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(model)
}

async fn chat(State(model): State<Arc<SimModel>>, body: Result<Json<ChatBody>, JsonRejection>) -> Response {
    let Json(body) = match body {
        Ok(body) => body,
        Err(rejection) => return failure(StatusCode::BAD_REQUEST, "invalid_request_error", &rejection.body_text()),
    };
    if body.stream {
        return failure(StatusCode::BAD_REQUEST, "invalid_request_error", "the simulated model does not stream");
    }
    let (name, seed) = (body.model.clone(), body.seed);
    match model.answer(&body.into_request(), seed).await {
        Ok(reply) => Json(wire::completion(&name, &reply)).into_response(),
        Err(error) => on_purpose(&error).await,
    }
}

/// The HTTP form of a failure that the settings ask for.
async fn on_purpose(error: &ChatError) -> Response {
    match error.kind {
        ChatErrorKind::RateLimited => {
            let mut response = failure(StatusCode::TOO_MANY_REQUESTS, "rate_limit_error", &error.message);
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("0"));
            response
        }
        ChatErrorKind::Timeout => {
            tokio::time::sleep(HOLD).await;
            failure(StatusCode::GATEWAY_TIMEOUT, "timeout", &error.message)
        }
        ChatErrorKind::Malformed => {
            let cut = Body::from("{\"choices\": [{\"message\": {\"content\": \"simulated mo");
            ([(header::CONTENT_TYPE, "application/json")], cut).into_response()
        }
        ChatErrorKind::Connection
        | ChatErrorKind::Server
        | ChatErrorKind::Unauthorized
        | ChatErrorKind::NotFound
        | ChatErrorKind::BadRequest
        | ChatErrorKind::ContextOverflow
        | ChatErrorKind::Refused
        | ChatErrorKind::CircuitOpen
        | ChatErrorKind::Budget
        | ChatErrorKind::Cancelled
        | ChatErrorKind::Configuration => failure(StatusCode::INTERNAL_SERVER_ERROR, "server_error", &error.message),
    }
}

async fn embeddings(body: Result<Json<EmbedBody>, JsonRejection>) -> Response {
    let Json(body) = match body {
        Ok(body) => body,
        Err(rejection) => return failure(StatusCode::BAD_REQUEST, "invalid_request_error", &rejection.body_text()),
    };
    let texts: Vec<&str> = match &body.input {
        Value::String(text) => vec![text],
        Value::Array(items) => items.iter().filter_map(Value::as_str).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    if texts.is_empty() {
        return failure(StatusCode::BAD_REQUEST, "invalid_request_error", "input holds no text");
    }
    let tokens: usize = texts.iter().map(|text| text.len().div_ceil(4)).sum();
    let data = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"object": "embedding", "index": index, "embedding": embed_text(text)}));
    let data: Vec<Value> = data.collect();
    let usage = json!({"prompt_tokens": tokens, "total_tokens": tokens});
    Json(json!({"object": "list", "model": body.model, "data": data, "usage": usage})).into_response()
}

async fn models() -> Json<Value> {
    let names = Role::ALL.map(|role| format!("sim-{}", role.name()));
    let data: Vec<Value> =
        names.iter().map(|id| json!({"id": id, "object": "model", "owned_by": "simulated model"})).collect();
    Json(json!({"object": "list", "data": data}))
}

fn failure(status: StatusCode, kind: &str, message: &str) -> Response {
    (status, Json(wire::error(kind, message))).into_response()
}
