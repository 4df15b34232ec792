//! `trm store …`: the health and the size of the workspace's store.

use std::path::Path;

use clap::Subcommand;

use super::settings::find_workspace;
use super::{CliError, Context};
use crate::domain::{ExitClass, Fault};
use crate::store::{self, CheckReport, Depth, Size, StateDigest, StoreReader, StoreStats};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Verify that every row decodes, every reference resolves, and nothing is lost or twice.
    Check,
    /// Give free space back to the file system; nothing else may use the store meanwhile.
    Compact,
    /// Rows per table and the size of the file; with its rows read, also bytes, kinds and runs.
    Stats(StatsArgs),
    /// The state digest: equal for trainings that learned the same.
    Digest,
}

#[derive(Debug, clap::Args)]
struct StatsArgs {
    /// Read every row even of a large store: bytes, kinds and runs too.
    #[arg(long)]
    full: bool,
}

/// Below this, reading every row takes no time that anyone notices.
const READ_WHOLE: u64 = 64 << 20;

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let path = find_workspace(context)?.store();
    match &args.command {
        Command::Check => check(&path, context),
        Command::Compact => compact(&path, context),
        Command::Stats(args) => stats(&path, args.full, context),
        Command::Digest => digest(&path, context),
    }
}

/// The store was read, and something in it does not hold.
#[derive(Debug, thiserror::Error)]
#[error("confirm the store: {0} problems found")]
struct Problems(u64);

impl Fault for Problems {
    fn class(&self) -> ExitClass {
        ExitClass::Store
    }

    fn code(&self) -> &'static str {
        "store.check_failed"
    }

    fn hint(&self) -> Option<String> {
        Some("rows of a step are made anew by 'trm train --rerun'; for the rest restore a backup".to_owned())
    }
}

fn check(path: &Path, context: &mut Context) -> Result<(), CliError> {
    let report = store::check_file(path, None)?;
    if context.json() {
        context.write_json(&report)?;
    } else {
        print_check(&report, context)?;
    }
    if report.is_clean() { Ok(()) } else { Err(Problems(report.problem_count).into()) }
}

fn print_check(report: &CheckReport, context: &mut Context) -> Result<(), CliError> {
    for problem in &report.problems {
        // Keys come from files of any origin: nothing of them may steer the terminal.
        let place: String = problem.place.escape_debug().collect();
        let found: String = problem.found.escape_debug().collect();
        context.line(format_args!("{}: {place}: {found}", problem.invariant))?;
    }
    let listed = report.problems.len() as u64;
    if listed < report.problem_count {
        context.line(format_args!("… and {} more", report.problem_count - listed))?;
    }
    if !report.is_clean() {
        return Ok(());
    }
    context.line(format_args!("{} rows read, every invariant holds", report.rows))?;
    if !report.pages_verified {
        context.line("page checksums were not verified: the store is in use, or cannot be opened for writing")?;
    }
    Ok(())
}

fn compact(path: &Path, context: &mut Context) -> Result<(), CliError> {
    let report = store::compact(path, None)?;
    if context.json() {
        return context.write_json(&report);
    }
    context.line(format_args!("{} → {}", bytes(report.before_bytes), bytes(report.after_bytes)))
}

fn stats(path: &Path, full: bool, context: &mut Context) -> Result<(), CliError> {
    let snapshot = StoreReader::open(path)?.snapshot()?;
    let small = path.metadata().is_ok_and(|metadata| metadata.len() < READ_WHOLE);
    let stats = store::stats(&snapshot, if full || small { Depth::Rows } else { Depth::Counts })?;
    if context.json() {
        return context.write_json(&stats);
    }
    print_stats(path, &stats, context)
}

fn print_stats(path: &Path, stats: &StoreStats, context: &mut Context) -> Result<(), CliError> {
    context.line(format_args!("{} (schema {})", path.display(), stats.schema))?;
    let file = bytes(stats.file_bytes);
    let Some(contents) = &stats.contents else {
        context.line(format_args!("file {file}; --full reads every row: bytes, kinds and runs"))?;
        context.line(format_args!("\n{:<24} {:>10}", "table", "rows"))?;
        return stats
            .tables
            .iter()
            .try_for_each(|(name, size)| context.line(format_args!("{name:<24} {:>10}", size.rows)));
    };
    let (used, free) = (bytes(contents.used_bytes), bytes(contents.free_bytes));
    context.line(format_args!("file {file}, in use {used}, free {free}"))?;
    let sections =
        [("table", &stats.tables), ("step rows by kind", &contents.step_rows), ("step rows by run", &contents.runs)];
    for (title, sizes) in sections {
        if sizes.is_empty() {
            continue;
        }
        context.line(format_args!("\n{title:<24} {:>10} {:>10}", "rows", "values"))?;
        for (name, Size { rows, value_bytes }) in sizes {
            let name: String = name.escape_debug().collect();
            context.line(format_args!("{name:<24} {rows:>10} {:>10}", bytes(value_bytes.unwrap_or(0))))?;
        }
    }
    Ok(())
}

fn digest(path: &Path, context: &mut Context) -> Result<(), CliError> {
    let digest = store::state_digest(&StoreReader::open(path)?.snapshot()?)?;
    if context.json() {
        return context.write_json(&digest);
    }
    let StateDigest { digest, versions, manifest, checkpoints, steps } = digest;
    context.line(digest)?;
    for (name, part) in [("versions", versions), ("manifest", manifest), ("checkpoints", checkpoints), ("steps", steps)]
    {
        context.line(format_args!("  {name:<12} {}", part.short()))?;
    }
    Ok(())
}

/// Bytes for people: three digits and a unit.
pub(super) fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = "KiB";
    for next in UNITS.into_iter().skip(1) {
        if size < 1000.0 {
            break;
        }
        size /= 1024.0;
        unit = next;
    }
    if size < 10.0 { format!("{size:.1} {unit}") } else { format!("{size:.0} {unit}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_keep_their_digits_few() {
        let shown = [0, 1023, 1024, 10_240, 1_048_576, 5_368_709_120, u64::MAX].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.0 KiB", "10 KiB", "1.0 MiB", "5.0 GiB", "16777216 TiB"]);
    }
}
