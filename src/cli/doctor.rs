//! `trm doctor`: one line per check, with remedies.

use serde_json::json;

use super::settings::{ConfigArgs, find_workspace};
use super::text::printable;
use super::{CliError, Context};
use crate::domain::{ExitClass, Fault};
use crate::harness::doctor::{Finding, Status, examine, worst};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    config: ConfigArgs,

    /// Call no model; else each configured role is asked for a token, and text roles for a line of JSON.
    #[arg(long)]
    offline: bool,
}

/// At least one check failed.
#[derive(Debug, thiserror::Error)]
#[error("pass {failed} of {total} checks")]
struct DoctorError {
    failed: usize,
    total: usize,
    class: ExitClass,
}

impl Fault for DoctorError {
    fn class(&self) -> ExitClass {
        self.class
    }

    fn code(&self) -> &'static str {
        "doctor.failed"
    }

    fn hint(&self) -> Option<String> {
        Some("each failed check above names its remedy".to_owned())
    }
}

pub(super) fn run(args: &Args, context: &mut Context) -> Result<(), CliError> {
    let workspace = find_workspace(context)?;
    let findings = examine(&workspace, workspace.load(&args.config.settings(Vec::new())?), !args.offline);
    let (status, class) = worst(&findings);
    if context.json() {
        context.write_json(&json!({"status": status, "checks": findings}))?;
    } else {
        print(&findings, context)?;
    }
    match class {
        None => Ok(()),
        Some(class) => {
            let failed = findings.iter().filter(|finding| finding.status == Status::Fail).count();
            Err(DoctorError { failed, total: findings.len(), class }.into())
        }
    }
}

fn print(findings: &[Finding], context: &mut Context) -> Result<(), CliError> {
    let width = findings.iter().map(|finding| finding.check.chars().count()).max().unwrap_or_default();
    for finding in findings {
        let Finding { check, status, detail, remedy, .. } = finding;
        context.line(format_args!("{:<4}  {check:<width$}  {}", status.name(), printable(detail)))?;
        if let Some(remedy) = remedy {
            context.line(format_args!("      {:width$}  → {}", "", printable(remedy)))?;
        }
    }
    Ok(())
}
