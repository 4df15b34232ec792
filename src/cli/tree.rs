//! `trm tree`: video trees from captions and subtitles.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use serde_json::json;

use super::import::SizesArgs;
use super::import_progress::ImportProgress;
use super::import_view::{Surroundings, print_warnings, show};
use super::settings::ConfigArgs;
use super::{CliError, Context};
use crate::data::{BuildOptions, build_tree_file, build_trees};
use crate::domain::VideoId;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Tree,
}

#[derive(Debug, Subcommand)]
enum Tree {
    /// Build trees from captions (JSON, CSV) and subtitles (SRT, WebVTT), of one video or of a folder.
    Build(BuildArgs),
}

#[derive(Debug, clap::Args)]
#[group(id = "texts", required = true, multiple = true, args = ["captions", "subtitles"])]
struct BuildArgs {
    /// Timed captions: a JSON or CSV file, or a folder with one file per video.
    #[arg(long, value_name = "PATH")]
    captions: Option<PathBuf>,

    /// Subtitles: an SRT or WebVTT file, or a folder with one file per video.
    #[arg(long, value_name = "PATH")]
    subtitles: Option<PathBuf>,

    /// The id of the video; the default is the name of the file.
    #[arg(long, value_name = "ID")]
    video: Option<VideoId>,

    /// The length of the video in seconds; the default is the end of its last text.
    #[arg(long, value_name = "SECONDS", value_parser = parse_duration)]
    duration: Option<f64>,

    /// A label such as "Sports".
    #[arg(long, value_name = "LABEL")]
    domain: Option<String>,

    #[command(flatten)]
    sizes: SizesArgs,

    /// Write the tree of one video to this file instead of into the workspace.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,

    #[command(flatten)]
    config: ConfigArgs,
}

fn parse_duration(text: &str) -> Result<f64, String> {
    let seconds: f64 = text.parse().map_err(|_| "a number of seconds expected".to_owned())?;
    let fits = seconds.is_finite() && seconds > 0.0;
    fits.then_some(seconds).ok_or_else(|| "a number of seconds above 0 expected".to_owned())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let Tree::Build(args) = &args.command;
    let options = BuildOptions {
        captions: args.captions.clone(),
        subtitles: args.subtitles.clone(),
        video: args.video.clone(),
        duration: args.duration,
        domain: args.domain.clone(),
        sizes: args.sizes.sizes(),
    };
    if let Some(output) = &args.output {
        return build_file(&options, output, context);
    }
    let surroundings = Surroundings::open(&args.config, context)?;
    let progress = ImportProgress::new("tree build");
    let result = build_trees(&options, &surroundings.target(), &progress);
    progress.finish();
    show(result, &surroundings, context)
}

fn build_file(options: &BuildOptions, output: &Path, context: &mut Context) -> Result<(), CliError> {
    let (tree, problems) = build_tree_file(options, output)?;
    let count = |level| tree.nodes.values().filter(|node| node.level == level).count();
    let (scenes, events, frames) = (count(1), count(2), count(3));
    if context.json() {
        return context.write_json(&json!({
            "video": tree.video_id, "file": output, "scenes": scenes, "events": events, "frames": frames,
            "duration_seconds": tree.duration_seconds, "problems": problems,
        }));
    }
    context.line(format_args!(
        "video {}: {scenes} scenes, {events} events, {frames} frames in {}",
        tree.video_id,
        output.display()
    ))?;
    print_warnings(&problems, context)
}
