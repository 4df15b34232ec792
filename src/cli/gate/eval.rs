//! `trm gate eval`: verdicts from counts.

use std::io::{BufRead, BufReader, IsTerminal};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;

use super::super::{CliError, Context};
use super::GateCliError;
use super::params::ParamArgs;
use crate::evolution::gate::{
    Flips, GateParams, NoKind, best_e_value, e_value, explain_decision, gate_decision, probation_verdict, wald_lambda,
};
use crate::harness::gate_eval::{count, eval_line};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Lines: {\"w\", \"l\", \"n_used\", \"n_remaining\", \"params\": {…}} for a verdict, \
{\"kind\": \"probation\", \"w\", \"l\"}, {\"kind\": \"e_value\", \"w\", \"l\"}. \
An \"id\" is repeated in the answer. A bad line is answered by {\"line\", \"error\"}; the exit code is then 3.")]
pub(super) struct Args {
    /// A file of JSON lines instead of standard input.
    #[arg(value_name = "FILE", conflicts_with = "w")]
    file: Option<PathBuf>,
    /// One case for a person: units that the candidate won.
    #[arg(long, requires = "l", allow_negative_numbers = true)]
    w: Option<i64>,
    /// Units that the candidate lost.
    #[arg(long, requires = "w", allow_negative_numbers = true)]
    l: Option<i64>,
    /// Units compared so far, ties included.
    #[arg(long, requires = "w", allow_negative_numbers = true)]
    n_used: Option<i64>,
    /// Units still to come.
    #[arg(long, requires = "w", allow_negative_numbers = true)]
    n_remaining: Option<i64>,
    /// What to tell about the one case.
    #[arg(long, requires = "w", default_value = "decision")]
    kind: Kind,
    #[command(flatten)]
    params: ParamArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Kind {
    Decision,
    Probation,
    #[value(name = "e_value", alias = "e-value")]
    EValue,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let params = args.params.over(GateParams::default())?;
    match args.w.zip(args.l) {
        Some((w, l)) => one_case(args, Flips::new(w, l)?, &params, context),
        None => lines(args.file.as_deref(), &params, context),
    }
}

fn lines(file: Option<&Path>, params: &GateParams, context: &mut Context) -> Result<(), CliError> {
    let file = file.filter(|path| *path != Path::new("-"));
    let path = || file.unwrap_or(Path::new("-")).to_owned();
    let failed = |source| GateCliError::Read { path: path(), source };
    let mut reader: Box<dyn BufRead> = match file {
        Some(path) => Box::new(BufReader::new(std::fs::File::open(path).map_err(failed)?)),
        None if std::io::stdin().is_terminal() => {
            return Err(
                GateCliError::Usage("decide nothing: give --w, --l and --n-used, or lines on standard input").into()
            );
        }
        None => Box::new(std::io::stdin().lock()),
    };
    let (mut number, mut answered, mut bad) = (0_usize, 0_usize, 0_usize);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).map_err(failed)? > 0 {
        number += 1;
        if !line.trim_ascii().is_empty() {
            answered += 1;
            match eval_line(&line, params) {
                Ok(answer) => context.line(answer)?,
                Err(error) => {
                    bad += 1;
                    context.line(json!({"line": number, "error": error.text()}))?;
                }
            }
        }
        line.clear();
    }
    if bad > 0 { Err(GateCliError::BadLines { bad, lines: answered }.into()) } else { Ok(()) }
}

fn one_case(args: &Args, flips: Flips, params: &GateParams, context: &mut Context) -> Result<(), CliError> {
    match args.kind {
        Kind::EValue => {
            let (e, lambda) = (e_value(flips), wald_lambda(flips));
            if context.json() {
                return context.write_json(&json!({"e_value": e, "wald_lambda": lambda}));
            }
            context.line(format!("E({}, {}) = {e}", flips.w(), flips.l()))
        }
        Kind::Probation => {
            let probation = probation_verdict(flips, params)?;
            if context.json() {
                return context.write_json(&probation);
            }
            context.line(format!("{}: {}", probation.verdict, probation.verdict.meaning()))?;
            context.line(format!(
                "E for an improvement  {:.4} (confirmed from {})",
                probation.e_value, params.e_confirm
            ))?;
            context.line(format!(
                "E for harm            {:.4} (rolled back from {})",
                probation.e_swapped, params.e_rollback
            ))
        }
        Kind::Decision => decision(args, flips, params, context),
    }
}

fn decision(args: &Args, flips: Flips, params: &GateParams, context: &mut Context) -> Result<(), CliError> {
    if args.n_used.is_none() {
        return Err(
            GateCliError::Usage("decide a gate: --n-used is missing (units compared so far, ties included)").into()
        );
    }
    let used = count("n_used", args.n_used)?;
    let remaining = count("n_remaining", args.n_remaining.or(Some(0)))?;
    let verdict = gate_decision(flips, used, remaining, params)?;
    let no_kind = NoKind::of(verdict.decision, flips);
    let best = best_e_value(flips, remaining);
    let why = explain_decision(verdict.decision, flips, used, remaining, params);
    if context.json() {
        return context.write_json(&json!({
            "decision": verdict.decision,
            "e_value": verdict.e_value,
            "wald_lambda": verdict.wald_lambda,
            "delta_hat": verdict.delta_hat,
            "delta_shrunk": verdict.delta_shrunk,
            "e_best": best,
            "no_kind": no_kind,
            "explanation": why,
        }));
    }
    context.line(format!("{}: {why}", verdict.decision))?;
    context.line("")?;
    context.line(format!(
        "E        {:.4}  (confirmed from {}, on probation from {} when the ladder is used up)",
        verdict.e_value, params.e_confirm, params.e_provisional
    ))?;
    context.line(format!("lambda   {:+.4}  (rejected at or below {})", verdict.wald_lambda, params.lambda_dir))?;
    context.line(format!(
        "gain     {:+.4} observed, {:+.4} shrunk (confirming needs at least {:+})",
        verdict.delta_hat, verdict.delta_shrunk, params.delta_min
    ))?;
    if remaining > 0 {
        context.line(format!("at best  E = {best:.4} if all {remaining} remaining units are won"))?;
    }
    Ok(())
}
