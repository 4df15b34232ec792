//! A check, its findings, and the list of all checks.

use serde::Serialize;

use super::{data, endpoints, machine, models, store};
use crate::config::Loaded;
use crate::domain::{ExitClass, Fault};
use crate::harness::workspace::{Workspace, WorkspaceError};

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// In order.
    Ok,
    /// Works, and will not for long, or is probably not meant.
    Warn,
    /// Does not work.
    Fail,
}

impl Status {
    /// As one word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// What a check found: one line, and a remedy unless all is well.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What was looked at, in a word or two.
    pub check: String,
    /// How it came out.
    pub status: Status,
    /// What was found.
    pub detail: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// The exit code if this is what fails.
    #[serde(skip)]
    pub class: ExitClass,
}

impl Finding {
    /// All is well.
    #[must_use]
    pub fn ok(check: &str, detail: impl Into<String>) -> Self {
        let class = ExitClass::Internal;
        Self { check: check.to_owned(), status: Status::Ok, detail: detail.into(), remedy: None, class }
    }

    /// Works, but.
    #[must_use]
    pub fn warn(check: &str, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Warn, remedy: Some(remedy.into()), ..Self::ok(check, detail) }
    }

    /// Does not work; `class` is the exit code that it leads to.
    #[must_use]
    pub fn fail(check: &str, class: ExitClass, detail: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { status: Status::Fail, class, ..Self::warn(check, detail, remedy) }
    }

    /// Does not work, with the words of an error.
    #[must_use]
    pub fn fault(check: &str, error: &dyn Fault) -> Self {
        let mut detail = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            detail.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        Self { remedy: error.hint(), ..Self::fail(check, error.class(), detail, String::new()) }
    }
}

/// What the checks look at.
#[derive(Debug)]
pub struct Subject<'a> {
    /// Where everything lies.
    pub workspace: &'a Workspace,
    /// The configuration; checks that need it are left out if it cannot be used.
    pub loaded: &'a Loaded,
    /// Whether models may be called.
    pub online: bool,
}

/// One check: any number of findings, none where it does not apply.
pub type CheckFn = fn(&Subject<'_>) -> Vec<Finding>;

/// All checks, in the order in which they are shown. A new one is a new line here.
pub const CHECKS: [CheckFn; 12] = [
    machine::workspace,
    machine::permissions,
    machine::secrets_file,
    machine::disk_space,
    store::opens,
    store::versions,
    data::questions,
    data::videos,
    machine::clock,
    models::roles,
    endpoints::answers,
    models::cache,
];

/// Runs all checks. A configuration that cannot be used is the first finding, and the only one.
///
/// With `online`, every endpoint of a configured role is asked: a token of each, and a line of JSON of the text roles.
pub fn examine(
    workspace: &Workspace,
    loaded: Result<(Workspace, Loaded), WorkspaceError>,
    online: bool,
) -> Vec<Finding> {
    let (workspace, loaded) = match loaded {
        Ok(loaded) => loaded,
        Err(error) => return unusable(workspace, &error),
    };
    let mut findings = vec![configuration(&loaded)];
    findings.extend(loaded.warnings.iter().map(|warning| {
        let place = warning.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let remedy = warning.hint.clone().unwrap_or_else(|| "'trm config show' shows it".to_owned());
        Finding::warn("configuration", format!("{place}{}", warning.message), remedy)
    }));
    let subject = Subject { workspace: &workspace, loaded: &loaded, online };
    findings.extend(CHECKS.iter().flat_map(|check| check(&subject)));
    findings
}

/// The worst finding: its status, and its class if it fails.
#[must_use]
pub fn worst(findings: &[Finding]) -> (Status, Option<ExitClass>) {
    let status = findings.iter().map(|finding| finding.status).max().unwrap_or(Status::Ok);
    (status, findings.iter().find(|finding| finding.status == Status::Fail).map(|finding| finding.class))
}

fn configuration(loaded: &Loaded) -> Finding {
    let set = loaded.origins.values().filter(|origin| **origin != crate::config::Origin::Default).count();
    Finding::ok("configuration", format!("valid, {set} of {} keys set", loaded.origins.len()))
}

fn unusable(workspace: &Workspace, error: &WorkspaceError) -> Vec<Finding> {
    let mut findings = vec![Finding::ok("workspace", workspace.root().display().to_string())];
    if error.problems().is_empty() {
        findings.push(Finding::fault("configuration", error));
    }
    findings.extend(error.problems().iter().map(|problem| {
        let place = problem.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let remedy = problem.hint.clone().unwrap_or_else(|| "mend it in its source".to_owned());
        Finding::fail("configuration", error.class(), format!("{place}{}", problem.message), remedy)
    }));
    findings
}
