//! Whole gates against the golden scenarios, through the library and through the program.
#![expect(clippy::indexing_slicing, reason = "a golden file of another shape shall fail its test")]

use serde_json::Value;
use trm::evolution::scheduler::RoundRobin;
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
