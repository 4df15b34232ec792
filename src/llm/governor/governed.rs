//! One role's model with everything around it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::sync::watch;
use tokio::time::Instant;

use super::bucket::Bucket;
use super::budget::{Amount, Budget, Reservation};
use super::endpoints::{Endpoints, Visit};
use super::flight::Flights;
use super::gate::Gate;
use super::retry::Delays;
use crate::domain::{CallTag, ChatError, ChatErrorKind, ContentHash, Role, Usage};
use crate::llm::account::{
    CallKind, CallOutcome, CallRecord, CallSink, Ledger, Money, Price, RoleMeter, RoleStatus, WaitReason, Waiting,
};
use crate::llm::backend::{Answer, Ask, TryError};
use crate::llm::cache::{Cache, call_key};
use crate::llm::settings::RoleSettings;
use crate::llm::shape::Shape;
use crate::llm::tokens::estimate_ask;

/// What completions are expected to need before the first has been seen.
const FIRST_COMPLETION_GUESS: u64 = 256;

/// What all roles share.
#[derive(Clone)]
pub(in crate::llm) struct Surroundings {
    pub(in crate::llm) cache: Arc<Cache>,
    pub(in crate::llm) cache_salt: String,
    pub(in crate::llm) budget: Arc<Budget>,
    pub(in crate::llm) ledger: Arc<Ledger>,
    pub(in crate::llm) sink: Option<Arc<dyn CallSink>>,
    pub(in crate::llm) stop: watch::Receiver<bool>,
}

/// One role's model with everything around it.
pub(in crate::llm) struct Governed {
    role: Role,
    settings: RoleSettings,
    shape: Arc<Shape>,
    price: Option<Price>,
    around: Surroundings,
    flights: Flights<Result<Answer, ChatError>>,
    gate: Gate,
    requests: Option<Bucket>,
    tokens: Option<Bucket>,
    endpoints: Endpoints,
    meter: RoleMeter,
    /// Moving average of completion tokens.
    completion: AtomicU64,
}

/// What one call went through.
#[derive(Debug, Default)]
struct Tally(Mutex<Tallied>);

#[derive(Debug, Default, Clone, Copy)]
struct Tallied {
    retries: u32,
    waited_ms: u64,
    usage: Usage,
    cost: Money,
}

