//! The thresholds as flags.

use crate::evolution::gate::{GateError, GateParams};

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
