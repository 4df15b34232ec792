//! `trm import`: questions, trees and benchmarks into the workspace.

use std::path::PathBuf;

use clap::Subcommand;

use super::import_progress::ImportProgress;
use super::import_view::{Surroundings, show};
use super::settings::ConfigArgs;
use super::{CliError, Context};
use crate::data::{
    LevelSize, LevelSizes, NextQaOptions, VideoIdField, import_next_qa, import_questions, import_trees, next_qa_type,
};
use crate::domain::TaskType;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Import,

    #[command(flatten)]
    config: ConfigArgs,
}

#[derive(Debug, Subcommand)]
enum Import {
    /// Questions: JSON Lines, a JSON list, Parquet, or a folder of such files, one per video.
    Questions(QuestionsArgs),
    /// Video trees: a tree file, a folder of VIDEO/tree.json with frames, or a folder of tree files.
    Trees(TreesArgs),
    /// Video-MME's own annotations, as Parquet or JSON.
    VideoMme(VideoMmeArgs),
    /// NExT-QA: its table of multiple-choice questions and one caption per second of each video.
    NextQa(NextQaArgs),
}

#[derive(Debug, clap::Args)]
struct QuestionsArgs {
    /// The file or folder of questions.
    path: PathBuf,
}

#[derive(Debug, clap::Args)]
struct TreesArgs {
    /// The file or folder of trees.
    path: PathBuf,
}

#[derive(Debug, clap::Args)]
struct VideoMmeArgs {
    /// The Parquet or JSON file, or a folder of them.
    path: PathBuf,

    /// Which of the two ids of a video names its folder.
    #[arg(long, value_enum, default_value_t = VideoName::Platform)]
    video_id: VideoName,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum VideoName {
    /// The id on the video platform (the field videoID), by which its files are named; if there is none, the number.
    Platform,
    /// The running number (the field video_id).
    Number,
}

#[derive(Debug, clap::Args)]
struct NextQaArgs {
    /// The table (val.csv) or the folder that holds it.
    path: PathBuf,

    /// Take N questions at most, spread over the types; the same ones everywhere.
    #[arg(long, value_name = "N")]
    limit: Option<usize>,

    /// Take only these types, such as CW,TN or "Causal Why".
    #[arg(long, value_name = "TYPES", value_delimiter = ',', value_parser = parse_type)]
    types: Vec<TaskType>,

    /// The folder of captions; the default is caps beside the table.
    #[arg(long, value_name = "DIR")]
    captions: Option<PathBuf>,

    #[command(flatten)]
    sizes: SizesArgs,
}

/// How videos are cut into scenes and events.
#[derive(Debug, clap::Args)]
pub(super) struct SizesArgs {
    /// The scenes of a video: seconds each (60s), how many (8), or auto.
    #[arg(long, value_name = "SIZE", default_value = "auto")]
    scenes: LevelSize,

    /// The events of a scene: seconds each (10s), how many (5), or auto.
    #[arg(long, value_name = "SIZE", default_value = "auto")]
    events: LevelSize,
}

impl SizesArgs {
    pub(super) fn sizes(&self) -> LevelSizes {
        LevelSizes { scenes: self.scenes, events: self.events }
    }
}

fn parse_type(text: &str) -> Result<TaskType, String> {
    next_qa_type(text).ok_or_else(|| "no type of NExT-QA: CW, CH, TN, TC, TP, DO, DL, DC".to_owned())
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let surroundings = Surroundings::open(&args.config, context)?;
    let target = surroundings.target();
    let progress = ImportProgress::new("import");
    let result = match &args.command {
        Import::Questions(args) => import_questions(&args.path, VideoIdField::VideoId, &target, &progress),
        Import::Trees(args) => import_trees(&args.path, &target, &progress),
        Import::VideoMme(args) => import_questions(&args.path, args.video_id.field(), &target, &progress),
        Import::NextQa(args) => {
            let options = NextQaOptions {
                limit: args.limit,
                types: args.types.iter().cloned().collect(),
                captions: args.captions.clone(),
                sizes: args.sizes.sizes(),
            };
            import_next_qa(&args.path, &options, &target, &progress)
        }
    };
    progress.finish();
    show(result, &surroundings, context)
}

impl VideoName {
    fn field(self) -> VideoIdField {
        match self {
            Self::Platform => VideoIdField::PlatformId,
            Self::Number => VideoIdField::VideoId,
        }
    }
}