impl Tally {
    fn change(&self, change: impl FnOnce(&mut Tallied)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn get(&self) -> Tallied {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Governed {
    pub(in crate::llm) fn new(
        role: Role,
        settings: RoleSettings,
        shape: Arc<Shape>,
        price: Option<Price>,
        endpoints: Endpoints,
        around: Surroundings,
    ) -> Self {
        Self {
            role,
            shape,
            price,
            around,
            flights: Flights::default(),
            gate: Gate::new(settings.limits.max_concurrency),
            requests: settings.limits.rpm.map(Bucket::per_minute),
            tokens: settings.limits.tpm.map(Bucket::per_minute),
            endpoints,
            meter: RoleMeter::new(),
            completion: AtomicU64::new(u64::from(settings.max_tokens).min(FIRST_COMPLETION_GUESS)),
            settings,
        }
    }

    pub(in crate::llm) fn settings(&self) -> &RoleSettings {
        &self.settings
    }

    /// Asks; everything that can be replayed, shared, limited or repeated is.
    pub(in crate::llm) async fn ask(&self, ask: Ask) -> Result<Answer, ChatError> {
        let started = Instant::now();
        let key = call_key(&self.shape, &self.around.cache_salt, &ask);
        let tally = Tally::default();
        let work = self.flights.run(key, || self.replay_or_call(&ask, key, &tally));
        let (result, led) = self.unless_stopped(work).await?;
        let milliseconds = as_millis(started);
        let result = match result {
            // Who shared an equal call's answer paid nothing, like who got it from the cache.
            Ok(answer) => {
                let cached = !led || answer.cached();
                Ok(answer.stamp(cached, milliseconds))
            }
            Err(error) => Err(error),
        };
        self.record(&ask, key, &result, led, tally.get(), milliseconds).await;
        result
    }

    /// Asks an endpoint itself: neither cache nor an equal call in flight answers, and nothing is stored.
    pub(in crate::llm) async fn ask_afresh(&self, ask: Ask) -> Result<Answer, ChatError> {
        let started = Instant::now();
        let key = call_key(&self.shape, &self.around.cache_salt, &ask);
        let tally = Tally::default();
        let result = self.unless_stopped(self.call(&ask, key, &tally)).await?;
        let milliseconds = as_millis(started);
        let result = result.map(|answer| answer.stamp(false, milliseconds));
        self.record(&ask, key, &result, true, tally.get(), milliseconds).await;
        result
    }

    async fn unless_stopped<T>(&self, work: impl Future<Output = T>) -> Result<T, ChatError> {
        let mut stop = self.around.stop.clone();
        tokio::select! {
            biased;
            // A hub that is gone has stopped, too.
            _ = stop.wait_for(|stopped| *stopped) => Err(self.error(ChatErrorKind::Cancelled, "model access is shutting down")),
            done = work => Ok(done),
        }
    }

    async fn replay_or_call(&self, ask: &Ask, key: ContentHash, tally: &Tally) -> Result<Answer, ChatError> {
        if let Some(answer) = self.around.cache.get(key).await {
            return Ok(answer.stamp(true, 0));
        }
        let answer = self.call(ask, key, tally).await?;
        if answer.is_storable() {
            self.around.cache.put(key, &answer).await;
        }
        Ok(answer)
    }

    async fn call(&self, ask: &Ask, key: ContentHash, tally: &Tally) -> Result<Answer, ChatError> {
        let estimate = self.estimate(ask);
        let worst = Amount { cost: self.cost(&estimate), tokens: estimate.prompt_tokens + estimate.completion_tokens };
        let (reservation, slot) = loop {
            let reservation = self.waiting(WaitReason::Budget, tally, self.around.budget.reserve(worst)).await;
            let reservation =
                reservation.map_err(|_| self.error(ChatErrorKind::Budget, "the budget for model calls is spent"))?;
            let slot = match self.gate.try_enter() {
                Some(slot) => slot,
                None => self.waiting(WaitReason::Concurrency, tally, self.gate.enter()).await,
            };
            // Calls that used more than their worst case may have eaten what this one reserved before it got its turn.
            if !self.around.budget.is_overdrawn() {
                break (reservation, slot);
            }
        };
        let mut spending = Spending::new(self, ask.tag(), reservation, estimate.prompt_tokens);
        let result = self.try_until_done(ask, key, tally, &mut spending).await;
        drop(slot);
        spending.settle(tally);
        result.map_err(|error| {
            let retries = tally.get().retries;
            let after = if retries > 0 { format!(" (after {retries} retries)") } else { String::new() };
            ChatError { message: error.message.clone() + &after, ..error.into_chat_error(self.role) }
        })
    }

    /// The one retry loop.
    async fn try_until_done(
        &self,
        ask: &Ask,
        key: ContentHash,
        tally: &Tally,
        spending: &mut Spending<'_>,
    ) -> Result<Answer, TryError> {
        let mut delays = None;
        let mut avoid = None;
        loop {
            let error = match self.try_once(ask, tally, spending, &mut avoid).await {
                Ok(answer) => {
                    self.meter.answered();
                    return Ok(answer);
                }
                Err(error) => error,
            };
            self.meter.try_failed(error.kind);
            tracing::debug!(role = self.role.name(), kind = ?error.kind, message = %error.message, "a try failed");
            let delays = delays.get_or_insert_with(|| Delays::new(self.settings.retry, self.shape.seed, key));
            let Some(delay) = delays.next(&error) else { return Err(error) };
            tally.change(|tally| tally.retries += 1);
            self.meter.retried();
            self.waiting(WaitReason::Backoff, tally, tokio::time::sleep(delay)).await;
        }
    }

    async fn try_once(
        &self,
        ask: &Ask,
        tally: &Tally,
        spending: &mut Spending<'_>,
        avoid: &mut Option<usize>,
    ) -> Result<Answer, TryError> {
        let expected = spending.prompt_estimate + self.completion.load(Ordering::Relaxed);
        if let Some(bucket) = &self.requests {
            self.waiting(WaitReason::RateLimit, tally, bucket.take(1.0)).await;
        }
        if let Some(bucket) = &self.tokens {
            self.waiting(WaitReason::RateLimit, tally, bucket.take(as_units(expected))).await;
        }
        let waited = Instant::now();
        let visit = self.endpoints.pick(*avoid, &self.meter).await;
        tally.change(|tally| tally.waited_ms += as_millis(waited));
        let visit = visit.map_err(|_| TryError::new(ChatErrorKind::CircuitOpen, "every endpoint keeps failing"))?;
        *avoid = Some(visit.index);
        let sent = Instant::now();
        let result = self.visit(&visit, ask, spending).await;
        visit.report(result.as_ref().err());
        self.adapt(&result, sent, expected);
        result
    }

    /// One try at one endpoint, within the time of a whole try.
    async fn visit(&self, visit: &Visit<'_>, ask: &Ask, spending: &mut Spending<'_>) -> Result<Answer, TryError> {
        let _counted = self.meter.enter();
        spending.at_endpoint = true;
        let limit = self.settings.timeouts.total;
        let result = tokio::time::timeout(limit, visit.backend().ask(ask)).await.unwrap_or_else(|_| {
            let message = format!("no complete reply within {} s", limit.as_secs_f64());
            Err(TryError::new(ChatErrorKind::Timeout, message))
        });
        spending.at_endpoint = false;
        match &result {
            Ok(answer) => spending.add(&answer.usage()),
            Err(error) => match error.usage {
                Some(usage) => spending.add(&usage),
                // The endpoint may well have read the prompt and go on working: it counts as used.
                None if error.kind == ChatErrorKind::Timeout => spending.add(&spending.prompt_only()),
                None => {}
            },
        }
        result
    }

    /// Lets limits follow what the endpoint said.
    fn adapt(&self, result: &Result<Answer, TryError>, sent: Instant, expected: u64) {
        match result {
            Ok(answer) => {
                self.gate.grow();
                let usage = answer.usage();
                let average = self.completion.load(Ordering::Relaxed);
                // Lost updates of a moving average do no harm.
                self.completion.store((average * 7 + usage.completion_tokens).div_ceil(8), Ordering::Relaxed);
                if let Some(bucket) = &self.tokens {
                    bucket.correct(as_units(expected) - as_units(usage.prompt_tokens + usage.completion_tokens));
                }
            }
            Err(error) if error.kind == ChatErrorKind::RateLimited => {
                self.gate.cut(sent, Instant::now());
                if let Some(bucket) = &self.requests {
                    bucket.cut(sent);
                }
                if let Some(bucket) = &self.tokens {
                    bucket.cut(sent);
                    bucket.correct(as_units(expected));
                }
            }
            Err(_) => {}
        }
    }

    /// Waits for something, counted and timed.
    async fn waiting<T>(&self, reason: WaitReason, tally: &Tally, wait: impl Future<Output = T>) -> T {
        let started = Instant::now();
        let counted = self.meter.wait(reason);
        let result = wait.await;
        drop(counted);
        tally.change(|tally| tally.waited_ms += as_millis(started));
        result
    }

    async fn record(
        &self,
        ask: &Ask,
        key: ContentHash,
        result: &Result<Answer, ChatError>,
        led: bool,
        tally: Tallied,
        latency_ms: u64,
    ) {
        let (outcome, usage, cached) = match result {
            Ok(answer) => (CallOutcome::Answered(answer.finish()), answer.usage(), answer.cached()),
            Err(error) => {
                if led {
                    self.meter.call_failed(error.kind);
                }
                (CallOutcome::Failed { kind: error.kind, message: error.message.clone() }, tally.usage, false)
            }
        };
        let record = CallRecord {
            role: self.role,
            kind: match ask {
                Ask::Chat(_) => CallKind::Chat,
                Ask::Embed(_) => CallKind::Embed,
            },
            tag: ask.tag().clone(),
            model: self.shape.model.clone(),
            key,
            outcome,
            // Tries that failed but were counted belong to the call that made them.
            usage: if cached { usage } else { tally.usage },
            cost: tally.cost,
            cached,
            retries: tally.retries,
            waited_ms: tally.waited_ms,
            latency_ms,
            ended_unix_ms: unix_ms(),
        };
        self.around.ledger.enter(&record);
        if let Some(sink) = &self.around.sink {
            sink.record(record).await;
        }
    }

    /// The state for displays.
    pub(in crate::llm) fn status(&self) -> RoleStatus {
        let seconds = |reason| match reason {
            WaitReason::RateLimit => {
                let buckets = self.requests.iter().chain(&self.tokens).map(|bucket| bucket.wait().as_secs());
                buckets.max().unwrap_or(0).max(self.endpoints.shortest_wait(reason))
            }
            WaitReason::Circuit => self.endpoints.shortest_wait(reason),
            WaitReason::Budget | WaitReason::Concurrency | WaitReason::Backoff => 0,
        };
        let waiting = |reason| Waiting { reason, calls: self.meter.waiting(reason), seconds: seconds(reason) };
        let shares = self.requests.iter().chain(&self.tokens).map(Bucket::share);
        RoleStatus {
            role: self.role,
            model: self.shape.model.clone(),
            in_flight: self.meter.in_flight(),
            concurrency: u64::try_from(self.gate.limit()).unwrap_or(u64::MAX),
            rate_share: shares.fold(1.0, f64::min),
            calls_per_minute: self.meter.calls_per_minute(),
            failed_tries: self.meter.failed_tries(),
            errors: self.meter.errors(),
            retries: self.meter.retries(),
            waiting: WaitReason::ALL.into_iter().map(waiting).filter(|waiting| waiting.calls > 0).collect(),
            endpoints: self.endpoints.status(),
        }
    }

    /// Prompt by estimate, completion at its longest.
    fn estimate(&self, ask: &Ask) -> Usage {
        let completion_tokens = match ask {
            Ask::Chat(request) => u64::from(self.shape.max_tokens(request)),
            Ask::Embed(_) => 0,
        };
        Usage { prompt_tokens: estimate_ask(ask), cached_tokens: 0, completion_tokens, estimated: true }
    }

    fn cost(&self, usage: &Usage) -> Money {
        self.price.map_or(Money::ZERO, |price| price.of(usage))
    }

    fn error(&self, kind: ChatErrorKind, message: &str) -> ChatError {
        ChatError { kind, role: self.role, message: message.to_owned() }
    }
}

/// What one call uses up. However the call ends, dropped by its caller included, the budget and the totals learn it.
struct Spending<'a> {
    governed: &'a Governed,
    tag: &'a CallTag,
    reservation: Reservation<'a>,
    prompt_estimate: u64,
    used: Usage,
    at_endpoint: bool,
    settled: bool,
}

impl<'a> Spending<'a> {
    fn new(governed: &'a Governed, tag: &'a CallTag, reservation: Reservation<'a>, prompt_estimate: u64) -> Self {
        Self { governed, tag, reservation, prompt_estimate, used: Usage::default(), at_endpoint: false, settled: false }
    }

    fn add(&mut self, usage: &Usage) {
        self.used.prompt_tokens += usage.prompt_tokens;
        self.used.cached_tokens += usage.cached_tokens;
        self.used.completion_tokens += usage.completion_tokens;
        self.used.estimated |= usage.estimated;
        self.reservation.charge(self.amount());
    }

    fn prompt_only(&self) -> Usage {
        Usage { prompt_tokens: self.prompt_estimate, estimated: true, ..Usage::default() }
    }

    fn amount(&self) -> Amount {
        let tokens = self.used.prompt_tokens + self.used.completion_tokens;
        Amount { cost: self.governed.cost(&self.used), tokens }
    }

    fn settle(mut self, tally: &Tally) {
        self.settled = true;
        tally.change(|tally| {
            tally.usage = self.used;
            tally.cost = self.governed.cost(&self.used);
        });
    }
}

impl Drop for Spending<'_> {
    fn drop(&mut self) {
        if self.settled {
            return;
        }
        if self.at_endpoint {
            self.add(&self.prompt_only());
        }
        if self.used != Usage::default() {
            let cost = self.governed.cost(&self.used);
            self.governed.around.ledger.abandon(self.governed.role, self.tag, &self.used, cost);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "a rate needs no exact count")]
fn as_units(tokens: u64) -> f64 {
    tokens as f64
}

fn as_millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_millis()).unwrap_or(u64::MAX)
}
