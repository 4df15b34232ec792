//! `trm promote`: makes a named seed of versions that a finished evaluation vouches for.

use super::settings::ConfigArgs;
use super::{CliError, Context};
use crate::config::VersionChoice;
use crate::data::{TreeSet, load_questions};
use crate::domain::RunId;
use crate::harness::seeds::{PromoteRequest, promote};
use crate::store::{OpenOptions, Store};

#[derive(Debug, clap::Args)]
#[command(disable_version_flag = true)]
pub(super) struct Args {
    /// The skills: v3, or current, best, initial.
    // Not named `version`: that is the name of clap's own flag.
    #[arg(long = "version", value_name = "VERSION")]
    skills: VersionChoice,
    /// The prompts; without it those that belong to the skills: of the same pointer, else of the evaluation.
    #[arg(long, value_name = "VERSION")]
    prompts: Option<VersionChoice>,
    /// The finished evaluation of these versions on all questions.
    #[arg(long, value_name = "RUN")]
    eval_run: RunId,
    /// The seed's name.
    #[arg(long)]
    name: String,
    /// Over a seed of the same name.
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    config: ConfigArgs,
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let opened = args.config.load(context, Vec::new())?;
    let (workspace, config) = (opened.workspace, opened.loaded.config);
    let set = load_questions(&workspace.questions(&config))?;
    let trees = TreeSet::new(workspace.videos(&config));
    let answerable = set.questions.iter().filter(|question| trees.contains(&question.video_id));
    let request = PromoteRequest {
        name: args.name.clone(),
        skills: args.skills,
        prompts: args.prompts,
        eval_run: args.eval_run.clone(),
        replace: args.replace,
        data_fingerprint: set.fingerprint,
        questions: answerable.map(|question| question.question_id.clone()).collect(),
    };
    let done = promote(&Store::open(workspace.store(), &OpenOptions::default())?, request)?;
    if context.json() {
        return context.write_json(&done);
    }
    context.line(format_args!(
        "seed {}: skills {}, prompts {}, {} of {} right in run {}",
        done.name, done.skills, done.prompts, done.correct, done.questions, done.eval_run
    ))?;
    context.line(format_args!(
        "next: 'trm init DIR --from {} --workspace {}' starts from it",
        done.name,
        workspace.root().display()
    ))
}
