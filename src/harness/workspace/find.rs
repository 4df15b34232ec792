//! Finds a workspace and loads its configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::WorkspaceError;
use crate::config::{LoadRequest, Loaded, Origin, Override, load};

/// The file that makes a folder a workspace.
pub const CONFIG_FILE: &str = "trm.yaml";

/// A workspace that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Workspace {
    root: PathBuf,
}

/// What sets a configuration beside the files of the workspace.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Another configuration file than the workspace's `trm.yaml`.
    pub file: Option<PathBuf>,
    /// The environment of the process.
    pub environment: BTreeMap<String, String>,
    /// What the command line sets.
    pub overrides: Vec<Override>,
}

impl Workspace {
    /// The nearest workspace from `start` upward.
    ///
    /// # Errors
    /// There is none.
    pub fn find(start: &Path) -> Result<Self, WorkspaceError> {
        let start = std::path::absolute(start).unwrap_or_else(|_| start.to_owned());
        let root = start.ancestors().find(|folder| folder.join(CONFIG_FILE).is_file());
        match root {
            Some(root) => Ok(Self { root: root.to_owned() }),
            None => Err(WorkspaceError::NotFound { start }),
        }
    }

    /// The workspace at exactly this folder.
    ///
    /// # Errors
    /// It is none.
    pub fn at(folder: &Path) -> Result<Self, WorkspaceError> {
        if !folder.join(CONFIG_FILE).is_file() {
            return Err(WorkspaceError::NoWorkspace { folder: folder.to_owned() });
        }
        Ok(Self { root: folder.to_owned() })
    }

    /// A folder that is about to become a workspace.
    pub(super) fn unchecked(root: PathBuf) -> Self {
        Self { root }
    }

    /// Its folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Its `trm.yaml`.
    #[must_use]
    pub fn config_file(&self) -> PathBuf {
        self.root.join(CONFIG_FILE)
    }

    /// Loads and checks the configuration, and gives the workspace that it is for: this one, unless
    /// `run.workspace` names another, relative to the file that says so.
    ///
    /// # Errors
    /// [`WorkspaceError::Config`] with everything that is wrong.
    pub fn load(&self, settings: &Settings) -> Result<(Self, Loaded), WorkspaceError> {
        let file = settings.file.clone().unwrap_or_else(|| self.config_file());
        let loaded = load(&LoadRequest {
            dot_env: Some(self.env_file()),
            environment: settings.environment.clone(),
            overrides: settings.overrides.clone(),
            file: Some(file.clone()),
        })?;
        let base = match loaded.origins.get("run.workspace") {
            Some(Origin::Yaml { .. }) => file.parent().unwrap_or(&self.root),
            Some(Origin::Default | Origin::DotEnv { .. } | Origin::Environment { .. } | Origin::CommandLine { .. })
            | None => &self.root,
        };
        let root = base.join(&loaded.config.run.workspace);
        // `DIR/.` is DIR to everything but the eye.
        let root = if loaded.config.run.workspace == Path::new(".") { base.to_owned() } else { root };
        Ok((Self { root }, loaded))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn the_nearest_workspace_upward_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        assert!(matches!(Workspace::find(&deep), Err(WorkspaceError::NotFound { .. })));
        fs::write(folder.path().join(CONFIG_FILE), "").unwrap();
        assert_eq!(Workspace::find(&deep).unwrap().root(), folder.path());
        fs::write(folder.path().join("a/b").join(CONFIG_FILE), "").unwrap();
        assert_eq!(Workspace::find(&deep).unwrap().root(), folder.path().join("a/b"));
        assert!(matches!(Workspace::at(&deep), Err(WorkspaceError::NoWorkspace { .. })));
    }

    #[test]
    fn another_file_may_name_another_workspace() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("sweep")).unwrap();
        fs::write(folder.path().join(CONFIG_FILE), "run: {seed: 1}\n").unwrap();
        let other = folder.path().join("sweep/other.yaml");
        fs::write(&other, "run: {seed: 2}\n").unwrap();
        let workspace = Workspace::at(folder.path()).unwrap();
        let settings = Settings { file: Some(other.clone()), ..Settings::default() };
        let (target, loaded) = workspace.load(&settings).unwrap();
        assert_eq!((target.root(), loaded.config.run.seed), (folder.path(), 2));
        fs::write(&other, "run: {workspace: ../elsewhere}\n").unwrap();
        let (target, _) = workspace.load(&settings).unwrap();
        assert_eq!(target.root(), folder.path().join("sweep/../elsewhere"));
    }
}
