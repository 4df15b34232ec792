//! `trm demo`: a first result in a minute, without a key or a network.

use std::path::PathBuf;

use super::init::make_workspace;
use super::settings::ConfigArgs;
use super::train::train_workspace;
use super::train_view::show_summary;
use super::{CliError, Context};
use crate::harness::training::TrainRequest;
use crate::harness::workspace::Workspace;

/// Where the example is made.
const FOLDER: &str = "trm-demo";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The folder of the example workspace; made if absent. The default is ./trm-demo.
    folder: Option<PathBuf>,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let name = args.folder.clone().unwrap_or_else(|| PathBuf::from(FOLDER));
    let folder = if context.has_directory() { context.directory().join(name) } else { name };
    if Workspace::at(&folder).is_err() {
        make_workspace(&folder, true)?;
        tracing::info!("made the example workspace {}", folder.display());
    }
    let inside = Context::new(Some(folder.clone()), context.json());
    let summary = train_workspace(&ConfigArgs::default(), Vec::new(), &TrainRequest::default(), &inside)?;
    if context.json() {
        return context.write_json(&summary);
    }
    show_summary(&summary, context)?;
    context.line(format_args!(
        "the workspace is {0}: 'trm -C {0} status', 'trm -C {0} export --parquet out'",
        folder.display()
    ))
}
