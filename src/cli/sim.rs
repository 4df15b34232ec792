//! `trm sim`: the simulated world.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use super::{CliError, Context, sim_serve};
use crate::sim::world::{WorldSpec, generate};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Sim,
}

#[derive(Debug, Subcommand)]
enum Sim {
    /// Generate videos and questions with known answers.
    World(WorldArgs),
    /// Serve the simulated model on loopback, as an OpenAI-compatible endpoint.
    Serve(sim_serve::ServeArgs),
}

#[derive(Debug, clap::Args)]
struct WorldArgs {
    /// How many videos.
    #[arg(long, value_name = "N", default_value_t = WorldSpec::default().videos)]
    videos: usize,

    /// Equal seeds give equal files.
    #[arg(long, value_name = "S", default_value_t = WorldSpec::default().seed)]
    seed: u64,

    /// How many questions of each of the twelve task types.
    #[arg(long, value_name = "N", default_value_t = WorldSpec::default().questions_per_type)]
    questions: usize,

    /// The folder to write to.
    #[arg(short, long, value_name = "DIR", default_value = "sim-world")]
    output: PathBuf,

    /// Replace files of other content.
    #[arg(long)]
    force: bool,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    match &args.command {
        Sim::World(args) => world(args, context),
        Sim::Serve(args) => sim_serve::run(args, context),
    }
}

fn world(args: &WorldArgs, context: &mut Context) -> Result<(), CliError> {
    let spec =
        WorldSpec { videos: args.videos, seed: args.seed, questions_per_type: args.questions, ..WorldSpec::default() };
    let world = generate(&spec)?;
    let folder = context.directory().join(&args.output);
    let written = world.write_to(&folder, args.force)?;
    let frames: usize = world.frames.values().map(std::collections::BTreeMap::len).sum();
    let pairs = world.questions.iter().filter(|question| question.pair_id.is_some()).count() / 2;
    if context.json() {
        return context.write_json(&json!({
            "folder": folder,
            "videos": world.trees.len(),
            "questions": world.questions.len(),
            "pairs": pairs,
            "frames": frames,
            "files": written.files,
            "world_bytes": written.world_bytes,
            "truth_bytes": written.truth_bytes,
        }));
    }
    context.line(format!(
        "{} videos, {} questions ({pairs} pairs), {frames} frames in {}: {} KB, and {} KB of known truth",
        world.trees.len(),
        world.questions.len(),
        folder.display(),
        written.world_bytes.div_ceil(1000),
        written.truth_bytes.div_ceil(1000),
    ))
}
