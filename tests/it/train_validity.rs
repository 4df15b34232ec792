//! What a training accepts, over many seeds: gains on the untouched test pool, and how often the gate is fooled.
//!
//! `TRM_TRAIN_SEEDS` sets how many seeds (1 in an ordinary test run, which checks the bookkeeping only),
//! `TRM_TRAIN_BIN` a faster build of the program; `tools/prove/train-validity` sets both and asserts the statistics.

use std::path::Path;
use std::process::Command;

use serde_json::Value;
use statrs::distribution::{Binomial, DiscreteCDF};
use trm::domain::RunId;
use trm::evolution::gate::GateParams;
use trm::harness::gate_simulation::{EffectRow, SimulationSettings, simulate};
use trm::sim::world::{damages_in, strategies_in};
use trm::store::rows::{Evolution, StepAction, StepReport, VersionKind};
use trm::store::{Scope, Target};

use crate::support::trm;
use crate::train_support::store;

fn seeds() -> u64 {
    std::env::var("TRM_TRAIN_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// Trains the bundled example with a seed; the summary as JSON.
fn train(folder: &Path, seed: u64, settings: &[&str]) -> Value {
    let ws = folder.join("ws");
    trm().args(["init", "--example"]).arg(&ws).assert().success();
    let binary = std::env::var_os("TRM_TRAIN_BIN").unwrap_or_else(|| env!("CARGO_BIN_EXE_trm").into());
    let mut command = Command::new(binary);
    command.env_clear().arg("-C").arg(&ws).args(["--json", "train", "--set", &format!("run.seed={seed}")]);
    command.args(["--set", "agent.tool_summaries=raw", "--set", "llm.cache.backend=off"]);
    for setting in settings {
        command.args(["--set", setting]);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// One gate that was decided, and what its candidate truly was.
struct Gate {
    action: StepAction,
    /// It says something that hurts, which the text before did not.
    harmful: bool,
    /// It says nothing that helps or hurts, beyond the text before.
    null: bool,
    n_plan: u32,
}

/// All decided gates of a training.
fn gates(folder: &Path) -> Vec<Gate> {
    let snapshot = store(&folder.join("ws")).snapshot().unwrap();
    let run: RunId = "train1".parse().unwrap();
    let mut gates = Vec::new();
    for scope in snapshot.scopes(&run).unwrap() {
        if !matches!(scope, Scope::Step(_)) {
            continue;
        }
        for (task_type, report) in snapshot.rows::<StepReport>(&run, scope).unwrap() {
            let Some(n_plan) = report.n_plan else { continue };
            let target = Target::Skill(task_type.clone());
            let evolution = snapshot.row::<Evolution>(&run, scope, &target).unwrap().unwrap();
            let before = snapshot.version_texts(VersionKind::Skills, evolution.source_version).unwrap();
            let (file, after) = &evolution.candidate[0];
            let before = &before[file];
            let harmful = !damages_in(after).is_subset(&damages_in(before));
            let helpful = !strategies_in(after).is_subset(&strategies_in(before));
            let lost = !strategies_in(before).is_subset(&strategies_in(after));
            gates.push(Gate {
                action: report.action,
                harmful: harmful || lost,
                null: !(harmful || helpful || lost),
                n_plan,
            });
        }
    }
    gates
}

/// The exact chances of an accept without any effect, for ladders of this length: confirmed, on probation.
fn without_effect(n_max: u32) -> (f64, f64) {
    let settings = SimulationSettings { params: GateParams::default(), n_max, noise: 0.15, questions_per_unit: 1.0 };
    let simulated = simulate(&settings).unwrap();
    // How often equal skills differ is not known exactly: the worst of the noise levels is the bound.
    let worst = |of: &dyn Fn(&EffectRow) -> f64| simulated.no_effect.iter().map(of).fold(0.0, f64::max);
    (worst(&|row| row.accept_confirmed), worst(&|row| row.accept_provisional))
}

/// The largest count that is still likely (97.5 %) among so many gates.
fn at_most(gates: usize, chance: f64) -> u64 {
    Binomial::new(chance, gates as u64).unwrap().inverse_cdf(0.975)
}

fn count(gates: &[Gate], action: StepAction, of: impl Fn(&Gate) -> bool) -> (u64, usize) {
    let chosen: Vec<&Gate> = gates.iter().filter(|gate| of(gate)).collect();
    (chosen.iter().filter(|gate| gate.action == action).count() as u64, chosen.len())
}

#[test]
fn trained_skills_are_better_on_the_test_pool_and_harm_is_rare() {
    let (mut gains, mut all) = (Vec::new(), Vec::new());
    for seed in 1..=seeds() {
        let folder = tempfile::tempdir().unwrap();
        let summary = train(folder.path(), seed, &[]);
        let gain = &summary["test"]["gain"];
        eprintln!(
            "seed {seed}: {} confirmed, {} on probation, {} refused; test gain {:+.3} ({:+.3} to {:+.3}); {:.1} s",
            summary["confirmed"],
            summary["provisional"],
            summary["rejected"],
            gain["estimate"].as_f64().unwrap(),
            gain["low"].as_f64().unwrap(),
            gain["high"].as_f64().unwrap(),
            summary["seconds"].as_f64().unwrap()
        );
        gains.push(gain["estimate"].as_f64().unwrap());
        all.extend(gates(folder.path()));
    }
    assert!(!all.is_empty(), "gates were decided");
    let n = gains.len() as f64;
    let mean = gains.iter().sum::<f64>() / n;
    let spread = (gains.iter().map(|gain| (gain - mean).powi(2)).sum::<f64>() / (n - 1.0).max(1.0)).sqrt();
    let low = mean - 2.1 * spread / n.sqrt();
    let (confirmed, provisional) = without_effect(all.iter().map(|gate| gate.n_plan).max().unwrap());
    let (harm_confirmed, harmful) = count(&all, StepAction::AcceptConfirmed, |gate| gate.harmful);
    let (harm_provisional, _) = count(&all, StepAction::AcceptProvisional, |gate| gate.harmful);
    eprintln!(
        "{} seeds: mean gain {mean:+.4}, 95 % from {low:+.4}; {} gates, {harmful} with a harmful candidate: \
         {harm_confirmed} confirmed (likely at most {}), {harm_provisional} on probation (likely at most {})",
        gains.len(),
        all.len(),
        at_most(harmful, confirmed),
        at_most(harmful, provisional)
    );
    if gains.len() >= 10 {
        assert!(low > 0.0);
        assert!(harm_confirmed <= at_most(harmful, confirmed));
        assert!(harm_provisional <= at_most(harmful, provisional));
    }
}

#[test]
fn without_any_effect_the_gate_accepts_as_rarely_as_predicted() {
    let mut all = Vec::new();
    for seed in 1..=seeds() {
        let folder = tempfile::tempdir().unwrap();
        train(folder.path(), 1_000 + seed, &["sim.writer.miss=1.0", "sim.writer.damage=0.0"]);
        all.extend(gates(folder.path()));
    }
    let (accepted, nulls) = count(&all, StepAction::AcceptConfirmed, |gate| gate.null);
    let (provisional, _) = count(&all, StepAction::AcceptProvisional, |gate| gate.null);
    let (confirmed_chance, provisional_chance) = without_effect(all.iter().map(|gate| gate.n_plan).max().unwrap());
    eprintln!(
        "{nulls} of {} gates without an effect: {accepted} confirmed (exactly {:.2} % expected, likely at most {}), \
         {provisional} on probation ({:.2} % expected, likely at most {})",
        all.len(),
        confirmed_chance * 100.0,
        at_most(nulls, confirmed_chance),
        provisional_chance * 100.0,
        at_most(nulls, provisional_chance)
    );
    assert!(nulls > 0);
    if nulls >= 100 {
        assert!(accepted <= at_most(nulls, confirmed_chance));
        assert!(provisional <= at_most(nulls, provisional_chance));
    }
}
