//! The endpoints of a role: balanced by load, with a circuit breaker each and the pauses they asked for.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::domain::ChatErrorKind;
use crate::llm::account::{CircuitState, EndpointStatus, RoleMeter, WaitReason};
use crate::llm::backend::{Backend, NamedBackend, TryError};
use crate::llm::settings::RetrySettings;

/// A circuit's pause doubles at most this often.
const MAX_DOUBLINGS: u32 = 4;

/// The endpoints of one role; never empty in use (settings without an address are refused).
pub(in crate::llm) struct Endpoints {
    list: Vec<Endpoint>,
    settings: RetrySettings,
    turn: AtomicUsize,
    changed: Notify,
}

struct Endpoint {
    name: String,
    backend: Arc<dyn Backend>,
    health: Mutex<Health>,
}

#[derive(Debug, Default)]
struct Health {
    in_flight: u64,
    consecutive_failures: u32,
    /// Until when the circuit is open; in the past: half open.
    open_until: Option<Instant>,
    /// How often it was opened without a success in between.
    openings: u32,
    probing: bool,
    paused_until: Option<Instant>,
}

/// Whether an endpoint may be asked now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Admission {
    Free,
    Probe,
    PausedUntil(Instant),
    OpenUntil(Instant),
    /// Another call is probing.
    Probing,
}

/// No circuit let the call through for as long as a call waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AllOpen;

/// A request at one endpoint.
pub(super) struct Visit<'a> {
    endpoints: &'a Endpoints,
    endpoint: &'a Endpoint,
    probe: bool,
    pub(super) index: usize,
}

/// Whether this failure says that the endpoint does not work. A 4xx comes from one that does.
fn blames_endpoint(kind: ChatErrorKind) -> bool {
    match kind {
        ChatErrorKind::Connection | ChatErrorKind::Timeout | ChatErrorKind::Server | ChatErrorKind::Malformed => true,
        ChatErrorKind::RateLimited
        | ChatErrorKind::Unauthorized
        | ChatErrorKind::NotFound
        | ChatErrorKind::BadRequest
        | ChatErrorKind::ContextOverflow
        | ChatErrorKind::Refused
        | ChatErrorKind::CircuitOpen
        | ChatErrorKind::Budget
        | ChatErrorKind::Cancelled
        | ChatErrorKind::Configuration => false,
    }
}

impl Endpoints {
    pub(in crate::llm) fn new(backends: Vec<NamedBackend>, settings: RetrySettings) -> Self {
        let endpoint = |(name, backend)| Endpoint { name, backend, health: Mutex::default() };
        let list = backends.into_iter().map(endpoint).collect();
        Self { list, settings, turn: AtomicUsize::new(0), changed: Notify::new() }
    }

