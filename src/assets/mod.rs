//! Texts that ship inside the binary, so that a new workspace needs no network and no second file.

mod judge;
mod prompts;
mod skills;
mod workspace;

pub use judge::{
    default_judge_templates, default_momentum_templates, default_writer_templates, judge_templates, momentum_templates,
    writer_templates,
};
pub use prompts::default_prompts;
pub use skills::default_skills;
pub use workspace::{CONFIG_TEMPLATE, ENV_EXAMPLE, EXAMPLE_TEMPLATE, GITIGNORE};
