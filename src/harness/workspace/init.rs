//! Makes a workspace.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::find::CONFIG_FILE;
use super::{Workspace, WorkspaceError};
use crate::assets::{CONFIG_TEMPLATE, ENV_EXAMPLE, EXAMPLE_TEMPLATE, GITIGNORE};
use crate::config::RunConfig;
use crate::domain::VersionName;
use crate::harness::versions::{FileSet, initial_batch};
use crate::sim::world::World;
use crate::store::rows::VersionKind;
use crate::store::{OpenOptions, Snapshot, Store, StoreReader};

/// What a new workspace begins with.
#[derive(Debug, Clone, Default)]
pub struct InitRequest {
    /// The files of skills `v1`.
    pub skills: FileSet,
    /// The files of prompts `v1`.
    pub prompts: FileSet,
    /// The bundled example's videos and questions; the configuration then uses the simulated model.
    pub example: Option<World>,
}

/// What making a workspace did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct InitReport {
    /// Its folder.
    pub folder: PathBuf,
    /// Whether it was a workspace before.
    pub was_workspace: bool,
    /// What was made, relative to the folder.
    pub created: Vec<String>,
    /// What was there and stays as it is.
    pub kept: Vec<String>,
}

/// Makes `folder` a workspace, or completes an empty one. What is there stays as it is.
///
/// `trm.yaml` is written last, so that a folder whose making was interrupted is none yet and can be made again.
///
/// # Errors
/// The folder is a workspace that holds something, files of the example are in the way, or it cannot be written.
pub fn init(folder: &Path, request: &InitRequest) -> Result<InitReport, WorkspaceError> {
    let was_workspace = folder.join(CONFIG_FILE).is_file();
    let workspace = Workspace::unchecked(folder.to_owned());
    if was_workspace {
        refuse_if_used(&workspace, request.example.is_some())?;
    }
    let mut report = InitReport { folder: folder.to_owned(), was_workspace, created: Vec::new(), kept: Vec::new() };
    create_folder(folder)?;
    let videos = RunConfig::default().data.videos_dir;
    let is_new = !folder.join(&videos).exists();
    create_folder(&folder.join(&videos))?;
    report.note(&format!("{}/", videos.display()), is_new);
    for (name, text) in [(".env.example", ENV_EXAMPLE), (".gitignore", GITIGNORE)] {
        let is_new = write_new(&folder.join(name), text)?;
        report.note(name, is_new);
    }
    if let Some(world) = &request.example {
        let written = world.write_to(folder, false)?;
        report.created.push(format!("{} files of the example", written.files));
    }
    let is_new = first_versions(&workspace.store(), request)?;
    report.note("trm.redb", is_new);
    let template = if request.example.is_some() { EXAMPLE_TEMPLATE } else { CONFIG_TEMPLATE };
    let is_new = write_new(&workspace.config_file(), template)?;
    report.note(CONFIG_FILE, is_new);
    Ok(report)
}

impl InitReport {
    fn note(&mut self, name: &str, is_new: bool) {
        if is_new { &mut self.created } else { &mut self.kept }.push(name.to_owned());
    }
}

/// A workspace in which something was done is not made again, by mistake or otherwise.
fn refuse_if_used(workspace: &Workspace, for_example: bool) -> Result<(), WorkspaceError> {
    let mut holds = Vec::new();
    if for_example {
        // Its trm.yaml names other models and data than the example's.
        holds.push("a configuration".to_owned());
    }
    if workspace.store().exists() {
        let snapshot = StoreReader::open(workspace.store())?.snapshot()?;
        holds.extend(held_by_store(&snapshot)?);
    }
    let defaults = RunConfig::default();
    if workspace.questions(&defaults).exists() {
        holds.push("questions".to_owned());
    }
    if fs::read_dir(workspace.videos(&defaults)).is_ok_and(|mut entries| entries.next().is_some()) {
        holds.push("videos".to_owned());
    }
    if holds.is_empty() {
        return Ok(());
    }
    Err(WorkspaceError::Exists { folder: workspace.root().to_owned(), holds: holds.join(", ") })
}

