//! The store and what a run needs from it.

use super::check::{Finding, Subject};
use super::machine::bytes;
use crate::harness::versions::{VersionsError, resolve};
use crate::store::rows::VersionKind;
use crate::store::{Snapshot, StoreError, StoreReader};

fn snapshot(subject: &Subject<'_>) -> Result<Snapshot<'static>, StoreError> {
    StoreReader::open(subject.workspace.store())?.snapshot()
}

pub(super) fn opens(subject: &Subject<'_>) -> Vec<Finding> {
    let path = subject.workspace.store();
    let runs = snapshot(subject).and_then(|snapshot| snapshot.runs());
    vec![match runs {
        Ok(runs) => {
            let size = path.metadata().map(|metadata| bytes(metadata.len())).unwrap_or_default();
            Finding::ok("store", format!("{} opens: {size}, {} runs", path.display(), runs.len()))
        }
        Err(error) => Finding::fault("store", &error),
    }]
}

/// The versions that a run would start from.
pub(super) fn versions(subject: &Subject<'_>) -> Vec<Finding> {
    // A store that does not open is said already.
    let Ok(snapshot) = snapshot(subject) else { return Vec::new() };
    let data = &subject.loaded.config.data;
    [(VersionKind::Skills, data.skills_version), (VersionKind::Prompts, data.prompts_version)]
        .into_iter()
        .map(|(kind, choice)| {
            let files = |name| -> Result<usize, VersionsError> { Ok(snapshot.version_texts(kind, name)?.len()) };
            let found = resolve(&snapshot, kind, choice).and_then(|name| Ok((name, files(name)?)));
            match found {
                Ok((name, files)) => Finding::ok(kind.name(), format!("{name} ({choice}): {files} files")),
                Err(error) => Finding::fault(kind.name(), &error),
            }
        })
        .collect()
}
