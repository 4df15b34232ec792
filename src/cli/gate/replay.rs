//! `trm gate replay --evidence FILE`: the audit of exported evidence.

use std::path::PathBuf;

use serde_json::json;

use super::super::{CliError, Context};
use super::params::ParamArgs;
use super::read_text;
use crate::evolution::gate::{Difference, GateParams, explain_decision};
use crate::harness::gate_replay::{AuditedGate, ReplayError, audit_evidence};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Exported evidence, one JSON row per line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    evidence: PathBuf,
    /// Units of each plan, for rows that do not tell it.
    #[arg(long, value_name = "N")]
    n_plan: Option<u32>,
    #[command(flatten)]
    params: ParamArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let params = args.params.over(GateParams::default())?;
    let gates = audit_evidence(&read_text(&args.evidence)?, &params, args.n_plan)?;
    let differing = gates.iter().filter(|gate| !gate.replay.differences.is_empty()).count();
    if context.json() {
        let rows: Vec<_> = gates.iter().map(gate_value).collect();
        context.write_json(&json!({"gates": rows, "differing": differing, "params": params}))?;
    } else {
        gates.iter().try_for_each(|gate| print_gate(gate, &params, context))?;
    }
    if differing > 0 { Err(ReplayError::Differs { differing, gates: gates.len() }.into()) } else { Ok(()) }
}

fn print_gate(gate: &AuditedGate, params: &GateParams, context: &mut Context) -> Result<(), CliError> {
    let replay = &gate.replay;
    let result = match replay.verdict {
        Some(verdict) => {
            let remaining = gate.n_plan.saturating_sub(replay.n_excluded).saturating_sub(replay.n_used);
            explain_decision(verdict.decision, replay.flips, replay.n_used.into(), remaining.into(), params)
        }
        None => "every unit was excluded: there is no verdict".into(),
    };
    let result = match (replay.curtailed, replay.stop()) {
        (1.., None) => {
            format!("settled by curtailment with {} units to go, which the evidence allows", replay.curtailed)
        }
        _ => result,
    };
    let mark = if replay.differences.is_empty() { "same" } else { "DIFFERS" };
    context.line(format!("{mark:8}{}: {result}", gate.key.describe()))?;
    for Difference { ladder_rank, unit_id, field, stored, recomputed } in &replay.differences {
        let rank = ladder_rank.map_or_else(|| "-".into(), |rank| rank.to_string());
        let unit = unit_id.as_ref().map_or("-", AsRef::as_ref);
        context.line(format!("        rank {rank}, unit {unit}: {field} is {stored}, recomputed {recomputed}"))?;
    }
    Ok(())
}

fn gate_value(gate: &AuditedGate) -> serde_json::Value {
    let replay = &gate.replay;
    let differences: Vec<_> = replay
        .differences
        .iter()
        .map(|one| {
            json!({
                "ladder_rank": one.ladder_rank,
                "unit_id": one.unit_id,
                "field": one.field,
                "stored": one.stored,
                "recomputed": one.recomputed,
            })
        })
        .collect();
    json!({
        "gate": gate.key,
        "n_plan": gate.n_plan,
        "w": replay.flips.w(),
        "l": replay.flips.l(),
        "n_used": replay.n_used,
        "n_excluded": replay.n_excluded,
        "verdict": replay.verdict,
        "stop_reason": replay.stop(),
        "curtailed": replay.curtailed,
        "differences": differences,
    })
}
