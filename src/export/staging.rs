//! Files appear whole or not at all: staged beside their place, synced, renamed; the manifest last.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::error::ExportError;
use super::manifest::MANIFEST_FILE;

/// A staging folder inside the target folder, so that a rename stays within one file system.
pub(super) struct Staging {
    target: PathBuf,
    folder: TempDir,
}

impl Staging {
    pub(super) fn new(target: &Path) -> Result<Self, ExportError> {
        fs::create_dir_all(target).map_err(ExportError::write(target))?;
        let folder =
            tempfile::Builder::new().prefix(".export-").tempdir_in(target).map_err(ExportError::write(target))?;
        Ok(Self { target: target.to_path_buf(), folder })
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Moves the datasets of these names, then the manifest, into place.
    pub(super) fn publish(self, datasets: &[&str], manifest: &[u8]) -> Result<(), ExportError> {
        let staged = self.path().join(MANIFEST_FILE);
        fs::write(&staged, manifest).map_err(ExportError::write(&staged))?;
        sync(&staged)?;
        let old = self.path().join(".old");
        fs::create_dir(&old).map_err(ExportError::write(&old))?;
        let entries = fs::read_dir(self.path()).map_err(ExportError::write(self.path()))?;
        let mut names = Vec::new();
        for entry in entries {
            names.push(entry.map_err(ExportError::write(self.path()))?.file_name());
        }
        for dataset in datasets {
            // The other layout of the same dataset (file or folder) would be read beside the new one.
            for stale in
                [PathBuf::from(dataset), format!("{dataset}.parquet").into(), format!("{dataset}.jsonl").into()]
            {
                let (place, aside) = (self.target.join(&stale), old.join(&stale));
                let replaced = names.iter().any(|name| Path::new(name) == stale);
                if (place.is_dir() || !replaced) && place.exists() {
                    fs::rename(&place, &aside).map_err(ExportError::write(&place))?;
                }
                if replaced {
                    fs::rename(self.path().join(&stale), &place).map_err(ExportError::write(&place))?;
                }
            }
        }
        let place = self.target.join(MANIFEST_FILE);
        fs::rename(&staged, &place).map_err(ExportError::write(&place))?;
        sync(&self.target)
    }
}

/// Makes a file or a folder's entries durable.
fn sync(path: &Path) -> Result<(), ExportError> {
    File::open(path).and_then(|file| file.sync_all()).map_err(ExportError::write(path))
}
