//! `trm export`: datasets as Parquet or JSON Lines.

use std::path::PathBuf;

use super::settings::find_workspace;
use super::{CliError, Context};
use crate::domain::{ExitClass, Fault, RunId};
use crate::export::{ExportReport, ExportRequest, Filter, Format, PartitionBy, documented_schema, export};
use crate::store::StoreReader;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Write Parquet files into this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "jsonl", required_unless_present_any = ["jsonl", "list"])]
    parquet: Option<PathBuf>,

    /// Write JSON Lines files into this folder.
    #[arg(long, value_name = "DIR")]
    jsonl: Option<PathBuf>,

    /// Only these tables, separated by commas.
    #[arg(long, value_delimiter = ',', value_name = "NAMES")]
    tables: Vec<String>,

    /// Only this run.
    #[arg(long, value_name = "RUN")]
    run: Option<RunId>,

    /// Only this epoch.
    #[arg(long, value_name = "N")]
    epoch: Option<u32>,

    /// One folder per run, per epoch, or both.
    #[arg(long, value_delimiter = ',', value_name = "run,epoch")]
    partition: Vec<String>,

    /// List the tables and their columns instead.
    #[arg(long)]
    list: bool,
}

/// `--partition` names something else than run and epoch.
#[derive(Debug, thiserror::Error)]
#[error("partition by {0:?}")]
struct PartitionError(String);

impl Fault for PartitionError {
    fn class(&self) -> ExitClass {
        ExitClass::Usage
    }

    fn code(&self) -> &'static str {
        "export.partition"
    }

    fn hint(&self) -> Option<String> {
        Some("use --partition run, --partition epoch or --partition run,epoch".to_owned())
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    if args.list {
        return list(context);
    }
    let workspace = find_workspace(context)?;
    let (folder, format) = match (&args.parquet, &args.jsonl) {
        (Some(folder), _) => (folder.clone(), Format::Parquet),
        (None, Some(folder)) => (folder.clone(), Format::JsonLines),
        (None, None) => return list(context),
    };
    let request = ExportRequest {
        folder,
        format,
        tables: args.tables.clone(),
        filter: Filter { run: args.run.clone(), epoch: args.epoch },
        partition_by: partition_by(&args.partition)?,
    };
    let reader = StoreReader::open(workspace.store())?;
    let report = export(&reader, &request, |name| tracing::info!(dataset = name, "exporting"))?;
    if context.json() { context.write_json(&report) } else { summary(&report, context) }
}

fn partition_by(names: &[String]) -> Result<PartitionBy, PartitionError> {
    let mut by = PartitionBy::default();
    for name in names {
        match name.as_str() {
            "run" => by.run = true,
            "epoch" => by.epoch = true,
            _ => return Err(PartitionError(name.clone())),
        }
    }
    Ok(by)
}

fn summary(report: &ExportReport, context: &mut Context) -> Result<(), CliError> {
    for entry in &report.manifest.datasets {
        context.line(format_args!("{:<22} {:>10} rows", entry.name, entry.rows))?;
    }
    context.line(format_args!("written to {} (format {})", report.folder.display(), report.manifest.format))
}

fn list(context: &mut Context) -> Result<(), CliError> {
    let schema = documented_schema();
    if context.json() {
        return context.write_json(&schema);
    }
    for dataset in crate::export::all_datasets() {
        context.line(format_args!("{}: {}", dataset.name(), dataset.doc()))?;
        for column in dataset.columns() {
            let null = if column.nullable { ", nullable" } else { "" };
            context.line(format_args!("  {:<24} {:?}{null}: {}", column.name, column.kind, column.doc))?;
        }
    }
    Ok(())
}
