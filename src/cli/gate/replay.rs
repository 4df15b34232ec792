//! `trm gate replay`: the audit of stored steps and of exported evidence.

use std::path::PathBuf;

use serde_json::json;

use super::super::place::step_alone;
use super::super::settings::find_workspace;
use super::super::{CliError, Context};
use super::params::{ParamArgs, workspace_gate};
use super::read_text;
use crate::domain::RunId;
use crate::evolution::gate::{Difference, GateParams, explain_decision};
use crate::harness::gate_audit::audit_run;
use crate::harness::gate_replay::{AuditedGate, ReplayError, audit_evidence};
use crate::store::StoreReader;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The run; with nothing else, all its settled steps are audited.
    #[arg(value_name = "RUN", required_unless_present = "evidence", conflicts_with = "evidence")]
    run: Option<RunId>,
    /// The step: e1 s0 or e1s0.
    #[arg(value_name = "STEP", num_args = 0..=2, conflicts_with = "evidence")]
    place: Vec<String>,
    /// Exported evidence instead, one JSON row per line; `-` for standard input.
    #[arg(long, value_name = "FILE")]
    evidence: Option<PathBuf>,
    /// Units of each plan, for exported rows that do not tell it.
    #[arg(long, value_name = "N", requires = "evidence")]
    n_plan: Option<u32>,
    #[command(flatten)]
    params: ParamArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    match &args.evidence {
        Some(file) => {
            let base = workspace_gate(context)?.map_or_else(GateParams::default, |config| config.gate.params());
            let params = args.params.over(base)?;
            let gates = audit_evidence(&read_text(file)?, &params, args.n_plan)?;
            finish(&gates, &params, json!({}), context)
        }
        None => stored(args, context),
    }
}

fn stored(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let place = if args.place.is_empty() { None } else { Some(step_alone(&args.place)?) };
    let snapshot = StoreReader::open(find_workspace(context)?.store())?.snapshot()?;
    let audit = audit_run(&snapshot, args.run.as_ref(), place, |stored| args.params.over(stored))?;
    drop(snapshot);
    if !context.json() {
        for step in &audit.unsettled {
            context.line(format_args!("passed over {step}: it is not settled"))?;
        }
        if audit.ungated > 0 {
            context.line(format_args!("nothing was gated for {} task types of these steps", audit.ungated))?;
        }
    }
    let unsettled: Vec<String> = audit.unsettled.iter().map(ToString::to_string).collect();
    let more = json!({"run_id": audit.run, "ungated": audit.ungated, "unsettled": unsettled});
    finish(&audit.gates, &audit.params, more, context)
}

/// Prints the audited gates; differences end with the exit code for them.
fn finish(
    gates: &[AuditedGate],
    params: &GateParams,
    more: serde_json::Value,
    context: &mut Context,
) -> Result<(), CliError> {
    let differing = gates.iter().filter(|gate| !gate.replay.differences.is_empty()).count();
    if context.json() {
        let rows: Vec<_> = gates.iter().map(gate_value).collect();
        let mut value = json!({"gates": rows, "differing": differing, "params": params});
        if let (Some(value), serde_json::Value::Object(more)) = (value.as_object_mut(), more) {
            value.extend(more);
        }
        context.write_json(&value)?;
    } else {
        gates.iter().try_for_each(|gate| print_gate(gate, params, context))?;
        if differing == 0 {
            context.line(format_args!("{} gates, every verdict confirmed", gates.len()))?;
        }
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
