//! A version as a folder: all of it or nothing.

use std::fs;
use std::path::{Path, PathBuf};

use super::{FileSet, VersionsError};

/// Writes the files into `folder`, which afterwards holds exactly them. A crash leaves the old folder or the new one.
///
/// # Errors
/// The folder holds something (with `force`: something else than Markdown files), or cannot be written.
pub fn checkout(folder: &Path, files: &FileSet, force: bool) -> Result<(), VersionsError> {
    let exists = check_target(folder, force)?;
    let parent = match folder.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    fs::create_dir_all(&parent).map_err(|source| VersionsError::io("create", &parent, source))?;
    let staging = tempfile::Builder::new()
        .prefix(".trm-checkout-")
        .tempdir_in(&parent)
        .map_err(|source| VersionsError::io("write in", &parent, source))?;
    let new = staging.path().join("new");
    fs::create_dir(&new).map_err(|source| VersionsError::io("create", &new, source))?;
    for (name, text) in files {
        let path = new.join(name.as_str());
        fs::write(&path, text).map_err(|source| VersionsError::io("write", &path, source))?;
    }
    let old = staging.path().join("old");
    if exists {
        fs::rename(folder, &old).map_err(|source| VersionsError::io("replace", folder, source))?;
    }
    if let Err(source) = fs::rename(&new, folder) {
        if exists {
            // What was there comes back; if even that fails, the staging folder keeps it.
            if let Err(error) = fs::rename(&old, folder) {
                let kept = staging.keep();
                tracing::error!("{} is kept in {}: {error}", folder.display(), kept.display());
            }
        }
        return Err(VersionsError::io("write", folder, source));
    }
    Ok(())
}

/// Whether the folder exists; an error if its files would be lost.
fn check_target(folder: &Path, force: bool) -> Result<bool, VersionsError> {
    let occupied =
        |reason: String, may_force| Err(VersionsError::Occupied { folder: folder.to_owned(), reason, may_force });
    if !folder.exists() {
        return Ok(false);
    }
    if !folder.is_dir() {
        return occupied("it is a file".to_owned(), false);
    }
    let mut foreign = Vec::new();
    let mut count = 0_usize;
    for entry in fs::read_dir(folder).map_err(|source| VersionsError::io("read", folder, source))? {
        let entry = entry.map_err(|source| VersionsError::io("read", folder, source))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        count += 1;
        if !name.ends_with(".md") || entry.path().is_dir() {
            foreign.push(name);
        }
    }
    foreign.sort();
    match (foreign.first(), count) {
        (_, 0) => Ok(true),
        (Some(name), _) => occupied(format!("it holds other things than Markdown files, such as {name}"), false),
        (None, _) if force => Ok(true),
        (None, _) => occupied(format!("it holds {count} files"), true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(files: &[(&str, &str)]) -> FileSet {
        files.iter().map(|(name, text)| (name.parse().unwrap(), (*text).to_owned())).collect()
    }

    #[test]
    fn a_checkout_replaces_all_or_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("deep/skills");
        checkout(&folder, &set(&[("a.md", "1"), ("b.md", "2")]), false).unwrap();
        assert!(matches!(
            checkout(&folder, &set(&[("a.md", "3")]), false),
            Err(VersionsError::Occupied { may_force: true, .. })
        ));
        assert_eq!(fs::read_to_string(folder.join("a.md")).unwrap(), "1");
        checkout(&folder, &set(&[("a.md", "3")]), true).unwrap();
        assert_eq!(fs::read_to_string(folder.join("a.md")).unwrap(), "3");
        assert!(!folder.join("b.md").exists(), "the folder holds exactly the version");
        assert_eq!(fs::read_dir(root.path().join("deep")).unwrap().count(), 1, "nothing is left beside it");
    }

    #[test]
    fn a_folder_with_other_files_is_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("thesis.tex"), "x").unwrap();
        let refused = checkout(root.path(), &set(&[("a.md", "1")]), true);
        assert!(matches!(refused, Err(VersionsError::Occupied { may_force: false, .. })));
        assert!(root.path().join("thesis.tex").exists());
        assert!(!root.path().join("a.md").exists());
    }
}
