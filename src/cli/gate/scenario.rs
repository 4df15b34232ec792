//! `trm gate scenario FILE`: whole gates with scripted answers, one outcome per line.

use std::path::PathBuf;

use super::super::{CliError, Context};
use super::params::PolicyArgs;
use super::read_text;
use crate::harness::gate_scenario::{Concurrency, read_scenarios, scenario_outcome};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// One scenario, a list of them, or {"scenarios": [...]}; `-` for standard input.
    file: PathBuf,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Question slots instead of each scenario's own: a number, or `random` (at least the largest
    /// unit, drawn from --latency-seed).
    #[arg(long, value_name = "N|random", value_parser = parse_slots)]
    concurrency: Option<Slots>,
    /// Draw every latency from this seed instead of taking the scenario's own.
    #[arg(long, value_name = "SEED")]
    latency_seed: Option<u64>,
}

#[derive(Debug, Clone, Copy)]
enum Slots {
    Fixed(usize),
    Random,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let concurrency = match args.concurrency {
        None => Concurrency::AsGiven,
        Some(Slots::Fixed(slots)) => Concurrency::Slots(slots),
        Some(Slots::Random) => Concurrency::Drawn(args.latency_seed.unwrap_or(0)),
    };
    for mut scenario in read_scenarios(&read_text(&args.file)?)? {
        if let Some(seed) = args.latency_seed {
            scenario.draw_latencies(seed);
        }
        scenario.set_concurrency(concurrency);
        let report = scenario.play(args.policy.policy(&crate::config::GateGroup::default()));
        context.line(scenario_outcome(&scenario.id, &report))?;
    }
    Ok(())
}

fn parse_slots(text: &str) -> Result<Slots, String> {
    if text == "random" {
        return Ok(Slots::Random);
    }
    match text.parse() {
        Ok(slots) if slots > 0 => Ok(Slots::Fixed(slots)),
        _ => Err("a number from 1, or 'random', is expected".into()),
    }
}