    /// The least busy endpoint that may be asked, another than `avoid` if there is one. Waits for pauses to pass, and
    /// for open circuits up to the configured time.
    pub(super) async fn pick(&self, avoid: Option<usize>, meter: &RoleMeter) -> Result<Visit<'_>, AllOpen> {
        let mut circuit_deadline = None;
        loop {
            let changed = self.changed.notified();
            let now = Instant::now();
            let (wake, reason) = match self.try_pick(avoid, now) {
                Ok(visit) => return Ok(visit),
                Err(Refusal::Paused(until)) => (until, WaitReason::RateLimit),
                Err(Refusal::Open(until)) => {
                    let deadline = *circuit_deadline.get_or_insert(now + self.settings.circuit_wait);
                    if now >= deadline {
                        return Err(AllOpen);
                    }
                    (until.map_or(deadline, |until| until.min(deadline)), WaitReason::Circuit)
                }
            };
            let _counted = meter.wait(reason);
            tokio::select! {
                () = changed => {}
                () = sleep_until(wake) => {}
            }
        }
    }

    /// The state for displays.
    pub(in crate::llm) fn status(&self) -> Vec<EndpointStatus> {
        let now = Instant::now();
        let status = |endpoint: &Endpoint| {
            let health = endpoint.health();
            let circuit = match health.open_until {
                None => CircuitState::Closed,
                Some(until) if until > now => CircuitState::Open,
                Some(_) => CircuitState::HalfOpen,
            };
            let paused = health.open_until.max(health.paused_until).map_or(0, |until| whole_seconds(until - now));
            EndpointStatus { name: endpoint.name.clone(), in_flight: health.in_flight, circuit, paused_seconds: paused }
        };
        self.list.iter().map(status).collect()
    }

    /// Until the first endpoint may be asked again, if none may now; by reason.
    pub(in crate::llm) fn shortest_wait(&self, reason: WaitReason) -> u64 {
        let now = Instant::now();
        let left = |endpoint: &Endpoint| match (reason, admission(&endpoint.health(), now)) {
            (WaitReason::RateLimit, Admission::PausedUntil(until))
            | (WaitReason::Circuit, Admission::OpenUntil(until)) => whole_seconds(until - now),
            _ => 0,
        };
        self.list.iter().map(left).min().unwrap_or(0)
    }

    fn try_pick(&self, avoid: Option<usize>, now: Instant) -> Result<Visit<'_>, Refusal> {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let count = self.list.len().max(1);
        let mut best: Option<((bool, u64, usize), usize)> = None;
        let mut paused: Option<Instant> = None;
        let mut open: Option<Instant> = None;
        for (index, endpoint) in self.list.iter().enumerate() {
            let health = endpoint.health();
            let busy = match admission(&health, now) {
                Admission::Free => health.in_flight,
                // The probe goes first: a replica that works again shall be found under load, too.
                Admission::Probe => 0,
                Admission::PausedUntil(until) => {
                    paused = Some(paused.map_or(until, |first| first.min(until)));
                    continue;
                }
                Admission::OpenUntil(until) => {
                    open = Some(open.map_or(until, |first| first.min(until)));
                    continue;
                }
                Admission::Probing => continue,
            };
            let rank = (avoid == Some(index), busy, (index + turn) % count);
            if best.is_none_or(|(least, _)| rank < least) {
                best = Some((rank, index));
            }
        }
        let visit = best.and_then(|(_, index)| self.enter(index, now));
        visit.ok_or_else(|| match paused {
            Some(until) => Refusal::Paused(open.map_or(until, |open| open.min(until))),
            None => Refusal::Open(open),
        })
    }

    /// Enters the endpoint, unless another call did so as its probe meanwhile.
    fn enter(&self, index: usize, now: Instant) -> Option<Visit<'_>> {
        let endpoint = self.list.get(index)?;
        let mut health = endpoint.health();
        let probe = match admission(&health, now) {
            Admission::Free => false,
            Admission::Probe => true,
            Admission::PausedUntil(_) | Admission::OpenUntil(_) | Admission::Probing => return None,
        };
        health.in_flight += 1;
        health.probing |= probe;
        drop(health);
        Some(Visit { endpoints: self, endpoint, probe, index })
    }
}

/// Why no endpoint may be asked.
enum Refusal {
    /// At least one is only paused; when to look again.
    Paused(Instant),
    /// All circuits are open; when the first may be probed, unless it is being probed.
    Open(Option<Instant>),
}

fn admission(health: &Health, now: Instant) -> Admission {
    match (health.open_until, health.paused_until) {
        (Some(open), _) if open > now => Admission::OpenUntil(open),
        (_, Some(paused)) if paused > now => Admission::PausedUntil(paused),
        (Some(_), _) if health.probing => Admission::Probing,
        (Some(_), _) => Admission::Probe,
        (None, _) => Admission::Free,
    }
}

impl Visit<'_> {
    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.endpoint.backend
    }

    /// Notes how the try went; ends the visit.
    pub(super) fn report(self, failure: Option<&TryError>) {
        let settings = &self.endpoints.settings;
        let now = Instant::now();
        let mut health = self.endpoint.health();
        if let Some(wait) = failure.and_then(|error| error.retry_after) {
            let until = now + wait.min(settings.retry_after_cap);
            health.paused_until = Some(health.paused_until.map_or(until, |before| before.max(until)));
        }
        if failure.is_some_and(|error| blames_endpoint(error.kind)) {
            health.consecutive_failures = health.consecutive_failures.saturating_add(1);
            let open = health.open_until.is_some();
            if self.probe || (!open && health.consecutive_failures >= settings.circuit_failures) {
                let cooldown = settings.circuit_cooldown * 2_u32.pow(health.openings.min(MAX_DOUBLINGS));
                health.open_until = Some(now + cooldown);
                health.openings += 1;
                let failures = health.consecutive_failures;
                tracing::warn!(endpoint = %self.endpoint.name, failures, ?cooldown, "endpoint fails: leaving it alone");
            }
        } else if self.probe || health.open_until.is_none() {
            if health.open_until.take().is_some() {
                tracing::info!(endpoint = %self.endpoint.name, "endpoint works again");
            }
            health.consecutive_failures = 0;
            health.openings = 0;
        }
    }
}

impl Drop for Visit<'_> {
    /// A visit that is dropped without a report says nothing about the endpoint, but its probe is free again.
    fn drop(&mut self) {
        let mut health = self.endpoint.health();
        health.in_flight -= 1;
        let was_open = health.open_until.is_some() || self.probe;
        if self.probe {
            health.probing = false;
        }
        drop(health);
        if was_open {
            self.endpoints.changed.notify_waiters();
        }
    }
}

impl Endpoint {
    fn health(&self) -> MutexGuard<'_, Health> {
        self.health.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Rounded up.
fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
