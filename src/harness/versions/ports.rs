//! Versions behind the kernel's read-only ports: small files, held in memory.

use super::{FileSet, VersionsError, resolve::texts};
use crate::domain::{FileName, VersionName};
use crate::evolution::ports::{PortError, PromptStore, SkillStore};
use crate::store::Snapshot;
use crate::store::rows::VersionKind;

/// The skills of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedSkills(FileSet);

/// The prompts of one version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionedPrompts(FileSet);

impl VersionedSkills {
    /// These files, such as a version with a candidate in it.
    #[must_use]
    pub fn new(files: FileSet) -> Self {
        Self(files)
    }

    /// The files of a stored version.
    ///
    /// # Errors
    /// It does not exist, or the store cannot be read.
    pub fn load(snapshot: &Snapshot<'_>, version: VersionName) -> Result<Self, VersionsError> {
        texts(snapshot, VersionKind::Skills, version).map(Self)
    }

    /// The same files with one replaced: the candidate's arm of a gate.
    #[must_use]
    pub fn with(&self, file: FileName, text: impl Into<String>) -> Self {
        let mut files = self.0.clone();
        files.insert(file, text.into());
        Self(files)
    }

    /// All files.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        &self.0
    }
}

impl VersionedPrompts {
    /// These files.
    #[must_use]
    pub fn new(files: FileSet) -> Self {
        Self(files)
    }

    /// The files of a stored version.
    ///
    /// # Errors
    /// It does not exist, or the store cannot be read.
    pub fn load(snapshot: &Snapshot<'_>, version: VersionName) -> Result<Self, VersionsError> {
        texts(snapshot, VersionKind::Prompts, version).map(Self)
    }

    /// All files.
    #[must_use]
    pub fn files(&self) -> &FileSet {
        &self.0
    }
}

impl SkillStore for VersionedSkills {
    fn read_skill(&self, file: &FileName) -> Result<String, PortError> {
        read(&self.0, file)
    }

    fn list_skill_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(self.0.keys().cloned().collect())
    }
}

impl PromptStore for VersionedPrompts {
    fn read_prompt(&self, file: &FileName) -> Result<String, PortError> {
        read(&self.0, file)
    }

    fn list_prompt_files(&self) -> Result<Vec<FileName>, PortError> {
        Ok(self.0.keys().cloned().collect())
    }
}

fn read(files: &FileSet, file: &FileName) -> Result<String, PortError> {
    files.get(file).cloned().ok_or_else(|| PortError::NoFile { file: file.clone() })
}
