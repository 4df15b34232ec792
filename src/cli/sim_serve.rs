//! `trm sim serve`: the simulated model as an OpenAI-compatible server on loopback.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::runtime::runtime;
use super::settings::ConfigArgs;
use super::{CliError, Context};
use crate::data::load_questions;
use crate::harness::interrupt;
use crate::harness::session::open_sim;
use crate::sim::model::{SimModel, SimSettings};
use crate::sim::server::serve;
use crate::sim::world::{QUESTIONS_FILE, TRUTH_FILE};

/// What is in flight when the server is asked to end may take so long: a simulated time-out would hold it for minutes.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
pub(super) struct ServeArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// The port on 127.0.0.1; 0 for any free one.
    #[arg(long, value_name = "PORT", default_value_t = 8089)]
    port: u16,
}

/// Serves the world of the workspace, or of a folder that `trm sim world` wrote, until it is interrupted.
pub(super) fn run(args: &ServeArgs, context: &mut Context) -> Result<(), CliError> {
    let (model, questions) = model(args, context)?;
    let runtime = runtime()?;
    let mut printed = Ok(());
    let ready = |address: SocketAddr| printed = announce(context, address, questions);
    let result = runtime.block_on(async {
        tokio::select! {
            result = serve(Arc::new(model), args.port, ready, interrupt::requested()) => result,
            () = async { interrupt::requested().await; tokio::time::sleep(GRACE).await } => Ok(()),
        }
    });
    // Connections that are still held end with the process.
    runtime.shutdown_background();
    result?;
    printed
}

/// The model and how many questions it knows.
fn model(args: &ServeArgs, context: &Context) -> Result<(SimModel, usize), CliError> {
    let folder = context.directory();
    let is_world = folder.join(QUESTIONS_FILE).is_file() && folder.join(TRUTH_FILE).is_file();
    if is_world && !folder.join("trm.yaml").is_file() {
        let questions = load_questions(&folder.join(QUESTIONS_FILE))?;
        // The seed comes with each request.
        return Ok((open_sim(folder, &questions, SimSettings::default(), 0)?, questions.questions.len()));
    }
    let session = args.config.load(context, Vec::new())?;
    let config = &session.loaded.config;
    let questions = load_questions(&session.workspace.questions(config))?;
    let model = open_sim(session.workspace.root(), &questions, config.sim.clone(), config.run.seed)?;
    Ok((model, questions.questions.len()))
}

fn announce(context: &mut Context, address: SocketAddr, questions: usize) -> Result<(), CliError> {
    let url = format!("http://{address}/v1");
    if context.json() {
        context.write_json(&json!({"url": url, "questions": questions, "note": "simulated model"}))?;
    } else {
        context.line(format_args!(
            "simulated model at {url}, with {questions} questions; models sim-search, sim-tool, sim-judge, sim-evolve, \
             sim-vision, sim-embed; Ctrl-C ends it"
        ))?;
    }
    context.flush()
}
