//! `trm gate simulate`: what a configured gate accepts, finds and costs.

use comfy_table::{CellAlignment, Table, presets};
use serde::Serialize;

use super::super::{CliError, Context};
use super::params::{ParamArgs, PolicyArgs, in_range, parse_share, workspace_gate};
use crate::config::RunConfig;
use crate::harness::gate_simulation::{
    EffectRow, GAINS, MonteCarloRow, MonteCarloSettings, Simulation, SimulationSettings, monte_carlo, simulate,
};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Units per ladder [default: gate.n_max of the workspace, else 40].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=5000))]
    n_max: Option<u32>,
    /// Share of units that flip each way although nothing improved (half the flip rate of a skill against itself).
    #[arg(long, default_value_t = 0.1, value_parser = parse_noise, value_name = "SHARE")]
    noise: f64,
    /// Questions per unit: 1, up to 2 with pairs.
    #[arg(long, default_value_t = 1.0, value_parser = parse_questions, value_name = "N")]
    questions_per_unit: f64,
    /// Gates in the run, for the number of false accepts to expect.
    #[arg(long, value_name = "N")]
    gates: Option<u32>,
    /// Also play N steps per effect through the real scheduler in virtual time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    monte_carlo: Option<u32>,
    /// Task types gated in each played step.
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    types: u32,
    /// Question slots of the played scheduler [default: agent.concurrency of the workspace, else 32].
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    concurrency: Option<u32>,
    /// Share of base answers that the baseline cache holds in a played step.
    #[arg(long, default_value_t = 0.0, value_parser = parse_share, value_name = "SHARE")]
    cached: f64,
    /// How many times longer a wrong answer takes in a played step.
    #[arg(long, default_value_t = 3.0, value_parser = parse_factor, value_name = "FACTOR")]
    wrong_factor: f64,
    #[command(flatten)]
    policy: PolicyArgs,
    /// Draws the played answers and run times.
    #[arg(long, default_value_t = 42)]
    seed: u64,
    #[command(flatten)]
    params: ParamArgs,
}

