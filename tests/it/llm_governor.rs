//! What stands around model calls, in virtual time and with scripted endpoints.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{Instant, sleep};
use trm::domain::{CallTag, ChatErrorKind, ChatModel, EmbedModel, EmbedReply, EmbedRequest, Role, Usage};
use trm::llm::{
    Answer, Ask, BudgetSettings, CallOutcome, CallRecord, CallSink, CircuitState, HubParts, LlmSettings, Money, Price,
    RecordFuture, RoleSettings, TryError, WaitReason,
};
use trm::runtime::spawn;

use crate::llm_support::{answer, scripted_hub, scripted_settings, turn};

fn throttled(seconds: u64) -> TryError {
    TryError { retry_after: Some(Duration::from_secs(seconds)), ..TryError::new(ChatErrorKind::RateLimited, "429") }
}

/// Counts what is in flight at the same time.
#[derive(Debug, Default)]
struct Load {
    now: AtomicUsize,
    most: AtomicUsize,
    total: AtomicUsize,
}

impl Load {
    async fn work(self: Arc<Self>, seconds: f64) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        self.total.fetch_add(1, Ordering::SeqCst);
        sleep(Duration::from_secs_f64(seconds)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_in_flight_than_allowed() {
    let load = Arc::new(Load::default());
    let script = {
        let load = Arc::clone(&load);
        move |_| {
            let load = Arc::clone(&load);
            async move {
                load.work(1.0).await;
                Ok(answer("C", 10, 5))
            }
        }
    };
    let settings = scripted_settings(|role| role.limits.max_concurrency = 7);
    let hub = scripted_hub(settings, HubParts::default(), vec![script]).await;
    let start = Instant::now();
    let replies = join_all((0..70).map(|number| hub.chat(turn(&number.to_string())))).await;
    assert!(replies.iter().all(Result::is_ok));
    assert_eq!((load.most.load(Ordering::SeqCst), start.elapsed().as_secs()), (7, 10));
}

#[tokio::test(start_paused = true)]
async fn requests_and_tokens_a_minute_are_kept() {
    let seconds = async |change: fn(&mut RoleSettings)| {
        let script = |_| async { Ok(answer("C", 40, 60)) };
        let hub = scripted_hub(scripted_settings(change), HubParts::default(), vec![script]).await;
        let start = Instant::now();
        join_all((0..121).map(|number| hub.chat(turn(&number.to_string())))).await;
        start.elapsed().as_secs()
    };
    assert_eq!(seconds(|role| role.limits.rpm = None).await, 0);
    assert_eq!(seconds(|role| role.limits.rpm = Some(60)).await, 120);
    // 100 tokens a call, 6,000 a minute: one call a second once the estimate has learnt what a completion is.
    let by_tokens = seconds(|role| role.limits.tpm = Some(6_000)).await;
    assert!((110..135).contains(&by_tokens), "{by_tokens}");
}

#[tokio::test(start_paused = true)]
async fn retry_after_pauses_every_call_of_the_endpoint_and_shows() {
    let start = Instant::now();
    let asked: Arc<Mutex<Vec<u64>>> = Arc::default();
    let script = {
        let asked = Arc::clone(&asked);
        move |_| {
            asked.lock().unwrap().push(start.elapsed().as_secs());
            let early = start.elapsed() < Duration::from_secs(45);
            async move { if early { Err(throttled(45)) } else { Ok(answer("C", 10, 5)) } }
        }
    };
    let hub = Arc::new(scripted_hub(scripted_settings(|_| ()), HubParts::default(), vec![script]).await);
    let first = spawn({
        let hub = Arc::clone(&hub);
        async move { hub.chat(turn("first")).await }
    });
    sleep(Duration::from_secs(1)).await;
    let others: Vec<_> = (0..5)
        .map(|number| {
            let hub = Arc::clone(&hub);
            spawn(async move { hub.chat(turn(&number.to_string())).await })
        })
        .collect();
    sleep(Duration::from_secs(4)).await;
    let status = hub.status();
    assert_eq!(status.waiting_line().unwrap(), "waiting for rate limit 0:40");
    assert_eq!(status.roles[0].waiting.iter().find(|wait| wait.reason == WaitReason::RateLimit).unwrap().calls, 6);
    assert_eq!(status.roles[0].endpoints[0].paused_seconds, 40);
    assert!(first.await.unwrap().is_ok());
    for other in others {
        assert!(other.await.unwrap().is_ok());
    }
    assert_eq!(asked.lock().unwrap().iter().filter(|second| **second < 45).count(), 1, "{asked:?}");
}

#[tokio::test(start_paused = true)]
async fn a_long_retry_after_is_capped_and_a_storm_ends() {
    let script = |_| async { Err(throttled(99_999)) };
    let hub = scripted_hub(scripted_settings(|_| ()), HubParts::default(), vec![script]).await;
    let start = Instant::now();
    let error = hub.chat(turn("q")).await.unwrap_err();
    assert_eq!(error.kind, ChatErrorKind::RateLimited);
    assert!(error.message.contains("after 20 retries"), "{error}");
    // 20 pauses of the cap of a minute, and not of a day.
    assert!((1200..1260).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_429_halves_concurrency_and_rate_and_both_recover() {
    let calls = Arc::new(AtomicU64::new(0));
    let script = {
        let calls = Arc::clone(&calls);
        move |_| {
            let number = calls.fetch_add(1, Ordering::SeqCst);
            async move {
                sleep(Duration::from_millis(100)).await;
                if number < 16 { Err(throttled(1)) } else { Ok(answer("C", 10, 5)) }
            }
        }
    };
    let settings = scripted_settings(|role| {
        role.limits.max_concurrency = 16;
        role.limits.rpm = Some(6_000);
    });
    let hub = scripted_hub(settings, HubParts::default(), vec![script]).await;
    let burst = join_all((0..16).map(|number| hub.chat(turn(&number.to_string()))));
    let look = async {
        sleep(Duration::from_millis(500)).await;
        hub.status()
    };
    let (replies, status) = futures::join!(burst, look);
    assert!(replies.iter().all(Result::is_ok));
    assert_eq!(status.roles[0].concurrency, 8, "one burst of refusals cuts once");
    assert!((0.69..0.75).contains(&status.roles[0].rate_share), "{}", status.roles[0].rate_share);
    join_all((100..400).map(|number| hub.chat(turn(&number.to_string())))).await;
    sleep(Duration::from_secs(60)).await;
    let status = hub.status();
    assert_eq!((status.roles[0].concurrency, status.roles[0].rate_share), (16, 1.0));
}

#[tokio::test(start_paused = true)]
async fn a_circuit_opens_probes_and_closes() {
    let start = Instant::now();
    let asked = Arc::new(AtomicU64::new(0));
    let script = {
        let asked = Arc::clone(&asked);
        move |_| {
            asked.fetch_add(1, Ordering::SeqCst);
            let up = start.elapsed() > Duration::from_secs(30);
            async move { if up { Ok(answer("C", 10, 5)) } else { Err(TryError::new(ChatErrorKind::Connection, "refused")) } }
        }
    };
    let settings = scripted_settings(|role| role.retry.circuit_failures = 8);
    let hub = Arc::new(scripted_hub(settings, HubParts::default(), vec![script]).await);
    let run = spawn({
        let hub = Arc::clone(&hub);
        async move { join_all((0..32).map(|number| hub.chat(turn(&number.to_string())))).await }
    });
    sleep(Duration::from_secs(3)).await;
    let status = hub.status();
    assert_eq!(status.roles[0].endpoints[0].circuit, CircuitState::Open);
    assert_eq!(status.roles[0].waiting.iter().find(|wait| wait.reason == WaitReason::Circuit).unwrap().calls, 32);
    let before_probes = asked.load(Ordering::SeqCst);
    assert!(run.await.unwrap().iter().all(Result::is_ok), "an outage of half a minute costs no call");
    // Probes after 5, 10 and 20 seconds more; the last succeeds and lets all pass.
    assert_eq!(asked.load(Ordering::SeqCst), before_probes + 2 + 32);
    assert_eq!(hub.status().roles[0].endpoints[0].circuit, CircuitState::Closed);
}

#[tokio::test(start_paused = true)]
async fn a_dead_endpoint_ends_every_call_in_bounded_time() {
    let script = |_| async { std::future::pending::<Result<Answer, TryError>>().await };
    let hub = scripted_hub(scripted_settings(|_| ()), HubParts::default(), vec![script]).await;
    let replies = join_all((0..64).map(|number| hub.chat(turn(&number.to_string())))).await;
    let kinds: Vec<_> = replies.iter().map(|reply| reply.as_ref().unwrap_err().kind).collect();
    assert!(kinds.iter().all(|kind| matches!(kind, ChatErrorKind::Timeout | ChatErrorKind::CircuitOpen)), "{kinds:?}");
}

#[tokio::test(start_paused = true)]
async fn calls_spread_over_the_endpoints() {
    let loads: Vec<Arc<Load>> = (0..3).map(|_| Arc::default()).collect();
    let script = |load: &Arc<Load>| {
        let load = Arc::clone(load);
        move |_| {
            let load = Arc::clone(&load);
            async move {
                load.work(1.0).await;
                Ok(answer("C", 10, 5))
            }
        }
    };
    let settings = scripted_settings(|role| role.limits.max_concurrency = 9);
    let hub = scripted_hub(settings, HubParts::default(), loads.iter().map(script).collect()).await;
    join_all((0..90).map(|number| hub.chat(turn(&number.to_string())))).await;
    for load in &loads {
        assert_eq!((load.total.load(Ordering::SeqCst), load.most.load(Ordering::SeqCst)), (30, 3));
    }
}

#[tokio::test(start_paused = true)]
async fn concurrent_equal_requests_make_one_call_and_different_places_do_not_share() {
    let load = Arc::new(Load::default());
    let script = {
        let load = Arc::clone(&load);
        move |_| {
            let load = Arc::clone(&load);
            async move {
                load.work(1.0).await;
                Ok(answer("C", 10, 5))
            }
        }
    };
    let hub = scripted_hub(scripted_settings(|_| ()), HubParts::default(), vec![script]).await;
    let replies: Vec<_> =
        join_all((0..10).map(|_| hub.chat(turn("q")))).await.into_iter().map(Result::unwrap).collect();
    assert_eq!(load.total.load(Ordering::SeqCst), 1);
    assert_eq!(replies.iter().filter(|reply| !reply.cached).count(), 1);
    assert!(replies.iter().all(|reply| reply.usage.prompt_tokens == 10));
    let totals = hub.status().totals;
    assert_eq!((totals.calls, totals.cached, totals.prompt_tokens, totals.saved_tokens), (1, 9, 10, 135));
    let mut other_phase = turn("q");
    other_phase.tag.phase_run = "run_e1_s0_gate_x_base".into();
    let mut other_sample = turn("q");
    other_sample.tag.sample = 1;
    join_all([turn("q"), other_phase, other_sample].map(|request| hub.chat(request))).await;
    assert_eq!(load.total.load(Ordering::SeqCst), 4);
}

#[tokio::test(start_paused = true)]
async fn a_dropped_call_hands_over_releases_and_is_counted() {
    let load = Arc::new(Load::default());
    let script = {
        let load = Arc::clone(&load);
        move |_| {
            let load = Arc::clone(&load);
            async move {
                load.work(1.0).await;
                Ok(answer("C", 10, 5))
            }
        }
    };
    let mut settings = scripted_settings(|role| role.limits.max_concurrency = 1);
    settings.budget.max_tokens = Some(1_000_000);
    let hub = Arc::new(scripted_hub(settings, HubParts::default(), vec![script]).await);
    let call = |item: &'static str| {
        let hub = Arc::clone(&hub);
        spawn(async move { hub.chat(turn(item)).await })
    };
    let leader = call("q");
    sleep(Duration::from_millis(500)).await;
    let follower = call("q");
    let queued = call("other");
    sleep(Duration::from_millis(100)).await;
    assert!(hub.status().budget.reserved_tokens > 2_000);
    drop(leader);
    drop(queued);
    assert!(!follower.await.unwrap().unwrap().cached);
    let status = hub.status();
    assert_eq!((status.budget.reserved_tokens, status.roles[0].in_flight), (0, 0));
    assert_eq!(status.roles[0].waiting, []);
    assert_eq!((status.totals.calls, status.totals.abandoned), (1, 1));
    assert!(status.budget.tokens > 15, "the dropped call's prompt counts as used");
    assert_eq!(status.budget.tokens, status.totals.prompt_tokens + status.totals.completion_tokens);
}

#[tokio::test(start_paused = true)]
async fn stopping_ends_calls_in_flight_and_later_ones() {
    let script = |_| async { std::future::pending::<Result<Answer, TryError>>().await };
    let hub = Arc::new(scripted_hub(scripted_settings(|_| ()), HubParts::default(), vec![script]).await);
    let calls: Vec<_> = (0..4)
        .map(|number| {
            let hub = Arc::clone(&hub);
            spawn(async move { hub.chat(turn(&number.to_string())).await })
        })
        .collect();
    sleep(Duration::from_secs(1)).await;
    hub.stop();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap_err().kind, ChatErrorKind::Cancelled);
    }
    assert_eq!(hub.chat(turn("late")).await.unwrap_err().kind, ChatErrorKind::Cancelled);
}

/// Settings with a price and a cap in dollars.
fn capped(max_usd: f64, max_tokens: u32) -> LlmSettings {
    let mut settings = scripted_settings(|role| {
        role.limits.max_concurrency = 64;
        role.max_tokens = max_tokens;
    });
    settings.prices.insert("scripted", Price { prompt: 1_000.0, cached: None, completion: 1_000.0 });
    settings.budget = BudgetSettings { max_usd: Some(max_usd), max_tokens: None };
    settings
}

#[tokio::test(start_paused = true)]
async fn a_cap_in_dollars_holds_at_concurrency_64() {
    // A tenth of a cent for a token; each call uses 15 to 114 tokens and may use 150.
    let used = Arc::new(AtomicU64::new(0));
    let script = {
        let used = Arc::clone(&used);
        move |ask: Ask| {
            let number: u64 = ask.tag().item.parse().unwrap();
            let completion = 5 + number * 37 % 100;
            let used = Arc::clone(&used);
            async move {
                sleep(Duration::from_millis(10 + number * 13 % 50)).await;
                used.fetch_add(10 + completion, Ordering::SeqCst);
                Ok(answer("C", 10, completion))
            }
        }
    };
    let hub = scripted_hub(capped(10.0, 150), HubParts::default(), vec![script]).await;
    let replies = join_all((0..1_000).map(|number| hub.chat(turn(&number.to_string())))).await;
    let refused = replies.iter().filter_map(|reply| reply.as_ref().err()).collect::<Vec<_>>();
    assert!(!refused.is_empty() && refused.iter().all(|error| error.kind == ChatErrorKind::Budget));
    let status = hub.status();
    assert!(status.budget.reached && status.budget.reserved == Money::ZERO);
    assert_eq!(status.budget.spent, Money::from_usd(used.load(Ordering::SeqCst) as f64 / 1_000.0));
    assert!(status.budget.spent <= Money::from_usd(10.0), "{}", status.budget.spent);
    // What could not be spent is less than one call's worst case.
    assert!(status.budget.spent >= Money::from_usd(9.8), "{}", status.budget.spent);
}

#[tokio::test(start_paused = true)]
async fn an_endpoint_that_uses_more_than_was_asked_for_overruns_by_what_is_in_flight_only() {
    let script = |_| async {
        sleep(Duration::from_millis(10)).await;
        Ok(answer("C", 10, 990))
    };
    // Reserved are some 20 + 80 tokens a call, used are 1,000.
    let hub = scripted_hub(capped(100.0, 80), HubParts::default(), vec![script]).await;
    join_all((0..1_000).map(|number| hub.chat(turn(&number.to_string())))).await;
    let spent = hub.status().budget.spent;
    assert!(spent <= Money::from_usd(100.0 + 64.0), "{spent}");
}

#[tokio::test]
async fn what_earlier_sessions_spent_counts_and_a_raised_cap_goes_on() {
    let script = || |_| async { Ok(answer("C", 10, 5)) };
    let spent = |dollars| HubParts { spent: Money::from_usd(dollars), ..HubParts::default() };
    let hub = scripted_hub(capped(10.0, 150), spent(9.99), vec![script()]).await;
    assert_eq!(hub.chat(turn("q")).await.unwrap_err().kind, ChatErrorKind::Budget);
    let hub = scripted_hub(capped(20.0, 150), spent(9.99), vec![script()]).await;
    assert!(hub.chat(turn("q")).await.is_ok());
    assert_eq!(hub.status().budget.spent, Money::from_usd(9.99 + 0.015));
}

#[derive(Debug, Default)]
struct Kept(Mutex<Vec<CallRecord>>);

impl CallSink for Kept {
    fn record(&self, record: CallRecord) -> RecordFuture<'_> {
        Box::pin(async move { self.0.lock().unwrap().push(record) })
    }
}

