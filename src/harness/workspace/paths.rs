//! Where everything lies in a workspace.

use std::path::{Path, PathBuf};

use super::Workspace;
use crate::config::RunConfig;

impl Workspace {
    /// The store: all state.
    #[must_use]
    pub fn store(&self) -> PathBuf {
        self.root().join("trm.redb")
    }

    /// The cache of model replies, which may be deleted at no loss but cost.
    #[must_use]
    pub fn llm_cache(&self) -> PathBuf {
        self.root().join("llm-cache.redb")
    }

    /// Log files as JSON lines.
    #[must_use]
    pub fn logs(&self) -> PathBuf {
        self.root().join("logs")
    }

    /// Keys and passwords.
    #[must_use]
    pub fn env_file(&self) -> PathBuf {
        self.root().join(".env")
    }

    /// Judge and writer templates that override the built-in ones.
    #[must_use]
    pub fn templates(&self) -> PathBuf {
        self.root().join("templates")
    }

    /// The questions, as configured.
    #[must_use]
    pub fn questions(&self, config: &RunConfig) -> PathBuf {
        self.resolve(&config.data.questions)
    }

    /// The folder of the videos, as configured.
    #[must_use]
    pub fn videos(&self, config: &RunConfig) -> PathBuf {
        self.resolve(&config.data.videos_dir)
    }

    /// A path of the configuration: relative to the workspace, unless absolute.
    #[must_use]
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.root().join(path)
    }
}