fn held_by_store(snapshot: &Snapshot<'_>) -> Result<Vec<String>, WorkspaceError> {
    let mut holds = Vec::new();
    match snapshot.runs()?.len() {
        0 => {}
        1 => holds.push("1 run".to_owned()),
        runs => holds.push(format!("{runs} runs")),
    }
    for kind in [VersionKind::Skills, VersionKind::Prompts] {
        if let Some(latest) = snapshot.latest_version(kind)?.filter(|latest| *latest > VersionName::FIRST) {
            holds.push(format!("{kind} up to {latest}"));
        }
    }
    Ok(holds)
}

/// Whether the store got its first versions now.
fn first_versions(path: &Path, request: &InitRequest) -> Result<bool, WorkspaceError> {
    if path.exists() && StoreReader::open(path)?.snapshot()?.latest_version(VersionKind::Skills)?.is_some() {
        return Ok(false);
    }
    let store = Store::open(path, &OpenOptions::creating())?;
    store.write_blocking(initial_batch(&request.skills, &request.prompts, "built-in"))?;
    Ok(true)
}

fn create_folder(path: &Path) -> Result<(), WorkspaceError> {
    fs::create_dir_all(path).map_err(|source| WorkspaceError::io("create", path, source))
}

/// Writes a file that does not exist, whole or not at all; tells whether it did.
fn write_new(path: &Path, text: &str) -> Result<bool, WorkspaceError> {
    if path.exists() {
        return Ok(false);
    }
    let failed = |source| WorkspaceError::io("write", path, source);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    make_readable(file.as_file()).map_err(failed)?;
    match file.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(error) if error.error.kind() == std::io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed(error.error)),
    }
}

/// A temporary file is for its owner only; these are as readable as any other file that a person makes.
fn make_readable(file: &fs::File) -> std::io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o644))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assets::default_skills;

    fn first() -> InitRequest {
        let skills = default_skills().into_iter().map(|(name, text)| (name, text.to_owned())).collect();
        InitRequest { skills, ..InitRequest::default() }
    }

    #[test]
    fn a_new_workspace_is_complete_and_making_it_again_changes_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("a/b");
        let report = init(&folder, &first()).unwrap();
        assert_eq!(report.created, ["videos/", ".env.example", ".gitignore", "trm.redb", "trm.yaml"]);
        let again = init(&folder, &first()).unwrap();
        assert_eq!((again.was_workspace, again.created.len(), again.kept.len()), (true, 0, 5));
        let workspace = Workspace::find(&folder).unwrap();
        let snapshot = StoreReader::open(workspace.store()).unwrap().snapshot().unwrap();
        assert_eq!(snapshot.latest_version(VersionKind::Skills).unwrap(), Some(VersionName::FIRST));
        assert_eq!(snapshot.version_texts(VersionKind::Skills, VersionName::FIRST).unwrap(), first().skills);
    }

    #[test]
    fn files_that_are_there_stay() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join(".gitignore"), "mine\n").unwrap();
        fs::write(root.path().join("thesis.tex"), "x").unwrap();
        let report = init(root.path(), &first()).unwrap();
        assert_eq!(report.kept, [".gitignore"]);
        assert_eq!(fs::read_to_string(root.path().join(".gitignore")).unwrap(), "mine\n");
    }

    #[test]
    fn a_workspace_in_use_is_refused_untouched() {
        let root = tempfile::tempdir().unwrap();
        init(root.path(), &first()).unwrap();
        fs::create_dir(root.path().join("videos/v")).unwrap();
        fs::remove_file(root.path().join(".gitignore")).unwrap();
        let error = init(root.path(), &first()).unwrap_err();
        assert!(matches!(&error, WorkspaceError::Exists { holds, .. } if holds == "videos"), "{error}");
        assert!(!root.path().join(".gitignore").exists(), "nothing was changed");
    }

    #[test]
    fn an_interrupted_making_is_completed() {
        let root = tempfile::tempdir().unwrap();
        Store::create(root.path().join("trm.redb")).unwrap();
        let report = init(root.path(), &first()).unwrap();
        assert!(report.created.contains(&"trm.redb".to_owned()), "the versions were missing");
    }
}