#[tokio::test(start_paused = true)]
async fn every_call_is_recorded_with_what_it_went_through() {
    let calls = AtomicU64::new(0);
    let script = move |ask: Ask| {
        let fails = ask.tag().item == "bad" || calls.fetch_add(1, Ordering::SeqCst) == 0;
        async move {
            sleep(Duration::from_secs(2)).await;
            if fails {
                let usage = Some(Usage { prompt_tokens: 7, ..Usage::default() });
                return Err(TryError { usage, ..TryError::new(ChatErrorKind::Malformed, "no choices") });
            }
            Ok(answer("C", 10, 5))
        }
    };
    let kept = Arc::new(Kept::default());
    let mut settings = capped(1_000.0, 100);
    settings.seed = 9;
    let hub =
        scripted_hub(settings, HubParts { sink: Some(Arc::clone(&kept) as _), ..HubParts::default() }, vec![script])
            .await;
    hub.chat(turn("good")).await.unwrap();
    hub.chat(turn("bad")).await.unwrap_err();
    let records = kept.0.lock().unwrap().clone();
    let good = &records[0];
    assert_eq!((good.tag.item.as_str(), good.retries, good.cached), ("good", 1, false));
    assert!(matches!(good.outcome, CallOutcome::Answered(Some(_))));
    // Tokens of the failed try are part of the call.
    assert_eq!((good.usage.prompt_tokens, good.usage.completion_tokens), (17, 5));
    assert_eq!(good.cost, Money::from_usd(0.022));
    assert!(good.latency_ms >= 4_000 && good.waited_ms <= 500, "{good:?}");
    let bad = &records[1];
    assert!(matches!(bad.outcome, CallOutcome::Failed { kind: ChatErrorKind::Malformed, .. }));
    assert_eq!((bad.retries, bad.usage.prompt_tokens), (5, 42));
    let rows = hub.usage();
    assert_eq!(rows.len(), 1);
    assert_eq!(
        (rows[0].role, rows[0].phase_run.as_str(), rows[0].purpose.as_str()),
        (Role::Search, "run_e1_s0", "turn")
    );
    assert_eq!((rows[0].totals.calls, rows[0].totals.failed, rows[0].totals.retries), (1, 1, 6));
    assert_eq!(hub.status().budget.spent, rows[0].totals.cost);
}

