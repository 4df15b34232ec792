//! The gate's mathematics against the golden vectors, through the library.

use trm::evolution::gate::{
    Flips, GateError, GateParams, GateTree, best_e_value, e_value, gate_decision, probation_verdict,
};

use crate::gate_support::{close, rows, vector};

fn flips(row: &serde_json::Value) -> Flips {
    Flips::new(row["w"].as_i64().unwrap(), row["l"].as_i64().unwrap()).unwrap()
}

#[test]
fn every_e_value_is_right_to_twelve_digits() {
    let file = vector("e_values.json");
    let all: Vec<_> = rows(&file, "values").iter().chain(rows(&file, "large")).collect();
    assert!(all.len() > 3_321);
    for row in all {
        let (actual, expected) = (e_value(flips(row)), row["float"].as_f64().unwrap());
        assert!(close(actual, expected), "E({}, {}) = {actual} instead of {expected}", row["w"], row["l"]);
    }
}

#[test]
fn negative_counts_are_typed_errors() {
    let file = vector("e_values.json");
    for pair in rows(&file, "errors") {
        let result = Flips::new(pair[0].as_i64().unwrap(), pair[1].as_i64().unwrap());
        assert!(matches!(result, Err(GateError::NegativeCount { .. })), "{pair}: {result:?}");
    }
}

#[test]
fn every_decision_is_that_of_exact_arithmetic() {
    let file = vector("decisions.json");
    assert_eq!(rows(&file, "rows").len(), 2_000);
    for row in rows(&file, "rows") {
        let params: GateParams = serde_json::from_value(row["params"].clone()).unwrap();
        let (used, remaining) = (row["n_used"].as_u64().unwrap(), row["n_remaining"].as_u64().unwrap());
        let verdict = gate_decision(flips(row), used, remaining, &params).unwrap();
        let expected = &row["expected"];
        assert_eq!(verdict.decision.name(), expected["decision"], "{row}");
        for (name, actual) in [
            ("e_value", verdict.e_value),
            ("wald_lambda", verdict.wald_lambda),
            ("delta_hat", verdict.delta_hat),
            ("delta_shrunk", verdict.delta_shrunk),
            ("e_best", best_e_value(flips(row), remaining)),
        ] {
            assert!(close(actual, expected[name].as_f64().unwrap()), "{name}: {actual} in {row}");
        }
    }
}

#[test]
fn every_probation_is_that_of_exact_arithmetic() {
    let file = vector("probation.json");
    assert_eq!(rows(&file, "rows").len(), 300);
    for row in rows(&file, "rows") {
        let number = |name: &str| row[name].as_f64().unwrap();
        let params =
            GateParams { e_confirm: number("e_confirm"), e_rollback: number("e_rollback"), ..GateParams::default() };
        let probation = probation_verdict(flips(row), &params).unwrap();
        let expected = &row["expected"];
        assert_eq!(probation.verdict.name(), expected["verdict"], "{row}");
        assert!(close(probation.e_value, expected["e_value"].as_f64().unwrap()), "{row}");
        assert!(close(probation.e_swapped, expected["e_swapped"].as_f64().unwrap()), "{row}");
    }
}

/// The vectors tell exact arithmetic from rounded doubles: a gate that compared doubles would fail rows.
#[test]
fn comparing_rounded_doubles_would_fail_some_rows() {
    let file = vector("decisions.json");
    let naive = |row: &serde_json::Value| {
        let e = row["expected"]["e_value"].as_f64().unwrap();
        e >= row["params"]["e_confirm"].as_f64().unwrap()
            && row["expected"]["delta_hat"].as_f64().unwrap() >= row["params"]["delta_min"].as_f64().unwrap()
    };
    let wrong =
        rows(&file, "rows").iter().filter(|row| naive(row) != (row["expected"]["decision"] == "accept_confirmed"));
    assert!(wrong.count() > 0);
}

#[test]
fn the_exact_characteristics_are_the_golden_ones() {
    let file = vector("oc.json");
    let mut trees = std::collections::BTreeMap::new();
    for row in rows(&file, "rows") {
        let n_max = u32::try_from(row["n_max"].as_u64().unwrap()).unwrap();
        let tree = trees.entry(n_max).or_insert_with(|| GateTree::new(n_max, &GateParams::default()).unwrap());
        let number = |name: &str| row[name].as_f64().unwrap();
        let exact = tree.characteristics(number("pW"), number("pL"));
        for (name, actual) in [
            ("accept_confirmed", exact.accept_confirmed),
            ("accept_provisional", exact.accept_provisional),
            ("reject_directional", exact.reject_directional),
            ("reject_futility", exact.reject_futility),
            ("reject_inertia", exact.reject_inertia),
            ("expected_n_used", exact.expected_n_used),
            ("expected_E_stop", exact.expected_e_stop),
        ] {
            assert!((actual - number(name)).abs() < 1e-10, "{name}: {actual} in {row}");
        }
    }
}
