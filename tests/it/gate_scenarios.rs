//! Whole gates against the golden scenarios, through the library and through the program.
#![expect(clippy::indexing_slicing, reason = "a golden file of another shape shall fail its test")]

use serde_json::Value;
use trm::evolution::scheduler::{ExpectedNeed, RoundRobin};
use trm::harness::gate_scenario::{Concurrency, Scenario, read_scenarios, scenario_outcome};

use crate::gate_support::{difference, vector, vector_text};

/// What the golden file expects of each scenario, by its place.
fn expected(name: &str) -> Vec<Value> {
    let file = vector(name);
    file["scenarios"].as_array().unwrap().iter().map(|scenario| scenario["expected"].clone()).collect()
}

/// Where the played outcome differs from the expected one; the message of an error is free.
fn compare(scenario: &Scenario, expected: &Value) -> Option<String> {
    let report = scenario.play(Box::new(RoundRobin::default()));
    assert!(report.peak_questions <= scenario.concurrency, "{}: more in flight than slots", scenario.id);
    let mut actual = scenario_outcome(&scenario.id, &report);
    let mut expected = expected.clone();
    actual.as_object_mut().unwrap().remove("id");
    for value in [&mut actual, &mut expected] {
        value.as_object_mut().unwrap().remove("message");
    }
    difference(&actual, &expected, &scenario.id)
}

#[test]
fn golden_scenarios_hold_as_given() {
    let scenarios = read_scenarios(&vector_text("scenarios.json")).unwrap();
    assert_eq!(scenarios.len(), 200);
    for (scenario, expected) in scenarios.iter().zip(expected("scenarios.json")) {
        assert_eq!(compare(scenario, &expected), None);
    }
}

#[test]
fn golden_scenarios_hold_under_any_latency_and_concurrency() {
    let rounds = std::env::var("TRM_GATE_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20);
    let scenarios = read_scenarios(&vector_text("scenarios.json")).unwrap();
    let expected = expected("scenarios.json");
    for seed in 0..rounds {
        for (scenario, expected) in scenarios.iter().zip(&expected) {
            let mut scenario = scenario.clone();
            scenario.draw_latencies(seed);
            scenario.set_concurrency(Concurrency::Drawn(seed));
            assert_eq!(compare(&scenario, expected), None, "seed {seed}, {} slots", scenario.concurrency);
        }
    }
}

#[test]
fn timed_scenarios_hold_with_their_own_latencies() {
    let scenarios = read_scenarios(&vector_text("scenarios_timed.json")).unwrap();
    assert_eq!(scenarios.len(), 40);
    for (scenario, expected) in scenarios.iter().zip(expected("scenarios_timed.json")) {
        assert_eq!(compare(scenario, &expected), None);
    }
}

/// Action per type, or the error's kind and type: all that curtailment must leave as it is.
fn essence(outcome: &Value) -> Value {
    match outcome.get("outcomes").and_then(Value::as_object) {
        Some(outcomes) => outcomes.iter().map(|(name, gate)| (name.clone(), gate["action"].clone())).collect(),
        None => serde_json::json!([outcome["error"], outcome["task_type"]]),
    }
}

#[test]
fn expected_need_decides_the_same_on_every_golden_scenario() {
    let scenarios = read_scenarios(&vector_text("scenarios.json")).unwrap();
    let expected = expected("scenarios.json");
    for (seed, tau) in [(0, 0.0), (1, 0.3), (2, 0.8)] {
        for (scenario, expected) in scenarios.iter().zip(&expected) {
            let mut scenario = scenario.clone();
            scenario.draw_latencies(seed);
            scenario.set_concurrency(Concurrency::Drawn(seed));
            let report = scenario.play(Box::new(ExpectedNeed::new(tau)));
            let actual = scenario_outcome(&scenario.id, &report);
            assert!(report.peak_questions <= scenario.concurrency);
            assert_eq!(essence(&actual), essence(expected), "{} seed {seed}, tau {tau}", scenario.id);
        }
    }
}