#[tokio::test]
async fn long_lists_of_texts_are_embedded_in_several_requests() {
    let sizes: Arc<Mutex<Vec<usize>>> = Arc::default();
    let seen = Arc::clone(&sizes);
    let script = move |ask: Ask| {
        let Ask::Embed(request) = ask else { panic!("embeddings were asked for") };
        seen.lock().unwrap().push(request.texts.len());
        async move {
            let vectors = request.texts.iter().map(|text| vec![text.parse().unwrap()]).collect();
            Ok(Answer::Embed(EmbedReply {
                vectors,
                usage: Usage { prompt_tokens: 1, ..Usage::default() },
                cached: false,
                latency_ms: 0,
            }))
        }
    };
    let mut settings = scripted_settings(|_| ());
    let role = settings.roles.remove(&Role::Search).unwrap();
    settings.roles.insert(Role::Embed, role);
    let backend = Arc::new(crate::llm_support::Scripted(script));
    let backends = [(Role::Embed, vec![("endpoint".to_owned(), backend as _)])].into();
    let hub = trm::llm::ModelHub::open(settings, HubParts { backends, ..HubParts::default() }).await.unwrap();
    let texts = (0..150).map(|number| number.to_string()).collect();
    let reply = hub.embed(EmbedRequest { texts, tag: CallTag::default() }).await.unwrap();
    assert_eq!(reply.vectors, (0_u8..150).map(|number| vec![f32::from(number)]).collect::<Vec<_>>());
    assert_eq!(reply.usage.prompt_tokens, 3);
    assert_eq!(*sizes.lock().unwrap(), [64, 64, 22]);
    assert_eq!(hub.chat(turn("q")).await.unwrap_err().kind, ChatErrorKind::Configuration);
}
