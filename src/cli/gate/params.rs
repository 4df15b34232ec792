//! The thresholds and the launch policy as flags.

use clap::ValueEnum;

use super::super::settings::ConfigArgs;
use super::super::{CliError, Context};
use crate::config::{self, RunConfig};
use crate::evolution::gate::{GateError, GateParams};
use crate::evolution::scheduler::LaunchPolicy;
use crate::harness::gate_policy::launch_policy;
use crate::harness::workspace::Workspace;

/// Thresholds that differ from the workspace's or the defaults.
#[derive(Debug, Clone, Copy, clap::Args)]
#[command(next_help_heading = "Thresholds")]
pub(super) struct ParamArgs {
    /// E from which a candidate is accepted for good [default: 20].
    #[arg(long, value_name = "E")]
    e_confirm: Option<f64>,
    /// E from which it is accepted on probation when the ladder is used up [default: 3].
    #[arg(long, value_name = "E")]
    e_provisional: Option<f64>,
    /// The least W - L of an accept on probation [default: 2].
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    w_net_min: Option<i64>,
    /// The least (W - L) / n_used of a confirmed accept [default: 0.02].
    #[arg(long, value_name = "SHARE", allow_negative_numbers = true)]
    delta_min: Option<f64>,
    /// Lambda at or below which a candidate is rejected [default: -0.642].
    #[arg(long, value_name = "LAMBDA", allow_negative_numbers = true)]
    lambda_dir: Option<f64>,
    /// E of harm from which probation ends in a rollback [default: 10].
    #[arg(long, value_name = "E")]
    e_rollback: Option<f64>,
}

impl ParamArgs {
    /// The thresholds that hold: each flag, else the base.
    pub(super) fn over(&self, base: GateParams) -> Result<GateParams, GateError> {
        let params = GateParams {
            e_confirm: self.e_confirm.unwrap_or(base.e_confirm),
            e_provisional: self.e_provisional.unwrap_or(base.e_provisional),
            w_net_min: self.w_net_min.unwrap_or(base.w_net_min),
            delta_min: self.delta_min.unwrap_or(base.delta_min),
            lambda_dir: self.lambda_dir.unwrap_or(base.lambda_dir),
            e_rollback: self.e_rollback.unwrap_or(base.e_rollback),
        };
        params.check()?;
        Ok(params)
    }
}

/// The configuration of the workspace that the command was started in; none outside of one.
pub(super) fn workspace_gate(context: &Context) -> Result<Option<RunConfig>, CliError> {
    // A folder that was named with -C must be a workspace; without it the defaults serve.
    if !context.has_directory() && Workspace::find(context.directory()).is_err() {
        return Ok(None);
    }
    Ok(Some(ConfigArgs::default().load(context, Vec::new())?.loaded.config))
}

/// Which arm starts next, on a virtual clock.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct PolicyArgs {
    /// Which arm starts next [default: that of the workspace, else round_robin]
    #[arg(long)]
    policy: Option<PolicyName>,
    /// With expected_need, start only arms that are needed with at least this probability [default: that of the workspace, else 0.3]
    #[arg(long, value_name = "P", value_parser = parse_share)]
    need_tau: Option<f64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PolicyName {
    /// Rank by rank over all types, base before candidate.
    #[value(name = "round_robin", alias = "round-robin")]
    RoundRobin,
    /// What is most probably needed first; stops when the verdict is certain.
    #[value(name = "expected_need", alias = "expected-need")]
    ExpectedNeed,
}

impl PolicyArgs {
    /// A fresh policy: each flag, else the base.
    pub(super) fn policy(&self, base: &config::GateGroup) -> Box<dyn LaunchPolicy> {
        let name = match self.policy {
            Some(PolicyName::RoundRobin) => config::LaunchPolicy::RoundRobin,
            Some(PolicyName::ExpectedNeed) => config::LaunchPolicy::ExpectedNeed,
            None => base.launch_policy,
        };
        launch_policy(name, self.need_tau.unwrap_or(base.need_tau))
    }
}

/// A number from 0 to 1.
pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    in_range(text, 0.0, 1.0)
}

/// A number of a range, both ends included.
pub(super) fn in_range(text: &str, low: f64, high: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (low..=high).contains(&number) => Ok(number),
        _ => Err(format!("a number from {low} to {high} is expected")),
    }
}