#[derive(Debug, Serialize)]
struct Report {
    #[serde(flatten)]
    exact: Simulation,
    #[serde(skip_serializing_if = "Option::is_none")]
    expected_false_accepts: Option<FalseAccepts>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    monte_carlo: Vec<MonteCarloRow>,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct FalseAccepts {
    gates: u32,
    confirmed: f64,
    provisional: f64,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let workspace = workspace_gate(context)?;
    let gate = workspace.as_ref().map(|config| config.gate.clone()).unwrap_or_default();
    let settings = SimulationSettings {
        params: args.params.over(gate.params())?,
        n_max: args.n_max.unwrap_or(u32::try_from(gate.n_max).unwrap_or(u32::MAX).min(5_000)),
        noise: args.noise,
        questions_per_unit: args.questions_per_unit,
    };
    let exact = simulate(&settings)?;
    let expected_false_accepts = args.gates.and_then(|gates| {
        let row = exact.no_effect.iter().find(|row| (row.p_win - args.noise).abs() < 1e-9)?;
        let times = |share: f64| share * f64::from(gates);
        Some(FalseAccepts { gates, confirmed: times(row.accept_confirmed), provisional: times(row.accept_provisional) })
    });
    let report = Report { exact, expected_false_accepts, monte_carlo: played(args, settings, workspace.as_ref())? };
    if context.json() { context.write_json(&report) } else { print(&report, context) }
}

fn played(
    args: &Args,
    simulation: SimulationSettings,
    workspace: Option<&RunConfig>,
) -> Result<Vec<MonteCarloRow>, CliError> {
    let Some(repetitions) = args.monte_carlo else { return Ok(Vec::new()) };
    let slots =
        args.concurrency.map(|slots| slots as usize).or_else(|| Some(workspace?.agent.concurrency)).unwrap_or(32);
    let gate = workspace.map(|config| config.gate.clone()).unwrap_or_default();
    let settings = MonteCarloSettings {
        simulation,
        repetitions,
        types: args.types,
        concurrency: slots,
        cached: args.cached,
        wrong_factor: args.wrong_factor,
        seed: args.seed,
    };
    let play = |gain: &f64| monte_carlo(&settings, *gain, || args.policy.policy(&gate)).map_err(CliError::from);
    [0.0].iter().chain(&GAINS).map(play).collect()
}

fn print(report: &Report, context: &mut Context) -> Result<(), CliError> {
    let Simulation { params, n_max, noise, .. } = &report.exact;
    context.line(format!(
        "Gate of {n_max} units: confirmed from E = {}, on probation from E = {}, rejected at lambda = {}",
        params.e_confirm, params.e_provisional, params.lambda_dir
    ))?;
    let units = |units: Option<u32>| units.map_or_else(|| "no number of".into(), |units| units.to_string());
    context.line(format!(
        "An accept takes at least {} units on probation, {} units confirmed, all of them won",
        units(report.exact.units_to_provisional),
        units(report.exact.units_to_confirm)
    ))?;
    let wins: Vec<String> = report.exact.wins_to_confirm.iter().map(|wins| units(*wins)).collect();
    context.line(format!("Wins to be confirmed against 0, 1, 2, 3, 4 losses: {}", wins.join(", ")))?;
    context.line("\nNo effect (every accept is false), by the share of units that flip each way:")?;
    let mut table = effect_table("flips each way");
    for row in &report.exact.no_effect {
        table.add_row(effect_cells(percent(row.p_win), row));
    }
    context.line(table)?;
    context.line(format!("\nTrue gain, with {} of the units flipping each way besides:", percent(*noise)))?;
    let mut table = effect_table("gain in accuracy");
    for row in &report.exact.effects {
        table.add_row(effect_cells(format!("{:+.0} points", row.gain * 100.0), row));
    }
    context.line(table)?;
    if !report.monte_carlo.is_empty() {
        print_played(&report.monte_carlo, context)?;
    }
    if let Some(FalseAccepts { gates, confirmed, provisional }) = report.expected_false_accepts {
        context.line(format!(
            "\n{gates} gates without any effect: {confirmed:.1} false accepts confirmed and {provisional:.1} on \
             probation are to be expected"
        ))?;
    }
    for warning in &report.exact.warnings {
        context.line(format!("\nwarning: {warning}"))?;
    }
    Ok(())
}

fn print_played(rows: &[MonteCarloRow], context: &mut Context) -> Result<(), CliError> {
    context.line("\nPlayed through the scheduler (± one standard error):")?;
    let mut table = plain_table(&[
        "gain in accuracy",
        "gates",
        "confirmed",
        "on probation",
        "units",
        "waste",
        "verdicts ÷ least",
        "end ÷ least",
    ]);
    for row in rows {
        table.add_row(vec![
            format!("{:+.0} points", row.gain * 100.0),
            row.gates.to_string(),
            format!("{} ± {:.2}", percent(row.accept_confirmed), row.accept_confirmed_se * 100.0),
            format!("{} ± {:.2}", percent(row.accept_provisional), row.accept_provisional_se * 100.0),
            format!("{:.1} ± {:.2}", row.mean_units, row.mean_units_se),
            percent(row.waste),
            format!("{:.2}", row.decided_ratio),
            format!("{:.2}", row.wall_ratio),
        ]);
    }
    context.line(table)
}

fn effect_table(first: &str) -> Table {
    plain_table(&[first, "confirmed", "on probation", "rejected", "of these directional", "units", "questions"])
}

fn effect_cells(first: String, row: &EffectRow) -> Vec<String> {
    let rejected = row.reject_directional + row.reject_futility + row.reject_inertia;
    vec![
        first,
        percent(row.accept_confirmed),
        percent(row.accept_provisional),
        percent(rejected),
        percent(row.reject_directional),
        format!("{:.1}", row.expected_units),
        format!("{:.0}", row.expected_questions),
    ]
}

fn plain_table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

fn percent(share: f64) -> String {
    // Rare events are the point of the table: two digits where one would read as never.
    if share > 0.0 && share < 0.01 { format!("{:.2} %", share * 100.0) } else { format!("{:.1} %", share * 100.0) }
}

fn parse_noise(text: &str) -> Result<f64, String> {
    in_range(text, 0.0, 0.5)
}

fn parse_questions(text: &str) -> Result<f64, String> {
    in_range(text, 1.0, 2.0)
}

fn parse_factor(text: &str) -> Result<f64, String> {
    in_range(text, 0.01, 1_000.0)
}
